"""The policy without Ray: what is saved comes back exactly, warm start and reference do what they say."""

from pathlib import Path
from typing import Any

import pytest
import torch

from rltrain_api.job import JobSpec
from rltrain_trainer.batches import Sample
from rltrain_trainer.policy import Policy
from rltrain_trainer.rollout.types import Request, Sampling
from rltrain_trainer.tracking import metric_names

SAMPLES = [
    Sample(prompt_ids=[5, 6, 7], response_ids=[8, 9, 2], advantage=1.0),
    Sample(prompt_ids=[5, 6], response_ids=[10, 2], advantage=-1.0),
]


def make_policy(**training: Any) -> Policy:
    spec = {
        "model": {"path": "builtin:tiny-llama"},
        "data": {"train": {"type": "digits", "digits": {"task": "copy"}}},
        "algorithm": {"type": "grpo", "grpo": {"klCoefficient": 0.1}},
        "training": {"totalSteps": 10, "learningRate": 1e-3, "deterministic": True} | training,
        "reward": {"functions": [{"type": "exact"}]},
    }
    return Policy(JobSpec.model_validate(spec), Path())


@pytest.fixture(autouse=True)
def _kernels_as_before() -> Any:
    yield
    torch.use_deterministic_algorithms(False)


def test_a_restored_policy_continues_exactly(tmp_path: Path) -> None:
    policy = make_policy()
    policy.begin()
    policy.update(SAMPLES, step=1)
    policy.save(tmp_path)
    expected = policy.update(SAMPLES, step=2)

    restored = make_policy()
    restored.restore(tmp_path, reference=None)
    assert restored.update(SAMPLES, step=2) == expected
    requests = [Request(prompt_ids=[5, 6, 7], seed=3)]
    sampling = Sampling(max_new_tokens=8)
    assert restored.generate(requests, sampling) == policy.generate(requests, sampling)


def test_the_reference_of_a_warm_started_run_comes_from_its_file(tmp_path: Path) -> None:
    policy = make_policy()
    policy.warm_start(SAMPLES, rate=1e-2)
    policy.begin()
    policy.save_reference(tmp_path / "reference")
    policy.save(tmp_path / "checkpoint")
    restored = make_policy()
    restored.restore(tmp_path / "checkpoint", tmp_path / "reference")
    # Policy and reference are still equal, so their divergence is nil.
    assert restored.update(SAMPLES, step=1)[metric_names.KL] == pytest.approx(0, abs=1e-7)


def test_warm_start_makes_answers_likelier() -> None:
    policy = make_policy()
    losses = [policy.warm_start(SAMPLES, rate=1e-2) for _ in range(5)]
    assert losses[-1] < losses[0] - 0.5


def test_without_a_kl_term_there_is_no_reference_and_no_divergence(tmp_path: Path) -> None:
    spec = make_policy()._spec
    algorithm = spec.algorithm.model_copy(update={"grpo": None})
    policy = Policy(spec.model_copy(update={"algorithm": algorithm}), Path())
    policy.begin()
    assert metric_names.KL not in policy.update(SAMPLES, step=1)
    policy.save_reference(tmp_path / "reference")
    assert not (tmp_path / "reference").exists()


def test_the_learning_rate_of_the_step_is_used_and_reported() -> None:
    policy = make_policy(lrWarmupSteps=4)
    policy.begin()
    assert policy.update(SAMPLES, step=1)[metric_names.LEARNING_RATE_ACTOR] == pytest.approx(2.5e-4)
