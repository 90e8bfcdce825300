"""Prompts that are generated: digits and reasoning-gym tasks."""

from pathlib import Path
from typing import Any

import pytest

from rltrain_api.data import PromptSource
from rltrain_api.errors import UserError
from rltrain_trainer.data.prompts import Prompt, load_prompts


def make_digits(**fields: Any) -> list[Prompt]:
    source = PromptSource.model_validate({"type": "digits", "digits": {"task": "copy", "size": 5, **fields}})
    return load_prompts(source, Path())


def make_tasks(task: str, **fields: Any) -> list[Prompt]:
    content = {"type": "reasoningGym", "reasoningGym": {"task": task, "size": 5, **fields}}
    return load_prompts(PromptSource.model_validate(content), Path())


@pytest.mark.parametrize(
    ("task", "solve"),
    [("copy", str), ("reverse", lambda text: text[::-1]), ("sort", lambda text: "".join(sorted(text)))],
)
def test_the_answer_solves_the_task(task: str, solve: Any) -> None:
    for prompt in make_digits(task=task, length=4, size=20):
        assert isinstance(prompt.prompt, str)
        name, *digits, end = prompt.prompt.split(" ")
        assert (name, len(digits), end) == (task, 4, "=")
        assert prompt.answer == solve("".join(digits))


def test_digits_follow_from_the_seed() -> None:
    assert make_digits(seed=1, length=6) == make_digits(seed=1, length=6)
    assert make_digits(seed=1, length=6) != make_digits(seed=2, length=6)


def test_all_digits_occur() -> None:
    assert {prompt.answer for prompt in make_digits(size=200)} == set("0123456789")


def test_a_reasoning_gym_task_gives_its_questions() -> None:
    prompts = make_tasks("chain_sum", seed=3, parameters={"min_terms": 2, "max_terms": 2})
    assert len(prompts) == 5
    assert prompts == make_tasks("chain_sum", seed=3, parameters={"min_terms": 2, "max_terms": 2})
    first = prompts[0]
    assert first.prompt == first.columns["entry"]["question"]
    assert first.answer == first.columns["entry"]["answer"]
    assert first.columns["task"] == "chain_sum"


@pytest.mark.parametrize(
    ("task", "parameters", "message"),
    [
        ("chain_sums", {}, "there is no task `chain_sums`; did you mean `chain_sum`?"),
        ("chain_sum", {"min_term": 2}, "`chain_sum` has no such parameter; did you mean `min_terms`?"),
        ("chain_sum", {"size": 2}, "give it as `reasoningGym.size` instead"),
        ("chain_sum", {"min_terms": 0}, "does not accept them: min_terms must be positive"),
        ("chain_sum", {"min_terms": "two"}, "does not accept them"),
    ],
)
def test_a_bad_task_is_explained(task: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        make_tasks(task, parameters=parameters)
    assert message in str(caught.value)
