"""`rltrain run`: trains a job on this machine and shows it."""

from pathlib import Path
from typing import Annotated

import typer

from rltrain_cli.validate import OverridesArgument


def run(
    job: Annotated[
        Path, typer.Argument(help="Manifest (YAML); with --resume also a run directory.", show_default=False)
    ],
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

    Exit codes:
      0  done
      1  failed
      2  something to fix in the manifest, the data or the command; a run that is in use
      3  another attempt took the run over while it was training
      4  a condition that may pass, such as a full disk
      130 and 143  stopped by Ctrl-C and SIGTERM
    """
    from rltrain_cli.training import train

    train(job, overrides or [], runs_dir, resume=resume, serve=serve, tensorboard=not no_dashboards)
