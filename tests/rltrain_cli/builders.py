"""Manifests and run directories for the tests of the commands, made as a run makes them."""

from pathlib import Path
from typing import Any

import yaml

from rltrain_trainer.log.records import RunState
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory

REWARD = "reward/episode_reward_mean"


def make_manifest(directory: Path, *, name: str = "copy", **parts: Any) -> Path:
    """A manifest that is valid; fields of parts of the spec may be given."""
    spec: dict[str, Any] = {
        "model": {"path": "builtin:tiny-llama"},
        "data": {"train": {"type": "digits", "digits": {"task": "copy", "size": 10}}},
        "algorithm": {"type": "grpo"},
        "training": {"totalSteps": 10},
        "reward": {"functions": [{"type": "exact"}]},
        "tracking": {"logger": ["console", "tensorboard"]},
    }
    for part, fields in parts.items():
        spec[part] = spec.get(part, {}) | fields
    content = {"apiVersion": "rltrain.io/v1alpha1", "kind": "RLTrainingJob", "metadata": {"name": name}, "spec": spec}
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "job.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def make_run(
    runs_dir: Path, *, name: str = "copy", steps: int = 10, ended: RunState | None = RunState.FINISHED, **parts: Any
) -> RunDirectory:
    """A run whose log holds `steps` steps with a reward of a tenth of the step, and how it ended."""
    run = RunDirectory.create(runs_dir, name)
    make_manifest(run.path, name=name, **parts)
    log = RunLog(run, attempt=run.begin_attempt(), resume_step=-1, log_interval=1)
    for step in range(1, steps + 1):
        log.scalars(step, {REWARD: step / 10})
        log.end_step(step)
    if ended:
        log.mark(ended, steps)
    log.close()
    return run
