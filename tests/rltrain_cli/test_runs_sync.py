"""`rltrain runs sync`: late delivery to real trackers."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rltrain_trainer.services.process import start_time
from tests.rltrain_cli.builders import REWARD, make_run
from tests.rltrain_cli.conftest import Call

NOBODY_LISTENS = "http://127.0.0.1:1"


def test_mlflow_is_filled_by_a_server_that_is_started_for_it_and_ended(call_apart: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", tracking={"logger": ["console", "mlflow"], "projectName": "late"})
    result = call_apart("runs", "sync", run.name)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("mlflow: delivered to step 10  http://127.0.0.1:")
    record = json.loads((tmp_path / "runs" / "mlflow" / "mlflow.server.json").read_text())
    assert start_time(record["pid"]) is None
    with closing(sqlite3.connect(tmp_path / "runs" / "mlflow" / "mlflow.db")) as database:
        query = "select r.name, r.status, m.value from runs r join latest_metrics m using (run_uuid) where m.key = ?"
        assert database.execute(query, [REWARD]).fetchall() == [(run.name, "FINISHED", 1.0)]


def test_a_tracker_that_the_run_did_not_have_is_filled(call_apart: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", tracking={"logger": ["console"]})
    # An address that cannot be used does not matter to another tracker.
    result = call_apart("runs", "sync", run.name, "--tracker", "tensorboard", MLFLOW_TRACKING_URI="nonsense")
    assert (result.code, result.out, result.err) == (0, "tensorboard: delivered to step 10\n", "")
    events = EventAccumulator(str(run.tensorboard))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars(REWARD)] == [
        (step, pytest.approx(step / 10)) for step in range(1, 11)
    ]


def test_a_run_without_trackers_says_what_to_name(call_apart: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", tracking={"logger": ["console"]})
    assert call_apart("runs", "sync", run.name).out == "the run has no trackers; name one with --tracker\n"


def test_a_run_in_training_is_refused(call_apart: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", ended=None)
    with run.lock():
        result = call_apart("runs", "sync", run.name)
    assert (result.code, result.out) == (2, "")
    assert "is in use by process" in result.err


def test_a_tracker_that_is_not_there_is_refused(call_apart: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    result = call_apart("runs", "sync", run.name, "--tracker", "wandb")
    assert (result.code, result.out, result.err) == (
        2,
        "",
        "error: no tracker is named 'wandb'; there are console, tensorboard, mlflow\n",
    )


def test_a_server_that_is_down_ends_with_4(call_apart: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", tracking={"logger": ["mlflow"]})
    result = call_apart("runs", "sync", run.name, MLFLOW_TRACKING_URI=NOBODY_LISTENS)
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith(f"error: mlflow: MLflow at {NOBODY_LISTENS} cannot be reached: ")


def test_a_job_that_cannot_be_read_is_told_so(call: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    run.job_file.write_text("{")
    result = call("runs", "sync", run.name)
    assert result.code == 2
    assert result.err.startswith(f"error: {Path('runs', run.name, 'job.yaml')} cannot run:\n  - line ")
