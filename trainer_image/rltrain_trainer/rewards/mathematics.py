"""1 if the response's mathematical expression equals the answer's, by math-verify. Called by the scorer."""

import threading

from rltrain_trainer.rewards.types import Log, RewardBatch, known_answers

_TIMEOUT_SECONDS = 2


def mathematics(batch: RewardBatch, log: Log) -> list[float]:
    """What math-verify cannot read or compare scores 0; `log` gets the count of those that made it fail."""
    pairs = zip(batch.responses, known_answers(batch, "math"), strict=True)
    verdicts = [_verify(response, answer) for response, answer in pairs]
    log("failures", float(verdicts.count(None)))
    return [float(bool(verdict)) for verdict in verdicts]


def _verify(response: str, answer: str) -> bool | None:
    """Whether they are equal; None if math-verify failed."""
    from math_verify import parse, verify
    from math_verify.errors import TimeoutException

    # Its time limit is an alarm signal, which only the main thread may set.
    timeout = _TIMEOUT_SECONDS if threading.current_thread() is threading.main_thread() else None
    try:
        # math-verify looks for marked-up formulas; a bare answer such as \frac{1}{2} becomes one.
        marked = answer if "$" in answer or "\\boxed" in answer else f"${answer}$"
        gold = parse(marked, parsing_timeout=timeout, raise_on_error=True)
        given = parse(response, parsing_timeout=timeout, raise_on_error=True)
        equal: bool = verify(gold, given, timeout_seconds=timeout, raise_on_error=True)
    except (Exception, TimeoutException):  # noqa: BLE001 (a response is arbitrary text: the parser may fail in any way)
        return None
    return equal
