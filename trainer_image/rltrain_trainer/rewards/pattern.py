"""1 if a regular expression is found in the response. Called by the scorer."""

import re

from rltrain_api.errors import UserError
from rltrain_api.reward import PatternReward
from rltrain_trainer.rewards.types import Log, Reward, RewardBatch


def make_pattern(spec: PatternReward) -> Reward:
    """Raises UserError if the regular expression is not one."""
    try:
        regex = re.compile(spec.regex, re.DOTALL)
    except re.error as error:
        raise UserError(f"reward function `pattern`: {spec.regex!r} is not a regular expression: {error}") from error
    matches = regex.fullmatch if spec.full_match else regex.search

    def pattern(batch: RewardBatch, log: Log) -> list[float]:
        return [float(matches(response) is not None) for response in batch.responses]

    return pattern
