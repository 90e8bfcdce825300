"""The prompts of a run, read and encoded before training starts. Called by `session`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rltrain_api.data import DataSpec, PromptSource
from rltrain_api.errors import UserError
from rltrain_api.job import JobSpec
from rltrain_trainer.batches import Sample
from rltrain_trainer.data.encode import EncodedPrompt, encode_prompts
from rltrain_trainer.data.prompts import load_prompts


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompts:
    """Encoded prompts of a run, and the samples of its supervised warm start."""

    train: Sequence[EncodedPrompt]
    validation: Sequence[EncodedPrompt]
    warm_start: Sequence[Sample]


def load_all_prompts(spec: JobSpec, directory: Path, tokenizer: Any) -> Prompts:
    """All prompts that `spec` names. Raises UserError for a file, a row or a task that is not as it should be."""
    train = _encoded(spec.data, spec.data.train, directory, tokenizer)
    validation = _encoded(spec.data, spec.data.validation, directory, tokenizer) if spec.data.validation else []
    warm_start = [_answered(prompt, tokenizer) for prompt in train] if spec.training.warm_start else []
    return Prompts(train=train, validation=validation, warm_start=warm_start)


def _encoded(data: DataSpec, source: PromptSource, directory: Path, tokenizer: Any) -> Sequence[EncodedPrompt]:
    prompts = load_prompts(source, directory)
    return encode_prompts(prompts, tokenizer, source, data.max_prompt_tokens, data.overlong)


def _answered(prompt: EncodedPrompt, tokenizer: Any) -> Sample:
    """The prompt with its reference answer as the response."""
    if prompt.prompt.answer is None:
        raise UserError(
            f"training.warmStart needs a reference answer for every prompt; prompt {prompt.prompt.index} has none"
        )
    answer_ids = tokenizer.encode(prompt.prompt.answer, add_special_tokens=False)
    return Sample(prompt_ids=prompt.token_ids, response_ids=[*answer_ids, tokenizer.eos_token_id])
