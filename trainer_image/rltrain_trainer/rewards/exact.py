"""1 if the response is the answer. Called by the scorer."""

from itertools import zip_longest

from rltrain_api.reward import ExactReward
from rltrain_trainer.rewards.types import Log, Reward, RewardBatch, known_answers


def make_exact(spec: ExactReward) -> Reward:
    """Compares without surrounding whitespace, wholly or character by character."""

    def exact(batch: RewardBatch, log: Log) -> list[float]:
        pairs = zip(batch.responses, known_answers(batch, "exact"), strict=True)
        return [_score(spec, response.strip(), answer.strip()) for response, answer in pairs]

    return exact


def _score(spec: ExactReward, response: str, answer: str) -> float:
    if spec.ignore_case:
        response, answer = response.casefold(), answer.casefold()
    if not spec.partial_credit or not (response and answer):
        return float(response == answer)
    # Surplus characters count as wrong ones.
    right = [given == wanted for given, wanted in zip_longest(response, answer)].count(True)
    return right / max(len(response), len(answer))
