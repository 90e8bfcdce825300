"""The log's writer: what it appends, marks as replay, refuses, and keeps when the disk is full."""

import errno
import logging
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rltrain_api.errors import FencedError, RetryLater, UserError
from rltrain_trainer.log import writer
from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.records import Entry, Scalars
from rltrain_trainer.log.segments import segment_numbers, segment_path
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory

OpenLog = Callable[..., RunLog]
LogSteps = Callable[..., None]
Standing = Callable[[], dict[int, Any]]

FILL_THE_DISK = """
import resource, sys
from pathlib import Path
from rltrain_api.errors import RetryLater
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory
run = RunDirectory(Path(sys.argv[1]))
log = RunLog(run, attempt=run.begin_attempt(), resume_step=0, log_interval=1000)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
for step in range(1, 10_000):
    try:
        log.scalars(step, {"reward/mean": step})
    except RetryLater as error:
        print(step, error)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
"""


def entries(run: RunDirectory) -> list[Entry]:
    return [entry for entry, _ in LogReader(run.log).read()]


def test_every_kind_is_logged_in_order(run: RunDirectory, open_log: OpenLog) -> None:
    log = open_log()
    log.parameters({"a": 1})
    log.scalars(1, {"a": math.nan, "b": 2})
    log.histogram(1, "h", [1, 2])
    log.text(1, "t", "half a pair \ud83d")
    log.table(1, "rows", ["a"], [[1], [None]])
    log.trace(1, "sample", {"turns": [1]}, {"step": 1})
    log.artifact(1, "job.yaml", "job.yaml")
    log.mark("checkpoint", 1)
    log.end_step(1)
    kinds = ["parameters", "scalars", "histogram", "text", "table", "trace", "artifact", "mark", "mark"]
    assert [entry.record.kind for entry in entries(run)] == kinds
    assert [entry.sequence for entry in entries(run)] == list(range(1, 10))
    assert (log.sequence, log.last_step) == (9, 1)


def test_a_step_is_with_the_operating_system_when_end_step_returns(
    open_log: OpenLog, log_steps: LogSteps, standing: Standing
) -> None:
    log = open_log(log_interval=1000)
    log_steps(log, range(1, 4))
    assert standing() == {1: 1, 2: 2, 3: 3}


def test_a_value_that_is_no_number_is_refused_by_name(open_log: OpenLog) -> None:
    log = open_log()
    with pytest.raises(UserError, match=r"metric 'a/b': 'x' is not a number"):
        log.scalars(1, {"a/b": "x"})  # type: ignore[dict-item]


