"""TensorBoard and MLflow for the time of a command. Used by `run` and `dashboards`."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rltrain_api.errors import RetryLater
from rltrain_cli.output import stderr, stdout
from rltrain_trainer.services.mlflow_server import MlflowServer, answers
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
    """Print `message` and wait for Ctrl-C or SIGTERM, with MLflow's server kept up, whoever started it.

    Raises RetryLater when the server cannot be started.
    """
    interrupted = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: interrupted.set())
    stdout.print(message, markup=False)
    keeper = _Keeper(mlflow) if isinstance(mlflow, MlflowServer) else None
    while not interrupted.wait(_KEEP_SECONDS):
        if keeper:
            keeper.look()


class _Keeper:
    """Starts a server again that has ended, as it does with the run that started it."""

    def __init__(self, server: MlflowServer) -> None:
        self._server = server
        self._address: str | None = None
        self._ended = 0

    def look(self) -> None:
        """Raises RetryLater when the server has ended twice without having answered in between."""
        try:
            address = self._server.uri()
        except RetryLater as error:
            self._ended += 1
            if self._ended > 1:
                raise
            stderr.print(f"{error}; starting it again", markup=False)
            return
        if self._address not in (None, address):
            stdout.print(f"MLflow is now at {address}", markup=False)
        self._address = address
        if self._ended and answers(address):
            self._ended = 0
