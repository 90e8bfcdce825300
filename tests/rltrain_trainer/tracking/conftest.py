"""What the tests of the trackers share: runs with logs, a real MLflow server, and a gate in front of it."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from rltrain_api.job import RLTrainingJob
from rltrain_api.load import load_job
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory

KILLED_BEFORE_THE_CURSOR_IS_SAVED = """
import os, signal, sys
from pathlib import Path
from rltrain_api.load import load_job
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking import pump
from rltrain_trainer.tracking.tracker import TrackerSettings
from rltrain_trainer.tracking.trackers import TRACKERS

path, name, uri = sys.argv[1:]
run = RunDirectory(Path(path))

class Killed(TRACKERS[name]):
    batches = 0
    def deliver(self, entries):
        super().deliver(entries)
        self.batches += 1
        if self.batches == 2:
            os.kill(os.getpid(), signal.SIGKILL)

settings = TrackerSettings(run=run, job=load_job(run.job_file), mlflow_uri=lambda: uri)
pump._BATCH_ENTRIES = 7
pump.Pump(run, name, Killed(settings), None).deliver()
"""


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., tuple[RunDirectory, RLTrainingJob]]:
    """Makes a run directory with a job; fields of `training` and `tracking` may be given."""

    def make_run(run: RunDirectory | None = None, **fields: Any) -> tuple[RunDirectory, RLTrainingJob]:
        run = run or RunDirectory.create(tmp_path / "runs", "job")
        spec = {
            "model": {"path": "builtin:tiny-llama"},
            "data": {"train": {"type": "digits", "digits": {"task": "copy"}}},
            "algorithm": {"type": "grpo"},
            "training": {"totalSteps": 10, **fields.get("training", {})},
            "reward": {"functions": [{"type": "exact"}]},
            "tracking": fields.get("tracking", {}),
        }
        content = {"apiVersion": "rltrain.io/v1alpha1", "kind": "RLTrainingJob", "metadata": {"name": "job"}}
        run.job_file.write_text(yaml.safe_dump({**content, "spec": spec}))
        return run, load_job(run.job_file)

    return make_run


@pytest.fixture
def log_steps() -> Callable[..., None]:
    """Logs whole steps of one metric and one text."""

    def log_steps(log: RunLog, steps: range, factor: float = 1.0) -> None:
        for step in steps:
            log.scalars(step, {"reward/episode_reward_mean": step * factor})
            log.text(step, "samples/text", f"text {step}")
            log.end_step(step)

    return log_steps


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Waits until something is so, and fails when it never is."""

    def eventually(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline, "it never came about"
            time.sleep(0.02)

    return eventually


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script in a process of its own, where it may be killed."""

    def run_python(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", script, *map(str, arguments)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run_python


@pytest.fixture
def deliver_until_killed(run_python: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., int]:
    """Delivers a run to a tracker in a process that is killed after its second batch, before the cursor is saved.

    Returns the exit code.
    """

    def deliver_until_killed(run: RunDirectory, tracker: str, uri: str = "") -> int:
        return run_python(KILLED_BEFORE_THE_CURSOR_IS_SAVED, run.path, tracker, uri).returncode

    return deliver_until_killed


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


class MlflowServer:
    """A real MLflow server on one SQLite file; it may be killed and started again."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--backend-store-uri", f"sqlite:///{self._directory}/mlflow.db", "--workers", "1"]
        command += ["--artifacts-destination", str(self._directory / "artifacts")]
        env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        with (self._directory / "server.log").open("ab") as output:
            self._process = subprocess.Popen(
                command, env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        if wait:
            self._wait()

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, 9)
            self._process.wait()
            self._process = None

    def _wait(self) -> None:
        deadline = time.monotonic() + 120
        while True:
            try:
                requests.get(f"{self.uri}/health", timeout=1).raise_for_status()
            except requests.RequestException:
                assert time.monotonic() < deadline, (self._directory / "server.log").read_text()
                time.sleep(0.1)
            else:
                return


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowServer]:
    """The server that most tests share."""
    server = MlflowServer(tmp_path_factory.mktemp("mlflow"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def own_mlflow_server(tmp_path: Path) -> Iterator[MlflowServer]:
    """A server, not started, for a test that kills it."""
    server = MlflowServer(tmp_path)
    yield server
    server.kill()


class Gate:
    """Passes connections on to a server while it is open; at its address nobody listens while it is shut."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener: socket.socket | None = None
        self._sockets: list[socket.socket] = []
        self.port = free_port()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        """Stop listening and cut every connection."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for connection in self._sockets:
            self._cut(connection)
        self._sockets.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        self._cut(sink)

    def _cut(self, connection: socket.socket) -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


@pytest.fixture
def gate(mlflow_server: MlflowServer) -> Iterator[Gate]:
    """A gate in front of the shared server, shut at first."""
    gate = Gate(mlflow_server.port)
    yield gate
    gate.shut()