def test_a_second_value_of_one_step_does_not_stand_and_is_named(
    open_log: OpenLog, standing: Standing, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log()
    for value in (1.0, 2.0, 3.0):
        log.scalars(5, {"reward/mean": value})
    assert standing() == {5: 1.0}
    assert [record.message for record in caplog.records] == [
        "scalars reward/mean is logged twice at step 5; the first one stands"
    ]


def test_steps_computed_again_are_replay(open_log: OpenLog, log_steps: LogSteps, standing: Standing) -> None:
    first = open_log()
    log_steps(first, range(1, 8))
    second = open_log(resume_step=4)
    log_steps(second, range(5, 10), factor=100)
    assert standing() == {step: step if step < 8 else step * 100 for step in range(1, 10)}


def test_a_third_attempt_knows_what_stood_before_the_second(
    open_log: OpenLog, log_steps: LogSteps, standing: Standing
) -> None:
    for resume_step, steps, factor in ((0, range(1, 8), 1), (2, range(3, 5), 10), (2, range(3, 10), 100)):
        log = open_log(resume_step=resume_step)
        log_steps(log, steps, factor)
    assert standing() == {step: step if step < 8 else step * 100 for step in range(1, 10)}


def test_of_a_step_logged_by_half_only_the_rest_is_new(run: RunDirectory, open_log: OpenLog) -> None:
    first = open_log()
    first.scalars(1, {"a": 1, "b": 2})
    first.text(1, "t", "first")
    second = open_log()
    second.scalars(1, {"b": 20, "c": 30})
    second.text(1, "t", "again")
    second.histogram(1, "t", [1.0])
    second.end_step(1)
    again = [(entry.record.kind, entry.replay) for entry in entries(run) if entry.attempt == 2]
    assert again == [("scalars", False), ("scalars", True), ("text", True), ("histogram", False), ("mark", False)]
    values = [e.record.values for e in entries(run) if isinstance(e.record, Scalars) and not e.replay]
    assert values == [{"a": 1, "b": 2}, {"c": 30}]


def test_step_zero_is_not_measured_twice(open_log: OpenLog, standing: Standing) -> None:
    for value in (1.0, 2.0):
        log = open_log()
        log.scalars(0, {"reward/mean": value})
    assert standing() == {0: 1.0}


def test_another_attempt_stops_the_next_append(run: RunDirectory, open_log: OpenLog, log_steps: LogSteps) -> None:
    old = open_log()
    log_steps(old, range(1, 3))
    run.begin_attempt()
    with pytest.raises(FencedError):
        old.scalars(3, {"a": 1})
    with pytest.raises(FencedError):
        RunLog(run, attempt=1, resume_step=0, log_interval=1)
    assert len(entries(run)) == 4


def test_what_a_fenced_writer_appends_late_is_never_read(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing
) -> None:
    old = open_log()
    log_steps(old, range(1, 3))
    late = segment_path(run.log, 1).read_bytes()[-200:]
    log_steps(open_log(resume_step=2), range(3, 5))
    with segment_path(run.log, 1).open("ab") as file:
        file.write(late)
    log_steps(open_log(resume_step=4), range(5, 6))
    assert standing() == {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
    assert LogReader(run.log).damage() == []


def test_segments_roll(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SEGMENT_BYTES", 1000)
    log = open_log()
    log_steps(log, range(1, 101))
    assert len(segment_numbers(run.log)) > 5
    assert standing() == {step: step for step in range(1, 101)}
    log_steps(open_log(resume_step=90), range(91, 110), factor=2)
    assert standing() == {step: step if step <= 100 else 2 * step for step in range(1, 110)}


def test_a_full_disk_is_reported_and_what_was_logged_is_intact(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing, caplog: pytest.LogCaptureFixture
) -> None:
    command = [sys.executable, "-c", FILL_THE_DISK, str(run.path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    refused = int(output.split()[0])
    assert "disk full" in output and "free space and resume" in output
    assert standing() == {step: step for step in range(1, refused)}
    log_steps(open_log(resume_step=refused - 1), range(refused, refused + 2))
    assert standing() == {step: step for step in range(1, refused + 2)}
    assert caplog.records == []


def test_the_log_is_synced_every_interval_and_when_asked(
    open_log: OpenLog, log_steps: LogSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(log_interval=3)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    log_steps(log, range(1, 9))
    log.sync()
    assert len(synced) == 3
    log_steps(log, range(9, 11))
    log.sync()
    assert len(synced) == 4


def test_a_failed_sync_is_reported_by_the_next(
    open_log: OpenLog, log_steps: LogSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = open_log()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        log_steps(log, range(1, 2))
        with pytest.raises(RetryLater, match="disk full"):
            log_steps(log, range(2, 3))


def test_listeners_are_woken_at_each_step_and_at_the_end(open_log: OpenLog, log_steps: LogSteps) -> None:
    log = open_log()
    woken: list[int] = []
    log.subscribe(lambda: woken.append(log.last_step))
    log_steps(log, range(1, 4))
    log.close()
    assert woken == [1, 2, 3, 3]


def test_an_attempt_of_old_is_read_only_where_needed(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, caplog: pytest.LogCaptureFixture
) -> None:
    log_steps(open_log(), range(1, 4))
    log_steps(open_log(resume_step=3), range(4, 6))
    segment_path(run.log, 1).write_bytes(b"not needed to go on")
    with caplog.at_level(logging.WARNING):
        log = open_log(resume_step=5)
    assert (log.last_step, log.sequence) == (5, 10)
