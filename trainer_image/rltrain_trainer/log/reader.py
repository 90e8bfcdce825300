"""The log's reader: entries from a position on, while the log may still grow. Used by trackers and `rltrain runs`."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rltrain_trainer.log.frames import Frame, Gap
from rltrain_trainer.log.records import Entry, unpack_entry
from rltrain_trainer.log.segments import read_frames, segment_limit, segment_numbers, segment_path
from rltrain_trainer.log.summary import LogSummary, summarize_log

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Position:
    """A place in the log: a segment and an offset into it."""

    segment: int
    offset: int


START = Position(segment=0, offset=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class DamagedRange:
    """Bytes of a segment that hold no readable record although records follow them."""

    file: str
    start: int
    end: int


class LogReader:
    """The log in the directory `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reported: set[DamagedRange] = set()

    def read(self, position: Position = START) -> Iterator[tuple[Entry, Position]]:
        """Entries from `position` to the end there is now, each with the position behind it.

        Damaged ranges are reported as warnings, once a reader, and passed over.
        """
        for number in segment_numbers(self._path):
            if number >= position.segment:
                offset = position.offset if number == position.segment else 0
                yield from self._read_segment(number, offset)

    def summary(self, metrics: Sequence[str] = ()) -> LogSummary:
        """Where the log ends, from its last part alone: fast for long logs."""
        return summarize_log(self._path, metrics)

    def damage(self) -> list[DamagedRange]:
        """Every damaged range of the log; reads all of it."""
        return [
            DamagedRange(file=segment_path(self._path, number).name, start=item.start, end=item.end)
            for number in segment_numbers(self._path)
            for item in self._items(number, 0)
            if isinstance(item, Gap)
        ]

    def _read_segment(self, number: int, offset: int) -> Iterator[tuple[Entry, Position]]:
        for item in self._items(number, offset):
            if isinstance(item, Gap):
                name = segment_path(self._path, number).name
                self._report(DamagedRange(file=name, start=item.start, end=item.end))
            elif item.start > 0:
                yield unpack_entry(item.payload), Position(segment=number, offset=item.end)

    def _items(self, number: int, offset: int) -> Iterator[Frame | Gap]:
        return read_frames(segment_path(self._path, number), offset, segment_limit(self._path, number))

    def _report(self, damaged: DamagedRange) -> None:
        if damaged not in self._reported:
            self._reported.add(damaged)
            logger.warning(
                "%s: bytes %d to %d are damaged; their records are lost, what follows is read",
                self._path / damaged.file,
                damaged.start,
                damaged.end,
            )
