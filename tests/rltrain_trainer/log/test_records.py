"""Records: every kind survives the way to disk and back, whatever numbers and texts it holds."""

import math
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltrain_api.errors import UserError
from rltrain_trainer.log.records import (
    Artifact,
    Entry,
    Histogram,
    Mark,
    Parameters,
    Record,
    Scalars,
    Table,
    Text,
    Trace,
    as_plain,
    pack_entry,
    unpack_entry,
)

STEPS = st.integers(0, 2**40)
ANY_TEXT = st.text(st.characters())
FLOATS = st.floats()
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(Scalars, step=STEPS, values=st.dictionaries(ANY_TEXT, FLOATS)),
    st.builds(Histogram.of, STEPS, ANY_TEXT, st.lists(FLOATS, min_size=1)),
    st.builds(Text, step=STEPS, name=ANY_TEXT, text=ANY_TEXT),
    st.builds(Table, step=STEPS, name=ANY_TEXT, columns=st.lists(ANY_TEXT), rows=st.lists(st.lists(PLAIN))),
    st.builds(Trace, step=STEPS, name=ANY_TEXT, payload=st.dictionaries(ANY_TEXT, PLAIN), tags=st.just({"a": "b"})),
    st.builds(Artifact, step=STEPS, name=ANY_TEXT, path=ANY_TEXT),
    st.builds(Parameters, values=st.dictionaries(ANY_TEXT, PLAIN)),
    st.builds(Mark, step=STEPS, name=ANY_TEXT),
)


def make_entry(record: Record) -> Entry:
    return Entry(attempt=2, sequence=9, time=1.5, replay=True, record=record)


@settings(deadline=None)
@given(RECORDS)
def test_every_record_round_trips(record: Record) -> None:
    read = unpack_entry(pack_entry(make_entry(record)))
    assert type(read.record) is type(record)
    # NaN is not equal to itself, its text is.
    assert repr(read) == repr(make_entry(record))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 5e-324])
def test_special_numbers_survive(value: float) -> None:
    record = unpack_entry(pack_entry(make_entry(Scalars(step=1, values={"a": value})))).record
    assert isinstance(record, Scalars)
    assert repr(record.values["a"]) == repr(value)


def test_unknown_kind_names_the_remedy() -> None:
    with pytest.raises(UserError, match="'video', written by a newer rltrain"):
        unpack_entry(msgpack.packb([1, 1, 0.0, False, "video", []]))


def test_histogram_has_counts_and_moments() -> None:
    histogram = Histogram.of(3, "a", np.array([[1, 2], [3, 4]]))
    assert sum(histogram.counts) == 4
    assert len(histogram.edges) == len(histogram.counts) + 1
    assert (histogram.minimum, histogram.maximum, histogram.total, histogram.total_of_squares) == (1, 4, 10, 30)


def test_histogram_counts_what_is_not_finite_apart() -> None:
    histogram = Histogram.of(3, "a", [math.nan, math.inf, 2.0])
    assert (sum(histogram.counts), histogram.nonfinite, histogram.minimum) == (1, 2, 2.0)


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_histogram_of_nothing_has_no_bins(values: list[float]) -> None:
    histogram = Histogram.of(3, "a", values)
    assert (histogram.counts, histogram.edges, histogram.nonfinite) == ([], [], len(values))


@pytest.mark.parametrize("values", [[1e308, -1e308], [1e17, 1e17 + 16], [5e-324, 0.0], [3.0, 3.0]])
def test_histogram_of_values_hard_to_bin_counts_them_all(values: list[float]) -> None:
    histogram = Histogram.of(3, "a", values)
    assert sum(histogram.counts) == 2
    assert all(math.isfinite(edge) for edge in histogram.edges)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (2**70, str(2**70)),
        ((1, {2}), [1, [2]]),
        (np.array([[1, 2]]), [[1, 2]]),
        ({1: None}, {"1": None}),
        (complex(1, 2), "(1+2j)"),
    ],
)
def test_values_become_plain(value: Any, plain: Any) -> None:
    assert as_plain(value) == plain
