"""Attention of one new token where several query heads share a key head. Switched on by the engine while it decodes.

transformers' own `sdpa` repeats all cached keys and values for each query head when there is a padding mask, which at
decoding costs more than the rest of a layer. Here the query heads of a group take the place of query tokens instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

_NAME = "rltrain_grouped"


def grouped_attention(
    module: nn.Module,
    query: Tensor,  # [rows, heads, tokens, size]
    key: Tensor,  # [rows, key heads, all tokens, size]
    value: Tensor,  # [rows, key heads, all tokens, size]
    attention_mask: Tensor | None,  # [rows, 1, tokens, all tokens]
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """The interface that transformers calls; the result is [rows, tokens, heads, size]."""
    rows, heads, tokens, size = query.shape
    if tokens > 1 or attention_mask is None or heads == key.shape[1] or options.get("position_bias") is not None:
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **options)
        return output, None
    grouped = query.view(rows, key.shape[1], heads // key.shape[1], size)
    attended = scaled_dot_product_attention(grouped, key, value, attn_mask=attention_mask, scale=scaling)
    return attended.reshape(rows, 1, heads, value.shape[-1]), None


@contextmanager
def use_grouped_attention(model: PreTrainedModel) -> Iterator[None]:
    """Let `model` use it within the context, if it uses `sdpa`; another implementation stays."""
    before = model.config._attn_implementation
    if before != "sdpa":
        yield
        return
    AttentionInterface.register(_NAME, grouped_attention)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    model.set_attn_implementation(_NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
