"""The sum of several reward functions."""

from pathlib import Path

import pytest

from rltrain_api.reward import RewardSpec
from rltrain_trainer.rewards.score import RewardBatch, RewardScorer

BATCH = RewardBatch(
    prompts=["p", "p"],
    responses=["4", "5"],
    answers=["4", "4"],
    columns=[{}, {}],
    response_lengths=[1, 3],
    step=1,
)


def test_the_total_is_the_weighted_sum_and_terms_are_unweighted() -> None:
    functions = [
        {"type": "exact", "weight": 2.0},
        {"type": "length", "name": "short", "weight": 0.5, "length": {"target": 1, "limit": 3}},
    ]
    scores = RewardScorer(RewardSpec.model_validate({"functions": functions}), Path()).score(BATCH)
    assert scores.total.tolist() == [2.0, -0.5]
    assert {name: values.tolist() for name, values in scores.terms.items()} == {
        "exact": [1.0, 0.0],
        "short": [0.0, -1.0],
    }
    assert scores.metrics == {"reward/exact_mean": 0.5, "reward/short_mean": pytest.approx(-0.5)}
