"""The order of prompts, and that it is a function of the step alone."""

from collections import Counter

import pytest

from rltrain_trainer.data.order import PromptOrder


def take(order: PromptOrder, steps: int) -> list[int]:
    return [index for step in range(1, steps + 1) for index in order.batch(step)]


@pytest.mark.parametrize(("count", "batch_size"), [(10, 5), (10, 4), (7, 3), (3, 8), (1, 1)])
@pytest.mark.parametrize("shuffle", [True, False])
def test_each_pass_uses_every_prompt_once(count: int, batch_size: int, shuffle: bool) -> None:
    taken = take(PromptOrder(count, batch_size, shuffle, 0), steps=3 * count)
    passes = [taken[first : first + count] for first in range(0, len(taken), count)]
    assert all(Counter(one) == Counter(range(count)) for one in passes)


def test_without_shuffling_the_order_is_that_of_the_source() -> None:
    assert take(PromptOrder(5, 2, False, 0), steps=4) == [0, 1, 2, 3, 4, 0, 1, 2]


def test_passes_differ_and_follow_from_the_seed() -> None:
    order = PromptOrder(50, 50, True, 7)
    assert order.batch(1) != order.batch(2)
    assert order.batch(1) == PromptOrder(50, 50, True, 7).batch(1)
    assert order.batch(1) != PromptOrder(50, 50, True, 8).batch(1)


def test_a_step_needs_no_step_before_it() -> None:
    whole = take(PromptOrder(11, 4, True, 3), steps=20)
    assert PromptOrder(11, 4, True, 3).batch(20) == whole[-4:]
