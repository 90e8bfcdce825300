"""Estimators of the KL divergence between two policies from sampled tokens. Called by the policy's update."""

from typing import Literal

from torch import Tensor

# Log-ratios and k3 values beyond these carry no information but would overflow; the same bounds as in verl.
_MAX_LOG_RATIO = 20.0
_MAX_K3 = 10.0


def kl_divergence(logp: Tensor, reference_logp: Tensor, estimator: Literal["k1", "k2", "k3"]) -> Tensor:
    """KL(policy || reference) for each token sampled from the policy; all tensors have one shape.

    Schulman 2020, "Approximating KL divergence": k1 is the log-ratio (unbiased), k2 half its square (low variance),
    k3 = exp(-x) - 1 + x with x = `logp - reference_logp` (unbiased, low variance, never negative).
    """
    log_ratio = logp - reference_logp
    if estimator == "k1":
        return log_ratio
    if estimator == "k2":
        return 0.5 * log_ratio.square()
    bounded = (-log_ratio).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    return (bounded.exp() - bounded - 1).clamp(-_MAX_K3, _MAX_K3)
