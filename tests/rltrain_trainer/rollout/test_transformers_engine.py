"""The transformers engine against transformers itself, and what its users rely on."""

import copy
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from rltrain_api.errors import UserError
from rltrain_trainer.rollout.transformers_engine import TransformersEngine
from rltrain_trainer.rollout.types import Completion, Request, Sampling, request_seed

PROMPTS = ["copy 4 1 7 =", "a", "reverse 1 2 3 4 5 6 7 8 9 =", "sort 2 1 =", "x" * 60]
GREEDY = Sampling(temperature=0, max_new_tokens=12)
RANDOM = Sampling(max_new_tokens=12)


def make_requests(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], samples: int = 1) -> list[Request]:
    return [
        Request(prompt_ids=tokenizer.encode(text), seed=request_seed(0, 1, prompt, sample))
        for prompt, text in enumerate(texts)
        for sample in range(samples)
    ]


def transformers_greedy(model: Any, prompt_ids: list[int], count: int) -> list[int]:
    """What transformers' own `generate` adds to the prompt, without padding after the end."""
    output = model.generate(
        torch.tensor([prompt_ids]), attention_mask=torch.ones(1, len(prompt_ids)), max_new_tokens=count, do_sample=False
    )
    new: list[int] = output[0, len(prompt_ids) :].tolist()
    return new


def full_logprobs(model: PreTrainedModel, request: Request, completion: Completion, temperature: float) -> list[float]:
    """Log-probabilities of the completion by one forward pass over it and its prompt, without padding and cache."""
    with torch.no_grad():
        logits = model(torch.tensor([request.prompt_ids + completion.token_ids])).logits[0]
    logprobs = (logits[len(request.prompt_ids) - 1 : -1] / temperature).log_softmax(-1)
    chosen: list[float] = logprobs.gather(-1, torch.tensor(completion.token_ids)[:, None]).squeeze(-1).tolist()
    return chosen


