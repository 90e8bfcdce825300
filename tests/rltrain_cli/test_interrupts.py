"""Ctrl-C and SIGTERM: the first stops in order, the second ends at once."""

import signal

import pytest

from tests.rltrain_cli.conftest import Start

COMMAND = """
import signal, sys
from rltrain_cli.interrupts import Interrupts
interrupts = Interrupts()
print("ready", interrupts.exit_code, flush=True)
interrupts.stop.wait()
print("stopping", interrupts.exit_code, flush=True)
"""
STOP = "sys.exit(interrupts.exit_code)"
HANG = "signal.pause()"
FIRST = "\nFinishing this step, then a checkpoint. Once more to end at once.\n"
SECOND = "\nEnded at once. What was logged is kept; continue from the last checkpoint with --resume.\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_asks_to_stop(number: signal.Signals, code: int, start: Start) -> None:
    process = start(code=COMMAND + STOP)
    assert process.stdout
    assert process.stdout.readline() == "ready 0\n"
    process.send_signal(number)
    assert process.communicate() == (f"stopping {code}\n", FIRST)
    assert process.returncode == code


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (signal.SIGINT, signal.SIGINT, 130),
        (signal.SIGTERM, signal.SIGTERM, 143),
        (signal.SIGINT, signal.SIGTERM, 143),
        (signal.SIGTERM, signal.SIGINT, 130),
    ],
)
def test_the_second_signal_ends_at_once(first: signal.Signals, second: signal.Signals, code: int, start: Start) -> None:
    process = start(code=COMMAND + HANG)
    assert process.stdout
    assert process.stdout.readline() == "ready 0\n"
    process.send_signal(first)
    assert process.stdout.readline().startswith("stopping")
    process.send_signal(second)
    assert process.communicate() == ("", FIRST + SECOND)
    assert process.returncode == code
