"""`spec.training`: length, batches, optimizer, validation and checkpoints."""

from typing import ClassVar, Literal

from pydantic import Field

from rltrain_api.schema import Count, CountOrZero, NonNegative, Positive, Rule, SpecModel


class WarmStartSpec(SpecModel):
    """Supervised steps on the reference answers before reinforcement learning begins."""

    steps: Count
    """Number of optimizer steps."""
    batch_size: Count = 32
    """Prompts a step."""
    learning_rate: Positive = 1e-3
    """Constant learning rate of these steps."""


class TrainingSpec(SpecModel):
    """One step is one rollout batch with all its updates."""

    total_steps: Count
    """Steps in the run."""
    batch_size: Count = 16
    """Prompts a step."""
    epochs: Count = 1
    """Passes over each rollout batch."""
    minibatches: Count = 1
    """Optimizer steps in one pass; a rollout batch is split into this many parts."""
    micro_batch_size: Count | None = None
    """Samples in one forward and backward pass; gradients accumulate over them. Default: by length, a fixed number of
    tokens."""
    learning_rate: Positive = 1e-6
    """Peak learning rate."""
    lr_schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Course of the learning rate after the warm-up: constant, or falling to 0 at the last step."""
    lr_warmup_steps: CountOrZero = 0
    """Steps over which the learning rate rises linearly from 0."""
    weight_decay: NonNegative = 0.0
    """AdamW's weight decay."""
    max_grad_norm: Positive = 1.0
    """The gradient is scaled down to this norm."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Arithmetic of forward and backward passes. Weights and optimizer stay fp32."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass, to save memory."""
    seed: CountOrZero = 0
    """Seed of data order, sampling and initialisation."""
    deterministic: bool = False
    """Use deterministic kernels, so that a resumed run repeats the values of one never interrupted."""
    warm_start: WarmStartSpec | None = None
    """Optional supervised warm start on the reference answers."""
    validate_every: CountOrZero = 0
    """Steps between validations, also made before the first and after the last step. 0: none."""
    checkpoint_every: CountOrZero = 50
    """Steps between checkpoints; the last step always makes one. 0: only the last."""
    keep_checkpoints: int = Field(default=2, ge=1, le=1000)
    """Newest checkpoints to keep. With validation the best by its reward is kept besides."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="`lrWarmupSteps` must be less than `totalSteps`",
            holds=lambda spec: spec.lr_warmup_steps < spec.total_steps,
        ),
    )
