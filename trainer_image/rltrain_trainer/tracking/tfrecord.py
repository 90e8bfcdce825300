"""The file format of TensorBoard's event files: records with masked CRC-32C. Used by the TensorBoard tracker."""

import struct
from collections.abc import Iterator

import google_crc32c

_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_AROUND = _LENGTH.size + 2 * _CRC.size


def encode_tfrecord(data: bytes) -> bytes:
    """The record around `data`."""
    length = _LENGTH.pack(len(data))
    return length + _CRC.pack(_masked_crc(length)) + data + _CRC.pack(_masked_crc(data))


def scan_tfrecords(content: bytes) -> Iterator[tuple[bytes, int]]:
    """Whole records of `content` from its start, each with the offset behind it, up to the first that is not whole."""
    position = 0
    while position + _AROUND <= len(content):
        length_bytes = content[position : position + _LENGTH.size]
        (length,) = _LENGTH.unpack(length_bytes)
        (length_crc,) = _CRC.unpack_from(content, position + _LENGTH.size)
        end = position + _AROUND + length
        if length_crc != _masked_crc(length_bytes) or end > len(content):
            return
        data = content[position + _LENGTH.size + _CRC.size : end - _CRC.size]
        if _CRC.unpack_from(content, end - _CRC.size) != (_masked_crc(data),):
            return
        yield data, end
        position = end


def _masked_crc(data: bytes) -> int:
    crc: int = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
