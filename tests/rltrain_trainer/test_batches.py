"""Padding, micro-batches and the learning rate: small pure parts of the update."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rltrain_api.training import TrainingSpec
from rltrain_trainer.batches import MICRO_BATCH_TOKENS, Sample, collate, micro_batches, response_mask
from rltrain_trainer.schedule import learning_rate


def make_sample(prompt: int, response: int) -> Sample:
    return Sample(prompt_ids=list(range(1, prompt + 1)), response_ids=list(range(50, 50 + response)))


def test_responses_begin_together_and_positions_count_real_tokens() -> None:
    batch = collate([make_sample(3, 1), make_sample(1, 2)], pad_id=0, device=torch.device("cpu"))
    assert batch.input_ids.tolist() == [[1, 2, 3, 50, 0], [0, 0, 1, 50, 51]]
    assert batch.attention_mask.tolist() == [[1, 1, 1, 1, 0], [0, 0, 1, 1, 1]]
    assert batch.position_ids.tolist()[1] == [0, 0, 0, 1, 2]
    assert batch.response_mask.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert batch.response_ids.tolist() == [[50, 0], [50, 51]]


def test_a_batch_of_empty_responses_keeps_one_masked_column() -> None:
    batch = collate([make_sample(2, 0)], pad_id=9, device=torch.device("cpu"))
    assert batch.response_mask.tolist() == [[0.0]]


def test_response_mask_has_the_given_width() -> None:
    assert response_mask([make_sample(1, 2), make_sample(1, 0)], 3).tolist() == [[1, 1, 0], [0, 0, 0]]


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=60), st.one_of(st.none(), st.integers(1, 8)))
def test_micro_batches_hold_every_sample_once_within_their_bound(lengths: list[int], size: int | None) -> None:
    samples = [make_sample(length, 0) for length in lengths]
    parts = list(micro_batches(samples, size))
    assert sorted(index for part in parts for index in part) == list(range(len(samples)))
    for part in parts:
        longest = max(lengths[index] for index in part)
        assert len(part) == 1 or (len(part) <= size if size else len(part) * longest <= MICRO_BATCH_TOKENS)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]),
        ("cosine", [0.5, 1.0, 1.0, 0.8535534, 0.5, 0.1464466]),
    ],
)
def test_learning_rate_rises_then_follows_its_schedule(schedule: str, rates: list[float]) -> None:
    spec = TrainingSpec.model_validate(
        {"totalSteps": 6, "learningRate": 1.0, "lrSchedule": schedule, "lrWarmupSteps": 2}
    )
    assert [learning_rate(spec, step) for step in range(1, 7)] == pytest.approx(rates)
