"""The choice of tokens: frequencies, truncation, log-probabilities."""

import math

import pytest
import torch
from torch import Tensor

from rltrain_trainer.rollout.sampling import choose, uniform_numbers
from rltrain_trainer.rollout.types import Sampling

LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0, -2.0, float("-inf")])
DRAWS = 20_000
# 99.9% quantiles of the chi-square distribution by degrees of freedom.
CHI_SQUARE_LIMIT = {1: 10.83, 2: 13.82, 4: 18.47}


def draw(sampling: Sampling, logits: Tensor = LOGITS, seed: int = 0) -> tuple[Tensor, Tensor]:
    uniforms = uniform_numbers([seed], DRAWS)[0]
    return choose(logits.expand(DRAWS, -1), uniforms, sampling)


def chi_square(tokens: Tensor, expected: Tensor) -> float:
    counts = torch.bincount(tokens, minlength=len(expected)).double()
    assert counts[expected == 0].sum() == 0
    wanted = DRAWS * expected[expected > 0].double()
    return float(((counts[expected > 0] - wanted) ** 2 / wanted).sum())


@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_frequencies_are_those_of_the_distribution(temperature: float, seed: int) -> None:
    tokens, _ = draw(Sampling(temperature=temperature, max_new_tokens=1), seed=seed)
    assert chi_square(tokens, (LOGITS / temperature).softmax(-1)) < CHI_SQUARE_LIMIT[4]


@pytest.mark.parametrize(
    ("top_k", "top_p", "kept"),
    [(1, 1.0, 1), (2, 1.0, 2), (0, 0.5, 1), (0, 0.8, 2), (0, 0.9, 3), (3, 0.8, 2), (3, 0.99, 3), (99, 1.0, 5)],
)
def test_truncation_keeps_the_most_likely_tokens(top_k: int, top_p: float, kept: int) -> None:
    # Of all tokens the first has 0.64, the first two 0.87, the first three 0.96 of the probability.
    tokens, logprobs = draw(Sampling(top_k=top_k, top_p=top_p, max_new_tokens=1))
    whole = LOGITS.softmax(-1)
    expected = torch.where(torch.arange(len(LOGITS)) < kept, whole, 0)
    if kept > 1 and kept - 1 in CHI_SQUARE_LIMIT:
        assert chi_square(tokens, expected / expected.sum()) < CHI_SQUARE_LIMIT[kept - 1]
    assert set(tokens.tolist()) == set(range(kept))
    assert torch.allclose(logprobs, whole.log()[tokens])


def test_top_p_looks_as_far_as_it_has_to() -> None:
    falling = -torch.arange(4000) / 4000
    expected = int((falling.double().softmax(-1).cumsum(-1) < 0.9).sum())
    uniforms = torch.arange(4000) / 4000
    tokens, _ = choose(falling.expand(4000, -1), uniforms, Sampling(top_p=0.9, max_new_tokens=1))
    assert expected - 5 < tokens.max() <= expected


def test_zero_temperature_is_greedy_with_the_probabilities_at_one() -> None:
    tokens, logprobs = draw(Sampling(temperature=0, max_new_tokens=1))
    assert tokens.unique().tolist() == [0]
    assert logprobs[0].item() == pytest.approx(LOGITS.log_softmax(-1)[0].item())


@pytest.mark.parametrize(("uniform", "token"), [(0.0, 1), (0.4999, 1), (0.5001, 3), (1 - 2**-24, 3)])
def test_a_uniform_number_selects_its_part_of_the_distribution(uniform: float, token: int) -> None:
    logits = torch.tensor([[-math.inf, 0.0, -math.inf, 0.0, -math.inf]])
    tokens, logprobs = choose(logits, torch.tensor([uniform]), Sampling(max_new_tokens=1))
    assert tokens.tolist() == [token]
    assert logprobs.item() == pytest.approx(-math.log(2))


def test_uniform_numbers_follow_from_each_seed_alone_and_longer_ones_go_on() -> None:
    both = uniform_numbers([5, 2**64 - 1], 100)
    assert both.shape == (2, 100)
    assert torch.equal(uniform_numbers([2**64 - 1], 40)[0], both[1, :40])
    assert both.min() >= 0
    assert both.max() < 1
    assert not torch.equal(both[0], both[1])
