"""One step's updates of the policy by GRPO: epochs, mini-batches, micro-batches, clipping. Called by `policy`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from rltrain_api.algorithm import GRPOSpec
from rltrain_api.training import TrainingSpec
from rltrain_trainer.algorithms.aggregation import token_weights
from rltrain_trainer.algorithms.kl import kl_divergence
from rltrain_trainer.algorithms.policy_loss import clipped_policy_loss
from rltrain_trainer.batches import Batch, Sample, collate, micro_batches, response_mask
from rltrain_trainer.logprobs import Forward, chosen_logprobs, response_logits, response_logprobs, stack, token_entropy
from rltrain_trainer.tracking import metric_names


@dataclass(kw_only=True, slots=True)
class _Sums:
    """What the micro-batches of a step add up to; means over tokens are taken at the end."""

    loss: float = 0.0
    tokens: float = 0.0
    terms: dict[str, float] = field(default_factory=dict)
    grad_norms: list[float] = field(default_factory=list)

    def add(self, loss: Tensor, terms: dict[str, Tensor], mask: Tensor) -> None:
        self.loss += loss.item()
        self.tokens += mask.sum().item()
        for name, values in terms.items():
            self.terms[name] = self.terms.get(name, 0.0) + (values.detach() * mask).sum().item()

    def metrics(self) -> dict[str, float]:
        updates = len(self.grad_norms)
        return {
            metric_names.POLICY_LOSS: self.loss / updates,
            metric_names.GRAD_NORM_ACTOR: sum(self.grad_norms) / updates,
        } | {name: total / max(self.tokens, 1.0) for name, total in self.terms.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class GRPOUpdate:
    """Updates `model` in place on the samples of one step."""

    model: nn.Module
    reference: nn.Module | None
    optimizer: torch.optim.Optimizer
    spec: GRPOSpec
    training: TrainingSpec
    forward: Forward
    max_response: int  # width of the mask, for the aggregation that divides by it

    def run(self, samples: Sequence[Sample], step: int) -> dict[str, float]:
        """All optimizer steps on `samples`; returns the metrics of the step."""
        self.model.train()
        samples = self._with_logprobs(samples)
        sums = _Sums()
        for minibatch in self._minibatches(samples, step):
            self._accumulate(minibatch, sums)
            sums.grad_norms.append(apply_gradients(self.model, self.optimizer, self.training.max_grad_norm))
        return sums.metrics()

    def _with_logprobs(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Samples with the log-probabilities of the old policy and of the reference, each only where it is needed."""
        if self.reference:
            logprobs = response_logprobs(self.reference, samples, self.forward)
            samples = [replace(s, reference_logprobs=row) for s, row in zip(samples, logprobs, strict=True)]
        # With a single optimizer step the old policy is the current one: it needs no pass of its own.
        if self.training.epochs * self.training.minibatches > 1:
            logprobs = response_logprobs(self.model, samples, self.forward)
            samples = [replace(s, old_logprobs=row) for s, row in zip(samples, logprobs, strict=True)]
        return samples

    def _minibatches(self, samples: Sequence[Sample], step: int) -> Iterator[list[Sample]]:
        """Samples of each optimizer step, shuffled anew for each epoch by seed and step alone."""
        for epoch in range(self.training.epochs):
            generator = torch.Generator().manual_seed((self.training.seed * 1_000_003 + step) * 1_009 + epoch)
            order = torch.randperm(len(samples), generator=generator)
            for part in order.tensor_split(self.training.minibatches):
                yield [samples[index] for index in part.tolist()]

    def _accumulate(self, minibatch: list[Sample], sums: _Sums) -> None:
        """Add the gradients of one mini-batch, micro-batch by micro-batch."""
        weights = token_weights(response_mask(minibatch, self.max_response), self.spec.loss_aggregation)
        for part in micro_batches(minibatch, self.training.micro_batch_size):
            samples = [minibatch[row] for row in part]
            batch = collate(samples, self.forward.pad_id, self.forward.device)
            losses, terms = self._token_losses(samples, batch)
            loss = (weights[part, : losses.shape[1]].to(losses.device) * losses).sum()
            loss.backward()
            sums.add(loss, terms, batch.response_mask)

    def _token_losses(self, samples: list[Sample], batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of each token [samples, response], and what is reported of each token by metric name."""
        logits = response_logits(self.model, batch, self.forward)
        logp = chosen_logprobs(logits, batch.response_ids)
        old = _stacked([sample.old_logprobs for sample in samples], logp)
        clip = clipped_policy_loss(
            logp,
            logp.detach() if old is None else old,
            torch.tensor([[sample.advantage] for sample in samples], device=logp.device),
            clip_low=self.spec.clip_range_low,
            clip_high=self.spec.clip_range_high,
            dual_clip=self.spec.dual_clip,
        )
        terms = {
            metric_names.CLIP_FRACTION: (clip.clipped | clip.clipped_by_dual).float(),
            metric_names.KL_OLD_POLICY: -clip.log_ratio,
            metric_names.ENTROPY: token_entropy(logits),
        }
        reference = _stacked([sample.reference_logprobs for sample in samples], logp)
        if reference is None:
            return clip.loss, terms
        kl = kl_divergence(logp, reference, self.spec.kl_estimator)
        return clip.loss + self.spec.kl_coefficient * kl, terms | {metric_names.KL: kl}


def apply_gradients(model: nn.Module, optimizer: torch.optim.Optimizer, max_norm: float) -> float:
    """One optimizer step with the accumulated gradients, scaled down to `max_norm`; returns their norm before that."""
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm.item()


def _stacked(rows: list[Tensor | None], like: Tensor) -> Tensor | None:
    present = [row for row in rows if row is not None]
    return stack(present, like.shape[1], like.device) if present else None
