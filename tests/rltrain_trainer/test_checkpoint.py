"""Checkpoints are complete or absent, the newest few and the best stay, links follow."""

from pathlib import Path

import pytest

from rltrain_trainer.checkpoint import Checkpoints, CheckpointState


def save(directory: Path) -> None:
    (directory / "model.safetensors").write_bytes(b"weights")


def write(checkpoints: Checkpoints, step: int, **state: float) -> None:
    checkpoints.write(CheckpointState(step=step, **state), save, lambda: None)  # type: ignore[arg-type]


def test_the_newest_and_the_best_stay(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    write(checkpoints, 10, best_step=10, best_reward=0.5)
    for step in (20, 30, 40):
        write(checkpoints, step, best_step=10, best_reward=0.5)
    assert checkpoints.steps() == [10, 30, 40]
    assert (tmp_path / "latest").resolve() == tmp_path / "step-40"
    assert (tmp_path / "best").resolve() == tmp_path / "step-10"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "latest", "step-10", "step-30", "step-40"]


def test_state_comes_back(tmp_path: Path) -> None:
    write(Checkpoints(tmp_path, keep=2), 7, best_step=5, best_reward=0.25)
    assert Checkpoints(tmp_path, keep=2).latest() == CheckpointState(step=7, best_step=5, best_reward=0.25)


def test_without_a_checkpoint_there_is_no_state(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path, keep=2).latest() is None


def test_a_half_written_checkpoint_is_none_and_leaves_nothing(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    write(checkpoints, 1)

    def fail() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        checkpoints.write(CheckpointState(step=2), save, fail)
    assert checkpoints.steps() == [1]
    latest = Checkpoints(tmp_path, keep=2).latest()
    assert latest and latest.step == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-1"]
    write(checkpoints, 2)
    assert checkpoints.steps() == [1, 2]


def test_the_log_is_safe_before_the_checkpoint_appears(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    seen = []
    checkpoints.write(CheckpointState(step=3), save, lambda: seen.append(checkpoints.steps()))
    assert seen == [[]]
    assert checkpoints.steps() == [3]


def test_numbers_order_steps_not_their_names(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in (9, 10, 100):
        write(checkpoints, step)
    assert checkpoints.steps() == [9, 10, 100]
