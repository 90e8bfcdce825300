"""Names as trackers take them: allowed characters, groups, lengths, collisions."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltrain_trainer.tracking.names import Names, name_rule

MLFLOW = name_rule(allowed=" ", longest=250)
TENSORBOARD = name_rule(allowed=" @()", longest=250)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reward/episode_reward_mean", "reward/episode_reward_mean"),
        ("val/a-b.c d/e", "val/a-b.c d/e"),
        ("my_metric", "custom/my_metric"),
        ("reward/pass@1", "reward/pass_at_1"),
        ("reward/mean(len)", "reward/mean_len"),
        ("reward/f(x)(y)", "reward/f_x_y"),
        ("reward//mean", "reward/mean"),
        ("/reward/mean/", "reward/mean"),
        ("../../etc/x", "etc/x"),
        ("a/./b", "a/b"),
        ("a:b/c", "a_b/c"),
        ("größe/mittel", "größe/mittel"),
        ("_private/x_", "_private/x_"),
        ("", "custom/unnamed"),
        ("/", "custom/unnamed"),
        ("?/!", "custom/unnamed"),
        ("a/half \ud83d pair", "a/half _ pair"),
    ],
)
def test_names_for_mlflow(name: str, expected: str) -> None:
    assert MLFLOW(name) == expected


@pytest.mark.parametrize("name", ["reward/pass@1", "reward/mean(len)"])
def test_tensorboard_keeps_what_it_can_show(name: str) -> None:
    assert TENSORBOARD(name) == name


def test_long_names_are_cut_and_stay_apart() -> None:
    one, other = (MLFLOW("a/" + "x" * 400 + end) for end in "12")
    assert len(one) == len(other) == 250
    assert one != other


@settings(deadline=None)
@given(st.text(st.characters(), max_size=300))
def test_every_name_becomes_valid_and_stays_so(name: str) -> None:
    valid = MLFLOW(name)
    assert re.fullmatch(r"[\w.\- ]+(/[\w.\- ]+)+", valid)
    assert len(valid) <= 250
    assert MLFLOW(valid) == valid


def test_two_names_that_would_become_one_are_kept_apart() -> None:
    names = Names(MLFLOW, {}, shared=False)
    assert names.of("scalars", "a/x(1)") == "a/x_1"
    assert re.fullmatch(r"a/x_1-[0-9a-f]{8}", names.of("scalars", "a/x:1"))
    assert names.of("scalars", "a/x(1)") == "a/x_1"


def test_names_stay_what_they_were_whatever_comes_first_after_a_resume() -> None:
    names = Names(MLFLOW, {}, shared=False)
    before = [names.of("scalars", name) for name in ("a/x(1)", "a/x:1")]
    again = Names(MLFLOW, json.loads(json.dumps(names.decided)), shared=False)
    assert [again.of("scalars", name) for name in ("a/x:1", "a/x(1)")] == before[::-1]


@pytest.mark.parametrize(("shared", "same"), [(True, False), (False, True)])
def test_kinds_share_names_only_where_the_tracker_does(shared: bool, same: bool) -> None:
    names = Names(MLFLOW, {}, shared=shared)
    assert (names.of("scalars", "a/b") == names.of("histogram", "a/b")) is same
