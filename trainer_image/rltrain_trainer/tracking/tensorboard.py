"""TensorBoard as a tracker: event files in the run directory, written here alone. Named `tensorboard` in `trackers`."""

import os
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rltrain_trainer.log.records import Entry, RunState
from rltrain_trainer.tracking.cursor import Cursor
from rltrain_trainer.tracking.names import Names, name_rule
from rltrain_trainer.tracking.tfrecord import encode_tfrecord, scan_tfrecords
from rltrain_trainer.tracking.tracker import TrackedRun, TrackerSettings, Unavailable

_RULE = name_rule(allowed=" @()[]%:=,+", longest=250)


class TensorboardTracker:
    """Writes each record once. After a crash what lies behind the cursor is read back and not written again.

    Every opening starts a file: TensorBoard, which may be reading the last one, goes on to it by itself.
    """

    def __init__(self, settings: TrackerSettings) -> None:
        self.bookmark = ""
        self._names = Names(_RULE, {}, shared=True)
        self._run_uid = settings.run.run_uid
        self._directory = settings.run.tensorboard
        self._present: set[tuple[str, int]] = set()
        self._path: Path | None = None

    @property
    def names(self) -> dict[str, str]:
        """Tags decided so far."""
        return self._names.decided

    def open(self, cursor: Cursor) -> TrackedRun:
        """Cut torn tails and read back what the files hold beyond the cursor."""
        self._names = Names(_RULE, cursor.names, shared=True)
        self.bookmark = cursor.bookmark
        try:
            self._path = None
            self._directory.mkdir(parents=True, exist_ok=True)
            self._present = set(_read_back(self._directory, cursor.bookmark))
        except OSError as error:
            raise Unavailable(f"{self._directory}: {error}") from error
        return TrackedRun(run_id=self._run_uid)

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Write the entries and hand them to the operating system."""
        from rltrain_trainer.tracking.tensorboard_events import event_of

        events = (self._missing_part(event_of(entry, self._names.of)) for entry in entries)
        content = b"".join(encode_tfrecord(event.SerializeToString()) for event in events if event.summary.value)
        try:
            if content:
                self._write(content)
        except OSError as error:
            raise Unavailable(f"{self._directory}: {error}") from error

    def close(self, state: RunState) -> None:
        """Nothing to say: TensorBoard has no notion of how a run ended."""

    def _missing_part(self, event: Any) -> Any:
        if self._present:
            values = [value for value in event.summary.value if (value.tag, event.step) not in self._present]
            del event.summary.value[:]
            event.summary.value.extend(values)
        return event

    def _write(self, content: bytes) -> None:
        if self._path is None:
            self._path = _start_file(self._directory)
        with self._path.open("ab") as file:
            file.write(content)
        self.bookmark = f"{self._path.name}:{self._path.stat().st_size}"


def _event_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("events.out.tfevents.*"))


def _start_file(directory: Path) -> Path:
    """A new event file. TensorBoard reads files in the order of their names, so its time is later than the others'."""
    from rltrain_trainer.tracking.tensorboard_events import version_event

    times = [int(path.name.split(".")[3]) for path in _event_files(directory)]
    now = max(int(time.time()), max(times, default=0) + 1)
    path = directory / f"events.out.tfevents.{now:010d}.{socket.gethostname()}.{os.getpid()}.0"
    path.write_bytes(encode_tfrecord(version_event(time.time()).SerializeToString()))
    return path


def _read_back(directory: Path, bookmark: str) -> Iterator[tuple[str, int]]:
    """Tag and step of all values behind the bookmark; what is not whole at the end of a file is cut."""
    from tensorboard.compat.proto.event_pb2 import Event

    name, _, offset = bookmark.rpartition(":")
    for path in _event_files(directory):
        if path.name < name:
            continue
        start = end = int(offset) if path.name == name else 0
        with path.open("rb") as file:
            file.seek(start)
            content = file.read()
        for data, behind in scan_tfrecords(content):
            end = start + behind
            event = Event.FromString(data)
            yield from ((value.tag, event.step) for value in event.summary.value)
        if end < start + len(content):
            os.truncate(path, end)
