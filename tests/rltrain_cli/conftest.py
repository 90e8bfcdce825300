"""What the tests of the commands share: `rltrain` called in this process, and in one of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rltrain_cli.main import main


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Call = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Calls the command in this process, for those that start no other; the test's directory is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["rltrain", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Result(code=int(ended.value.code or 0), out=out, err=err)

    return call


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command, or Python code, in a process of its own, which does not outlive the test."""
    processes = []

    def start(*arguments: object, code: str | None = None, **environment: str) -> subprocess.Popen[str]:
        program = ["-m", "rltrain_cli.main"] if code is None else ["-c", code]
        variables = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
        processes.append(
            subprocess.Popen(
                [sys.executable, *program, *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                start_new_session=True,
                env={**variables, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        with process:
            process.kill()


@pytest.fixture
def call_apart(start: Start) -> Call:
    """Calls the command in a process of its own, and waits for it."""

    def call_apart(*arguments: object, code: str | None = None, **environment: str) -> Result:
        process = start(*arguments, code=code, **environment)
        out, err = process.communicate(timeout=300)
        return Result(code=process.returncode, out=out, err=err)

    return call_apart


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Waits until something is so, and fails when it never is."""

    def eventually(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < deadline, "it never came about"
            time.sleep(0.05)

    return eventually
