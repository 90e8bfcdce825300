"""What a reward function is given, what it must be, and what scoring gives back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rltrain_api.errors import UserError

Log = Callable[[str, float], None]
"""Records a metric of the function's own; several values of one name become their mean."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardBatch:
    """Samples to score: all lists are as long as `responses`."""

    prompts: list[str]
    responses: list[str]
    answers: list[str | None]
    columns: list[dict[str, Any]]
    """What else the source of the prompts knows, by name."""
    response_lengths: list[int]
    """In tokens."""
    step: int


class Reward(Protocol):
    """One term of the reward."""

    def __call__(self, batch: RewardBatch, log: Log) -> Sequence[float]:
        """One number for each response."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """Rewards of a batch."""

    total: NDArray[np.float64]  # [samples]
    """Weighted sum of all terms."""
    terms: dict[str, NDArray[np.float64]]  # [samples] each
    """Each term by its name, without its weight."""
    metrics: dict[str, float] = field(default_factory=dict)
    """`reward/<name>_mean` of each term, and what the functions logged."""


def known_answers(batch: RewardBatch, function: str) -> list[str]:
    """The reference answers. Raises UserError if a prompt has none, which `function` cannot do without."""
    for prompt, answer in zip(batch.prompts, batch.answers, strict=True):
        if answer is None:
            raise UserError(
                f"reward function `{function}` compares with a reference answer, but the prompt {prompt[:80]!r} has "
                "none; name the column with answers in `answerKey`, or use a reward without answers"
            )
    return [answer for answer in batch.answers if answer is not None]
