"""Prompts as tokens, with and without a chat template."""

from typing import Any

import pytest
from transformers import PreTrainedTokenizerBase

from rltrain_api.data import PromptSource
from rltrain_api.errors import UserError
from rltrain_trainer.data.encode import EncodedPrompt, encode_prompts
from rltrain_trainer.data.types import Message, Prompt
from rltrain_trainer.models.tiny_llama import make_tokenizer

# Like the templates of real models: each message within marks, and a refusal of an order that the model never saw.
TEMPLATE = (
    "{% for m in messages %}"
    "{% if m.role == 'tool' %}{{ raise_exception('tools are not supported') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def make_chat_tokenizer() -> PreTrainedTokenizerBase:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def encode(
    *prompts: str | list[Message], tokenizer: PreTrainedTokenizerBase, max_tokens: int = 100, **fields: Any
) -> list[EncodedPrompt]:
    source = PromptSource.model_validate({"type": "digits", "digits": {"task": "copy"}} | fields)
    given = [Prompt(index=index, prompt=prompt) for index, prompt in enumerate(prompts)]
    return encode_prompts(given, tokenizer, source, max_tokens, "error")


def test_text_without_a_template_is_taken_as_it_is() -> None:
    tokenizer = make_tokenizer()
    (encoded,) = encode("copy 4 =", tokenizer=tokenizer)
    assert encoded.text == "copy 4 ="
    assert encoded.token_ids == tokenizer.encode("copy 4 =")
    assert tokenizer.decode(encoded.token_ids) == encoded.text


@pytest.mark.parametrize(
    ("prompt", "fields", "text"),
    [
        ("Hi", {}, "<user>Hi\n<assistant>"),
        ("Hi", {"chatTemplate": "always"}, "<user>Hi\n<assistant>"),
        ("Hi", {"chatTemplate": "never"}, "Hi"),
        ("Hi", {"systemPrompt": "Be brief."}, "<system>Be brief.\n<user>Hi\n<assistant>"),
        ([{"role": "user", "content": "Hi"}], {}, "<user>Hi\n<assistant>"),
        ([{"role": "user", "content": "Hi"}], {"systemPrompt": "S"}, "<system>S\n<user>Hi\n<assistant>"),
    ],
)
def test_the_template_wraps_the_prompt(prompt: Any, fields: dict[str, Any], text: str) -> None:
    tokenizer = make_chat_tokenizer()
    (encoded,) = encode(prompt, tokenizer=tokenizer, **fields)
    assert encoded.text == text
    assert tokenizer.decode(encoded.token_ids) == text


@pytest.mark.parametrize(
    ("prompt", "fields", "message"),
    [
        ("Hi", {"chatTemplate": "always"}, "the tokenizer has no chat template; set it to auto or never"),
        ("Hi", {"systemPrompt": "S"}, "`systemPrompt` needs a chat template"),
        ([{"role": "user", "content": "Hi"}], {}, "prompt 0 (from 0) is a list of messages"),
        ("", {}, "prompt 0 (from 0) has no tokens"),
    ],
)
def test_what_needs_a_template_is_refused_without_one(prompt: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        encode(prompt, tokenizer=make_tokenizer(), **fields)
    assert message in str(caught.value)


def test_a_message_that_the_template_refuses_is_named() -> None:
    with pytest.raises(UserError, match=r"prompt 1 \(from 0\): the chat template refuses it: tools are not supported"):
        encode("Hi", [{"role": "tool", "content": "x"}], tokenizer=make_chat_tokenizer())


def test_two_system_messages_are_refused() -> None:
    with pytest.raises(UserError, match=r"prompt 0 \(from 0\) has a system message of its own besides `systemPrompt`"):
        encode([{"role": "system", "content": "x"}], tokenizer=make_chat_tokenizer(), systemPrompt="S")


def test_a_prompt_that_is_too_long_is_named() -> None:
    with pytest.raises(UserError, match=r"prompt 1 \(from 0\) has 5 tokens, more than data.maxPromptTokens, 4"):
        encode("1234", "12345", tokenizer=make_tokenizer(), max_tokens=4)


def encode_dropping(*texts: str) -> list[EncodedPrompt]:
    source = PromptSource.model_validate({"type": "digits", "digits": {"task": "copy"}})
    prompts = [Prompt(index=index, prompt=text) for index, text in enumerate(texts)]
    return encode_prompts(prompts, make_tokenizer(), source, 4, "drop")


def test_prompts_that_are_too_long_can_be_dropped(caplog: pytest.LogCaptureFixture) -> None:
    assert [entry.prompt.index for entry in encode_dropping("12345", "1234", "123456")] == [1]
    assert caplog.messages == ["dropped 2 of 3 prompts with more than 4 tokens"]


def test_that_all_are_dropped_is_an_error() -> None:
    with pytest.raises(UserError, match="all 2 prompts have more than"):
        encode_dropping("12345", "123456")
