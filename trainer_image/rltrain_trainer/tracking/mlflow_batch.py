"""Records of the log as MLflow's metrics, parameters, tags and files. Pure functions of the MLflow tracker."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rltrain_trainer.log.records import Artifact, Entry, Histogram, Parameters, Scalars, Table, Text
from rltrain_trainer.tracking.names import Names, name_rule
from rltrain_trainer.tracking.tracker import Refused

_LONGEST_KEY = 250
_LONGEST_VALUE = 6000
_LONGEST_TAG = 8000
_PARAMETER_GROUP = "parameters/"
_QUANTILES = (("p05", 0.05), ("p50", 0.5), ("p95", 0.95))
# A colon is allowed by servers on Linux only.
_RULE = name_rule(allowed=" ", longest=_LONGEST_KEY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One value of a metric; the timestamp is in milliseconds."""

    name: str
    value: float
    timestamp: int
    step: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MlflowBatch:
    """What one delivery sends. `texts` by artifact path; `files` with the artifact directory that each goes into."""

    points: list[Point] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    files: list[tuple[str | None, Path]] = field(default_factory=list)


class MlflowNames(Names):
    """Names of metrics and files; a metric and a file may have the same."""

    def __init__(self, known: Mapping[str, str]) -> None:
        super().__init__(_RULE, known, shared=False)

    def metric(self, name: str) -> str:
        """Key of the metric."""
        return self.of("metric", name)

    def parameter(self, name: str) -> str:
        """Key of the parameter, short enough for the tag `changed.<key>`."""
        return self.of("parameter", f"{_PARAMETER_GROUP}{name}").removeprefix(_PARAMETER_GROUP)

    def file(self, kind: str, name: str, step: int, suffix: str) -> str:
        """Artifact path of a text or table of one step, in a folder `kind`."""
        path = self.of(kind, name if name.startswith(f"{kind}/") else f"{kind}/{name}")
        return f"{path}/step-{step:06d}.{suffix}"


def make_batch(entries: Sequence[Entry], names: MlflowNames, logged: Mapping[str, str], run: Path) -> MlflowBatch:
    """The batch of the entries, where `logged` are the parameters that the run has and `run` is its directory."""
    batch = MlflowBatch()
    for entry in entries:
        match entry.record:
            case Scalars(step=step, values=values):
                for name, value in values.items():
                    _add_point(batch, names, name, value, entry.time, step)
            case Histogram() as histogram:
                _add_histogram(batch, names, histogram, entry.time)
            case Text(step=step, name=name, text=text):
                batch.texts[names.file("texts", name, step, "txt")] = _encodable(text)
            case Table(step=step, name=name, columns=columns, rows=rows):
                content = json.dumps({"columns": columns, "data": rows}, indent=1, default=_byte_text)
                batch.texts[names.file("samples", name, step, "json")] = content
            case Parameters(values=values):
                _add_parameters(batch, names, logged, values)
            case Artifact(name=name, path=path):
                batch.files.append(_file(name, run / path))
    return batch


def quantile(histogram: Histogram, share: float) -> float:
    """The value below which `share` of the values lie, linear within a bin and never outside of what there was."""
    wanted = share * sum(histogram.counts)
    passed = 0
    value = histogram.maximum
    for count, left, right in zip(histogram.counts, histogram.edges, histogram.edges[1:], strict=True):
        if count and passed + count >= wanted:
            value = left + (right - left) * (wanted - passed) / count
            break
        passed += count
    return min(max(value, histogram.minimum), histogram.maximum)


def _add_point(batch: MlflowBatch, names: MlflowNames, name: str, value: float, time: float, step: int) -> None:
    if not math.isfinite(value):
        # The server stores NaN as 0 and its pages break on infinity: say that the value was neither.
        name, value = f"nonfinite/{name}", 1.0
    batch.points.append(Point(name=names.metric(name), value=value, timestamp=round(time * 1000), step=step))


def _add_histogram(batch: MlflowBatch, names: MlflowNames, histogram: Histogram, time: float) -> None:
    if histogram.counts:
        for label, share in _QUANTILES:
            _add_point(batch, names, f"{histogram.name}/{label}", quantile(histogram, share), time, histogram.step)
    if histogram.nonfinite:
        _add_point(batch, names, f"nonfinite/{histogram.name}", histogram.nonfinite, time, histogram.step)


def _add_parameters(
    batch: MlflowBatch, names: MlflowNames, logged: Mapping[str, str], values: Mapping[str, Any]
) -> None:
    """Parameters cannot be changed in MLflow: what a resume changed becomes a tag."""
    for name, value in values.items():
        key = names.parameter(name)
        text = _encodable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        if len(text) > _LONGEST_VALUE:
            batch.texts[f"parameters/{key}.txt"] = text
        shown = _cut(text, _LONGEST_VALUE, key)
        if key not in logged:
            batch.parameters[key] = shown
        elif logged[key] != shown:
            note = f"{text} (changed by a resume; the parameter is what the run began with)"
            batch.tags[f"changed.{key}"] = _cut(note, _LONGEST_TAG, key)


def _cut(text: str, longest: int, key: str) -> str:
    note = f" … (cut; the whole is in parameters/{key}.txt)"
    return text if len(text) <= longest else text[: longest - len(note)] + note


def _file(name: str, path: Path) -> tuple[str | None, Path]:
    if not path.exists():
        raise Refused(f"{path} is gone")
    return name.rpartition("/")[0] or None, path


def _encodable(text: str) -> str:
    """`text` with what has no UTF-8 form (half of a surrogate pair) as a question mark."""
    return text.encode(errors="replace").decode()


def _byte_text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
