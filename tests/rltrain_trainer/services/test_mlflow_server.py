"""One MLflow server a database, whoever asks, with real servers and real processes that are killed."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rltrain_api.errors import RetryLater, UserError
from rltrain_api.tracking import TrackingSpec
from rltrain_trainer.services.mlflow_server import MlflowServer, find_mlflow, wait_for_mlflow
from rltrain_trainer.services.process import claim_port, start_time
from rltrain_trainer.services.reaper import marked_processes

OWNER = """
import sys
from pathlib import Path
from rltrain_trainer.services.mlflow_server import MlflowServer, wait_for_mlflow
from rltrain_trainer.services.reaper import mark_of, start_reaper
import os
start_reaper()
server = MlflowServer(Path(sys.argv[1]))
sys.stdin.readline()
for _ in sys.stdin:
    print(wait_for_mlflow(server), mark_of(os.getpid()), flush=True)
"""


class Owner:
    """A process that asks for the server, as a run does."""

    def __init__(self, database: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(database)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.say("are you there?")

    def say(self, line: str) -> None:
        assert self.process.stdin
        print(line, file=self.process.stdin, flush=True)

    def answer(self) -> tuple[str, int]:
        """Address of the server, and the mark of this owner's processes."""
        assert self.process.stdout
        address, mark = self.process.stdout.readline().split()
        return address, int(mark)

    def kill(self) -> None:
        with self.process:
            self.process.kill()


@pytest.fixture
def make_owner() -> Iterator[Callable[[Path], Owner]]:
    owners = []

    def make_owner(database: Path) -> Owner:
        owners.append(Owner(database))
        return owners[-1]

    yield make_owner
    for owner in owners:
        owner.kill()


@pytest.fixture
def make_server() -> Iterator[Callable[[Path], MlflowServer]]:
    servers = []

    def make_server(database: Path) -> MlflowServer:
        servers.append(MlflowServer(database))
        return servers[-1]

    yield make_server
    for server in servers:
        server.stop()


def record_of(database: Path) -> dict[str, int]:
    record: dict[str, int] = json.loads(database.with_suffix(".server.json").read_text())
    return record


