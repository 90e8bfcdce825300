"""MLflow, against a real server: equal to the log, one run, whatever happens in between."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rltrain_trainer.log.records import RunState
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking import pump as pump_module
from rltrain_trainer.tracking.delivery import Delivery
from rltrain_trainer.tracking.mlflow import MlflowTracker
from rltrain_trainer.tracking.pump import Pump
from rltrain_trainer.tracking.start import deliver_all, start_tracking
from rltrain_trainer.tracking.states import Health
from rltrain_trainer.tracking.tracker import TrackerSettings

MakeRun = Callable[..., Any]
OpenLog = Callable[..., Any]
LogSteps = Callable[..., None]
Eventually = Callable[[Callable[[], bool]], None]
REWARD = "reward/episode_reward_mean"


@pytest.fixture
def client(mlflow_server: Any) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=mlflow_server.uri)


def make_pump(run: RunDirectory, job: Any, uri: str) -> Pump:
    return Pump(run, "mlflow", MlflowTracker(TrackerSettings(run=run, job=job, mlflow_uri=lambda: uri)), None)


def runs_of(client: Any, run: RunDirectory, project: str = "rltrain") -> list[Any]:
    experiment = client.get_experiment_by_name(project)
    return list(client.search_runs([experiment.experiment_id], f"tags.`rltrain.run_uid` = '{run.run_uid}'"))


def history(client: Any, run_id: str, name: str = REWARD) -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in client.get_metric_history(run_id, name)]


def files(client: Any, run_id: str, path: str | None = None) -> list[str]:
    return [file.path for file in client.list_artifacts(run_id, path)]


@contextmanager
def delivering(run: RunDirectory, job: Any, log: Any, uri: Callable[[], str]) -> Iterator[Delivery]:
    tracker = MlflowTracker(TrackerSettings(run=run, job=job, mlflow_uri=uri))
    delivery = Delivery(Pump(run, "mlflow", tracker, None), lambda: log.sequence)
    log.subscribe(delivery.wake)
    delivery.start()
    yield delivery
    delivery.finish(RunState.FINISHED)
    delivery.join(60)
    assert delivery.state().health is Health.DELIVERED


def test_mlflow_has_what_was_logged(
    make_run: MakeRun, open_log: OpenLog, client: Any, mlflow_server: Any, tmp_path: Any
) -> None:
    run, job = make_run(tracking={"logger": ["mlflow"], "projectName": "all", "experimentName": "first try"})
    log = open_log(run)
    tracking = start_tracking(run, job, log, lambda: mlflow_server.uri)
    names = [f"group/metric{number}" for number in range(1200)]
    for step in range(1, 4):
        log.scalars(step, dict.fromkeys(names, step / 3) | {"pass@1": float("nan")})
        log.histogram(step, "reward/distribution", [step] * 5)
        log.table(step, "samples/rollout", ["prompt"], [["2+2"]])
        log.text(step, "note", f"step {step}")
        log.end_step(step)
    (state,) = tracking.finish(RunState.FINISHED)
    (found,) = runs_of(client, run, "all")
    run_id = found.info.run_id
    assert state.run_id == run_id
    assert state.url == f"{mlflow_server.uri}/#/experiments/{found.info.experiment_id}/runs/{found.info.run_id}"
    assert (found.info.run_name, found.info.status) == ("first try", "FINISHED")
    assert found.info.start_time <= found.info.end_time
    for name in ("group/metric0", "group/metric1199"):
        assert history(client, run_id, name) == [(step, step / 3) for step in range(1, 4)]
    assert history(client, run_id, "nonfinite/pass_at_1") == [(1, 1.0), (2, 1.0), (3, 1.0)]
    assert history(client, run_id, "reward/distribution/p50") == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert len(found.data.metrics) == 1204
    assert found.data.params["training.totalSteps"] == "10"
    assert files(client, run_id) == ["job.yaml", "samples", "texts"]
    assert files(client, run_id, "samples/rollout")[2] == "samples/rollout/step-000003.json"
    text = client.download_artifacts(run_id, "texts/note/step-000002.txt", str(tmp_path))
    assert Path(text).read_text() == "step 2"


def test_timestamps_are_those_of_the_log(make_run: MakeRun, open_log: OpenLog, client: Any, mlflow_server: Any) -> None:
    run, job = make_run()
    open_log(run).scalars(1, {REWARD: 1})
    pump = make_pump(run, job, mlflow_server.uri)
    times = [entry.time for batch in pump._batches() for entry in batch.entries]
    pump.deliver()
    assert [p.timestamp for p in client.get_metric_history(pump.cursor.run_id, REWARD)] == [round(times[0] * 1000)]


def test_a_resume_goes_on_in_the_same_run(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, client: Any, mlflow_server: Any
) -> None:
    run, job = make_run(tracking={"logger": ["mlflow"]})
    log = open_log(run)
    tracking = start_tracking(run, job, log, lambda: mlflow_server.uri)
    log_steps(log, range(1, 7))
    tracking.finish(RunState.STOPPED)
    assert runs_of(client, run)[0].info.status == "KILLED"
    run, job = make_run(run, training={"totalSteps": 20}, tracking={"logger": ["mlflow"]})
    log = open_log(run, resume_step=4)
    tracking = start_tracking(run, job, log, lambda: mlflow_server.uri)
    log_steps(log, range(5, 10), factor=100)
    tracking.finish(RunState.FAILED)
    (found,) = runs_of(client, run)
    assert history(client, found.info.run_id) == [(n, n if n < 7 else 100 * n) for n in range(1, 10)]
    assert found.info.status == "FAILED"
    assert found.data.params["training.totalSteps"] == "10"
    assert found.data.tags["changed.training.totalSteps"].startswith("20 (changed by a resume")


def test_a_resumed_run_is_running(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, client: Any, mlflow_server: Any
) -> None:
    run, job = make_run()
    log_steps(open_log(run), range(1, 3))
    pump = make_pump(run, job, mlflow_server.uri)
    pump.deliver()
    pump.close(RunState.FAILED)
    make_pump(run, job, mlflow_server.uri).deliver()
    assert [found.info.status for found in runs_of(client, run)] == ["RUNNING"]


def test_deleted_experiments_and_runs_are_restored(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, client: Any, mlflow_server: Any
) -> None:
    run, job = make_run(tracking={"projectName": "deleted"})
    log = open_log(run)
    log_steps(log, range(1, 3))
    pump = make_pump(run, job, mlflow_server.uri)
    pump.deliver()
    run_id = str(pump.cursor.run_id)
    client.delete_run(run_id)
    log_steps(log, range(3, 4))
    with pytest.raises(Exception, match="active"):
        pump.deliver()
    assert pump.cursor.set_aside == 0
    client.delete_experiment(client.get_experiment_by_name("deleted").experiment_id)
    make_pump(run, job, mlflow_server.uri).deliver()
    assert history(client, run_id) == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_killed_before_the_cursor_is_saved_every_step_is_there_once(
    make_run: MakeRun,
    open_log: OpenLog,
    log_steps: LogSteps,
    client: Any,
    mlflow_server: Any,
    deliver_until_killed: Callable[..., int],
) -> None:
    run, _ = make_run()
    log_steps(open_log(run), range(1, 11))
    for _ in range(2):
        assert deliver_until_killed(run, "mlflow", mlflow_server.uri) == -9
    deliver_all(run, "mlflow", lambda: mlflow_server.uri)
    (found,) = runs_of(client, run)
    assert history(client, found.info.run_id) == [(step, step) for step in range(1, 11)]
    assert found.info.status == "KILLED"


def test_a_server_that_comes_late_and_moves_gets_everything(
    make_run: MakeRun,
    open_log: OpenLog,
    log_steps: LogSteps,
    client: Any,
    mlflow_server: Any,
    gate: Any,
    eventually: Eventually,
) -> None:
    run, job = make_run()
    log = open_log(run)
    where = [gate.uri]
    with delivering(run, job, log, lambda: where[0]) as delivery:
        log_steps(log, range(1, 4))
        eventually(lambda: delivery.state().health is Health.RETRYING)
        gate.open()
        eventually(lambda: delivery.state().lag == 0)
        gate.shut()
        log_steps(log, range(4, 7))
        eventually(lambda: delivery.state().error is not None)
        where[0] = mlflow_server.uri
    (found,) = runs_of(client, run)
    assert history(client, found.info.run_id) == [(step, step) for step in range(1, 7)]


def test_a_server_killed_while_it_is_delivered_to_has_every_step_once(
    make_run: MakeRun,
    open_log: OpenLog,
    log_steps: LogSteps,
    own_mlflow_server: Any,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mlflow import MlflowClient

    monkeypatch.setattr(pump_module, "_BATCH_ENTRIES", 5)
    run, job = make_run()
    log = open_log(run)
    log_steps(log, range(1, 101))
    own_mlflow_server.start()
    with delivering(run, job, log, lambda: str(own_mlflow_server.uri)) as delivery:
        eventually(lambda: delivery.state().step > 10)
        own_mlflow_server.kill()
        assert delivery.state().lag > 0
        eventually(lambda: delivery.state().error is not None)
        own_mlflow_server.start()
    client = MlflowClient(tracking_uri=own_mlflow_server.uri)
    (found,) = runs_of(client, run)
    assert history(client, found.info.run_id) == [(step, step) for step in range(1, 101)]


def test_a_file_that_is_gone_does_not_block_what_is_behind_it(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, client: Any, mlflow_server: Any
) -> None:
    run, job = make_run()
    log = open_log(run)
    log.artifact(1, "gone.txt", "gone.txt")
    log_steps(log, range(1, 4))
    pump = make_pump(run, job, mlflow_server.uri)
    pump.deliver()
    assert pump.cursor.set_aside == 1
    assert history(client, str(pump.cursor.run_id)) == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_an_old_run_fills_a_new_tracker(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, client: Any, mlflow_server: Any
) -> None:
    run, job = make_run(tracking={"logger": ["tensorboard"]})
    log = open_log(run)
    tracking = start_tracking(run, job, log)
    log_steps(log, range(1, 301))
    tracking.finish(RunState.FINISHED)
    state = deliver_all(run, "mlflow", lambda: mlflow_server.uri)
    (found,) = runs_of(client, run)
    assert (found.info.status, state.step, state.lag) == ("FINISHED", 300, 0)
    assert history(client, found.info.run_id) == [(step, step) for step in range(1, 301)]
