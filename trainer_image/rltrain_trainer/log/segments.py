"""Segments: the files that a log consists of, and the headers that bind them. Used by the reader and the writer.

Every attempt starts a segment. Its header names where the earlier segments end, so that whatever a writer of an earlier
attempt still appends to them afterwards lies behind that end and is never read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgpack

from rltrain_api.errors import UserError
from rltrain_trainer.log.frames import Frame, Gap, encode_frame, scan_frames

_FORMAT = "rltrain-log"
_VERSION = 1
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentHeader:
    """First frame of a segment. `ends` are those of earlier segments that no earlier header names."""

    attempt: int
    sequence: int
    ends: dict[int, int]
    last_step: int
    """Last whole step in earlier segments."""
    highest_step: int
    """Highest step of any record in earlier segments."""


def segment_path(log: Path, number: int) -> Path:
    """File of the segment."""
    return log / f"{number:06d}.rec"


def segment_numbers(log: Path) -> list[int]:
    """Numbers of the segments that are there, ascending."""
    return sorted(int(path.stem) for path in log.glob("*.rec"))


def encode_header(header: SegmentHeader) -> bytes:
    """The frame of the header."""
    fields = [header.attempt, header.sequence, list(header.ends.items()), header.last_step, header.highest_step]
    return encode_frame(msgpack.packb([_FORMAT, _VERSION, *fields]))


def read_header(path: Path) -> SegmentHeader | None:
    """The segment's header; None when it is damaged, or not written yet. Raises UserError for a newer format."""
    first = next(read_frames(path, 0, None), None)
    if not isinstance(first, Frame):
        return None
    name, version, attempt, sequence, ends, last_step, highest_step = msgpack.unpackb(first.payload)
    if (name, version) != (_FORMAT, _VERSION):
        raise UserError(f"{path}: log of format {version}, written by a newer rltrain; update rltrain")
    return SegmentHeader(
        attempt=attempt, sequence=sequence, ends=dict(ends), last_step=last_step, highest_step=highest_step
    )


def segment_limit(log: Path, number: int) -> int | None:
    """Where the segment ends, by the first header that names it; None while it is the last."""
    for later in segment_numbers(log):
        header = read_header(segment_path(log, later)) if later > number else None
        if header is not None and number in header.ends:
            return header.ends[number]
    return None


def read_frames(path: Path, offset: int, limit: int | None) -> Iterator[Frame | Gap]:
    """Frames and damaged ranges of a segment from `offset`, positions being those in the file.

    Without a limit it stops at the first frame that is not whole yet. With one, what is missing before it is a gap.
    """
    size = _CHUNK_BYTES
    with path.open("rb") as file:
        while limit is None or offset < limit:
            file.seek(offset)
            data = file.read(size if limit is None else min(size, limit - offset))
            end = 0
            for item in scan_frames(data):
                end = item.end
                yield _moved(item, offset)
            if not end and len(data) < size:
                break
            # A frame, or a damaged range, larger than what was read: read more at once.
            size = _CHUNK_BYTES if end else 2 * size
            offset += end
    if limit is not None and offset < limit:
        yield Gap(start=offset, end=limit)


def _moved(item: Frame | Gap, by: int) -> Frame | Gap:
    if isinstance(item, Frame):
        return Frame(start=item.start + by, end=item.end + by, payload=item.payload)
    return Gap(start=item.start + by, end=item.end + by)
