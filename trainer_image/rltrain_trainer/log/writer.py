"""The log's writer: appends records, marks those that stand already, keeps them safe. Used by the training loop."""

import errno
import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import FileIO
from typing import Any, TypeVar

from rltrain_api.errors import RetryLater, UserError
from rltrain_trainer.log.durable import sync_directory
from rltrain_trainer.log.frames import encode_frame
from rltrain_trainer.log.records import (
    STEP_MARK,
    Artifact,
    Entry,
    Histogram,
    Mark,
    Parameters,
    Record,
    Scalars,
    Table,
    Text,
    Trace,
    as_plain,
    pack_entry,
)
from rltrain_trainer.log.recovery import Identity, recover
from rltrain_trainer.log.segments import SegmentHeader, encode_header, segment_path
from rltrain_trainer.run_directory import RunDirectory

logger = logging.getLogger(__name__)
SEGMENT_BYTES = 64 << 20
Result = TypeVar("Result")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunLog:
    """The log of one attempt. Methods may be called from any thread and return once the operating system has the data.

    All of them raise FencedError when another attempt has begun, and RetryLater when the disk is full: what was logged
    before is intact then.
    """

    def __init__(self, run: RunDirectory, *, attempt: int, resume_step: int, log_interval: int) -> None:
        """Open the log for `attempt`, which computes the steps after `resume_step` (0: from the start)."""
        self._log = run.log
        self._attempt = attempt
        self._log_interval = log_interval
        self._fence = run.fence(attempt)
        self._fence.check()
        self._log.mkdir(parents=True, exist_ok=True)
        state = recover(self._log, resume_step)
        self._sequence = state.sequence
        self._last_step = state.last_step
        self._highest_step = state.highest_step
        self._standing = state.standing
        self._logged: dict[int, set[Identity]] = defaultdict(set)
        self._warned: set[Identity] = set()
        self._lock = threading.RLock()
        self._wakes: list[Callable[[], None]] = []
        self._syncs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="log-sync")
        self._syncing: Future[None] | None = None
        self._unsynced_steps = 0
        self._segment = state.next_segment
        self._file = self._open_segment(state.ends)

    @property
    def sequence(self) -> int:
        """Number of the last record."""
        return self._sequence

    @property
    def last_step(self) -> int:
        """Last whole step that stands in the log."""
        return self._last_step

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each step and at the end. It must return at once."""
        self._wakes.append(wake)

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Log metrics. Of two values of one name and step the first stands."""
        numbers = {name: _number(name, value) for name, value in values.items()}
        with self._lock:
            new = {name for name in numbers if self._is_first(step, (Scalars.kind, name))}
            for replay in (False, True):
                part = {name: number for name, number in numbers.items() if (name not in new) == replay}
                if part:
                    self._append(Scalars(step=step, values=part), replay)

    def histogram(self, step: int, name: str, values: object) -> None:
        """Log the distribution of `values`, an array of any shape."""
        self._log_named(Histogram.of(step, name, values))

    def text(self, step: int, name: str, text: str) -> None:
        """Log a text."""
        self._log_named(Text(step=step, name=name, text=text))

    def table(self, step: int, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Log rows, such as prompts with their responses."""
        self._log_named(Table(step=step, name=name, columns=list(columns), rows=as_plain(rows)))

    def trace(self, step: int, name: str, payload: Mapping[str, object], tags: Mapping[str, object]) -> None:
        """Log how a sample came about."""
        texts = {key: str(value) for key, value in tags.items()}
        self._log_named(Trace(step=step, name=name, payload=as_plain(payload), tags=texts))

    def artifact(self, step: int, name: str, path: str) -> None:
        """Log that the file `path`, relative to the run directory, belongs to the run."""
        with self._lock:
            self._append(Artifact(step=step, name=name, path=path), replay=False)

    def parameters(self, values: Mapping[str, object]) -> None:
        """Log settings of the run."""
        with self._lock:
            self._append(Parameters(values=as_plain(values)), replay=False)

    def mark(self, name: str, step: int) -> None:
        """Log a moment of the run."""
        self._log_named(Mark(step=step, name=name))

    def end_step(self, step: int) -> None:
        """Say that all of `step` is logged. Every `log_interval` steps the log is made safe from a power cut."""
        with self._lock:
            self._log_named(Mark(step=step, name=STEP_MARK))
            self._last_step = max(self._last_step, step)
            self._unsynced_steps += 1
            if self._unsynced_steps >= self._log_interval:
                # In the background, and waited for when the next one is due: at most one interval is at risk.
                self._settle()
                self._syncing = self._syncs.submit(os.fsync, self._file.fileno())
                self._unsynced_steps = 0
            for done in [earlier for earlier in self._logged if earlier < step]:
                del self._logged[done]
        self._wake_all()

    def sync(self) -> None:
        """Make everything logged safe from a power cut. Called before a checkpoint appears."""
        with self._lock:
            self._settle()
            _reporting_full_disk(lambda: os.fsync(self._file.fileno()))
            self._unsynced_steps = 0

    def close(self) -> None:
        """Sync and close. May be called again."""
        with self._lock:
            if self._file.closed:
                return
            try:
                self.sync()
            finally:
                self._file.close()
                self._syncs.shutdown()
        self._wake_all()

    def _log_named(self, record: Histogram | Text | Table | Trace | Mark) -> None:
        with self._lock:
            self._append(record, replay=not self._is_first(record.step, (record.kind, record.name)))

    def _is_first(self, step: int, identity: Identity) -> bool:
        if identity in self._standing.get(step, ()):
            return False
        if identity not in self._logged[step]:
            self._logged[step].add(identity)
            return True
        if identity not in self._warned:
            self._warned.add(identity)
            logger.warning("%s %s is logged twice at step %d; the first one stands", *identity, step)
        return False

    def _append(self, record: Record, replay: bool) -> None:
        self._fence.check()
        entry = Entry(
            attempt=self._attempt, sequence=self._sequence + 1, time=time.time(), replay=replay, record=record
        )
        frame = encode_frame(pack_entry(entry))
        if self._file.tell() + len(frame) > SEGMENT_BYTES:
            self._roll()
        self._write(self._file, frame)
        self._sequence = entry.sequence
        if not isinstance(record, Parameters):
            self._highest_step = max(self._highest_step, record.step)

    def _roll(self) -> None:
        self.sync()
        ends = {self._segment: self._file.tell()}
        self._segment += 1
        finished, self._file = self._file, self._open_segment(ends)
        finished.close()

    def _open_segment(self, ends: dict[int, int]) -> FileIO:
        header = SegmentHeader(
            attempt=self._attempt,
            sequence=self._sequence + 1,
            ends=ends,
            last_step=self._last_step,
            highest_step=self._highest_step,
        )
        file = _reporting_full_disk(lambda: FileIO(segment_path(self._log, self._segment), "xb"))
        self._write(file, encode_header(header))
        sync_directory(self._log)
        return file

    def _write(self, file: FileIO, frame: bytes) -> None:
        start = file.tell()
        try:
            _reporting_full_disk(lambda: _write_all(file, frame))
        except BaseException:
            # Half a frame must not stand before the next one.
            file.truncate(start)
            file.seek(start)
            raise

    def _settle(self) -> None:
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            _reporting_full_disk(syncing.result)

    def _wake_all(self) -> None:
        for wake in self._wakes:
            wake()


def _write_all(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise UserError(f"metric {name!r}: {value!r} is not a number; log one number a name and step") from error


def _reporting_full_disk(action: Callable[[], Result]) -> Result:
    try:
        return action()
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise RetryLater(
                f"disk full while writing the log ({error.strerror}); free space and resume: what was logged is intact"
            ) from error
        raise
