"""The score that a reasoning-gym task gives a response. Called by the scorer."""

import json
from functools import lru_cache
from typing import Any

from rltrain_api.errors import UserError
from rltrain_trainer.data.reasoning_gym import make_task
from rltrain_trainer.rewards.types import Log, RewardBatch


def reasoning_gym(batch: RewardBatch, log: Log) -> list[float]:
    """The task's own score of each response; one that its scorer cannot read scores 0, and `log` gets their count."""
    scores = [_score(r.strip(), columns) for r, columns in zip(batch.responses, batch.columns, strict=True)]
    log("failures", float(scores.count(None)))
    return [score or 0.0 for score in scores]


def _score(response: str, columns: dict[str, Any]) -> float | None:
    if "entry" not in columns or "task" not in columns:
        raise UserError("reward function `reasoningGym` scores prompts of `data.train.type: reasoningGym` only")
    task = _task(columns["task"], json.dumps(columns["task_parameters"], sort_keys=True))
    try:
        return float(task.score_answer(response, columns["entry"]))
    except Exception:  # noqa: BLE001 (a response is arbitrary text: the scorers of some tasks fail on it in any way)
        return None


@lru_cache(maxsize=64)
def _task(name: str, parameters: str) -> Any:
    """The task that scores; which prompts it would generate does not matter."""
    return make_task(name, json.loads(parameters), size=1, seed=0)
