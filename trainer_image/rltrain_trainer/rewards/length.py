"""A penalty for long responses. Called by the scorer."""

from rltrain_api.reward import LengthReward
from rltrain_trainer.rewards.types import Log, Reward, RewardBatch


def make_length(spec: LengthReward) -> Reward:
    """0 up to `target` tokens, falling linearly to -1 at `limit`."""

    def length(batch: RewardBatch, log: Log) -> list[float]:
        excess = ((tokens - spec.target) / (spec.limit - spec.target) for tokens in batch.response_lengths)
        return [-min(max(share, 0.0), 1.0) for share in excess]

    return length
