"""The run directory: names, identity, attempts, fence, lock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rltrain_api.errors import FencedError, UserError
from rltrain_trainer.run_directory import RunDirectory, find_runs

HOLD_LOCK = """
import sys
from pathlib import Path
from rltrain_trainer.run_directory import RunDirectory
lock = RunDirectory(Path(sys.argv[1])).lock()
print("held", flush=True)
sys.stdin.read()
"""


def hold_lock(run: RunDirectory) -> subprocess.Popen[str]:
    """Another process that owns the run until its input ends or it is killed."""
    command = [sys.executable, "-c", HOLD_LOCK, str(run.path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_runs_created_at_once_get_directories_of_their_own(tmp_path: Path) -> None:
    runs = [RunDirectory.create(tmp_path / "runs", "job") for _ in range(4)]
    assert len({run.path for run in runs}) == 4
    assert len({run.run_uid for run in runs}) == 4
    assert all(run.name.startswith("job-2") and run.cursors.is_dir() for run in runs)
    assert {run.path for run in find_runs(tmp_path / "runs")} == {run.path for run in runs}


def test_uid_is_kept_when_the_directory_is_renamed(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "job")
    uid = run.run_uid
    assert RunDirectory.open(run.path.rename(tmp_path / "other")).run_uid == uid


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run directory"):
        RunDirectory.open(tmp_path)
    assert find_runs(tmp_path) == []
    assert find_runs(tmp_path / "absent") == []


def test_attempts_count_up_and_fence_off_earlier_ones(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "job")
    assert run.attempt == 0
    first = run.fence(run.begin_attempt())
    first.check()
    second = run.fence(run.begin_attempt())
    second.check()
    with pytest.raises(FencedError, match="attempt 2 owns this run; attempt 1 stops"):
        first.check()


def test_a_run_in_use_is_refused_with_the_process_that_uses_it(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "job")
    assert run.owner() is None
    holder = hold_lock(run)
    assert run.owner() == holder.pid
    with pytest.raises(UserError, match=f"in use by process {holder.pid}"):
        run.lock()
    holder.communicate("")
    assert run.owner() is None


def test_a_killed_owner_leaves_the_run_free(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "job")
    holder = hold_lock(run)
    holder.kill()
    holder.communicate()
    with run.lock():
        assert run.owner() == os.getpid()
    assert run.owner() is None


def test_total_steps_are_those_of_the_job(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "job")
    assert run.total_steps() is None
    run.job_file.write_text("spec: {training: {totalSteps: 7}}")
    assert run.total_steps() == 7
