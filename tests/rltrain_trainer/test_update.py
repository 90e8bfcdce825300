"""The update of a real tiny model: gradients do not depend on how samples are cut and padded, and do what GRPO says."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from rltrain_api.algorithm import GRPOSpec
from rltrain_api.training import TrainingSpec
from rltrain_trainer.batches import Sample
from rltrain_trainer.logprobs import Forward, response_logprobs
from rltrain_trainer.models.tiny_llama import make_model
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.update import GRPOUpdate

SAMPLES = [
    Sample(prompt_ids=[5, 6, 7], response_ids=[8, 9, 2], advantage=1.0),
    Sample(prompt_ids=[5, 6, 7], response_ids=[10, 2], advantage=-1.0),
    Sample(prompt_ids=[11], response_ids=[12, 13, 14, 15, 2], advantage=0.5),
    Sample(prompt_ids=[11], response_ids=[2], advantage=-0.5),
]
FORWARD = Forward(pad_id=0, device=torch.device("cpu"), temperature=1.0, precision="fp32", micro_batch_size=None)


def make_update(
    model: torch.nn.Module, reference: torch.nn.Module | None = None, rate: float = 0.1, **settings: Any
) -> GRPOUpdate:
    training = {"totalSteps": 10, "learningRate": 0.1, "maxGradNorm": 1e9} | settings.pop("training", {})
    return GRPOUpdate(
        model=model,
        reference=reference,
        optimizer=torch.optim.SGD(model.parameters(), lr=rate),
        spec=GRPOSpec(**settings),
        training=TrainingSpec.model_validate(training),
        forward=FORWARD,
        max_response=5,
    )


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def mean_logprob(model: torch.nn.Module, samples: Sequence[Sample]) -> list[float]:
    return [row.mean().item() for row in response_logprobs(model, samples, FORWARD)]


@pytest.mark.parametrize("aggregation", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm"])
def test_the_update_does_not_depend_on_the_cut_into_micro_batches(aggregation: str) -> None:
    results = []
    for size in (None, 1, 3):
        model = make_model(seed=0)
        settings = {"microBatchSize": size}
        metrics = make_update(model, loss_aggregation=aggregation, training=settings).run(SAMPLES, step=1)
        results.append((weights(model), metrics[metric_names.POLICY_LOSS]))
    for other, loss in results[1:]:
        torch.testing.assert_close(other, results[0][0], atol=1e-6, rtol=1e-4)
        assert loss == pytest.approx(results[0][1], abs=1e-6)


def test_good_responses_become_likelier_and_bad_ones_less_likely() -> None:
    model = make_model(seed=0)
    before = mean_logprob(model, SAMPLES)
    make_update(model).run(SAMPLES, step=1)
    after = mean_logprob(model, SAMPLES)
    assert [new > old for new, old in zip(after, before, strict=True)] == [s.advantage > 0 for s in SAMPLES]


def test_the_first_update_is_the_plain_policy_gradient() -> None:
    model, plain = make_model(seed=0), make_model(seed=0)
    metrics = make_update(model).run(SAMPLES, step=1)
    tokens = sum(len(sample.response_ids) for sample in SAMPLES)
    loss = torch.zeros(())
    for sample in SAMPLES:
        ids = torch.tensor([sample.prompt_ids + sample.response_ids])
        logp = plain(input_ids=ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])
        loss = loss - sample.advantage * logp[len(sample.prompt_ids) - 1 :].sum() / tokens
    loss.backward()
    with torch.no_grad():
        for parameter in plain.parameters():
            assert parameter.grad is not None
            parameter.add_(parameter.grad, alpha=-0.1)
    torch.testing.assert_close(weights(model), weights(plain), atol=1e-6, rtol=1e-4)
    advantages = sum(sample.advantage * len(sample.response_ids) for sample in SAMPLES)
    assert metrics[metric_names.POLICY_LOSS] == pytest.approx(-advantages / tokens, abs=1e-6)
    assert metrics[metric_names.CLIP_FRACTION] == 0
    assert 0 < metrics[metric_names.ENTROPY] <= torch.log(torch.tensor(99.0)).item()


def test_further_epochs_compare_with_the_policy_that_sampled() -> None:
    model = make_model(seed=0)
    settings = {"epochs": 2, "minibatches": 2, "learningRate": 0.1}
    metrics = make_update(model, training=settings).run(SAMPLES, step=1)
    assert metrics[metric_names.KL_OLD_POLICY] != 0
    assert metrics[metric_names.CLIP_FRACTION] >= 0


def test_kl_is_nil_at_the_reference_and_pulls_back_to_it() -> None:
    reference = make_model(seed=0).eval()
    at_reference = copy.deepcopy(reference)
    metrics = make_update(at_reference, reference, kl_coefficient=1.0).run(SAMPLES, step=1)
    assert metrics[metric_names.KL] == pytest.approx(0, abs=1e-6)

    model = make_model(seed=1)
    still = [Sample(prompt_ids=s.prompt_ids, response_ids=s.response_ids, advantage=0.0) for s in SAMPLES]
    update = make_update(model, reference, rate=0.01, kl_coefficient=1.0)
    first = update.run(still, step=1)[metric_names.KL]
    for step in range(2, 10):
        last = update.run(still, step=step)[metric_names.KL]
    assert last < 0.5 * first


def test_the_gradient_is_clipped_and_its_norm_reported_before() -> None:
    model = make_model(seed=0)
    before = weights(model)
    metrics = make_update(model, training={"maxGradNorm": 1e-3}).run(SAMPLES, step=1)
    assert metrics[metric_names.GRAD_NORM_ACTOR] > 1e-3
    assert (weights(model) - before).norm().item() == pytest.approx(0.1 * 1e-3, rel=1e-2)


def test_bf16_gives_nearly_the_same_probabilities() -> None:
    from dataclasses import replace

    model = make_model(seed=0).eval()
    exact = response_logprobs(model, SAMPLES, FORWARD)
    rounded = response_logprobs(model, SAMPLES, replace(FORWARD, precision="bf16"))
    for one, other in zip(exact, rounded, strict=True):
        torch.testing.assert_close(one, other, atol=0.05, rtol=0)
