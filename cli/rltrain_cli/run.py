"""`rltrain run`: trains a job on this machine and shows it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rltrain_api.errors import RltrainError
from rltrain_api.job import RLTrainingJob
from rltrain_cli.dashboards import serving, wait_for_interrupt
from rltrain_cli.interrupts import Interrupts
from rltrain_cli.live import live_progress
from rltrain_cli.prepare import prepare_run
from rltrain_cli.summary import print_start, print_summary
from rltrain_cli.validate import OverridesArgument
from rltrain_trainer.progress import Outcome
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.services.mlflow_server import MlflowServer, find_mlflow
from rltrain_trainer.services.reaper import start_reaper
from rltrain_trainer.tracking.states import TrackerState


def run(
    job: Annotated[Path, typer.Argument(help="Manifest (YAML); with --resume also a run directory.")],
    overrides: OverridesArgument = None,
    runs_dir: Annotated[Path, typer.Option("--dir", help="Directory that runs are made in.")] = Path("runs"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue the newest unfinished run of the job.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="Keep the dashboards up after the end.")] = False,
    no_dashboards: Annotated[
        bool, typer.Option("--no-dashboards", help="Start no TensorBoard; MLflow only if it is a logger.")
    ] = False,
) -> None:
    """Train a job on this machine.

    Ctrl-C or SIGTERM stop it at the next step with a checkpoint; a second one ends it at once.

    Exit codes: 0 done; 1 failed; 2 something to fix in the manifest, the data or the command; 3 another attempt owns
    the run; 4 a condition that may pass, such as a full disk; 130 and 143 stopped by Ctrl-C and SIGTERM.
    """
    directory, spec = prepare_run(job, overrides or [], runs_dir, resume=resume)
    runs_dir = directory.path.parent
    start_reaper()
    interrupts = Interrupts()
    loggers = spec.spec.tracking.logger
    mlflow = find_mlflow(runs_dir, spec.spec.tracking) if "mlflow" in loggers else None
    board = "tensorboard" in loggers and not no_dashboards
    with serving(runs_dir, tensorboard=board, mlflow=mlflow) as addresses:
        print_start(directory, spec, addresses)
        outcome, trackers = _train(directory, spec, interrupts, mlflow)
        print_summary(directory, spec, outcome, trackers, runs_dir)
        if serve and not outcome.stopped:
            wait_for_interrupt("The dashboards stay up; Ctrl-C ends them.")
    if outcome.stopped:
        sys.exit(interrupts.exit_code)


def _train(
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
