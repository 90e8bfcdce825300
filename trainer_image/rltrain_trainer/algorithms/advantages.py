"""Advantages: how much better a response is than what was to be expected. Called by the training loop."""

import torch
from torch import Tensor


def group_normalized_advantages(
    rewards: Tensor, group_size: int, *, normalize_by_std: bool = True, epsilon: float = 1e-6
) -> Tensor:
    """Advantages of GRPO (Shao et al. 2024, arXiv:2402.03300, equation 3).

    `rewards` [samples] holds the groups one after the other, `group_size` samples each. Returns [samples]: the reward
    minus the mean of its group, divided by the group's unbiased standard deviation unless `normalize_by_std` is false
    (Liu et al. 2025, arXiv:2503.20783). A group of one keeps its reward.
    """
    if group_size == 1:
        return rewards.clone()
    groups = rewards.reshape(-1, group_size)  # [groups, group_size]
    centred = groups - groups.mean(dim=1, keepdim=True)
    if normalize_by_std:
        centred = centred / (groups.std(dim=1, keepdim=True) + epsilon)
    return centred.reshape(-1)


def groups_without_signal(rewards: Tensor, group_size: int) -> float:
    """Share of groups whose samples all have the same reward, so that they teach nothing. `rewards` is [samples]."""
    groups = rewards.reshape(-1, group_size)
    return torch.all(groups == groups[:, :1], dim=1).float().mean().item()
