"""SIGKILL of a real writer: every step that it said was whole is in the log, and a resume goes on from there."""

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.run_directory import RunDirectory

WRITE_STEPS = """
import sys
from pathlib import Path
from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory
run = RunDirectory(Path(sys.argv[1]))
resume_step = int(sys.argv[2])
log = RunLog(run, attempt=run.begin_attempt(), resume_step=resume_step, log_interval=5)
for step in range(resume_step + 1, 100_000):
    log.scalars(step, {"reward/mean": step})
    log.text(step, "samples", "x" * 5000)
    log.end_step(step)
    print(step, flush=True)
"""


def write_until_killed(run: RunDirectory, resume_step: int, steps: int) -> int:
    """Let another process write at least so many steps, and kill it at once. Returns the last step it reported."""
    command = [sys.executable, "-c", WRITE_STEPS, str(run.path), str(resume_step)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= resume_step + steps:
                writer.send_signal(signal.SIGKILL)
                break
        # The last line may be torn; the kernel hands over what was printed before.
        reported = [int(line), *(int(rest) for rest in writer.stdout.read().split("\n")[:-1])]
    return max(reported)


def test_no_step_is_lost_or_doubled_by_sigkill(
    run: RunDirectory, standing: Callable[[], dict[int, Any]], whole_steps: Callable[[], list[int]]
) -> None:
    resume_step = 0
    for steps in (1, 7, 20, 41, 2):
        reported = write_until_killed(run, resume_step, steps)
        last_step = LogReader(run.log).summary().last_step
        assert last_step >= reported
        assert whole_steps() == list(range(1, last_step + 1))
        assert all(standing()[step] == step for step in range(1, last_step + 1))
        resume_step = max(0, last_step - 3)
    assert LogReader(run.log).damage() == []
