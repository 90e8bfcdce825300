"""Samples of any length become padded tensors, in micro-batches of similar length. Called by the policy's update."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Padded tokens in one forward and backward pass when the spec gives no micro-batch size.
MICRO_BATCH_TOKENS = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One response with what the update needs of it. Log-probabilities are [response] tensors, where needed."""

    prompt_ids: list[int]
    response_ids: list[int]
    advantage: float = 0.0
    old_logprobs: Tensor | None = None
    reference_logprobs: Tensor | None = None

    @property
    def length(self) -> int:
        """Tokens of prompt and response."""
        return len(self.prompt_ids) + len(self.response_ids)


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Samples side by side: prompts padded on the left, responses on the right, so that responses begin together."""

    input_ids: Tensor  # [samples, prompt + response]
    attention_mask: Tensor  # [samples, prompt + response]
    position_ids: Tensor  # [samples, prompt + response]
    response_mask: Tensor  # [samples, response], float

    @property
    def response_ids(self) -> Tensor:
        """Response tokens, [samples, response]."""
        return self.input_ids[:, -self.response_mask.shape[1] :]


def collate(samples: Sequence[Sample], pad_id: int, device: torch.device) -> Batch:
    """Pad `samples` into one batch on `device`."""
    prompt_width = max(len(sample.prompt_ids) for sample in samples)
    response_width = max(1, *(len(sample.response_ids) for sample in samples))
    input_ids = torch.full((len(samples), prompt_width + response_width), pad_id)
    attention_mask = torch.zeros_like(input_ids)
    for row, sample in enumerate(samples):
        first = prompt_width - len(sample.prompt_ids)
        input_ids[row, first : first + sample.length] = torch.tensor(sample.prompt_ids + sample.response_ids)
        attention_mask[row, first : first + sample.length] = 1
    return Batch(
        input_ids=input_ids.to(device),
        attention_mask=attention_mask.to(device),
        position_ids=(attention_mask.cumsum(dim=1) - 1).clamp(min=0).to(device),
        response_mask=attention_mask[:, prompt_width:].float().to(device),
    )


def response_mask(samples: Sequence[Sample], width: int) -> Tensor:
    """Mask [samples, width] of response tokens."""
    lengths = torch.tensor([len(sample.response_ids) for sample in samples])
    return (torch.arange(width)[None, :] < lengths[:, None]).float()


def micro_batches(samples: Sequence[Sample], size: int | None) -> Iterator[list[int]]:
    """Cut `samples` into lists of indices, similar lengths together.

    At most `size` samples each, or as many as fit into MICRO_BATCH_TOKENS padded tokens.
    """
    order = sorted(range(len(samples)), key=lambda index: samples[index].length)
    chosen: list[int] = []
    for index in order:
        # Sorted by length: the newcomer is the longest, so it sets the padded width.
        full = len(chosen) == size if size else (len(chosen) + 1) * samples[index].length > MICRO_BATCH_TOKENS
        if chosen and full:
            yield chosen
            chosen = []
        chosen.append(index)
    if chosen:
        yield chosen
