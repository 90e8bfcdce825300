"""`rltrain dashboards`: one TensorBoard and one MLflow over all runs of a directory. `run` starts the same ones."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from rltrain_api.errors import UserError
from rltrain_cli.output import stdout
from rltrain_trainer.services.mlflow_server import MlflowServer, find_mlflow
from rltrain_trainer.services.reaper import start_reaper
from rltrain_trainer.services.tensorboard import start_tensorboard


def dashboards(
    directory: Annotated[Path, typer.Argument(help="Directory of the runs.", metavar="[DIR]")] = Path("runs"),
) -> None:
    """Serve TensorBoard and MLflow over all runs of a directory, until Ctrl-C."""
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory; name the one that `rltrain run --dir` wrote to")
    start_reaper()
    with serving(directory, tensorboard=True, mlflow=find_mlflow(directory)) as addresses:
        for name, address in addresses.items():
            stdout.print(f"{name:<12} {address}", markup=False)
        wait_for_interrupt("Dashboards are up in a few seconds; Ctrl-C ends them.")


@contextmanager
def serving(directory: Path, *, tensorboard: bool, mlflow: MlflowServer | str | None) -> Iterator[dict[str, str]]:
    """Run the dashboards for the time of the block; gives their names and addresses. They need seconds to answer."""
    board = start_tensorboard(directory, directory / ".tensorboard.log") if tensorboard else None
    addresses = {"TensorBoard": board.url} if board else {}
    try:
        if mlflow:
            addresses["MLflow"] = mlflow.uri() if isinstance(mlflow, MlflowServer) else mlflow
        yield addresses
    finally:
        if board:
            board.stop()
        if isinstance(mlflow, MlflowServer):
            mlflow.stop()


def wait_for_interrupt(message: str) -> None:
    """Print `message` and wait for Ctrl-C or SIGTERM."""
    interrupted = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: interrupted.set())
    stdout.print(message, markup=False)
    interrupted.wait()
