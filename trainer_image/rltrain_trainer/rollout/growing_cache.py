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


class GrowingLayer(DynamicLayer):
    """A layer that writes a new token into a buffer, where `DynamicLayer` copies all tokens before it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._key_buffer = self._value_buffer = torch.empty(0)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append states [rows, heads, tokens, size]; returns views of all states so far."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._key_buffer, self._value_buffer = key_states, value_states
            keys, values = key_states, value_states
        else:
            length = self.get_seq_length()
            self._key_buffer, keys = _append(self._key_buffer, length, key_states)
            self._value_buffer, values = _append(self._value_buffer, length, value_states)
        self.keys, self.values = keys, values
        return keys, values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows `indices`, each as often as it is named."""
        length = self.get_seq_length()
        self._key_buffer = self._key_buffer[indices, :, :length]
        self._value_buffer = self._value_buffer[indices, :, :length]
        self.keys, self.values = self._key_buffer, self._value_buffer


def _append(buffer: Tensor, length: int, states: Tensor) -> tuple[Tensor, Tensor]:
    """Write `states` behind the first `length` tokens of `buffer`; returns the buffer and its tokens so far."""
    end = length + states.shape[-2]
    if end > buffer.shape[-2]:
        rows, heads, _, size = buffer.shape
        # A quarter more than needed: seldom a copy, and never much memory without use.
        larger = buffer.new_empty(rows, heads, end + end // 4 + 16, size)
        larger[..., :length, :] = buffer[..., :length, :]
        buffer = larger
    buffer[..., length:end, :] = states
    return buffer, buffer[..., :end, :]
