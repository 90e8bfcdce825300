"""`spec.reward`: what a response is worth."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rltrain_api.schema import (
    Count,
    FunctionRef,
    NonNegative,
    Parameters,
    PathText,
    Rule,
    ShortText,
    SpecModel,
    exactly_named_by_type,
)

RewardType = Literal["exact", "numeric", "math", "pattern", "length", "reasoningGym", "custom"]


class ExactReward(SpecModel):
    """1 if the response is the answer, else 0."""

    ignore_case: bool = False
    """Compare without regard to case."""
    partial_credit: bool = False
    """Instead give the share of characters that are right in their place; a dense signal for short answers."""


class NumericReward(SpecModel):
    """1 if a number in the response equals the answer's."""

    pick: Literal["last", "first"] = "last"
    """Which number of the response counts."""
    tolerance: NonNegative = 0.0
    """Largest difference that is still right."""


class PatternReward(SpecModel):
    """1 if a regular expression is found in the response; rewards a format."""

    regex: Annotated[str, Field(min_length=1, max_length=1024)]
    """Python regular expression; `.` matches line ends as well."""
    full_match: bool = False
    """The whole response must match."""


class LengthReward(SpecModel):
    """0 up to `target` tokens, falling linearly to -1 at `limit` tokens and beyond."""

    target: Count
    """Longest response without a penalty, in tokens."""
    limit: Count
    """Length with the whole penalty, in tokens."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(message="`limit` must be above `target`", holds=lambda spec: spec.limit > spec.target),
    )


class CustomReward(SpecModel):
    """A Python function of one's own."""

    function: FunctionRef
    """`file.py:function` (relative to the manifest's directory) or `module:function`."""
    parameters: Parameters = {}
    """Passed to the function by name."""


class RewardFunctionSpec(SpecModel):
    """One term of the reward."""

    type: RewardType
    """Which function; its parameters go into the sub-object of the same name. `math` compares by math-verify,
    `reasoningGym` by the task's own scorer."""
    name: ShortText | None = None
    """Name of its metric, `reward/<name>_mean`. Default: the type, or the custom function's name."""
    weight: Annotated[float, Field(ge=-1e6, le=1e6)] = 1.0
    """Factor in the sum of all terms."""
    exact: ExactReward | None = None
    """Parameters of `exact`."""
    numeric: NumericReward | None = None
    """Parameters of `numeric`."""
    pattern: PatternReward | None = None
    """Parameters of `pattern`."""
    length: LengthReward | None = None
    """Parameters of `length`."""
    custom: CustomReward | None = None
    """Parameters of `custom`."""

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_named_by_type("exact", "numeric", "pattern", "length", "custom"),
        Rule(
            message="`type` names a function that needs its sub-object; add it, such as `pattern: {regex: …}`",
            holds=lambda spec: spec.type not in ("pattern", "length", "custom") or getattr(spec, spec.type) is not None,
        ),
    )


class RewardModelSpec(SpecModel):
    """A sequence classifier that scores responses."""

    path: PathText
    """Local directory or hub id."""
    weight: float = 1.0
    """Factor in the sum of all terms."""


class RewardSpec(SpecModel):
    """The reward is the weighted sum of all terms."""

    functions: Annotated[list[RewardFunctionSpec], Field(max_length=32)] = []
    """Reward functions."""
    model: RewardModelSpec | None = None
    """Reward model."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="no reward is given; add one to `functions`, such as `{type: exact}`, or a `model`",
            holds=lambda spec: bool(spec.functions) or spec.model is not None,
        ),
        Rule(
            message="two reward functions have the same name; give one of them another `name`",
            holds=lambda spec: len({reward_name(f) for f in spec.functions}) == len(spec.functions),
        ),
    )


def reward_name(spec: RewardFunctionSpec) -> str:
    """Name of a reward term in metrics."""
    if spec.name:
        return spec.name
    return spec.custom.function.rpartition(":")[2] if spec.custom else spec.type
