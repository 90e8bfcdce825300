"""MLflow's server for a directory of runs: one SQLite file, one server, whoever needs it. Used by runs and dashboards.

The first process that needs the server starts it and writes down who it is; others use it. When it ends with the run
that started it, the next one that asks starts it again, on the same port if that is free.
"""

import fcntl
import json
import os
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rltrain_api.errors import RetryLater, UserError
from rltrain_api.tracking import TrackingSpec
from rltrain_trainer.log.durable import replace_file
from rltrain_trainer.services.process import Port, Service, claim_port, start_service, start_time
from rltrain_trainer.tracking.parameters import without_credentials

_PORT = 5000
# A new database on a busy machine takes minutes.
_START_SECONDS = 180.0
_PORT_SECONDS = 3.0
_SQLITE = "sqlite:///"


class MlflowServer:
    """The server of one database."""

    def __init__(self, database: Path) -> None:
        """`database` is the SQLite file; artifacts and the server's own files lie beside it."""
        self.database = database.absolute()
        self.log = database.with_suffix(".server.log")
        self._record = database.with_suffix(".server.json")
        self._started: Service | None = None

    def uri(self) -> str:
        """Address of the server, which is started if there is none; it may need some seconds until it answers.

        Raises RetryLater when the server that this object started has ended; the next call starts it again.
        """
        self.database.parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            record = self._read()
            if record and start_time(record["pid"]) == record["start_time"]:
                return f"http://127.0.0.1:{record['port']}"
            if self._started:
                self.stop()
                raise RetryLater(f"the MLflow server ended; its output is in {self.log}")
            return self._start(_freed_port(record["port"]) if record else claim_port(_PORT))

    def stop(self) -> None:
        """End the server if this object started it. Others that need it start it again."""
        started, self._started = self._started, None
        if started:
            started.stop()

    def _start(self, port: Port) -> str:
        command = [sys.executable, "-m", "rltrain_trainer.services.mlflow_process", str(self.database)]
        options = ["--host", "127.0.0.1", "--port", str(port.number)]
        artifacts = ["--artifacts-destination", str(self.database.parent / "artifacts")]
        self._started = start_service(
            # One worker: SQLite has one writer.
            [*command, *options, "--workers", "1", *artifacts],
            port=port,
            log=self.log,
            environment={"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )
        pid = self._started.process.pid
        record = {"pid": pid, "start_time": start_time(pid), "port": port.number}
        replace_file(self._record, json.dumps(record).encode(), sync=False)
        return self._started.url

    def _read(self) -> dict[str, int] | None:
        """Who the server is, or was. A file that a power cut left without its content says nothing."""
        try:
            record = json.loads(self._record.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return record if isinstance(record, dict) and record.keys() >= {"pid", "start_time", "port"} else None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self.database.with_suffix(".server.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def find_mlflow(
    runs_dir: Path, tracking: TrackingSpec | None = None, environment: Mapping[str, str] = os.environ
) -> MlflowServer | str:
    """The server for the runs in `runs_dir`: ours, or the address of another.

    `tracking.mlflow.uri` comes first, then MLFLOW_TRACKING_URI, then the directory's own. `http` and `https` name
    another server; `sqlite:` names the file behind ours. Raises UserError for anything else.
    """
    settings = tracking.mlflow if tracking else None
    if settings and settings.uri:
        return _named(settings.uri, "spec.tracking.mlflow.uri")
    if uri := environment.get("MLFLOW_TRACKING_URI"):
        return _named(uri, "MLFLOW_TRACKING_URI")
    return MlflowServer(runs_dir / "mlflow" / "mlflow.db")


def wait_for_mlflow(server: MlflowServer | str) -> str:
    """Address of `server` once it answers. Raises RetryLater when ours has ended or does not come up."""
    if isinstance(server, str):
        return server
    deadline = time.monotonic() + _START_SECONDS
    while True:
        address = server.uri()
        if answers(address):
            return address
        if time.monotonic() > deadline:
            raise RetryLater(f"the MLflow server at {address} does not answer; its output is in {server.log}")
        time.sleep(0.2)


def _freed_port(number: int) -> Port:
    """The port of the last server, whose processes may still be ending; another one when it does not become free."""
    deadline = time.monotonic() + _PORT_SECONDS
    while (port := claim_port(number)).number != number and time.monotonic() < deadline:
        port.release()
        time.sleep(0.05)
    return port


def answers(address: str) -> bool:
    """Whether an MLflow server serves there."""
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=5):  # noqa: S310 (http, and ours)
            return True
    except OSError:
        return False


def _named(uri: str, source: str) -> MlflowServer | str:
    if uri.startswith(("http://", "https://")):
        return uri
    if uri.startswith(_SQLITE) and len(uri) > len(_SQLITE):
        return MlflowServer(Path(uri.removeprefix(_SQLITE)))
    raise UserError(
        f"{source} is {without_credentials(uri)!r}; give the http(s) address of an MLflow server or {_SQLITE}FILE"
    )
