"""The reward of a batch of responses: the weighted sum of all terms. Called by the rollout, and built by validation."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from rltrain_api.reward import ExactReward, NumericReward, RewardFunctionSpec, RewardSpec, reward_name
from rltrain_trainer.rewards.custom import make_custom
from rltrain_trainer.rewards.exact import make_exact
from rltrain_trainer.rewards.functions import find_function
from rltrain_trainer.rewards.length import make_length
from rltrain_trainer.rewards.mathematics import mathematics
from rltrain_trainer.rewards.numeric import make_numeric
from rltrain_trainer.rewards.pattern import make_pattern
from rltrain_trainer.rewards.reasoning_gym import reasoning_gym
from rltrain_trainer.rewards.types import Reward, RewardBatch, Scores

__all__ = ["RewardBatch", "RewardScorer", "Scores"]


def _pattern(spec: RewardFunctionSpec, directory: Path) -> Reward:
    assert spec.pattern is not None  # noqa: S101 (a rule of RewardFunctionSpec)
    return make_pattern(spec.pattern)


def _length(spec: RewardFunctionSpec, directory: Path) -> Reward:
    assert spec.length is not None  # noqa: S101 (a rule of RewardFunctionSpec)
    return make_length(spec.length)


def _custom(spec: RewardFunctionSpec, directory: Path) -> Reward:
    assert spec.custom is not None  # noqa: S101 (a rule of RewardFunctionSpec)
    return make_custom(spec.custom, find_function(spec.custom.function, directory))


_FACTORIES: dict[str, Callable[[RewardFunctionSpec, Path], Reward]] = {
    "exact": lambda spec, directory: make_exact(spec.exact or ExactReward()),
    "numeric": lambda spec, directory: make_numeric(spec.numeric or NumericReward()),
    "math": lambda spec, directory: mathematics,
    "pattern": _pattern,
    "length": _length,
    "reasoningGym": lambda spec, directory: reasoning_gym,
    "custom": _custom,
}


class RewardScorer:
    """All reward functions of a spec, ready to be called."""

    def __init__(self, spec: RewardSpec, directory: Path) -> None:
        """Relative paths start at `directory`. Raises UserError for a function that cannot be found or called."""
        self._terms = [(reward_name(f), f.weight, _FACTORIES[f.type](f, directory)) for f in spec.functions]

    def score(self, batch: RewardBatch) -> Scores:
        """Rewards of all samples. Raises UserError if a function fails or returns something else than numbers."""
        total = np.zeros(len(batch.responses))
        terms = {}
        logged: defaultdict[str, list[float]] = defaultdict(list)
        for name, weight, function in self._terms:
            terms[name] = np.array(function(batch, partial(_log, logged, name)), dtype=np.float64)
            total += weight * terms[name]
            logged[f"reward/{name}_mean"].extend(terms[name])
        return Scores(total=total, terms=terms, metrics={key: float(np.mean(v)) for key, v in logged.items()})


def _log(logged: defaultdict[str, list[float]], function: str, name: str, value: float) -> None:
    """Note a metric; a name without a group of its own goes beside the reward of `function`."""
    logged[name if "/" in name else f"reward/{function}/{name}"].append(float(value))
