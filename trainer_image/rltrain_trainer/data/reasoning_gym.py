"""Procedural tasks of the reasoning-gym library. Called by `prompts`, and by the reward that scores their answers."""

import dataclasses
from pathlib import Path
from typing import Any

from rltrain_api.data import PromptSource
from rltrain_api.errors import UserError
from rltrain_api.problems import nearest
from rltrain_trainer.data.types import Prompt


def load(source: PromptSource, directory: Path) -> list[Prompt]:
    """Prompts of the task; `columns` keep what its own scorer needs."""
    spec = source.reasoning_gym
    assert spec is not None  # noqa: S101 (a rule of PromptSource)
    task = make_task(spec.task, spec.parameters, size=spec.size, seed=spec.seed)
    kept = {"task": spec.task, "task_parameters": spec.parameters}
    entries = (task[index] for index in range(spec.size))
    return [
        Prompt(index=index, prompt=entry["question"], answer=str(entry["answer"]), columns=kept | {"entry": entry})
        for index, entry in enumerate(entries)
    ]


def make_task(name: str, parameters: dict[str, Any], *, size: int, seed: int) -> Any:
    """The reasoning-gym dataset `name`. Raises UserError for an unknown task or parameter, or a bad value."""
    from reasoning_gym.factory import DATASETS, create_dataset

    if name not in DATASETS:
        raise UserError(f"reasoningGym.task: there is no task `{name}`; {nearest(name, DATASETS)}")
    known = {field.name for field in dataclasses.fields(DATASETS[name][1])} - {"size", "seed"}
    for given in parameters:
        if given in ("size", "seed"):
            raise UserError(f"reasoningGym.parameters.{given}: give it as `reasoningGym.{given}` instead")
        if given not in known:
            raise UserError(f"reasoningGym.parameters.{given}: `{name}` has no such parameter; {nearest(given, known)}")
    try:
        return create_dataset(name, size=size, seed=seed, **parameters)
    except (AssertionError, TypeError, ValueError) as error:
        raise UserError(f"reasoningGym.parameters: `{name}` does not accept them: {error}") from error
