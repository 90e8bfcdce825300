"""Every algorithm against verl 0.9.1's numbers on fixed inputs, gradients too, and against hand-made cases."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from rltrain_trainer.algorithms.advantages import group_normalized_advantages, groups_without_signal
from rltrain_trainer.algorithms.aggregation import token_weights
from rltrain_trainer.algorithms.kl import kl_divergence
from rltrain_trainer.algorithms.policy_loss import clipped_policy_loss

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "verl_0_9_1_vectors.json").read_text())
LOSS_CASES = {
    "pg_ppo": {"clip_low": 0.2, "clip_high": 0.2, "dual_clip": 3.0},
    "pg_clip_higher": {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0},
    "pg_dual_clip_c1.2": {"clip_low": 0.2, "clip_high": 0.2, "dual_clip": 1.2},
}


def given(name: str) -> torch.Tensor:
    return torch.tensor(VECTORS["inputs"][name])


def masked_mean(values: torch.Tensor) -> float:
    return (values * given("mask")).sum().item() / given("mask").sum().item()


def loss_vectors() -> list[tuple[str, str, str]]:
    prefixes = sorted(LOSS_CASES, key=len, reverse=True)
    names = [(name, next((p for p in prefixes if name.startswith(p)), "")) for name in VECTORS]
    return [(name, prefix, name.removeprefix(prefix + "_")) for name, prefix in names if prefix]


@pytest.mark.parametrize(("name", "prefix", "aggregation"), loss_vectors())
def test_policy_loss_and_its_gradient_equal_the_reference(name: str, prefix: str, aggregation: Any) -> None:
    logp = given("logp").requires_grad_()
    result = clipped_policy_loss(logp, given("old_logp"), torch.tensor(VECTORS["pg_adv"]), **LOSS_CASES[prefix])
    loss = (token_weights(given("mask"), aggregation) * result.loss).sum()
    loss.backward()
    want = VECTORS[name]
    assert loss.item() == pytest.approx(want["loss"], abs=1e-5)
    assert masked_mean(result.clipped) == pytest.approx(want["actor/pg_clipfrac"], abs=1e-5)
    assert masked_mean(result.clipped_by_dual) == pytest.approx(want["actor/pg_clipfrac_lower"], abs=1e-5)
    assert masked_mean(-result.log_ratio) == pytest.approx(want["actor/ppo_kl"], abs=1e-5)
    torch.testing.assert_close(logp.grad, torch.tensor(want["grad_logp"]), atol=1e-5, rtol=0)


def test_all_aggregations_are_in_the_reference() -> None:
    assert {aggregation for _, _, aggregation in loss_vectors()} == {
        "token-mean",
        "seq-mean-token-sum",
        "seq-mean-token-mean",
        "seq-mean-token-sum-norm",
    }


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_kl_equals_the_reference(estimator: Any) -> None:
    value = kl_divergence(given("logp"), given("ref_logp"), estimator)
    torch.testing.assert_close(value, torch.tensor(VECTORS[f"kl_{estimator}"]), atol=1e-5, rtol=0)


def test_grpo_advantages_equal_the_reference_in_every_group() -> None:
    rewards = given("token_rewards").sum(dim=1)
    want = torch.tensor(VECTORS["grpo_std=True"])[:, 0]
    groups: dict[str, list[int]] = {}
    for index, group in enumerate(VECTORS["inputs"]["uid"]):
        groups.setdefault(group, []).append(index)
    for members in groups.values():
        got = group_normalized_advantages(rewards[members], len(members))
        torch.testing.assert_close(got, want[members], atol=1e-5, rtol=0)


def test_equal_rewards_give_no_advantage_and_count_as_without_signal() -> None:
    rewards = torch.tensor([1.0, 1.0, 1.0, 0.0, 1.0, 0.5])
    assert group_normalized_advantages(rewards, 3)[:3].tolist() == [0.0, 0.0, 0.0]
    assert groups_without_signal(rewards, 3) == 0.5


def test_without_normalisation_advantages_are_differences_to_the_mean() -> None:
    got = group_normalized_advantages(torch.tensor([1.0, 0.0, 0.5]), 3, normalize_by_std=False)
    torch.testing.assert_close(got, torch.tensor([0.5, -0.5, 0.0]))


def test_extreme_log_ratios_stay_finite() -> None:
    logp = torch.tensor([[-1e4, 0.0]], requires_grad=True)
    result = clipped_policy_loss(logp, torch.tensor([[0.0, -1e4]]), torch.tensor([[-1.0]]), clip_low=0.2, clip_high=0.2)
    (result.loss.sum() + kl_divergence(logp, torch.tensor([[0.0, -1e4]]), "k3").sum()).backward()
    assert torch.isfinite(result.loss).all()
    assert logp.grad is not None and torch.isfinite(logp.grad).all()


@pytest.mark.parametrize("aggregation", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"])
def test_an_empty_response_weighs_nothing(aggregation: Any) -> None:
    weights = token_weights(torch.tensor([[1.0, 1.0], [0.0, 0.0]]), aggregation)
    assert torch.isfinite(weights).all()
    assert weights[1].sum() == 0
