"""1 if a number in the response equals the answer's. Called by the scorer."""

import re
from decimal import Decimal

from rltrain_api.errors import UserError
from rltrain_api.reward import NumericReward
from rltrain_trainer.rewards.types import Log, Reward, RewardBatch, known_answers

# 12, -3, 1,234.5, .5; a minus after a word, a number or a bracket is a hyphen or an operator.
_NUMBER = re.compile(r"(?:(?<![\w)])-)?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+)")
_TYPESET_MINUS = "\N{MINUS SIGN}"


def make_numeric(spec: NumericReward) -> Reward:
    """Compares the number that `spec` picks from the response with the one picked from the answer."""

    def numeric(batch: RewardBatch, log: Log) -> list[float]:
        wanted = [_answer(answer, spec) for answer in known_answers(batch, "numeric")]
        given = [_pick(response, spec) for response in batch.responses]
        return [float(_equal(number, answer, spec)) for number, answer in zip(given, wanted, strict=True)]

    return numeric


def _answer(text: str, spec: NumericReward) -> Decimal:
    number = _pick(text, spec)
    if number is None:
        raise UserError(
            f"reward function `numeric`: the reference answer {text[:80]!r} has no number; use exact or math"
        )
    return number


def _pick(text: str, spec: NumericReward) -> Decimal | None:
    numbers = _NUMBER.findall(text.replace(_TYPESET_MINUS, "-"))
    return Decimal(numbers[-1 if spec.pick == "last" else 0].replace(",", "")) if numbers else None


def _equal(number: Decimal | None, answer: Decimal, spec: NumericReward) -> bool:
    return number is not None and abs(number - answer) <= Decimal(str(spec.tolerance))
