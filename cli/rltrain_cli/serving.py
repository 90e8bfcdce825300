"""TensorBoard and MLflow for the time of a command. Used by `run` and `dashboards`."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rltrain_api.errors import RetryLater
from rltrain_cli.output import stdout
from rltrain_trainer.services.mlflow_server import MlflowServer
from rltrain_trainer.services.tensorboard import start_tensorboard
from rltrain_trainer.tracking.parameters import without_credentials

_KEEP_SECONDS = 3.0


@contextmanager
def serving(directory: Path, *, tensorboard: bool, mlflow: MlflowServer | str | None) -> Iterator[dict[str, str]]:
    """Run the dashboards for the time of the block; gives their names and addresses. They need seconds to answer."""
    board = start_tensorboard(directory, directory / ".tensorboard.log") if tensorboard else None
    addresses = {"TensorBoard": board.url} if board else {}
    try:
        if mlflow:
            addresses["MLflow"] = mlflow.uri() if isinstance(mlflow, MlflowServer) else without_credentials(mlflow)
        yield addresses
    finally:
        if board:
            board.stop()
        if isinstance(mlflow, MlflowServer):
            mlflow.stop()


def wait_for_interrupt(message: str, mlflow: MlflowServer | str | None) -> None:
    """Print `message` and wait for Ctrl-C or SIGTERM; take MLflow's server over when the run that had it ends."""
    interrupted = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: interrupted.set())
    stdout.print(message, markup=False)
    address = None
    while not interrupted.wait(_KEEP_SECONDS):
        if isinstance(mlflow, MlflowServer):
            earlier, address = address, _kept_up(mlflow)
            if earlier != address and earlier and address:
                stdout.print(f"MLflow is now at {address}", markup=False)


def _kept_up(mlflow: MlflowServer) -> str | None:
    """Address of the server; None when it has just ended, after saying so: the next call starts it again."""
    try:
        return mlflow.uri()
    except RetryLater as error:
        stdout.print(f"{error}; starting it again", markup=False)
        return None
