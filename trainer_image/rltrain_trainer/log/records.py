"""What a log holds: one dataclass a kind of record, the envelope around it, and their form on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, Self

import msgpack
import numpy as np
import numpy.typing as npt

from rltrain_api.errors import UserError

STEP_MARK = "step"
_HISTOGRAM_BINS = 30
_INTEGER_BITS = 63
_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]


class RunState(StrEnum):
    """How a run stands. The log's last attempt carries a mark of the name of how it ended."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scalars:
    """Metrics of one step."""

    kind: ClassVar[str] = "scalars"
    step: int
    values: dict[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """Distribution of many values of one step. All but `nonfinite` is of the finite values; without any, no bins."""

    kind: ClassVar[str] = "histogram"
    step: int
    name: str
    edges: list[float]  # [bins + 1]
    counts: list[int]  # [bins]
    minimum: float
    maximum: float
    total: float
    total_of_squares: float
    nonfinite: int = 0

    @classmethod
    def of(cls, step: int, name: str, values: object) -> Self:
        """The histogram of `values`, anything that NumPy makes an array of numbers from."""
        array = np.asarray(values, dtype=np.float64).ravel()
        finite = array[np.isfinite(array)]
        counts, edges = _bins(finite)
        with np.errstate(over="ignore", invalid="ignore"):
            return cls(
                step=step,
                name=name,
                edges=edges.tolist(),
                counts=counts.tolist(),
                minimum=float(finite.min(initial=np.inf)),
                maximum=float(finite.max(initial=-np.inf)),
                total=float(finite.sum()),
                total_of_squares=float(np.square(finite).sum()),
                nonfinite=array.size - finite.size,
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text of one step."""

    kind: ClassVar[str] = "text"
    step: int
    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of one step, such as prompts with their responses."""

    kind: ClassVar[str] = "table"
    step: int
    name: str
    columns: list[str]
    rows: list[list[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """How a sample came about, in the form that its writer gives it."""

    kind: ClassVar[str] = "trace"
    step: int
    name: str
    payload: dict[str, Any]
    tags: dict[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """A file, named by its path relative to the run directory."""

    kind: ClassVar[str] = "artifact"
    step: int
    name: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    """Settings of the run, by dotted name."""

    kind: ClassVar[str] = "parameters"
    values: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A moment of the run: `step` when a step is whole, a RunState at the end, or a name of the writer's own."""

    kind: ClassVar[str] = "mark"
    step: int
    name: str


Record = Scalars | Histogram | Text | Table | Trace | Artifact | Parameters | Mark
_KINDS: dict[str, type[Record]] = {
    kind.kind: kind for kind in (Scalars, Histogram, Text, Table, Trace, Artifact, Parameters, Mark)
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A record as the log holds it. `replay`: computed again after a resume, while the first value stands."""

    attempt: int
    sequence: int
    time: float
    replay: bool
    record: Record


def pack_entry(entry: Entry) -> bytes:
    """The payload of the entry's frame."""
    record = entry.record
    values = [getattr(record, field.name) for field in fields(record)]
    envelope = [entry.attempt, entry.sequence, entry.time, entry.replay, record.kind, values]
    packed: bytes = msgpack.packb(envelope, unicode_errors="surrogatepass")
    return packed


def unpack_entry(payload: bytes) -> Entry:
    """The entry in a frame's payload. Raises UserError for a kind that this version does not know."""
    unpacked = msgpack.unpackb(payload, unicode_errors="surrogatepass", strict_map_key=False)
    attempt, sequence, time, replay, kind, values = unpacked
    if kind not in _KINDS:
        raise UserError(f"the log holds a record of kind {kind!r}, written by a newer rltrain; update rltrain")
    names = (field.name for field in fields(_KINDS[kind]))
    record = _KINDS[kind](**dict(zip(names, values, strict=False)))
    return Entry(attempt=attempt, sequence=sequence, time=time, replay=replay, record=record)


def as_plain(value: object) -> Any:
    """`value` in the types that the log keeps; numbers of NumPy become Python's, what is unknown becomes its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _INTEGER_BITS:
        return str(value)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset | np.ndarray):
        return [as_plain(item) for item in value]
    return str(value)


def _bins(finite: _Floats) -> tuple[_Integers, _Floats]:
    """Counts and edges; no bins without values."""
    if not finite.size:
        return np.empty(0, dtype=np.int64), finite
    try:
        with np.errstate(over="raise", invalid="raise"):
            return np.histogram(finite, bins=_HISTOGRAM_BINS)
    except (ValueError, FloatingPointError):
        # The values are so close together, or so far apart, that floating point has no such bins between them.
        return np.array([finite.size]), np.array([finite.min(), finite.max()])
