"""From training to the trackers and the end of a run, as the training loop uses them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltrain_api.errors import RetryLater, UserError
from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.records import RunState
from rltrain_trainer.log.summary import state_of
from rltrain_trainer.tracking.start import deliver_all, start_tracking
from rltrain_trainer.tracking.states import Health

MakeRun = Callable[..., Any]
OpenLog = Callable[..., Any]
LogSteps = Callable[..., None]
NOBODY_LISTENS = "http://127.0.0.1:1"

TRAIN_WHILE_MLFLOW_HANGS = """
import socket, sys, time
from pathlib import Path
from rltrain_api.load import load_job
from rltrain_trainer.log.records import RunState
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.start import start_tracking
run = RunDirectory(Path(sys.argv[1]))
silent = socket.create_server(("127.0.0.1", 0))
with run.lock():
    log = RunLog(run, attempt=run.begin_attempt(), resume_step=0, log_interval=1)
    uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
    tracking = start_tracking(run, load_job(run.job_file), log, lambda: uri)
    for step in range(1, 4):
        log.scalars(step, {"a/b": step})
        log.end_step(step)
    states = tracking.finish(RunState.FINISHED, timeout=1)
    log.close()
print([(state.name, state.lag > 0) for state in states])
"""


def test_a_run_ends_with_everything_delivered(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, capsys: pytest.CaptureFixture[str]
) -> None:
    run, job = make_run(tracking={"logger": ["console", "tensorboard"]})
    log = open_log(run)
    tracking = start_tracking(run, job, log)
    log_steps(log, range(1, 11))
    states = tracking.finish(RunState.FINISHED)
    assert [(state.name, state.health, state.step, state.lag) for state in states] == [
        ("console", Health.DELIVERED, 10, 0),
        ("tensorboard", Health.DELIVERED, 10, 0),
    ]
    assert tracking.states() == states
    assert len(capsys.readouterr().out.splitlines()) == 10
    assert state_of(run) is RunState.FINISHED


def test_the_log_begins_with_parameters_and_the_job(make_run: MakeRun, open_log: OpenLog) -> None:
    run, job = make_run(tracking={"logger": []})
    tracking = start_tracking(run, job, open_log(run))
    assert tracking.finish(RunState.STOPPED) == []
    records = [entry.record for entry, _ in LogReader(run.log).read()]
    assert [record.kind for record in records] == ["parameters", "artifact", "mark"]


def test_finish_of_a_fenced_attempt_does_not_raise(make_run: MakeRun, open_log: OpenLog) -> None:
    run, job = make_run(tracking={"logger": ["tensorboard"]})
    tracking = start_tracking(run, job, open_log(run))
    run.begin_attempt()
    (state,) = tracking.finish(RunState.FAILED)
    assert state.name == "tensorboard"
    assert state_of(run) is RunState.KILLED


def test_mlflow_without_a_server_is_refused_with_the_remedy(make_run: MakeRun, open_log: OpenLog) -> None:
    run, job = make_run()
    with pytest.raises(UserError, match=r"set spec\.tracking\.mlflow\.uri"):
        start_tracking(run, job, open_log(run))


def test_a_silent_server_does_not_keep_the_process(make_run: MakeRun, run_python: Callable[..., Any]) -> None:
    run, _ = make_run(tracking={"logger": ["tensorboard", "mlflow"]})
    done = run_python(TRAIN_WHILE_MLFLOW_HANGS, run.path)
    assert done.stdout == "[('tensorboard', False), ('mlflow', True)]\n", done.stderr


def test_what_is_left_is_delivered_later(make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps) -> None:
    run, job = make_run(tracking={"logger": []})
    log = open_log(run)
    tracking = start_tracking(run, job, log)
    log_steps(log, range(1, 6))
    tracking.finish(RunState.FINISHED)
    state = deliver_all(run, "tensorboard")
    assert (state.health, state.step, state.lag) == (Health.DELIVERED, 5, 0)
    assert deliver_all(run, "tensorboard") == state
    assert len(list(run.tensorboard.iterdir())) == 1


def test_later_delivery_to_a_server_that_is_down_says_so(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps
) -> None:
    run, _ = make_run()
    log_steps(open_log(run), range(1, 3))
    with pytest.raises(RetryLater, match=r"MLflow at http://127.0.0.1:1 cannot be reached: .*Connection refused"):
        deliver_all(run, "mlflow", lambda: NOBODY_LISTENS)


def test_a_run_in_training_is_not_delivered_from_aside(make_run: MakeRun) -> None:
    run, _ = make_run()
    with run.lock(), pytest.raises(UserError, match="in use by process"):
        deliver_all(run, "tensorboard")


def test_an_unknown_tracker_is_refused(make_run: MakeRun) -> None:
    run, _ = make_run()
    with pytest.raises(UserError, match="no tracker is named 'wandb'; there are console, tensorboard, mlflow"):
        deliver_all(run, "wandb")


def test_starting_loads_neither_mlflow_nor_tensorboard() -> None:
    code = "import sys, rltrain_trainer.tracking.start; print({'mlflow', 'tensorboard', 'torch'} & set(sys.modules))"
    paths = [str(Path(path)) for path in sys.path]
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {paths}; {code}"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "set()\n"
