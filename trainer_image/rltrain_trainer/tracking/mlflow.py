"""MLflow as a tracker, over HTTP and without the library's global state. Named `mlflow` in `trackers`."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rltrain_api.errors import RltrainError, UserError
from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.records import Entry, RunState
from rltrain_trainer.tracking.cursor import Cursor
from rltrain_trainer.tracking.mlflow_batch import MlflowBatch, MlflowNames, make_batch
from rltrain_trainer.tracking.mlflow_run import find_or_create_run, resume_run
from rltrain_trainer.tracking.parameters import without_credentials
from rltrain_trainer.tracking.tracker import Refused, TrackedRun, TrackerSettings, Unavailable

if TYPE_CHECKING:
    from mlflow import MlflowClient

# Ours to set unless the user has: the library would wait up to 120 s and try for minutes, and call home.
_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
_ENDINGS = {
    RunState.RUNNING: "RUNNING",
    RunState.FINISHED: "FINISHED",
    RunState.FAILED: "FAILED",
    RunState.STOPPED: "KILLED",
    RunState.KILLED: "KILLED",
}
# Answers that say something of the request's sender or moment, and nothing of the record in it.
_NOT_OF_THE_RECORD = (401, 403, 404, 408, 425, 429)


class MlflowTracker:
    """One MLflow run for one run directory, found again by a tag. The server may be down, come back, or move."""

    def __init__(self, settings: TrackerSettings) -> None:
        self.bookmark = ""
        self._names = MlflowNames({})
        self._run = settings.run
        self._project = settings.job.spec.tracking.project_name
        self._run_name = settings.job.spec.tracking.experiment_name or settings.run.name
        self._uri = _address(settings)
        self._client: MlflowClient | None = None
        self._artifacts: Any = None
        self._where = ""
        self._run_id = ""
        self._parameters: dict[str, str] = {}

    @property
    def names(self) -> dict[str, str]:
        """Names decided so far."""
        return self._names.decided

    def open(self, cursor: Cursor) -> TrackedRun:
        """Connect to where the server is now; find the run or make it, and set it running."""
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        uri = self._ask_uri()
        self._names = MlflowNames(cursor.names)
        self._where = without_credentials(uri)
        with _failures(self._where):
            from mlflow import MlflowClient
            from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

            client = MlflowClient(tracking_uri=uri)
            run = find_or_create_run(client, self._project, self._run_name, self._run.run_uid, self._started())
            self._run_id, self._parameters = run.info.run_id, dict(run.data.params)
            resume_run(client, run)
            # The client's own way to artifacts is cached by run, and would go to where the server was before.
            self._artifacts = get_artifact_repository(run.info.artifact_uri, tracking_uri=uri)
            self._client = client
        url = f"{self._where}/#/experiments/{run.info.experiment_id}/runs/{self._run_id}"
        return TrackedRun(run_id=self._run_id, url=url)

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Send the entries as one request of metrics, parameters and tags, then their files."""
        batch = make_batch(entries, self._names, self._parameters, self._run.path)
        client = self._connected()
        with _failures(self._where, self._is_active):
            self._send(client, batch)
        self._parameters.update(batch.parameters)

    def close(self, state: RunState) -> None:
        """Set the run's status, and the time of its last record as its end."""
        updated = LogReader(self._run.log).summary().updated
        end_time = None if updated is None else int(updated * 1000)
        with _failures(self._where):
            self._connected().set_terminated(self._run_id, _ENDINGS[state], end_time)
        self._client = None

    def _send(self, client: "MlflowClient", batch: MlflowBatch) -> None:
        from mlflow.entities import Metric, Param, RunTag

        client.log_batch(
            self._run_id,
            metrics=[Metric(p.name, p.value, p.timestamp, p.step) for p in batch.points],
            params=[Param(key, value) for key, value in batch.parameters.items()],
            tags=[RunTag(key, value) for key, value in batch.tags.items()],
        )
        for artifact_path, text in batch.texts.items():
            directory, _, name = artifact_path.rpartition("/")
            with TemporaryDirectory() as temporary:
                path = Path(temporary, name)
                path.write_text(text, encoding="utf-8", newline="")
                self._artifacts.log_artifact(str(path), directory or None)
        for to, file in batch.files:
            self._artifacts.log_artifact(str(file), to)

    def _connected(self) -> "MlflowClient":
        if self._client is None:
            raise Unavailable("not connected")
        return self._client

    def _is_active(self) -> bool:
        """Whether the server has the run, and not as a deleted one, which takes nothing."""
        from mlflow.exceptions import MlflowException

        try:
            return bool(self._connected().get_run(self._run_id).info.lifecycle_stage == "active")
        except MlflowException:
            return False

    def _ask_uri(self) -> str:
        try:
            return self._uri().rstrip("/")
        except RltrainError as error:
            raise Unavailable(str(error)) from error

    def _started(self) -> float | None:
        """Time of the log's first record."""
        first = next(LogReader(self._run.log).read(), None)
        return first[0].time if first else None


def _address(settings: TrackerSettings) -> Callable[[], str]:
    configured = settings.job.spec.tracking.mlflow
    if settings.mlflow_uri is not None:
        return settings.mlflow_uri
    if configured is not None and configured.uri is not None:
        uri = configured.uri
        return lambda: uri
    raise UserError("spec.tracking.logger names mlflow, but there is no server; set spec.tracking.mlflow.uri")


@contextmanager
def _failures(where: str, is_active: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Turn what MLflow's library raises into Refused, for a record that the server will never take, or Unavailable."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    try:
        yield
    except (MlflowException, RequestException, OSError) as error:
        status = _status(error)
        if status >= 500:
            raise Unavailable(f"MLflow at {where} cannot be reached: {_root_cause(error)}") from error
        if status in _NOT_OF_THE_RECORD or not is_active():
            raise Unavailable(f"MLflow at {where}: {error}") from error
        raise Refused(f"MLflow at {where}: {error}") from error


def _status(error: Exception) -> int:
    """The HTTP status that the error stands for; 503 when there was no answer."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    if isinstance(error, MlflowException):
        return int(error.get_http_status_code())  # type: ignore[no-untyped-call]
    if isinstance(error, RequestException) and error.response is not None:
        return error.response.status_code
    return 503


def _root_cause(error: BaseException) -> BaseException:
    """The error that the library's own are about, such as `Connection refused`."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return error
