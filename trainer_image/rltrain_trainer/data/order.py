"""Which prompts a step uses: a function of the step, so a resume needs nothing else. Called by the training loop."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np


@dataclass(frozen=True, slots=True)
class PromptOrder:
    """Passes over `count` prompts, one after another; a batch may hold the end of one and the beginning of the next."""

    count: int
    batch_size: int
    shuffle: bool
    seed: int

    def batch(self, step: int) -> list[int]:
        """Indices of the prompts of `step`, counted from 1."""
        first = (step - 1) * self.batch_size
        return [self._at(position) for position in range(first, first + self.batch_size)]

    def _at(self, position: int) -> int:
        number, offset = divmod(position, self.count)
        return _permutation(self.count, self.seed, number)[offset] if self.shuffle else offset


@lru_cache(maxsize=8)
def _permutation(count: int, seed: int, number: int) -> list[int]:
    """Order of the prompts in pass `number`."""
    permuted: list[int] = np.random.default_rng([seed, number]).permutation(count).tolist()
    return permuted