def call(address: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/api/2.0/mlflow/{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def mlflow_processes(marks: list[int]) -> list[int]:
    """Processes that run `mlflow server`, of owners with these marks."""
    found = [pid for mark in marks for pid in marked_processes(mark)]
    return [pid for pid in found if b"mlflow\0server" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_two_that_ask_at_once_get_one_server_and_the_second_takes_over_when_the_first_is_killed(
    tmp_path: Path, new_database: Path, make_owner: Callable[[Path], Owner]
) -> None:
    database = tmp_path / "mlflow.db"
    shutil.copy(new_database, database)
    owners = [make_owner(database) for _ in range(2)]
    for owner in owners:
        owner.say("now")
    answers = [owner.answer() for owner in owners]
    (address,) = {address for address, _ in answers}
    (serving,) = mlflow_processes([mark for _, mark in answers])
    assert serving == record_of(database)["pid"]
    made = call(address, "experiments/create", {"name": "kept"})["experiment_id"]

    first, second = owners if serving in marked_processes(answers[0][1]) else reversed(owners)
    first.kill()
    deadline = time.monotonic() + 60
    while start_time(serving) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    second.say("and now?")
    again, _ = second.answer()
    assert again == address
    assert record_of(database)["pid"] != serving
    assert call(again, "experiments/get-by-name?experiment_name=kept")["experiment"]["experiment_id"] == made


def test_the_record_of_a_process_whose_number_is_used_again_is_not_believed(
    tmp_path: Path, make_server: Callable[[Path], MlflowServer]
) -> None:
    port = claim_port(0)
    port.release()
    record = {"pid": os.getpid(), "start_time": (start_time(os.getpid()) or 0) - 1, "port": port.number}
    (tmp_path / "mlflow.server.json").write_text(json.dumps(record))
    assert make_server(tmp_path / "mlflow.db").uri() == f"http://127.0.0.1:{record['port']}"
    assert record_of(tmp_path / "mlflow.db")["pid"] != os.getpid()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'])
def test_a_record_that_cannot_be_read_counts_for_none(
    content: str, tmp_path: Path, make_server: Callable[[Path], MlflowServer]
) -> None:
    (tmp_path / "mlflow.server.json").write_text(content)
    assert make_server(tmp_path / "mlflow.db").uri().startswith("http://127.0.0.1:")


def test_another_port_is_used_when_somebody_else_has_the_last_one(
    tmp_path: Path, make_server: Callable[[Path], MlflowServer]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (tmp_path / "mlflow.server.json").write_text(json.dumps({"pid": 0, "start_time": 1, "port": port}))
        address = make_server(tmp_path / "mlflow.db").uri()
    assert address == f"http://127.0.0.1:{record_of(tmp_path / 'mlflow.db')['port']}"
    assert not address.endswith(f":{port}")


def test_stopping_ends_only_a_server_of_ones_own(tmp_path: Path, make_server: Callable[[Path], MlflowServer]) -> None:
    database = tmp_path / "mlflow.db"
    owner, guest = make_server(database), make_server(database)
    assert owner.uri() == guest.uri()
    pid = record_of(database)["pid"]
    guest.stop()
    assert start_time(pid) is not None
    owner.stop()
    assert start_time(pid) is None


def test_a_server_that_ends_by_itself_is_reported_with_its_log_and_started_at_the_next_call(
    tmp_path: Path, make_server: Callable[[Path], MlflowServer]
) -> None:
    database = tmp_path / "mlflow.db"
    database.write_text("this is no SQLite file, and MLflow says so")
    server = make_server(database)
    with pytest.raises(RetryLater, match=rf"^the MLflow server ended; its output is in {tmp_path}/mlflow.server.log$"):
        wait_for_mlflow(server)
    assert "file is not a database" in server.log.read_text()
    assert server.uri().startswith("http://127.0.0.1:")


def test_a_server_of_somebody_else_is_not_waited_for() -> None:
    assert wait_for_mlflow("http://127.0.0.1:1") == "http://127.0.0.1:1"


OURS = Path("runs/mlflow/mlflow.db").absolute()


@pytest.mark.parametrize(
    ("spec", "environment", "expected"),
    [
        (None, None, OURS),
        (None, "", OURS),
        (None, "http://there:5000", "http://there:5000"),
        (None, "sqlite:////data/all.db", Path("/data/all.db")),
        (None, "sqlite:///all.db", Path("all.db").absolute()),
        ("https://named", "http://there:5000", "https://named"),
        ("sqlite:////data/all.db", "http://there:5000", Path("/data/all.db")),
    ],
)
def test_the_spec_comes_before_the_environment_and_that_before_our_own(
    spec: str | None, environment: str | None, expected: str | Path
) -> None:
    tracking = TrackingSpec.model_validate({"mlflow": {"uri": spec}} if spec else {})
    variables = {} if environment is None else {"MLFLOW_TRACKING_URI": environment}
    found = find_mlflow(Path("runs"), tracking, variables)
    assert (found if isinstance(found, str) else found.database) == expected


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("databricks", "databricks"),
        ("./mlruns", "./mlruns"),
        ("sqlite:///", "sqlite:///"),
        ("postgresql://me:secret@host/db", "postgresql://host/db"),
    ],
)
def test_another_kind_of_address_is_refused_without_its_password(uri: str, shown: str) -> None:
    with pytest.raises(UserError) as raised:
        find_mlflow(Path("runs"), None, {"MLFLOW_TRACKING_URI": uri})
    assert str(raised.value) == (
        f"MLFLOW_TRACKING_URI is {shown!r}; give the http(s) address of an MLflow server or sqlite:///FILE"
    )


def test_an_address_in_the_spec_is_refused_by_its_field() -> None:
    with pytest.raises(UserError, match=r"^spec\.tracking\.mlflow\.uri is 'file:///x'; give the http"):
        find_mlflow(Path("runs"), TrackingSpec.model_validate({"mlflow": {"uri": "file:///x"}}), {})
