"""The learning rate of each step, as a pure function. Called by the policy's update."""

import math

from rltrain_api.training import TrainingSpec


def learning_rate(spec: TrainingSpec, step: int) -> float:
    """Learning rate of `step`, counted from 1: linear warm-up, then constant or falling to 0 after the last step."""
    if step <= spec.lr_warmup_steps:
        return spec.learning_rate * step / spec.lr_warmup_steps
    done = (step - 1 - spec.lr_warmup_steps) / (spec.total_steps - spec.lr_warmup_steps)
    factor = {"constant": 1.0, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}
    return spec.learning_rate * factor[spec.lr_schedule]
