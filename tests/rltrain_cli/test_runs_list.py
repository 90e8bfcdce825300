"""`rltrain runs list` and `show`, on directories that the real log wrote."""

import fcntl
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rltrain_trainer.log.records import RunState
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.start import deliver_all
from tests.rltrain_cli.builders import REWARD, make_run
from tests.rltrain_cli.conftest import Call


def listed(call: Call, directory: Path) -> list[dict[str, Any]]:
    result = call("runs", "list", directory, "--json")
    assert (result.code, result.err) == (0, "")
    runs: list[dict[str, Any]] = json.loads(result.out)
    return runs


@pytest.mark.parametrize(
    ("ended", "state"),
    [
        (RunState.FINISHED, "finished"),
        (RunState.STOPPED, "stopped"),
        (RunState.FAILED, "failed"),
        (None, "killed"),
    ],
)
def test_the_state_is_how_the_log_ends(ended: RunState | None, state: str, call: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path, steps=4, ended=ended)
    (found,) = listed(call, tmp_path)
    assert found.pop("started") <= found.pop("updated")
    assert found == {
        "name": run.name,
        "path": str(run.path),
        "state": state,
        "step": 4,
        "total_steps": 10,
        "attempt": 1,
        "metrics": {REWARD: 0.4},
        "problem": None,
    }


def test_a_run_is_running_while_a_process_holds_it(call: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path, steps=4, ended=None)
    with run.lock():
        assert [found["state"] for found in listed(call, tmp_path)] == ["running"]
    assert [found["state"] for found in listed(call, tmp_path)] == ["killed"]


def test_the_table_has_a_line_a_run(call: Call, tmp_path: Path) -> None:
    finished = make_run(tmp_path)
    killed = make_run(tmp_path, name="a-much-longer-name-of-a-job", steps=0, ended=None)
    result = call("runs", "list", tmp_path)
    assert (result.code, result.err) == (0, "")
    width = len(killed.name)
    assert result.out.splitlines() == [
        f"{'run':<{width}}  state     step   reward  validation  updated",
        f"{killed.name}  killed    0/10   -       -           -",
        f"{finished.name:<{width}}  finished  10/10  1.0000  -           just now",
    ]


def test_nothing_to_list_is_no_error(call: Call, tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "none"):
        message = f"no runs in {directory}; `rltrain run JOB --dir {directory}` makes one\n"
        assert call("runs", "list", directory).out == message
        assert listed(call, directory) == []


def test_a_file_is_no_directory_of_runs(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    result = call("runs", "list", file)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {file} is not a directory; name the one that holds the runs\n"


@pytest.mark.parametrize("content", ["", "a: [", "[]", "spec: {}", "spec: {training: {totalSteps: many}}", "\0"])
def test_a_run_whose_job_cannot_be_read_is_shown_and_hides_no_other(content: str, call: Call, tmp_path: Path) -> None:
    broken, whole = make_run(tmp_path, steps=3, ended=None), make_run(tmp_path)
    broken.job_file.write_text(content)
    result = call("runs", "list", tmp_path)
    assert (result.code, result.err) == (0, "")
    _, first, second, problem = result.out.splitlines()
    assert first.split()[:3] == [broken.name, "killed", "3/?"]
    assert second.split()[:3] == [whole.name, "finished", "10/10"]
    assert problem.startswith(f"{broken.name}: {broken.job_file} cannot be read as a job (")
    assert "\nproblem      " in call("runs", "show", broken.path).out


def test_a_run_of_which_nothing_is_there_yet_is_listed(call: Call, tmp_path: Path) -> None:
    RunDirectory.create(tmp_path, "new")
    (found,) = listed(call, tmp_path)
    assert (found["state"], found["step"], found["total_steps"], found["problem"]) == ("killed", 0, None, None)
    assert "0/?" in call("runs", "list", tmp_path).out


@pytest.mark.parametrize("columns", [20, 80, 200])
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_nothing_is_cut_at_any_width(columns: int, terminal: bool, tmp_path: Path) -> None:
    run = make_run(tmp_path, name="a-name-of-forty-characters-that-is-long")
    shown = output([f"runs list {tmp_path}", f"runs show {run.path}"], columns, terminal)
    assert shown.count(run.name) >= 2
    for text in ("finished", "10/10", "1.0000", str(run.path)):
        assert text in shown
    assert "…" not in shown
    assert ("\x1b[" in shown) == terminal
    if not terminal:
        assert [line for line in shown.splitlines() if line.rstrip() != line] == []


def output(commands: list[str], columns: int, terminal: bool) -> str:
    """What the commands print, on a terminal of so many columns or into a pipe."""
    reading, writing = pty.openpty() if terminal else os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 1 << 20) if not terminal else None
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": str(columns), "TERM": "xterm"}
    for command in commands:
        subprocess.run(
            [sys.executable, "-m", "rltrain_cli.main", *command.split()], stdout=writing, env=env, check=True
        )
    shown = os.read(reading, 1 << 20).decode()
    os.close(writing)
    os.close(reading)
    return shown


def test_show_tells_all_of_a_run(call: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path, steps=10)
    for step in (9, 10):
        (run.checkpoints / f"step-{step}").mkdir()
    deliver_all(run, "tensorboard")
    result = call("runs", "show", run.name, "--dir", tmp_path)
    assert (result.code, result.err) == (0, "")
    lines = {line[:13].strip(): line[13:] for line in result.out.splitlines() if line[:13].strip()}
    assert lines.pop("started") <= lines.pop("updated")
    assert lines == {
        "run": str(run.path),
        "state": "finished",
        "step": "10/10",
        "attempt": "1",
        "metrics": f"{REWARD} 1.0000",
        "checkpoints": "step-9",
        "trackers": "tensorboard: delivered to step 10",
        "log damage": "none",
    }
    assert "\n             step-10\n" in result.out


def test_show_as_json_holds_trackers_checkpoints_and_damage(call: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    deliver_all(run, "tensorboard")
    (segment,) = run.log.glob("*.rec")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    result = call("runs", "show", run.path, "--json")
    shown = json.loads(result.out)
    assert shown["checkpoints"] == []
    assert [(tracker["name"], tracker["health"], tracker["step"]) for tracker in shown["trackers"]] == [
        ("tensorboard", "delivered", 10)
    ]
    assert len(shown["damage"]) == 1
    assert segment.name in shown["damage"][0]
    assert shown["step"] == 10


def test_a_tracker_that_lags_is_shown_with_the_command_that_delivers(call: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run.cursors / "mlflow.json").write_text("{}")
    assert f"deliver them with: rltrain runs sync {run.path}\n" in call("runs", "show", run.path).out


@pytest.mark.parametrize("command", ["show", "sync"])
def test_a_run_that_is_not_there_is_told_so(command: str, call: Call, tmp_path: Path) -> None:
    result = call("runs", command, "none", "--dir", tmp_path)
    assert (result.code, result.out) == (2, "")
    assert (
        result.err
        == f"error: there is no run none in {tmp_path}; `rltrain runs list {tmp_path}` shows those there are\n"
    )
    result = call("runs", command, tmp_path)
    assert (result.code, result.err) == (
        2,
        f"error: {tmp_path} is not a run directory; `rltrain runs list` shows those there are\n",
    )


def test_a_run_is_found_from_inside_it(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "runs")
    assert call("runs", "show", run.name).out == call("runs", "show", f"runs/{run.name}").out
    monkeypatch.chdir(run.path)
    assert json.loads(call("runs", "show", ".", "--json").out)["path"] == str(run.path)
