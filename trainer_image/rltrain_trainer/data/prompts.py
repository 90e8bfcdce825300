"""All prompts of a source. Called before training starts and by `rltrain validate`."""

from collections.abc import Callable
from pathlib import Path

from rltrain_api.data import PromptSource
from rltrain_trainer.data import digits, files, reasoning_gym
from rltrain_trainer.data.types import Prompt

__all__ = ["Prompt", "load_prompts"]

_LOADERS: dict[str, Callable[[PromptSource, Path], list[Prompt]]] = {
    "file": files.load,
    "reasoningGym": reasoning_gym.load,
    "digits": digits.load,
}


def load_prompts(source: PromptSource, directory: Path) -> list[Prompt]:
    """The prompts that `source` describes; relative paths start at `directory`.

    Raises UserError for a file, a row or a task that is not as it should be.
    """
    return _LOADERS[source.type](source, directory)
