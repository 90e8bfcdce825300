"""The directory of a run: paths, identity, and who may write to it. Used by the trainer, the trackers and the CLI."""

import fcntl
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from rltrain_api.errors import FencedError, UserError
from rltrain_trainer.log.durable import replace_file

# A look at the lock by `rltrain runs` holds it for an instant; who wants to own it tries again over that long.
_LOCK_TRIES = 10
_LOCK_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Fence:
    """The right of one attempt to write into a run directory."""

    attempt_file: Path
    attempt: int

    def check(self) -> None:
        """Raise FencedError when another attempt owns the directory."""
        owner = _read_attempt(self.attempt_file)
        if owner != self.attempt:
            raise FencedError(
                f"{self.attempt_file.parent}: attempt {owner} owns this run; attempt {self.attempt} stops writing"
            )


class RunLock:
    """Held by the one process of this machine that trains or delivers a run; released when it ends, however it ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Let another process have the run. May be called again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job_file = path / "job.yaml"
        self.attempt_file = path / "attempt"
        self.uid_file = path / "run_uid"
        self.lock_file = path / "lock"
        self.log = path / "log"
        self.cursors = path / "log" / "cursors"
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"
        self.trainer_log = path / "trainer.log"

    @classmethod
    def create(cls, runs_dir: Path, name: str) -> Self:
        """A new directory `<name>-<time>` in `runs_dir`, with `-2`, `-3`, … when that name is taken."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        runs_dir.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            run = cls(runs_dir / (f"{name}-{stamp}" if number == 1 else f"{name}-{stamp}-{number}"))
            try:
                run.path.mkdir()
            except FileExistsError:
                number += 1
                continue
            for directory in (run.cursors, run.checkpoints, run.tensorboard):
                directory.mkdir(parents=True)
            replace_file(run.uid_file, f"{uuid.uuid4().hex}\n".encode(), sync=True)
            return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """The run in `path`. Raises UserError when there is none."""
        run = cls(path)
        if not run.uid_file.is_file():
            raise UserError(f"{path} is not a run directory; `rltrain runs list` shows those there are")
        return run

    @property
    def name(self) -> str:
        """Name of the directory, which names the run."""
        return self.path.resolve().name

    @property
    def run_uid(self) -> str:
        """Identity of the run, kept through renames and resumes; trackers find their run by it."""
        return self.uid_file.read_text(encoding="ascii").strip()

    @property
    def attempt(self) -> int:
        """Number of the attempt that owns the directory; 0 before the first."""
        return _read_attempt(self.attempt_file)

    def begin_attempt(self) -> int:
        """Take the directory over from earlier attempts; their fences fail from here on."""
        attempt = self.attempt + 1
        replace_file(self.attempt_file, f"{attempt}\n".encode(), sync=True)
        return attempt

    def fence(self, attempt: int) -> Fence:
        """The fence of `attempt`."""
        return Fence(attempt_file=self.attempt_file, attempt=attempt)

    def lock(self) -> RunLock:
        """Own the run on this machine. Raises UserError naming the process that owns it already."""
        descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o644)
        for _ in range(_LOCK_TRIES):
            if _try_lock(descriptor, fcntl.LOCK_EX):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return RunLock(descriptor)
            time.sleep(_LOCK_PAUSE_SECONDS)
        os.close(descriptor)
        owner = self._locked_by()
        raise UserError(f"{self.path} is in use by process {owner}; wait until it ends, or stop it with `kill {owner}`")

    def owner(self) -> int | None:
        """Process id of the process that owns the run on this machine, or None."""
        if not self.lock_file.exists():
            return None
        descriptor = os.open(self.lock_file, os.O_RDONLY)
        try:
            return None if _try_lock(descriptor, fcntl.LOCK_SH) else self._locked_by()
        finally:
            os.close(descriptor)

    def total_steps(self) -> int | None:
        """`training.totalSteps` of the job, or None before job.yaml is there."""
        if not self.job_file.exists():
            return None
        job = yaml.safe_load(self.job_file.read_text(encoding="utf-8"))
        return int(job["spec"]["training"]["totalSteps"])

    def _locked_by(self) -> int:
        # Between taking the lock and writing the number the file is empty for an instant.
        return int(self.lock_file.read_text(encoding="ascii").strip() or 0)


def find_runs(runs_dir: Path) -> list[RunDirectory]:
    """The runs in `runs_dir`, by name."""
    if not runs_dir.is_dir():
        return []
    runs = (RunDirectory(path) for path in sorted(runs_dir.iterdir()))
    return [run for run in runs if run.uid_file.is_file()]


def _read_attempt(path: Path) -> int:
    try:
        return int(path.read_bytes())
    except FileNotFoundError:
        return 0


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
