"""Prompts as token ids, through the tokenizer's chat template where there is one. Called before training starts."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rltrain_api.data import PromptSource
from rltrain_api.errors import UserError
from rltrain_trainer.data.types import Message, Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedPrompt:
    """A prompt as the model reads it."""

    prompt: Prompt
    token_ids: list[int]
    text: str
    """What the tokens say, chat template included."""


def encode_prompts(
    prompts: Sequence[Prompt],
    tokenizer: "PreTrainedTokenizerBase",
    source: PromptSource,
    max_tokens: int,
    overlong: Literal["error", "drop"],
) -> list[EncodedPrompt]:
    """Encode `prompts` as `source` says; `overlong`: what to do with one of more than `max_tokens` tokens.

    Raises UserError that names the prompt if one cannot be encoded, and if none is left.
    """
    templated = _uses_template(tokenizer, source)
    texts = [_text(prompt, tokenizer, source, templated) for prompt in prompts]
    # A chat template writes the special tokens itself.
    ids = tokenizer(texts, add_special_tokens=not templated, verbose=False)["input_ids"]
    encoded = [
        EncodedPrompt(prompt=prompt, token_ids=token_ids, text=text)
        for prompt, token_ids, text in zip(prompts, ids, texts, strict=True)
    ]
    kept = [entry for entry in encoded if _fits(entry, max_tokens, overlong)]
    if not kept:
        raise UserError(f"all {len(encoded)} prompts have more than data.maxPromptTokens, {max_tokens}; raise it")
    if len(kept) < len(encoded):
        logger.warning(
            "dropped %d of %d prompts with more than %d tokens", len(encoded) - len(kept), len(encoded), max_tokens
        )
    return kept


def _fits(entry: EncodedPrompt, max_tokens: int, overlong: str) -> bool:
    length, name = len(entry.token_ids), f"prompt {entry.prompt.index} (from 0)"
    if length == 0:
        raise UserError(f"{name} has no tokens; remove it")
    if length > max_tokens and overlong == "error":
        raise UserError(
            f"{name} has {length} tokens, more than data.maxPromptTokens, {max_tokens}; raise it, shorten the prompt "
            "or set data.overlong to drop"
        )
    return length <= max_tokens


def _uses_template(tokenizer: "PreTrainedTokenizerBase", source: PromptSource) -> bool:
    has_template = tokenizer.chat_template is not None
    if source.chat_template == "always" and not has_template:
        raise UserError("`chatTemplate: always`, but the tokenizer has no chat template; set it to auto or never")
    if source.system_prompt is not None and not has_template:
        raise UserError("`systemPrompt` needs a chat template, and the tokenizer has none; remove it")
    return has_template and source.chat_template != "never"


def _text(prompt: Prompt, tokenizer: "PreTrainedTokenizerBase", source: PromptSource, templated: bool) -> str:
    from jinja2 import TemplateError

    if not templated:
        if isinstance(prompt.prompt, str):
            return prompt.prompt
        raise UserError(
            f"prompt {prompt.index} (from 0) is a list of messages, which needs a chat template; "
            "give text, or a model whose tokenizer has one and `chatTemplate: auto`"
        )
    messages = _messages(prompt, source.system_prompt)
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    except TemplateError as error:
        raise UserError(f"prompt {prompt.index} (from 0): the chat template refuses it: {error}") from error


def _messages(prompt: Prompt, system_prompt: str | None) -> list[Message]:
    given = [{"role": "user", "content": prompt.prompt}] if isinstance(prompt.prompt, str) else prompt.prompt
    if system_prompt is None:
        return given
    if given[0]["role"] == "system":
        raise UserError(
            f"prompt {prompt.index} (from 0) has a system message of its own besides `systemPrompt`; remove one of them"
        )
    return [{"role": "system", "content": system_prompt}, *given]
