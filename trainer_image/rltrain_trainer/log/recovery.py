"""What an earlier attempt left in the log: read once when a new attempt opens it. Used by the writer."""

import logging
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rltrain_trainer.log.frames import Frame
from rltrain_trainer.log.records import STEP_MARK, Artifact, Entry, Mark, Parameters, Record, Scalars, unpack_entry
from rltrain_trainer.log.segments import (
    SegmentHeader,
    read_frames,
    read_header,
    segment_limit,
    segment_numbers,
    segment_path,
)

logger = logging.getLogger(__name__)
Identity = tuple[str, str]  # kind and name; with the step it identifies what was logged


@dataclass(kw_only=True, slots=True)
class Recovered:
    """State of the log at its end. `standing`: what it holds from the step resumed from on, by step."""

    next_segment: int = 1
    sequence: int = 0
    last_step: int = 0
    highest_step: int = 0
    ends: dict[int, int] = field(default_factory=dict)
    standing: dict[int, set[Identity]] = field(default_factory=lambda: defaultdict(set))

    def account(self, entry: Entry, resume_step: int) -> None:
        """Take one more entry into the state."""
        self.sequence = entry.sequence
        record = entry.record
        if isinstance(record, Parameters):
            return
        self.highest_step = max(self.highest_step, record.step)
        if isinstance(record, Mark) and record.name == STEP_MARK:
            self.last_step = max(self.last_step, record.step)
        if record.step >= resume_step and not entry.replay:
            self.standing[record.step].update(identities(record))


def identities(record: Record) -> Iterator[Identity]:
    """What, within its step, the record is the value of. Parameters and files are sent again: that changes nothing."""
    if isinstance(record, Scalars):
        yield from ((record.kind, name) for name in record.values)
    elif not isinstance(record, Parameters | Artifact):
        yield record.kind, record.name


def recover(log: Path, resume_step: int) -> Recovered:
    """Read the log from where its steps reach `resume_step` on, and cut the torn tail."""
    numbers = segment_numbers(log)
    headers = {number: read_header(segment_path(log, number)) for number in numbers}
    state = Recovered(next_segment=max(numbers, default=0) + 1)
    for number in numbers[_first_needed(numbers, headers, resume_step) :]:
        header = headers[number]
        if header is not None:
            state.sequence = max(state.sequence, header.sequence - 1)
            state.last_step = max(state.last_step, header.last_step)
            state.highest_step = max(state.highest_step, header.highest_step)
        limit = segment_limit(log, number)
        end = _read_segment(state, segment_path(log, number), limit, resume_step)
        if limit is None:
            state.ends[number] = _cut(segment_path(log, number), end)
    return state


def _first_needed(numbers: list[int], headers: dict[int, SegmentHeader | None], resume_step: int) -> int:
    """Index of the last segment before which every record is of a step before `resume_step`."""
    for index in reversed(range(len(numbers))):
        header = headers[numbers[index]]
        if header is not None and header.highest_step < resume_step:
            return index
    return 0


def _read_segment(state: Recovered, path: Path, limit: int | None, resume_step: int) -> int:
    """Account for the segment's entries. Returns where its last whole frame ends."""
    end = 0
    for item in read_frames(path, 0, limit):
        end = item.end
        if isinstance(item, Frame) and item.start > 0:
            state.account(unpack_entry(item.payload), resume_step)
    return end


def _cut(path: Path, end: int) -> int:
    size = path.stat().st_size
    if size > end:
        logger.warning("%s: cut the unfinished record at its end (bytes %d to %d)", path, end, size)
        os.truncate(path, end)
    return end
