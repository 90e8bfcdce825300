"""What each built-in reward function gives."""

import threading
from pathlib import Path
from typing import Any

import pytest

from rltrain_api.data import PromptSource
from rltrain_api.errors import UserError
from rltrain_api.reward import RewardSpec
from rltrain_trainer.data.prompts import load_prompts
from rltrain_trainer.rewards.score import RewardBatch, RewardScorer, Scores


def make_batch(*pairs: tuple[str, str | None], columns: list[dict[str, Any]] | None = None) -> RewardBatch:
    return RewardBatch(
        prompts=[f"prompt {index}" for index in range(len(pairs))],
        responses=[response for response, _ in pairs],
        answers=[answer for _, answer in pairs],
        columns=columns or [{}] * len(pairs),
        response_lengths=[len(response) for response, _ in pairs],
        step=1,
    )


def score(batch: RewardBatch, **function: Any) -> Scores:
    return RewardScorer(RewardSpec.model_validate({"functions": [function]}), Path()).score(batch)


@pytest.mark.parametrize(
    ("response", "answer", "options", "expected"),
    [
        ("12", "12", {}, 1.0),
        (" 12\n", "12", {}, 1.0),
        ("13", "12", {}, 0.0),
        ("Yes", "yes", {}, 0.0),
        ("Yes", "yes", {"ignoreCase": True}, 1.0),
        ("1239", "1234", {"partialCredit": True}, 0.75),
        ("12345678", "1234", {"partialCredit": True}, 0.5),
        ("12", "1234", {"partialCredit": True}, 0.5),
        ("4321", "1234", {"partialCredit": True}, 0.0),
        ("", "1234", {"partialCredit": True}, 0.0),
    ],
)
def test_exact(response: str, answer: str, options: dict[str, Any], expected: float) -> None:
    assert score(make_batch((response, answer)), type="exact", exact=options).total.tolist() == [expected]


@pytest.mark.parametrize(
    ("response", "answer", "options", "expected"),
    [
        ("The answer is 7.", "7", {}, 1.0),
        ("7 or 8", "7", {}, 0.0),
        ("7 or 8", "7", {"pick": "first"}, 1.0),
        ("1,234", "1234", {}, 1.0),
        ("$1,234,567.50", "1234567.5", {}, 1.0),
        ("12,34", "34", {}, 1.0),
        ("= -5", "-5", {}, 1.0),
        ("= \N{MINUS SIGN}5", "-5", {}, 1.0),
        ("10-5", "5", {}, 1.0),
        ("x = .5", "0.5", {}, 1.0),
        ("007", "7.0", {}, 1.0),
        ("3.14", "3.14159", {}, 0.0),
        ("3.14", "3.14159", {"tolerance": 0.01}, 1.0),
        ("0.3", "0.1", {"tolerance": 0.2}, 1.0),
        ("seven", "7", {}, 0.0),
        ("", "7", {}, 0.0),
        ("9" * 5000, "7", {}, 0.0),
        ("5", "#### 5", {}, 1.0),
    ],
)
def test_numeric(response: str, answer: str, options: dict[str, Any], expected: float) -> None:
    assert score(make_batch((response, answer)), type="numeric", numeric=options).total.tolist() == [expected]


def test_numeric_refuses_an_answer_without_a_number() -> None:
    with pytest.raises(UserError, match="the reference answer 'seven' has no number"):
        score(make_batch(("7", "seven")), type="numeric")


@pytest.mark.parametrize(
    ("response", "answer", "expected"),
    [
        ("The answer is $\\frac{1}{2}$.", "0.5", 1.0),
        ("\\boxed{x^2 + 1}", "1 + x^2", 1.0),
        ("12", "\\frac{24}{2}", 1.0),
        ("so it is 3", "$3$", 1.0),
        ("x = 3", "4", 0.0),
        ("nothing", "4", 0.0),
        ("", "4", 0.0),
        ("$\\frac{{{$", "1", 0.0),
    ],
)
def test_math(response: str, answer: str, expected: float) -> None:
    assert score(make_batch((response, answer)), type="math").total.tolist() == [expected]


def test_math_counts_what_it_cannot_decide() -> None:
    scores = score(make_batch(("9^9^9^9^9^9", "4"), ("4", "4")), type="math")
    assert scores.total.tolist() == [0.0, 1.0]
    assert scores.metrics["reward/math/failures"] == 1.0


def test_math_works_outside_of_the_main_thread() -> None:
    results: list[list[float]] = []
    thread = threading.Thread(target=lambda: results.append(score(make_batch(("4", "4")), type="math").total.tolist()))
    thread.start()
    thread.join()
    assert results == [[1.0]]


@pytest.mark.parametrize(
    ("response", "options", "expected"),
    [
        ("a <b>1</b> c", {"regex": "<b>.*</b>"}, 1.0),
        ("<b>1\n2</b>", {"regex": "<b>.*</b>"}, 1.0),
        ("a <b>1</b> c", {"regex": "<b>.*</b>", "fullMatch": True}, 0.0),
        ("<b>1</b>", {"regex": "<b>.*</b>", "fullMatch": True}, 1.0),
        ("plain", {"regex": "<b>"}, 0.0),
    ],
)
def test_pattern(response: str, options: dict[str, Any], expected: float) -> None:
    assert score(make_batch((response, None)), type="pattern", pattern=options).total.tolist() == [expected]


def test_a_bad_pattern_is_found_before_training() -> None:
    spec = RewardSpec.model_validate({"functions": [{"type": "pattern", "pattern": {"regex": "("}}]})
    with pytest.raises(UserError, match=r"'\(' is not a regular expression: missing \)"):
        RewardScorer(spec, Path())


@pytest.mark.parametrize(("tokens", "expected"), [(0, 0.0), (10, 0.0), (15, -0.5), (20, -1.0), (99, -1.0)])
def test_length(tokens: int, expected: float) -> None:
    batch = make_batch(("x" * tokens, None))
    assert score(batch, type="length", length={"target": 10, "limit": 20}).total.tolist() == [expected]


def test_reasoning_gym_uses_the_scorer_of_the_task() -> None:
    content = {"type": "reasoningGym", "reasoningGym": {"task": "chain_sum", "size": 2}}
    prompts = load_prompts(PromptSource.model_validate(content), Path())
    pairs = [(f" {prompts[0].answer}\n", None), ("none", None)]
    scores = score(make_batch(*pairs, columns=[prompt.columns for prompt in prompts]), type="reasoningGym")
    assert scores.total.tolist() == [1.0, 0.0]


def test_reasoning_gym_needs_prompts_of_its_own() -> None:
    with pytest.raises(UserError, match=r"scores prompts of .*reasoningGym"):
        score(make_batch(("1", "1")), type="reasoningGym")


@pytest.mark.parametrize("name", ["exact", "numeric", "math"])
def test_a_missing_answer_is_explained(name: str) -> None:
    with pytest.raises(UserError, match=f"reward function `{name}` compares .*the prompt 'prompt 1' has none"):
        score(make_batch(("1", "1"), ("2", None)), type=name)
