"""`spec.data`: where prompts and reference answers come from."""

from typing import ClassVar, Literal

from rltrain_api.schema import (
    Count,
    CountOrZero,
    LongText,
    Parameters,
    PathText,
    Rule,
    ShortText,
    SpecModel,
    exactly_named_by_type,
)


class FileSource(SpecModel):
    """Rows of a JSON Lines or Parquet file."""

    path: PathText
    """File, relative to the manifest's directory or absolute. The name ends in .jsonl, .json or .parquet."""
    prompt_key: ShortText = "prompt"
    """Column with the prompt: text, or a list of chat messages with `role` and `content`."""
    answer_key: ShortText = "answer"
    """Column with the reference answer that reward functions compare with. It may be absent."""
    chosen_key: ShortText | None = None
    """Column with the preferred response (DPO)."""
    rejected_key: ShortText | None = None
    """Column with the rejected response (DPO)."""
    label_key: ShortText | None = None
    """Column that says whether the response is desirable (KTO)."""
    limit: Count | None = None
    """Use only the first rows."""


class ReasoningGymSource(SpecModel):
    """A procedural task of the reasoning-gym library."""

    task: ShortText
    """Name of the task, such as `chain_sum`."""
    size: Count = 1000
    """How many prompts are generated."""
    seed: CountOrZero = 0
    """Seed of the generator. Give training and validation different ones."""
    parameters: Parameters = {}
    """Parameters of the task as reasoning-gym names them."""


class DigitsSource(SpecModel):
    """Small tasks on random digits, learnt by a tiny model in a minute."""

    task: Literal["copy", "reverse", "sort"]
    """What to do with the digits of the prompt."""
    length: Count = 1
    """Digits in a prompt."""
    size: Count = 1000
    """How many prompts are generated."""
    seed: CountOrZero = 0
    """Seed of the generator. Give training and validation different ones."""


class PromptSource(SpecModel):
    """One set of prompts."""

    type: Literal["file", "reasoningGym", "digits"]
    """Which of the sub-objects below describes it."""
    file: FileSource | None = None
    """Used with `type: file`."""
    reasoning_gym: ReasoningGymSource | None = None
    """Used with `type: reasoningGym`."""
    digits: DigitsSource | None = None
    """Used with `type: digits`."""
    system_prompt: LongText | None = None
    """System message put before every prompt; needs a chat template."""
    chat_template: Literal["auto", "always", "never"] = "auto"
    """Whether a prompt is wrapped in the tokenizer's chat template; `auto`: if the tokenizer has one."""

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_named_by_type("file", "reasoning_gym", "digits"),
        Rule(
            message="the sub-object that `type` names is missing; add it, such as `type: file` with `file: {path: …}`",
            holds=lambda source: (
                {
                    "file": source.file,
                    "reasoningGym": source.reasoning_gym,
                    "digits": source.digits,
                }[source.type]
                is not None
            ),
        ),
        Rule(
            message="`systemPrompt` needs a chat template; remove it or set `chatTemplate` to auto or always",
            holds=lambda source: source.system_prompt is None or source.chat_template != "never",
        ),
    )


class DataSpec(SpecModel):
    """Prompts to train on and to validate with."""

    train: PromptSource
    """Prompts that rollouts are made of."""
    validation: PromptSource | None = None
    """Held-out prompts; needed by `training.validateEvery`."""
    max_prompt_tokens: Count = 1024
    """A longer prompt is an error that names its row, unless `overlong` says to drop it."""
    overlong: Literal["error", "drop"] = "error"
    """What to do with a prompt of more than `maxPromptTokens` tokens."""
    shuffle: bool = True
    """Shuffle the prompts anew for each pass over the data, by `training.seed`."""
