"""`rltrain dashboards`: one TensorBoard and one MLflow over all runs of a directory."""

from pathlib import Path
from typing import Annotated

import typer

from rltrain_cli.output import print_fields


def dashboards(
    directory: Annotated[Path, typer.Argument(help="Directory of the runs.", metavar="[DIR]")] = Path("runs"),
) -> None:
    """Serve TensorBoard and MLflow over all runs of a directory, until Ctrl-C."""
    from rltrain_api.errors import UserError
    from rltrain_cli.serving import serving, wait_for_interrupt
    from rltrain_trainer.services.mlflow_server import find_mlflow
    from rltrain_trainer.services.reaper import start_reaper

    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory; name the one that `rltrain run --dir` wrote to")
    mlflow = find_mlflow(directory)
    start_reaper()
    with serving(directory, tensorboard=True, mlflow=mlflow) as addresses:
        print_fields(addresses)
        wait_for_interrupt("Dashboards are up in a few seconds; Ctrl-C ends them.", mlflow)
