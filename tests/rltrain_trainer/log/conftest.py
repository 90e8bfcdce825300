"""What the tests of the log share: a run directory, and the log's content in short."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.records import Mark, Scalars
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, "job")


@pytest.fixture
def open_log(open_log: Callable[..., RunLog], run: RunDirectory) -> Callable[..., RunLog]:
    """Begins an attempt of the test's one run and opens its log, which is closed after the test."""
    return partial(open_log, run)


@pytest.fixture
def log_steps() -> Callable[..., None]:
    """Logs whole steps with a metric whose value is the step times the given factor."""

    def log_steps(log: RunLog, steps: range, factor: float = 1.0) -> None:
        for step in steps:
            log.scalars(step, {"reward/mean": step * factor})
            log.end_step(step)

    return log_steps


@pytest.fixture
def standing(run: RunDirectory) -> Callable[[], dict[int, Any]]:
    """The values of `reward/mean` that stand, by step; a value that stands twice is an error."""

    def standing() -> dict[int, Any]:
        found: dict[int, Any] = {}
        for entry, _ in LogReader(run.log).read():
            if isinstance(entry.record, Scalars) and not entry.replay:
                assert entry.record.step not in found
                found[entry.record.step] = entry.record.values["reward/mean"]
        return found

    return standing


@pytest.fixture
def whole_steps(run: RunDirectory) -> Callable[[], list[int]]:
    """Steps marked whole, in the log's order."""

    def whole_steps() -> list[int]:
        records = [entry.record for entry, _ in LogReader(run.log).read() if not entry.replay]
        return [record.step for record in records if isinstance(record, Mark) and record.name == "step"]

    return whole_steps
