"""Log-probabilities of responses under a model, as the losses need them. Called by the policy and its update."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from rltrain_trainer.batches import Batch, Sample, collate, micro_batches

Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Forward:
    """How a forward pass is made: everything that must be equal wherever probabilities are compared."""

    pad_id: int
    device: torch.device
    temperature: float
    precision: Precision
    micro_batch_size: int | None


def response_logits(model: nn.Module, batch: Batch, forward: Forward) -> Tensor:
    """Temperature-scaled fp32 logits of the response tokens, [samples, response, vocabulary]."""
    width = batch.response_mask.shape[1]
    with torch.autocast(forward.device.type, torch.bfloat16, enabled=forward.precision == "bf16"):
        output = model(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            position_ids=batch.position_ids,
            use_cache=False,
            logits_to_keep=width + 1,  # the token before the first response token predicts it
        )
    logits: Tensor = output.logits[:, :-1].float()
    return logits / forward.temperature if forward.temperature != 1 else logits


def chosen_logprobs(logits: Tensor, response_ids: Tensor) -> Tensor:
    """Log-probability of each response token, [samples, response], from `logits` [samples, response, vocabulary]."""
    flat = functional.cross_entropy(logits.flatten(0, 1), response_ids.flatten(), reduction="none")
    return -flat.view_as(response_ids)


@torch.no_grad()
def token_entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of each token's distribution, [samples, response]."""
    logprobs = logits.log_softmax(dim=-1)
    return -(logprobs.exp() * logprobs).sum(dim=-1)


@torch.inference_mode()
def response_logprobs(model: nn.Module, samples: Sequence[Sample], forward: Forward) -> list[Tensor]:
    """Log-probabilities of each sample's response tokens, without gradients: one tensor [response] a sample."""
    result: list[Tensor] = [torch.empty(0)] * len(samples)
    for chosen in micro_batches(samples, forward.micro_batch_size):
        batch = collate([samples[index] for index in chosen], forward.pad_id, forward.device)
        logprobs = chosen_logprobs(response_logits(model, batch, forward), batch.response_ids)
        for row, index in enumerate(chosen):
            result[index] = logprobs[row, : len(samples[index].response_ids)].cpu()
    return result


def stack(rows: Sequence[Tensor], width: int, device: torch.device) -> Tensor:
    """Rows of different lengths as one tensor [rows, width], filled up with zeros."""
    return torch.stack([functional.pad(row, (0, width - len(row))) for row in rows]).to(device)