def make_grouped_model() -> PreTrainedModel:
    """A model whose query heads share key heads, as those of most real models do."""
    config = LlamaConfig(
        vocab_size=100,
        hidden_size=96,
        intermediate_size=128,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=16,
        eos_token_id=2,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    model: PreTrainedModel = LlamaForCausalLM(config).eval()
    return model


@pytest.fixture(params=["tiny", "grouped"])
def model(request: pytest.FixtureRequest, tiny: PreTrainedModel) -> PreTrainedModel:
    return tiny if request.param == "tiny" else make_grouped_model()


@pytest.mark.parametrize("batch_size", [None, 1, 2])
def test_greedy_responses_are_those_of_transformers(
    model: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase, batch_size: int | None
) -> None:
    requests = make_requests(tiny_tokenizer, PROMPTS)
    completions = TransformersEngine(model, tiny_tokenizer, batch_size=batch_size).generate(requests, GREEDY)
    expected = [transformers_greedy(model, request.prompt_ids, GREEDY.max_new_tokens) for request in requests]
    assert [completion.token_ids for completion in completions] == expected


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_logprobs_are_those_of_a_full_forward_pass(
    model: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase, temperature: float
) -> None:
    requests = make_requests(tiny_tokenizer, PROMPTS, samples=3)
    sampling = Sampling(temperature=temperature, top_k=20, max_new_tokens=20)
    for request, completion in zip(
        requests, TransformersEngine(model, tiny_tokenizer).generate(requests, sampling), strict=True
    ):
        assert completion.logprobs == pytest.approx(full_logprobs(model, request, completion, temperature), abs=2e-5)


@pytest.mark.parametrize("sampling", [RANDOM, Sampling(top_k=10, top_p=0.9, max_new_tokens=12)])
def test_a_response_is_the_same_alone_and_in_a_batch(
    model: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase, sampling: Sampling
) -> None:
    requests = make_requests(tiny_tokenizer, PROMPTS, samples=4)
    engine = TransformersEngine(model, tiny_tokenizer)
    together = [completion.token_ids for completion in engine.generate(requests, sampling)]
    backwards = [completion.token_ids for completion in engine.generate(requests[::-1], sampling)]
    alone = [engine.generate([request], sampling)[0].token_ids for request in requests]
    assert together == alone == backwards[::-1]


def test_a_longer_limit_only_adds_tokens(tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase) -> None:
    requests = make_requests(tiny_tokenizer, PROMPTS)
    engine = TransformersEngine(tiny, tiny_tokenizer)
    short, long = (engine.generate(requests, Sampling(max_new_tokens=count)) for count in (5, 15))
    assert [c.token_ids for c in short] == [c.token_ids[:5] for c in long]


def test_sampled_frequencies_are_those_of_the_model(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase
) -> None:
    requests = make_requests(tiny_tokenizer, ["copy 4 ="], samples=5000)
    completions = TransformersEngine(tiny, tiny_tokenizer).generate(requests, Sampling(max_new_tokens=1))
    with torch.no_grad():
        expected = 5000 * tiny(torch.tensor([requests[0].prompt_ids])).logits[0, -1].double().softmax(-1)
    counts = Counter(completion.token_ids[0] for completion in completions)
    chi_square = sum((counts[token] - wanted) ** 2 / wanted for token, wanted in enumerate(expected.tolist()))
    assert chi_square < 148.2  # the 99.9% quantile at 99 degrees of freedom


def test_samples_of_a_prompt_differ(tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase) -> None:
    requests = make_requests(tiny_tokenizer, ["copy 4 ="], samples=8)
    completions = TransformersEngine(tiny, tiny_tokenizer).generate(requests, RANDOM)
    assert len({tuple(completion.token_ids) for completion in completions}) == 8


def make_counting_model(tiny: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, cycle: str) -> PreTrainedModel:
    """A copy that answers each character of `cycle` with the next one, almost surely; `$` stands for the end token."""
    model = copy.deepcopy(tiny)
    ids = [tokenizer.eos_token_id if c == "$" else tokenizer.encode(c)[0] for c in cycle]
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.zero_()
        model.lm_head.weight.zero_()
        for place, token in enumerate(ids):
            model.model.embed_tokens.weight[token, place] = 1.0
            model.lm_head.weight[ids[(place + 1) % len(ids)], place] = 5.0
    return model


def test_the_end_token_ends_a_response_and_belongs_to_it(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase
) -> None:
    model = make_counting_model(tiny, tiny_tokenizer, "abcdef$")
    requests = make_requests(tiny_tokenizer, ["a", "xxd", "f"])
    completions = TransformersEngine(model, tiny_tokenizer).generate(requests, GREEDY)
    assert [completion.text for completion in completions] == ["bcdef", "ef", ""]
    assert all(completion.token_ids[-1] == tiny_tokenizer.eos_token_id for completion in completions)
    assert [len(completion.logprobs) for completion in completions] == [6, 3, 1]
    assert all(completion.finished for completion in completions)


def test_end_tokens_of_the_generation_settings_count(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase
) -> None:
    model = make_counting_model(tiny, tiny_tokenizer, "abcdef$")
    model.generation_config.eos_token_id = [tiny_tokenizer.eos_token_id, tiny_tokenizer.encode("d")[0]]
    (completion,) = TransformersEngine(model, tiny_tokenizer).generate(make_requests(tiny_tokenizer, ["a"]), GREEDY)
    assert (completion.text, completion.finished) == ("bcd", True)


@pytest.mark.parametrize(
    ("stop", "text", "finished"),
    [
        (("d",), "bcd", True),
        (("cd",), "bcd", True),
        (("zz", "ef"), "bcdef", True),
        (("ab",), "bcdefab", True),
        (("ca",), "bcdefabcd", False),
        ((), "bcdefabcd", False),
    ],
)
def test_a_stop_text_ends_a_response_which_keeps_it(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase, stop: tuple[str, ...], text: str, finished: bool
) -> None:
    model = make_counting_model(tiny, tiny_tokenizer, "abcdef")
    sampling = Sampling(temperature=0, max_new_tokens=9, stop=stop)
    (completion,) = TransformersEngine(model, tiny_tokenizer).generate(make_requests(tiny_tokenizer, ["a"]), sampling)
    assert (completion.text, completion.finished) == (text, finished)
    assert len(completion.token_ids) == len(text)


def test_a_stop_text_of_the_prompt_does_not_count(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase
) -> None:
    model = make_counting_model(tiny, tiny_tokenizer, "abcdef")
    sampling = Sampling(temperature=0, max_new_tokens=3, stop=("ab",))
    (completion,) = TransformersEngine(model, tiny_tokenizer).generate(make_requests(tiny_tokenizer, ["ab"]), sampling)
    assert completion.text == "cde"


def test_rows_that_end_early_leave_the_others_as_they_are(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase
) -> None:
    model = make_counting_model(tiny, tiny_tokenizer, "abcdefghijklmnopqrstuvwxyz$")
    starts = "axbyczdw"
    completions = TransformersEngine(model, tiny_tokenizer).generate(
        make_requests(tiny_tokenizer, list(starts)), Sampling(temperature=0, max_new_tokens=30)
    )
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    assert [completion.text for completion in completions] == [alphabet.partition(start)[2] for start in starts]


def test_no_requests_are_no_completions(tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase) -> None:
    assert TransformersEngine(tiny, tiny_tokenizer).generate([], RANDOM) == []


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase, training: bool
) -> None:
    model = copy.deepcopy(tiny).train(training)
    TransformersEngine(model, tiny_tokenizer).generate(make_requests(tiny_tokenizer, ["a"]), RANDOM)
    assert all(module.training == training for module in model.modules())
    assert model.config._attn_implementation == "sdpa"
    logits = model(torch.tensor([[4, 5]])).logits
    assert logits.requires_grad
    logits.sum().backward()


def test_another_attention_implementation_stays(tiny_tokenizer: PreTrainedTokenizerBase) -> None:
    model = make_grouped_model()
    requests = make_requests(tiny_tokenizer, PROMPTS)
    with_sdpa = TransformersEngine(model, tiny_tokenizer).generate(requests, GREEDY)
    model.set_attn_implementation("eager")
    with_eager = TransformersEngine(model, tiny_tokenizer).generate(requests, GREEDY)
    assert [c.token_ids for c in with_eager] == [c.token_ids for c in with_sdpa]
    assert model.config._attn_implementation == "eager"


def test_bf16_gives_nearly_the_same_probabilities(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase
) -> None:
    requests = make_requests(tiny_tokenizer, PROMPTS)
    engine = TransformersEngine(tiny, tiny_tokenizer, precision="bf16")
    for request, completion in zip(requests, engine.generate(requests, RANDOM), strict=True):
        assert completion.logprobs == pytest.approx(full_logprobs(tiny, request, completion, 1.0), abs=0.05)


def test_weights_that_are_no_numbers_are_explained(
    tiny: PreTrainedModel, tiny_tokenizer: PreTrainedTokenizerBase
) -> None:
    model = copy.deepcopy(tiny)
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(UserError, match="the policy's probabilities are not numbers any more"):
        TransformersEngine(model, tiny_tokenizer).generate(make_requests(tiny_tokenizer, ["a"]), RANDOM)
