"""The engine with a real model: shared key heads, a vocabulary of tokens longer than a character, a chat template."""

from typing import Any

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rltrain_trainer.rollout.transformers_engine import TransformersEngine
from rltrain_trainer.rollout.types import Request, Sampling

QUESTIONS = ["What is 2 + 3?", "Name the capital of France in one word."]


def chat(tokenizer: PreTrainedTokenizerBase, question: str) -> list[int]:
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
    )
    token_ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return token_ids


def test_greedy_answers_and_their_probabilities_are_those_of_transformers(
    smollm2: Any, smollm2_tokenizer: PreTrainedTokenizerBase
) -> None:
    requests = [Request(prompt_ids=chat(smollm2_tokenizer, question), seed=0) for question in QUESTIONS]
    sampling = Sampling(temperature=0, max_new_tokens=12)
    completions = TransformersEngine(smollm2, smollm2_tokenizer).generate(requests, sampling)
    for request, completion in zip(requests, completions, strict=True):
        prompt = torch.tensor([request.prompt_ids])
        output = smollm2.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, do_sample=False)
        assert completion.token_ids == output[0, prompt.shape[1] :].tolist()
        with torch.no_grad():
            logits = smollm2(output).logits[0, prompt.shape[1] - 1 : -1]
        expected = logits.log_softmax(-1).gather(-1, torch.tensor(completion.token_ids)[:, None]).squeeze(-1)
        assert completion.logprobs == pytest.approx(expected.tolist(), abs=2e-5)
    assert completions[0].text == "2 + 3 = 5"
    assert completions[0].finished


def test_a_stop_text_may_end_within_a_token(
    smollm2: PreTrainedModel, smollm2_tokenizer: PreTrainedTokenizerBase
) -> None:
    request = Request(prompt_ids=chat(smollm2_tokenizer, QUESTIONS[0]), seed=0)
    sampling = Sampling(temperature=0, max_new_tokens=12, stop=("3 =",))
    (completion,) = TransformersEngine(smollm2, smollm2_tokenizer).generate([request], sampling)
    assert (completion.text, completion.finished) == ("2 + 3 =", True)
