"""Reward functions of the user's own: how they are found, what they get, what is refused."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from rltrain_api.errors import UserError
from rltrain_api.reward import RewardSpec
from rltrain_trainer.rewards.score import RewardBatch, RewardScorer, Scores

BATCH = RewardBatch(
    prompts=["p0", "p1"],
    responses=["r0", "r1!"],
    answers=["a0", None],
    columns=[{"level": 1}, {"level": 2, "hint": "h"}],
    response_lengths=[2, 3],
    step=7,
)


def make_scorer(directory: Path, code: str, function: str = "own.py:own", **parameters: Any) -> RewardScorer:
    (directory / "own.py").write_text(textwrap.dedent(code))
    custom = {"function": function, "parameters": parameters}
    return RewardScorer(RewardSpec.model_validate({"functions": [{"type": "custom", "custom": custom}]}), directory)


def score(directory: Path, code: str, **parameters: Any) -> Scores:
    return make_scorer(directory, code, **parameters).score(BATCH)


@pytest.mark.parametrize(
    ("signature", "value"),
    [
        ("responses", "[len(r) for r in responses]"),
        ("prompts, responses", "[len(r) for p, r in zip(prompts, responses)]"),
        ("answers, step", "[2, 3] if answers == ['a0', None] and step == 7 else []"),
        ("columns", "[row['level'] + 1 for row in columns]"),
        ("level", "[one + 1 for one in level]"),
        ("hint", "[2, 3] if hint == [None, 'h'] else []"),
        ("hint, *, other=2", "[other, 3]"),
        ("level, *args, **kwargs", "[2, 3] if not args and not kwargs else []"),
        ("responses", "map(len, responses)"),
        ("responses", "__import__('numpy').array([2, 3])"),
        ("responses", "__import__('torch').tensor([2, 3])"),
    ],
)
def test_a_function_asks_by_name_for_what_it_needs(tmp_path: Path, signature: str, value: str) -> None:
    assert score(tmp_path, f"def own({signature}): return {value}").total.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    "code",
    [
        "def own(responses, bonus): return [bonus, bonus]",
        "def own(responses, bonus=0): return [bonus, bonus]",
        "def own(responses, **options): return [options['bonus'], options['bonus']]",
    ],
)
def test_parameters_of_the_spec_are_passed_by_name(tmp_path: Path, code: str) -> None:
    assert score(tmp_path, code, bonus=3).total.tolist() == [3.0, 3.0]


def test_a_function_logs_metrics_of_its_own(tmp_path: Path) -> None:
    code = """
        def own(responses, log):
            log("share", 0.25)
            log("answers/words", 1)
            log("answers/words", 2)
            return [0.0, 1.0]
    """
    assert score(tmp_path, code).metrics == {"reward/own_mean": 0.5, "reward/own/share": 0.25, "answers/words": 1.5}


def test_a_module_is_named_without_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reward_in_a_module.py").write_text("def own(responses): return [1, 1]")
    monkeypatch.syspath_prepend(tmp_path)
    scorer = make_scorer(tmp_path, "", function="reward_in_a_module:own")
    assert scorer.score(BATCH).total.tolist() == [1.0, 1.0]


def test_a_file_imports_the_one_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "beside_the_reward.py").write_text("ONES = [1, 1]")
    code = "from beside_the_reward import ONES\ndef own(responses): return ONES"
    assert score(tmp_path, code).total.tolist() == [1.0, 1.0]


def test_files_of_the_same_name_are_different_modules(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one = make_scorer(tmp_path / "a", "def own(responses): return [1, 1]")
    other = make_scorer(tmp_path / "b", "def own(responses): return [2, 2]")
    assert (one.score(BATCH).total[0], other.score(BATCH).total[0]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("code", "function", "parameters", "message"),
    [
        ("", "none.py:own", {}, "none.py does not exist (relative paths start at the manifest's directory)"),
        ("def owm(): pass", "own.py:own", {}, "`own.py` has no function `own`; did you mean `owm`?"),
        ("own = 3", "own.py:own", {}, "`own.py` has no function `own`; it defines no functions"),
        ("import nothing_like_it", "own.py:own", {}, "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("def own(:", "own.py:own", {}, "SyntaxError"),
        ("raise SystemExit('no')", "own.py:own", {}, "SystemExit: no"),
        ("", "no_such_module:own", {}, "there is no module `no_such_module`"),
        ("def own(bonus): pass", "own.py:own", {"bonos": 1}, "takes no parameter `bonos`; did you mean `bonus`?"),
        ("def own(responses): pass", "own.py:own", {"step": 1}, "`step` is always the batch's"),
        ("def own(responses, /): pass", "own.py:own", {}, "`responses` must not be positional-only"),
    ],
)
def test_a_bad_reference_is_found_before_training(
    tmp_path: Path, code: str, function: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        make_scorer(tmp_path, code, function, **parameters)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def own(response): return [1, 1]", "asks for `response`, which is no column .*; did you mean `responses`?"),
        ("def own(responses): return [1]", "returned 1 rewards for 2 responses"),
        ("def own(responses): return 1.0", "must return a list of numbers, one a response, not 1.0"),
        ("def own(responses): pass", "must return a list of numbers, one a response, not None"),
        ("def own(responses): return [1, float('nan')]", "returned nan for sample 1 .*; its response: 'r1!'"),
        ("def own(responses): return [1, float('-inf')]", "returned -inf for sample 1"),
        ("def own(responses): return ['1', 1]", "returned '1' for sample 0 .*not a finite number"),
        ("def own(responses): return [None, 1]", "returned None for sample 0"),
        ("def own(responses): raise SystemExit(0)", "failed at step 7:\n(.*\n)*.*own.py.*\n(.*\n)*SystemExit: 0"),
        ("def own(responses): return [1 / 0, 1]", "failed at step 7:\n(.*\n)*.*own.py.*\n(.*\n)*ZeroDivisionError"),
    ],
)
def test_what_went_wrong_is_named(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(UserError, match=f"reward function `own.py:own` {message}"):
        score(tmp_path, code)
