"""Sequences that are decoded side by side: the cache, and what the next forward pass needs. Used by the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache, PreTrainedModel

from rltrain_trainer.rollout.sampling import uniform_numbers
from rltrain_trainer.rollout.types import Request


@dataclass(slots=True)
class Response:
    """A response so far."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False


class DecodingBatch:
    """One row for each request, padded on the left, until `keep` drops some."""

    def __init__(self, model: PreTrainedModel, requests: Sequence[Request], max_new_tokens: int) -> None:
        self._model = model
        self._prompts = [tuple(request.prompt_ids) for request in requests]
        self._cache = DynamicCache(config=model.config)
        self._uniforms = uniform_numbers([request.seed for request in requests], max_new_tokens).to(model.device)
        self.rows = [Response() for _ in requests]

    def read_prompts(self) -> Tensor:
        """Logits of the first new token, [rows, vocabulary]. Rows with the same prompt share the forward pass."""
        place_of = {prompt: place for place, prompt in enumerate(dict.fromkeys(self._prompts))}
        prompts = list(place_of)
        width = max(map(len, prompts))
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        input_ids = torch.tensor([(0,) * (width - len(prompt)) + prompt for prompt in prompts])
        # Without padding no mask is needed, and kernels for attention without one are faster.
        self._padded = not bool(mask.all())
        self._mask = mask.to(self._model.device)
        logits = self._forward(input_ids.to(self._model.device), (self._mask.cumsum(dim=1) - 1).clamp(min=0))
        places = torch.tensor([place_of[prompt] for prompt in self._prompts], device=self._model.device)
        self._cache.batch_select_indices(places)
        self._mask = self._mask[places]
        return logits[places]

    def read_tokens(self, tokens: Tensor) -> Tensor:
        """Logits of the token after `tokens` [rows], [rows, vocabulary]."""
        positions = self._mask.sum(dim=1, keepdim=True)
        self._mask = pad(self._mask, (0, 1), value=1)
        return self._forward(tokens[:, None], positions)

    def uniforms(self, position: int) -> Tensor:
        """The number of each row that chooses its new token `position`, [rows]."""
        return self._uniforms[:, position]

    def active(self) -> list[int]:
        """Places of the rows that have not ended."""
        return [place for place, row in enumerate(self.rows) if not row.ended]

    def keep(self, places: Tensor) -> None:
        """Drop the rows that are not at these places."""
        self._cache.batch_select_indices(places)
        self._mask, self._uniforms = self._mask[places], self._uniforms[places]
        self.rows = [self.rows[place] for place in places.tolist()]

    def _forward(self, input_ids: Tensor, position_ids: Tensor) -> Tensor:
        output = self._model(
            input_ids=input_ids,
            attention_mask=self._mask if self._padded else None,
            position_ids=position_ids,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = output.logits[:, -1]
        return logits
