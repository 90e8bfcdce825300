"""The clipped policy loss shared by PPO and GRPO. Called by the policy's update."""

from dataclasses import dataclass

import torch
from torch import Tensor

# A log-ratio beyond this would overflow when exponentiated; the same bound as in verl.
_MAX_LOG_RATIO = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyLoss:
    """Per token, all [samples, tokens]: the loss, whether clipping decided it, and the log-ratio to the old policy."""

    loss: Tensor
    clipped: Tensor
    clipped_by_dual: Tensor
    log_ratio: Tensor


def clipped_policy_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float | None = None,
) -> PolicyLoss:
    """Clipped surrogate loss (Schulman et al. 2017, arXiv:1707.06347, equation 7), with separate bounds.

    `logp` and `old_logp` are [samples, tokens], `advantages` [samples, tokens] or [samples, 1]. The ratio is clipped to
    [1 - clip_low, 1 + clip_high]. `dual_clip` bounds the loss of negative advantages at that multiple of the advantage
    (Ye et al. 2020, arXiv:1912.09729, equation 5).
    """
    log_ratio = (logp - old_logp).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    ratio = log_ratio.exp()
    unclipped = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    loss = torch.maximum(unclipped, clipped)
    by_clip, by_dual = clipped > unclipped, torch.zeros_like(loss, dtype=torch.bool)
    if dual_clip is not None:
        bound = -advantages * dual_clip
        by_dual = (loss > bound) & (advantages < 0)
        loss = torch.where(advantages < 0, torch.minimum(loss, bound), loss)
    return PolicyLoss(loss=loss, clipped=by_clip, clipped_by_dual=by_dual, log_ratio=log_ratio)
