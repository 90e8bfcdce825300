"""Frames: what is written is read, and damage costs no more than what it touches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltrain_trainer.log.frames import HEADER_SIZE, MAGIC, Frame, Gap, encode_frame, scan_frames

PAYLOADS = [b"first", b"", b"third" * 40]


def payloads(data: bytes) -> list[bytes]:
    return [item.payload for item in scan_frames(data) if isinstance(item, Frame)]


def gaps(data: bytes) -> list[tuple[int, int]]:
    return [(item.start, item.end) for item in scan_frames(data) if isinstance(item, Gap)]


def make_frames() -> tuple[bytes, list[int]]:
    """Three frames, and where each starts."""
    frames = [encode_frame(payload) for payload in PAYLOADS]
    return b"".join(frames), [0, len(frames[0]), len(frames[0] + frames[1])]


@settings(deadline=None)
@given(st.lists(st.binary(max_size=200)))
def test_frames_round_trip(contents: list[bytes]) -> None:
    data = b"".join(encode_frame(content) for content in contents)
    assert payloads(data) == contents
    assert gaps(data) == []


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_no_frames_and_no_error(data: bytes) -> None:
    assert payloads(data) == []


@settings(deadline=None)
@given(st.data())
def test_one_damaged_byte_costs_one_frame_at_most(data: st.DataObject) -> None:
    frames, starts = make_frames()
    at = data.draw(st.integers(0, len(frames) - 1))
    damaged = frames[:at] + bytes([frames[at] ^ data.draw(st.integers(1, 255))]) + frames[at + 1 :]
    hit = max(index for index, start in enumerate(starts) if start <= at)
    assert payloads(damaged) == PAYLOADS[:hit] + PAYLOADS[hit + 1 :]


def test_frame_torn_at_any_byte_leaves_those_before_it() -> None:
    frames, starts = make_frames()
    for end in range(starts[2], len(frames)):
        assert payloads(frames[:end]) == PAYLOADS[:2]
        assert gaps(frames[:end]) == []


def test_damaged_range_is_reported_with_its_bounds() -> None:
    frames, starts = make_frames()
    damaged = bytearray(frames)
    damaged[HEADER_SIZE] ^= 1
    assert gaps(bytes(damaged)) == [(0, starts[1])]


@pytest.mark.parametrize("length", [0, 1, 10**6, 2**32 - 1])
def test_bad_length_is_passed_over(length: int) -> None:
    frames, _ = make_frames()
    damaged = frames[:4] + length.to_bytes(4, "little") + frames[8:]
    assert payloads(damaged) == PAYLOADS[1:]


@pytest.mark.parametrize("end", [b"", b"y", b"z"])
def test_frame_inside_an_unfinished_or_damaged_one_is_not_taken_for_one(end: bytes) -> None:
    outer = encode_frame(b"x" * 10 + encode_frame(b"inner") + b"y" * 100)
    assert payloads(outer[:-1] + end) == ([outer[HEADER_SIZE:]] if end == b"y" else [])
    assert payloads(outer[:-1] + b"z" + encode_frame(b"next")) == [b"next"]


def test_bytes_that_begin_like_a_frame_are_passed_over() -> None:
    data = encode_frame(b"a") + MAGIC + b"\0" * 30 + encode_frame(b"b")
    assert payloads(data) == [b"a", b"b"]
