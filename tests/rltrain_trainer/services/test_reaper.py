"""The watcher of a run, with real processes that try to outlive their run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rltrain_trainer.services.process import start_time
from rltrain_trainer.services.reaper import mark_of, marked_processes

SLEEP = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"

CHILD = "subprocess.Popen([sys.executable, '-c', SLEEP])"
DAEMON = "subprocess.Popen([sys.executable, '-c', 'import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0);' + SLEEP])"
FORKED = "if os.fork() == 0:\n    os.setsid()\n    exec(SLEEP)"
ANONYMOUS = "subprocess.Popen(['renamed', '-c', SLEEP], executable=sys.executable, env={})"
DEAF = (
    "subprocess.Popen([sys.executable, '-c', 'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);' + SLEEP])"
)

RUN = """
import os, subprocess, sys
from rltrain_trainer.services.reaper import start_reaper
SLEEP = sys.argv[1]
start_reaper()
exec(sys.argv[2])
sys.stdin.read()
os._exit(0)
"""


@contextmanager
def run_starting(code: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A run that has started a process by `code`; gives the run and the process id of what it started."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, SLEEP, code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        assert process.stdout
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def wait_for_the_end(pid: int) -> None:
    deadline = time.monotonic() + 60
    while start_time(pid) is not None:
        assert time.monotonic() < deadline, "the process lives"
        time.sleep(0.01)


@pytest.mark.parametrize(
    "code", [CHILD, DAEMON, FORKED, ANONYMOUS, DEAF], ids=["child", "daemon", "forked", "anonymous", "deaf"]
)
def test_nothing_outlives_a_run_that_is_killed(code: str) -> None:
    with run_starting(code) as (process, pid):
        mark = mark_of(process.pid)
        assert mark is not None
        assert mark_of(pid) == mark
        process.kill()
        wait_for_the_end(pid)


def test_nothing_outlives_a_run_that_ends_by_itself() -> None:
    with run_starting(DAEMON) as (process, pid):
        assert process.stdin
        process.stdin.close()
        assert process.wait() == 0
        wait_for_the_end(pid)


def test_other_processes_live_on() -> None:
    with run_starting(CHILD) as (other, other_pid), run_starting(CHILD) as (process, pid):
        assert mark_of(other.pid) != mark_of(process.pid)
        os.kill(process.pid, signal.SIGTERM)
        wait_for_the_end(pid)
        assert start_time(other_pid) is not None
        assert other.poll() is None


def test_the_watcher_ends_with_its_run() -> None:
    with run_starting(CHILD) as (process, pid):
        mark = mark_of(process.pid)
        assert mark is not None
        assert len({*marked_processes(mark)} - {process.pid, pid}) == 1
        process.kill()
        process.wait()
        for left in marked_processes(mark):
            wait_for_the_end(left)


def test_a_process_that_is_not_there_has_no_mark() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert mark_of(process.pid) is None
