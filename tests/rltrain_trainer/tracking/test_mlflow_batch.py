"""What becomes of records on the way to MLflow: limits, numbers it cannot hold, parameters that change."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from rltrain_trainer.log.records import Artifact, Entry, Histogram, Parameters, Record, Scalars, Table, Text
from rltrain_trainer.tracking.mlflow_batch import MlflowBatch, MlflowNames, make_batch, quantile
from rltrain_trainer.tracking.tracker import Refused

NOTHING_LOGGED: dict[str, str] = {}


def batch_of(*records: Record, logged: Mapping[str, str] = NOTHING_LOGGED, run: Path = Path()) -> MlflowBatch:
    entries = [Entry(attempt=1, sequence=n, time=2.5, replay=False, record=record) for n, record in enumerate(records)]
    return make_batch(entries, MlflowNames({}), logged, run)


@pytest.mark.parametrize(
    ("value", "point"),
    [
        (0.25, ("a/b", 0.25)),
        (math.nan, ("nonfinite/a/b", 1.0)),
        (math.inf, ("nonfinite/a/b", 1.0)),
        (-math.inf, ("nonfinite/a/b", 1.0)),
    ],
)
def test_metrics_are_points_and_what_is_not_finite_is_said_so(value: float, point: tuple[str, float]) -> None:
    (made,) = batch_of(Scalars(step=3, values={"a/b": value})).points
    assert (made.name, made.value, made.timestamp, made.step) == (*point, 2500, 3)


def test_histograms_are_quantiles() -> None:
    points = batch_of(Histogram.of(1, "reward/distribution", [*range(101), math.nan])).points
    found = {point.name: point.value for point in points}
    assert found["reward/distribution/p05"] == pytest.approx(5, abs=4)
    assert found["reward/distribution/p50"] == pytest.approx(50, abs=4)
    assert found["reward/distribution/p95"] == pytest.approx(95, abs=4)
    assert found["nonfinite/reward/distribution"] == 1


def test_a_histogram_without_values_has_no_quantiles() -> None:
    assert batch_of(Histogram.of(1, "a/b", [])).points == []


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0], [0.0, 1.0], [1.0, 2.0, 4.0, 8.0], [-5.0, 5.0, 5.0]])
def test_quantiles_are_within_a_bin_of_the_exact_ones(values: list[float], share: float) -> None:
    histogram = Histogram.of(1, "a", values)
    width = histogram.edges[1] - histogram.edges[0]
    exact = np.quantile(values, share, method="inverted_cdf")
    assert quantile(histogram, share) == pytest.approx(exact, abs=width)


def test_texts_and_tables_are_a_file_a_step() -> None:
    table = Table(step=12, name="samples/rollout", columns=["a"], rows=[["x"], [b"\xff"]])
    texts = batch_of(Text(step=3, name="note", text="half \ud83d"), table).texts
    assert texts["texts/note/step-000003.txt"] == "half ?"
    assert json.loads(texts["samples/rollout/step-000012.json"]) == {"columns": ["a"], "data": [["x"], ["\ufffd"]]}


def test_a_long_parameter_is_cut_visibly_and_kept_whole_as_a_file() -> None:
    batch = batch_of(Parameters(values={"data.systemPrompt": "x" * 7000, "a.b": [1, "c"]}))
    assert len(batch.parameters["data.systemPrompt"]) == 6000
    assert batch.parameters["data.systemPrompt"].endswith("(cut; the whole is in parameters/data.systemPrompt.txt)")
    assert batch.texts == {"parameters/data.systemPrompt.txt": "x" * 7000}
    assert batch.parameters["a.b"] == '[1, "c"]'


def test_a_long_key_leaves_room_for_the_tag_of_a_change() -> None:
    (key,) = batch_of(Parameters(values={"k" * 400: 1})).parameters
    (tag,) = batch_of(Parameters(values={"k" * 400: 2}), logged={key: "1"}).tags
    assert len(tag) <= 250


def test_parameters_that_would_get_one_key_are_kept_apart() -> None:
    assert len(batch_of(Parameters(values={"x(1)": 1, "x:1": 2})).parameters) == 2


def test_a_changed_parameter_becomes_a_tag() -> None:
    batch = batch_of(Parameters(values={"a": 2, "b": 1, "c": "x" * 9000}), logged={"a": "1", "b": "1", "c": "y"})
    assert batch.parameters == {}
    assert batch.tags["changed.a"] == "2 (changed by a resume; the parameter is what the run began with)"
    assert len(batch.tags["changed.c"]) == 8000
    assert set(batch.tags) == {"changed.a", "changed.c"}


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").touch()
    assert batch_of(Artifact(step=0, name="job.yaml", path="job.yaml"), run=tmp_path).files == [
        (None, tmp_path / "job.yaml")
    ]
    with pytest.raises(Refused, match="is gone"):
        batch_of(Artifact(step=0, name="a/b.txt", path="b.txt"), run=tmp_path)
