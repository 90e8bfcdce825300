"""`rltrain dashboards`: both servers answer, and end with it."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from rltrain_trainer.services.mlflow_server import MlflowServer
from rltrain_trainer.services.process import start_time
from rltrain_trainer.services.reaper import mark_of, marked_processes
from tests.rltrain_cli.builders import make_run
from tests.rltrain_cli.conftest import Call, Start

ENDED = "the MLflow server ended; its output is in runs/mlflow/mlflow.server.log"
Eventually = Callable[[Callable[[], bool]], None]


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=30):
            return True
    except urllib.error.URLError:
        return False


def addresses_of(lines: list[str]) -> dict[str, str]:
    return {name: address.strip() for name, _, address in (line.strip().partition(" ") for line in lines)}


def test_both_answer_and_mlflow_comes_back_and_all_end_with_the_command(
    start: Start, eventually: Eventually, tmp_path: Path
) -> None:
    make_run(tmp_path / "runs")
    process = start("dashboards")
    assert process.stdout
    addresses = addresses_of([process.stdout.readline() for _ in range(2)])
    assert list(addresses) == ["TensorBoard", "MLflow"]
    assert process.stdout.readline() == "Dashboards are up in a few seconds; Ctrl-C ends them.\n"
    mark = mark_of(process.pid)
    assert mark is not None
    eventually(lambda: answers(f"{addresses['TensorBoard']}/data/runs"))
    eventually(lambda: answers(f"{addresses['MLflow']}/health"))

    record = tmp_path / "runs" / "mlflow" / "mlflow.server.json"
    killed = json.loads(record.read_text())["pid"]
    os.killpg(killed, signal.SIGKILL)
    eventually(lambda: bool(json.loads(record.read_text())["pid"] != killed))
    eventually(lambda: answers(f"{addresses['MLflow']}/health"))

    process.send_signal(signal.SIGTERM)
    assert process.communicate() == ("", f"{ENDED}; starting it again\n")
    assert process.returncode == 0
    eventually(lambda: not [pid for pid in marked_processes(mark) if start_time(pid) is not None])
    assert not any(map(answers, addresses.values()))


def test_a_server_whose_run_ends_is_taken_over(start: Start, eventually: Eventually, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    of_a_run = MlflowServer(tmp_path / "runs" / "mlflow" / "mlflow.db")
    try:
        address = of_a_run.uri()
        process = start("dashboards")
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(3)]
        assert addresses_of(lines[:2])["MLflow"] == address
    finally:
        of_a_run.stop()
    mark = mark_of(process.pid)
    assert mark is not None
    eventually(lambda: any(b"mlflow" in command_of(pid) for pid in marked_processes(mark)))
    assert of_a_run.uri() == address
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == ""
    assert process.returncode == 0


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_a_server_that_cannot_start_ends_the_command_with_its_log(start: Start, tmp_path: Path) -> None:
    # In the way of the database that is to be made.
    (tmp_path / "runs" / "mlflow" / ".mlflow.db.making").mkdir(parents=True)
    process = start("dashboards")
    _, err = process.communicate()
    assert process.returncode == 4
    assert err == f"{ENDED}; starting it again\nerror: {ENDED}\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [("none", "none is not a directory"), ("file", "file is not a directory")],
)
def test_there_must_be_a_directory(name: str, message: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = call("dashboards", name)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {message}; name the one that `rltrain run --dir` wrote to\n"


def test_a_password_in_the_address_of_a_server_is_not_shown(start: Start, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    process = start("dashboards", MLFLOW_TRACKING_URI="http://me:secret@127.0.0.1:1")
    assert process.stdout
    assert "secret" not in process.stdout.readline()
    assert process.stdout.readline().split() == ["MLflow", "http://127.0.0.1:1"]
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 0
