"""Framing of the log: bytes in, frames out, damage found. Pure functions, used by the segments, writer and reader.

A frame is a magic number, the payload's length, CRC-32C of that length, CRC-32C of length and payload, the payload.
The length has a checksum of its own, so that a reader knows an unfinished frame from one with a damaged length.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import google_crc32c

MAGIC = b"\xa7RL\x1a"
_LENGTH = struct.Struct("<I")
_HEADER = struct.Struct("<4sIII")
HEADER_SIZE = _HEADER.size


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """A whole frame at `start` to `end` of the bytes it was found in."""

    start: int
    end: int
    payload: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Bytes from `start` to `end` that hold no whole frame although frames follow them."""

    start: int
    end: int


def encode_frame(payload: bytes) -> bytes:
    """The frame around `payload`."""
    length = _LENGTH.pack(len(payload))
    length_crc = google_crc32c.value(length)
    return _HEADER.pack(MAGIC, len(payload), length_crc, google_crc32c.extend(length_crc, payload)) + payload


def scan_frames(data: bytes) -> Iterator[Frame | Gap]:
    """Frames of `data` in order, and the gaps between them. What follows the last whole frame is not reported."""
    position = 0
    while position < len(data):
        frame = _frame_at(data, position)
        if frame is None:
            frame = _next_frame(data, _end_of_damage(data, position))
            if frame is None:
                return
            yield Gap(start=position, end=frame.start)
        yield frame
        position = frame.end


def _frame_at(data: bytes, position: int) -> Frame | None:
    length = _length_at(data, position)
    end = position + HEADER_SIZE + (length or 0)
    if length is None or end > len(data):
        return None
    _, _, length_crc, crc = _HEADER.unpack_from(data, position)
    payload = data[position + HEADER_SIZE : end]
    if google_crc32c.extend(length_crc, payload) != crc:
        return None
    return Frame(start=position, end=end, payload=payload)


def _length_at(data: bytes, position: int) -> int | None:
    """The length of the frame at `position` when its header is whole."""
    if position + HEADER_SIZE > len(data):
        return None
    magic, length, length_crc, _ = _HEADER.unpack_from(data, position)
    whole = magic == MAGIC and google_crc32c.value(_LENGTH.pack(length)) == length_crc
    return int(length) if whole else None


def _end_of_damage(data: bytes, position: int) -> int:
    """Where to look for the next frame: a payload may hold what looks like one, so a whole header's length counts."""
    length = _length_at(data, position)
    return position + 1 if length is None else position + HEADER_SIZE + length


def _next_frame(data: bytes, position: int) -> Frame | None:
    while (position := data.find(MAGIC, position)) >= 0:
        frame = _frame_at(data, position)
        if frame is not None:
            return frame
        position += 1
    return None
