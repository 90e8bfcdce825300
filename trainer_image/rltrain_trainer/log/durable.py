"""Files that are replaced whole or not at all. Used by the run directory, the log and the cursors."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes, *, sync: bool) -> None:
    """Put `content` in place of `path` atomically; with `sync`, also safe from a power cut on return."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)
    if sync:
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in the directory safe from a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
