"""Choice of the next token, as a function of its distribution and one uniform number. Called by the engine."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rltrain_trainer.rollout.types import Sampling

# Most likely tokens that top-p looks at first: to sort a whole vocabulary costs as much as the model's forward pass.
_TOP_P_WIDTH = 512
# Probability 1 as an integer, and the bits of a uniform number: their product has to fit into 63 bits.
_ONE = 2**38
_UNIFORM_BITS = 24


def uniform_numbers(seeds: Sequence[int], count: int) -> Tensor:
    """Numbers in [0, 1), [seeds, count]. Each row follows from its seed alone, and is a prefix of a longer one."""
    rows = [np.random.Generator(np.random.Philox(key=seed)).random(count, dtype=np.float32) for seed in seeds]
    return torch.from_numpy(np.stack(rows))


def choose(logits: Tensor, uniforms: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Tokens chosen from `logits` [rows, vocabulary] by `uniforms` [rows], and their log-probabilities; [rows] each.

    The log-probabilities are of the distribution at the temperature, before top-k and top-p; greedy ones at 1.
    """
    logits = logits.float()
    logprobs = (logits / (sampling.temperature or 1.0)).log_softmax(dim=-1)
    tokens = logits.argmax(dim=-1) if sampling.temperature == 0 else _sample(logprobs.exp(), uniforms, sampling)
    return tokens, logprobs.gather(-1, tokens[:, None]).squeeze(-1)


def _sample(probabilities: Tensor, uniforms: Tensor, sampling: Sampling) -> Tensor:
    if not sampling.top_k and sampling.top_p == 1:
        return _invert(_weights(probabilities), uniforms)
    weights, tokens = _most_likely(probabilities, sampling)
    return tokens.gather(-1, _invert(weights, uniforms)[:, None]).squeeze(-1)


def _weights(probabilities: Tensor) -> Tensor:
    """Probabilities as integers: their sums are exact, so they depend neither on the kernel nor on the batch."""
    return (probabilities * _ONE).long()


def _invert(weights: Tensor, uniforms: Tensor) -> Tensor:
    """The place where the cumulated `weights` [rows, places] pass the share `uniforms` [rows] of their sum."""
    cumulated = weights.cumsum(dim=-1)
    share = (uniforms[:, None] * 2**_UNIFORM_BITS).long()
    passed = torch.searchsorted(cumulated, share * cumulated[:, -1:] >> _UNIFORM_BITS, right=True)
    # Only weights that are no numbers lead behind the last place; the caller sees that by the log-probability.
    return passed.squeeze(-1).clamp(max=weights.shape[-1] - 1)


def _most_likely(probabilities: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Weights of the most likely tokens, falling, and the tokens; 0 for those that top-p excludes."""
    vocabulary = probabilities.shape[-1]
    width = min(sampling.top_k or _TOP_P_WIDTH, vocabulary)
    values, tokens = probabilities.topk(width, dim=-1)
    while not sampling.top_k and width < vocabulary and bool((values.sum(dim=-1) < sampling.top_p).any()):
        width = min(4 * width, vocabulary)
        values, tokens = probabilities.topk(width, dim=-1)
    weights = _weights(values)
    whole = weights.sum(dim=-1, keepdim=True) if sampling.top_k else _ONE
    before = weights.cumsum(dim=-1) - weights
    return weights.where(before < sampling.top_p * whole, 0), tokens
