"""Checkpoints of a run: complete or absent, the newest few and the best. Called by the training loop."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

_STATE = "rltrain.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointState:
    """What a checkpoint knows besides weights and optimizer. Data order and learning rate follow from the step."""

    step: int
    validation_reward: float | None = None
    best_step: int | None = None
    best_reward: float | None = None


class Checkpoints:
    """The directory `checkpoints/` of a run."""

    def __init__(self, directory: Path, keep: int) -> None:
        """`keep` is the number of newest checkpoints that stay; the best stays besides."""
        self.directory = directory
        self._keep = keep

    def path(self, step: int) -> Path:
        """Where the checkpoint of `step` is, or would be."""
        return self.directory / f"step-{step}"

    def steps(self) -> list[int]:
        """Steps of the complete checkpoints, ascending."""
        names = (entry.name.removeprefix("step-") for entry in self.directory.glob("step-*"))
        return sorted(int(name) for name in names if name.isdigit())

    def latest(self) -> CheckpointState | None:
        """State of the newest complete checkpoint. What a dying process left half-written is removed."""
        for leftover in self.directory.glob(".*"):
            _remove(leftover)
        steps = self.steps()
        return self._read(steps[-1]) if steps else None

    def write(self, state: CheckpointState, save: Callable[[Path], None], before_visible: Callable[[], None]) -> Path:
        """Make the checkpoint of `state.step`.

        `save` fills a directory; `before_visible` runs when all is safe on disk, just before the checkpoint appears (it
        syncs the log and checks the fence).
        """
        temporary, final = self.directory / f".step-{state.step}", self.path(state.step)
        temporary.mkdir(parents=True)
        save(temporary)
        (temporary / _STATE).write_text(json.dumps(asdict(state)))
        _sync_tree(temporary)
        before_visible()
        temporary.rename(final)
        _sync(self.directory)
        self._link("latest", state.step)
        if state.best_step == state.step:
            self._link("best", state.step)
        self._prune(state.best_step)
        return final

    def _read(self, step: int) -> CheckpointState:
        return CheckpointState(**json.loads((self.path(step) / _STATE).read_text()))

    def _link(self, name: str, step: int) -> None:
        temporary = self.directory / f".{name}"
        temporary.symlink_to(f"step-{step}")
        temporary.replace(self.directory / name)
        _sync(self.directory)

    def _prune(self, best_step: int | None) -> None:
        for step in self.steps()[: -self._keep]:
            if step != best_step:
                # Renamed first: a checkpoint that is half deleted must not look complete.
                doomed = self.path(step).rename(self.directory / f".step-{step}.old")
                _remove(doomed)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _sync_tree(directory: Path) -> None:
    for path in directory.rglob("*"):
        _sync(path)
    _sync(directory)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
