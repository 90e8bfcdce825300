"""`rltrain run` around the training: what it starts, prints and exits with. The training itself is a stand-in here."""

import signal
from pathlib import Path

import pytest

from tests.rltrain_cli.builders import make_manifest
from tests.rltrain_cli.conftest import Call, Start

STAND_IN = """
import sys, types
from rltrain_api.errors import FencedError, RetryLater
from rltrain_trainer.progress import Outcome

def run_training(run, job, *, stop, on_progress, mlflow_uri):
    {training}
    return Outcome(step=step, total_steps=10, rewards=[0.25], validations=[], best_validation=None, best_step=None,
                   seconds={{}}), []

session = types.ModuleType("rltrain_trainer.session")
session.run_training = run_training
sys.modules[session.__name__] = session
from rltrain_cli.main import main
main()
"""


def stand_in(training: str) -> str:
    return STAND_IN.format(training=training)


def run_name(tmp_path: Path) -> str:
    (run,) = (tmp_path / "runs").glob("copy-*")
    return run.name


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return make_manifest(tmp_path, tracking={"logger": ["console"]}, cluster={"backend": "native"})


def test_a_run_is_told_from_start_to_end(manifest: Path, call_apart: Call, tmp_path: Path) -> None:
    result = call_apart("run", "job.yaml", "--serve", code=stand_in("step = 10"))
    run = f"runs/{run_name(tmp_path)}"
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        f"run  {run}\n"
        "job  grpo of builtin:tiny-llama for 10 steps of 16 prompts x 8 samples\n"
        "not used on one machine: spec.cluster\n"
        "\n"
        "finished    step 10 of 10\n"
        "reward      0.250 -> 0.250  ▁\n"
        "checkpoint  none yet\n"
        f"log         {run}/log\n"
        "look at all runs with: rltrain dashboards runs\n"
    )


@pytest.mark.parametrize(
    ("training", "code", "message"),
    [
        ("raise FencedError('attempt 2 owns this run')", 3, "error: attempt 2 owns this run\n"),
        ("raise RetryLater('disk full')", 4, "error: disk full\n"),
        (
            "raise ValueError('a long story\\nits last line')",
            1,
            "error: the run failed: ValueError: its last line\n"
            "The whole story is in {run}/trainer.log. What was logged is kept; continue with "
            "`rltrain run {run} --resume`.\n",
        ),
        (
            "raise KeyError()",
            1,
            "error: the run failed: KeyError: no message\n"
            "The whole story is in {run}/trainer.log. What was logged is kept; continue with "
            "`rltrain run {run} --resume`.\n",
        ),
    ],
)
def test_a_failure_is_told_with_its_exit_code(
    training: str, code: int, message: str, manifest: Path, call_apart: Call, tmp_path: Path
) -> None:
    result = call_apart("run", "job.yaml", code=stand_in(training))
    assert (result.code, result.err) == (code, message.format(run=f"runs/{run_name(tmp_path)}"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_exits_with_its_signal_and_says_how_to_go_on(
    number: signal.Signals, code: int, manifest: Path, start: Start, tmp_path: Path
) -> None:
    process = start("run", "job.yaml", code=stand_in("print('training', flush=True); stop.wait(); step = 3"))
    assert process.stdout
    for line in process.stdout:
        if line == "training\n":
            break
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == code
    assert err == "\nFinishing this step, then a checkpoint. Once more to end at once.\n"
    run = f"runs/{run_name(tmp_path)}"
    assert "\nstopped     step 3 of 10\n" in out
    assert f"\ncontinue with: rltrain run {run} --resume\n" in out


def test_dashboards_are_named_at_the_start_and_end_with_the_run(call_apart: Call, tmp_path: Path) -> None:
    make_manifest(tmp_path, tracking={"logger": ["tensorboard", "mlflow"]})
    code = stand_in("print(mlflow_uri()); step = 10")
    result = call_apart("run", "job.yaml", code=code)
    assert (result.code, result.err) == (0, "")
    (board,) = [line.split()[1] for line in result.out.splitlines() if line.startswith("TensorBoard")]
    (mlflow,) = [line.split()[1] for line in result.out.splitlines() if line.startswith("MLflow")]
    assert board.startswith("http://127.0.0.1:")
    assert f"\n{mlflow}\n" in result.out


def test_without_dashboards_mlflow_is_there_for_its_logger_alone(call_apart: Call, tmp_path: Path) -> None:
    make_manifest(tmp_path, tracking={"logger": ["tensorboard", "mlflow"]})
    result = call_apart("run", "job.yaml", "--no-dashboards", code=stand_in("step = 10"))
    assert result.code == 0
    assert "TensorBoard" not in result.out
    assert "MLflow" in result.out


def test_an_unwritable_directory_of_mlflow_is_told_so(call_apart: Call, tmp_path: Path) -> None:
    make_manifest(tmp_path, tracking={"logger": ["mlflow"]})
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mlflow").touch()
    result = call_apart("run", "job.yaml", code=stand_in("step = 10"))
    assert (result.code, result.out) == (1, "")
    assert result.err == f"error: {tmp_path}/runs/mlflow: File exists\n"
