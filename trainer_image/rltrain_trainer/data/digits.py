"""Small tasks on random digits, in characters that the tokenizer of `builtin:tiny-llama` knows. Called by `prompts`."""

import random
from collections.abc import Callable
from pathlib import Path

from rltrain_api.data import PromptSource
from rltrain_trainer.data.types import Prompt

_TASKS: dict[str, Callable[[list[int]], list[int]]] = {
    "copy": list,
    "reverse": lambda digits: digits[::-1],
    "sort": sorted,
}


def load(source: PromptSource, directory: Path) -> list[Prompt]:
    """Prompts such as `reverse 4 1 7 =` with the answer `714`, the same ones for the same seed."""
    spec = source.digits
    assert spec is not None  # noqa: S101 (a rule of PromptSource)
    generator = random.Random(spec.seed)  # noqa: S311 (data, not secrets)
    rows = [generator.choices(range(10), k=spec.length) for _ in range(spec.size)]
    solve = _TASKS[spec.task]
    return [
        Prompt(
            index=index,
            prompt=f"{spec.task} {' '.join(map(str, digits))} =",
            answer="".join(map(str, solve(digits))),
            columns={"task": spec.task, "digits": digits},
        )
        for index, digits in enumerate(rows)
    ]
