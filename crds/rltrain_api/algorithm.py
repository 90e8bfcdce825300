"""`spec.algorithm`: how rollouts become a loss. One sub-object per algorithm."""

from typing import ClassVar, Literal

from rltrain_api.schema import (
    Fraction,
    FunctionRef,
    NonNegative,
    Parameters,
    Positive,
    Rule,
    SpecModel,
    exactly_named_by_type,
)

KlEstimator = Literal["k1", "k2", "k3"]
LossAggregation = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]


class GRPOSpec(SpecModel):
    """Group relative policy optimization (Shao et al. 2024, arXiv:2402.03300)."""

    clip_range_low: Fraction = 0.2
    """The probability ratio is clipped from below at 1 - clipRangeLow."""
    clip_range_high: Positive = 0.2
    """The probability ratio is clipped from above at 1 + clipRangeHigh."""
    dual_clip: Positive | None = None
    """Bound of the loss of samples with negative advantage, as a multiple of it (Ye et al. 2020); above 1."""
    kl_coefficient: NonNegative = 0.0
    """Weight of the KL term to the reference policy in the loss. 0 keeps no reference policy."""
    kl_estimator: KlEstimator = "k3"
    """Estimator of the KL divergence per token (Schulman 2020): k1, k2 or k3."""
    normalize_by_std: bool = True
    """Divide a group's advantages by the standard deviation of its rewards."""
    loss_aggregation: LossAggregation = "token-mean"
    """How token losses become one number."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="`dualClip` must be above 1: it bounds the ratio of samples with negative advantage",
            holds=lambda spec: spec.dual_clip is None or spec.dual_clip > 1,
        ),
    )


class PPOSpec(SpecModel):
    """Proximal policy optimization with a critic (Schulman et al. 2017, arXiv:1707.06347)."""

    clip_range: Fraction = 0.2
    """The probability ratio is clipped to [1 - clipRange, 1 + clipRange]."""
    value_clip_range: Positive = 0.5
    """The critic's new value is clipped to within this distance of the old."""
    gamma: Fraction = 1.0
    """Discount of later rewards."""
    lam: Fraction = 1.0
    """Lambda of generalized advantage estimation."""
    kl_coefficient: NonNegative = 0.0
    """Weight of the KL penalty to the reference policy in the reward."""
    critic_learning_rate: Positive = 1e-5
    """Learning rate of the critic."""


class DPOSpec(SpecModel):
    """Direct preference optimization (Rafailov et al. 2023, arXiv:2305.18290)."""

    beta: Positive = 0.1
    """Strength of the tie to the reference policy."""
    label_smoothing: NonNegative = 0.0
    """Assumed share of wrong preference labels (conservative DPO)."""


class KTOSpec(SpecModel):
    """Kahneman-Tversky optimization (Ethayarajh et al. 2024, arXiv:2402.01306)."""

    beta: Positive = 0.1
    """Strength of the tie to the reference policy."""
    desirable_weight: Positive = 1.0
    """Weight of desirable responses in the loss."""
    undesirable_weight: Positive = 1.0
    """Weight of undesirable responses in the loss."""


class CustomAlgorithmSpec(SpecModel):
    """An algorithm of one's own."""

    function: FunctionRef
    """`file.py:function` or `module:function`."""
    parameters: Parameters = {}
    """Passed to the function by name."""


class AlgorithmSpec(SpecModel):
    """The algorithm and its parameters."""

    type: Literal["grpo", "ppo", "dpo", "kto", "custom"]
    """Which algorithm; its parameters go into the sub-object of the same name."""
    grpo: GRPOSpec | None = None
    """Parameters of GRPO."""
    ppo: PPOSpec | None = None
    """Parameters of PPO."""
    dpo: DPOSpec | None = None
    """Parameters of DPO."""
    kto: KTOSpec | None = None
    """Parameters of KTO."""
    custom: CustomAlgorithmSpec | None = None
    """The function of one's own algorithm."""

    rules: ClassVar[tuple[Rule, ...]] = (exactly_named_by_type("grpo", "ppo", "dpo", "kto", "custom"),)

    @property
    def grpo_settings(self) -> GRPOSpec:
        """The parameters of GRPO, defaults where the sub-object is left out."""
        return self.grpo or GRPOSpec()
