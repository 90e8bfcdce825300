"""`spec.rollout`: how responses are sampled."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rltrain_api.schema import (
    Count,
    CountOrZero,
    Fraction,
    FunctionRef,
    NonNegative,
    Positive,
    Rule,
    ShortText,
    SpecModel,
)


class VllmSpec(SpecModel):
    """Settings of the vLLM engine."""

    tensor_parallel_size: Count = 1
    """GPUs that one engine is spread over."""
    gpu_memory_utilization: Fraction = 0.5
    """Share of a GPU's memory for weights and KV cache."""
    max_model_len: Count | None = None
    """Longest prompt and response together, in tokens."""


class RolloutSpec(SpecModel):
    """Sampling of responses by the policy."""

    engine: Literal["auto", "transformers", "vllm"] = "auto"
    """What generates."""
    samples_per_prompt: Count = 8
    """Responses to each prompt; for GRPO the size of a group."""
    temperature: Positive = 1.0
    """Softmax temperature of sampling; log-probabilities are of the same distribution."""
    top_p: Fraction = 1.0
    """Nucleus sampling: smallest set of tokens with this probability together."""
    top_k: CountOrZero = 0
    """Sample among the k most likely tokens. 0: all."""
    max_new_tokens: Count = 64
    """Longest response in tokens."""
    stop: Annotated[list[ShortText], Field(max_length=16)] = []
    """Texts that end a response; it keeps the text."""
    batch_size: Count | None = None
    """Sequences generated at once. Default: the whole rollout batch."""
    validation_temperature: NonNegative = 0.0
    """Temperature of validation responses, one a prompt. 0: greedy."""
    max_turns: Count = 1
    """Assistant turns in a conversation with tools."""
    tools: Annotated[list[FunctionRef], Field(max_length=64)] = []
    """Tools that the policy may call, as `file.py:function` or `module:function`."""
    async_: Annotated[bool, Field(alias="async")] = False
    """Generate the next batch while this one's update runs (one step off-policy)."""
    vllm: VllmSpec | None = None
    """Settings of vLLM."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="`vllm` is given but `engine` is transformers; remove `vllm` or set `engine: vllm`",
            holds=lambda spec: spec.vllm is None or spec.engine != "transformers",
        ),
    )
