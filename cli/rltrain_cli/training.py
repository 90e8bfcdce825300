"""A run from its start to its summary, with its dashboards. Called by `run`."""

import sys
from pathlib import Path

from rltrain_api.errors import RltrainError
from rltrain_api.job import RLTrainingJob
from rltrain_cli.interrupts import Interrupts
from rltrain_cli.live import live_progress
from rltrain_cli.prepare import prepare_run
from rltrain_cli.serving import serving, wait_for_interrupt
from rltrain_cli.summary import print_start, print_summary
from rltrain_trainer.progress import Outcome
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.services.mlflow_server import MlflowServer, find_mlflow
from rltrain_trainer.services.reaper import start_reaper
from rltrain_trainer.tracking.states import TrackerState


def train(path: Path, overrides: list[str], runs_dir: Path, *, resume: bool, serve: bool, tensorboard: bool) -> None:
    """Train the job of the manifest or run directory `path`; exits with the signal's code when one stopped it."""
    run, job = prepare_run(path, overrides, runs_dir, resume=resume)
    runs_dir = run.path.parent
    loggers = job.spec.tracking.logger
    mlflow = find_mlflow(runs_dir, job.spec.tracking) if "mlflow" in loggers else None
    start_reaper()
    interrupts = Interrupts()
    with serving(runs_dir, tensorboard=tensorboard and "tensorboard" in loggers, mlflow=mlflow) as addresses:
        print_start(run, job, addresses)
        outcome, trackers = _attempt(run, job, interrupts, mlflow)
        print_summary(run, outcome, trackers, runs_dir)
        if serve and addresses and not interrupts.stop.is_set():
            wait_for_interrupt("The dashboards stay up; Ctrl-C ends them.", mlflow)
    if outcome.stopped:
        sys.exit(interrupts.exit_code)


def _attempt(
    run: RunDirectory, job: RLTrainingJob, interrupts: Interrupts, mlflow: MlflowServer | str | None
) -> tuple[Outcome, list[TrackerState]]:
    # Imported here: PyTorch and Ray take seconds, in which the dashboards start and the addresses can be read.
    from rltrain_trainer.session import run_training

    uri = mlflow.uri if isinstance(mlflow, MlflowServer) else (lambda: mlflow) if mlflow else None
    try:
        with live_progress(job.spec.training.total_steps) as on_progress:
            return run_training(run, job, stop=interrupts.stop, on_progress=on_progress, mlflow_uri=uri)
    except RltrainError:
        raise
    except Exception as error:
        raise RltrainError(
            f"the run failed: {type(error).__name__}: {_last_line(error)}\n"
            f"The whole story is in {run.trainer_log}. What was logged is kept; continue with "
            f"`rltrain run {run.path} --resume`."
        ) from error


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else "no message"
