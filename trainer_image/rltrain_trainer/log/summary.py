"""Where a log ends: last step, latest metrics, how the run ended. Read from the log's tail. Used by `rltrain runs`."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rltrain_trainer.log.frames import Frame
from rltrain_trainer.log.records import STEP_MARK, Entry, Mark, RunState, Scalars, unpack_entry
from rltrain_trainer.log.segments import (
    SegmentHeader,
    read_frames,
    read_header,
    segment_limit,
    segment_numbers,
    segment_path,
)
from rltrain_trainer.run_directory import RunDirectory

# Metrics are looked for in the last part of the log, and if one is not there, in a larger one; not beyond.
_END_MARKS = frozenset(RunState)
_TAIL_BYTES = (256 << 10, 8 << 20)


@dataclass(kw_only=True, slots=True)
class LogSummary:
    """The end of a log. A log without records has all of these at their defaults."""

    attempt: int = 0
    sequence: int = 0
    last_step: int = 0
    """Last whole step."""
    started: float | None = None
    """Time of the first record."""
    updated: float | None = None
    """Time of the last record."""
    ended: RunState | None = None
    """How the last attempt ended, if it could say so."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Latest values of the metrics asked for, as far as the log's last 8 MiB hold them."""


def summarize_log(log: Path, metrics: Sequence[str] = ()) -> LogSummary:
    """The end of the log, with the latest values of `metrics`."""
    summary = LogSummary()
    for budget in _TAIL_BYTES:
        summary = _summarize_tail(log, metrics, budget)
        if len(summary.metrics) == len(set(metrics)):
            break
    first = next(_entries(log, dict.fromkeys(segment_numbers(log), 0)), None)
    summary.started = first.time if first else None
    return summary


def state_of(run: RunDirectory) -> RunState:
    """How the run stands: running while a process of this machine holds it, else how its last attempt ended."""
    if run.owner() is not None:
        return RunState.RUNNING
    return summarize_log(run.log).ended or RunState.KILLED


def _summarize_tail(log: Path, metrics: Sequence[str], budget: int) -> LogSummary:
    summary = LogSummary()
    header = _last_header(log)
    if header is not None:
        summary.attempt, summary.sequence, summary.last_step = header.attempt, header.sequence - 1, header.last_step
    for entry in _entries(log, _tail_offsets(log, budget)):
        summary.sequence, summary.updated = entry.sequence, entry.time
        record = entry.record
        if isinstance(record, Mark):
            _account_mark(summary, entry.attempt, record)
        if isinstance(record, Scalars) and not entry.replay:
            summary.metrics.update({name: record.values[name] for name in metrics if name in record.values})
    return summary


def _account_mark(summary: LogSummary, attempt: int, mark: Mark) -> None:
    if mark.name == STEP_MARK:
        summary.last_step = max(summary.last_step, mark.step)
    elif mark.name in _END_MARKS and attempt == summary.attempt:
        summary.ended = RunState(mark.name)


def _last_header(log: Path) -> SegmentHeader | None:
    headers = (read_header(segment_path(log, number)) for number in reversed(segment_numbers(log)))
    return next((header for header in headers if header is not None), None)


def _tail_offsets(log: Path, budget: int) -> dict[int, int]:
    """Segments that the last `budget` bytes of the log lie in, ascending, each with the offset to read from."""
    offsets = {}
    for number in reversed(segment_numbers(log)):
        size = segment_path(log, number).stat().st_size
        offsets[number] = max(0, size - budget)
        budget -= size
        if budget <= 0:
            break
    return dict(sorted(offsets.items()))


def _entries(log: Path, offsets: dict[int, int]) -> Iterator[Entry]:
    """Entries from the offsets on. An offset inside a frame is fine: reading starts at the next one."""
    frames = (
        read_frames(segment_path(log, number), offset, segment_limit(log, number)) for number, offset in offsets.items()
    )
    for item in itertools.chain.from_iterable(frames):
        if isinstance(item, Frame) and item.start > 0:
            yield unpack_entry(item.payload)
