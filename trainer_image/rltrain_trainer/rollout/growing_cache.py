"""Keys and values of a decoding batch, in buffers with room for more tokens. Used by the transformers engine."""

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer


def make_cache(model: PreTrainedModel) -> DynamicCache:
    """An empty cache for `model`; its full-attention layers grow in place, others are as transformers makes them."""
    cache = DynamicCache(config=model.config)
    cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """A layer that writes a new token into a buffer, where `DynamicLayer` copies all tokens before it."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append states [rows, heads, tokens, size]; returns views of all states so far."""
        if not self.is_initialized:
            super().update(key_states, value_states)
            self._key_buffer, self._value_buffer = self.keys, self.values
            return self.keys, self.values
        length = self.get_seq_length()
        end = length + key_states.shape[-2]
        if end > self._key_buffer.shape[-2]:
            self._key_buffer, self._value_buffer = _with_room(self.keys, end), _with_room(self.values, end)
        self._key_buffer[..., length:end, :] = key_states
        self._value_buffer[..., length:end, :] = value_states
        self.keys, self.values = self._key_buffer[..., :end, :], self._value_buffer[..., :end, :]
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows `indices`, each as often as it is named."""
        super().batch_select_indices(indices)
        self._key_buffer, self._value_buffer = self.keys, self.values


def _with_room(states: Tensor, tokens: int) -> Tensor:
    """A buffer that begins with `states` and has room for a quarter more than `tokens`."""
    rows, heads, length, size = states.shape
    buffer = torch.empty(rows, heads, tokens + tokens // 4 + 16, size, dtype=states.dtype, device=states.device)
    buffer[..., :length, :] = states
    return buffer
