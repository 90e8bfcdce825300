"""The live line of a run: on a terminal, and where none is."""

import os
import pty
import subprocess
import sys

import pytest

from rltrain_cli.live import live_progress
from rltrain_trainer.progress import Progress
from tests.rltrain_cli.builders import REWARD

SHOW = """
from rltrain_cli.live import live_progress
from rltrain_trainer.progress import Progress
with live_progress(10) as show:
    show(Progress(phase="load", step=0, total_steps=10))
    print("a line of the console")
    show(Progress(phase="update", step=3, total_steps=10, metrics={%r: 0.5}, seconds_left=125.0))
"""


def moment(phase: str, step: int = 0) -> Progress:
    return Progress(phase=phase, step=step, total_steps=10)


def test_without_a_terminal_only_what_takes_long_before_the_first_step_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with live_progress(10) as show:
        for phase in ("load", "warm start 1/2", "warm start 2/2", "validate", "generate"):
            show(moment(phase))
        for phase in ("update", "validate", "checkpoint", "done"):
            show(moment(phase, step=1))
    assert capsys.readouterr().out == "load …\nwarm start …\nvalidate …\n"


def test_on_a_terminal_there_is_a_bar_below_the_lines_of_the_console() -> None:
    reading, writing = pty.openpty()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", SHOW % REWARD], stdout=writing, env=env, check=True)
    os.close(writing)
    shown = os.read(reading, 65536).decode()
    os.close(reading)
    assert "a line of the console\r\n" in shown
    last = shown.rpartition("a line of the console")[2]
    assert "3/10" in last
    assert "reward 0.500  2m05s left  update" in last
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1
