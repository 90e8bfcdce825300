"""Ends every process that a run started once the run's own process is gone, however it went. Started by `rltrain run`.

Ray's and MLflow's processes start others, some of which outlive a parent that is killed. All of them inherit a mark in
their environment; a small watcher process notices the end of the run by the end of its standard input, then ends
whatever still carries the mark.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

_MARK = "RLTRAIN_RUN_PROCESSES"
_PATIENCE_SECONDS = 10.0


def start_reaper() -> None:
    """From now on, every process that this one starts ends with it. The watcher lives as long as this process."""
    os.environ[_MARK] = f"{os.getpid()}-{uuid.uuid4().hex}"
    # The writing end is not inheritable and never closed: it ends with this process.
    reading, _ = os.pipe()
    subprocess.Popen([sys.executable, "-I", __file__, os.environ[_MARK]], stdin=reading, start_new_session=True)
    os.close(reading)


def _marked(mark: str) -> Iterator[int]:
    needle = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        # A process may end while it is looked at, and other users' processes are none of ours.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if entry.name.isdigit() and int(entry.name) != os.getpid() and needle in (entry / "environ").read_bytes():
                yield int(entry.name)


def _reap(mark: str) -> None:
    """Kill until none is left: a process may start another while it is being killed."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (found := list(_marked(mark))) and time.monotonic() < deadline:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    _reap(sys.argv[1])
