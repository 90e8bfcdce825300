"""The log's reader: positions, growth, torn tails, damage; and the summary that `rltrain runs` shows."""

import itertools
import os
from collections.abc import Callable
from typing import Any

import pytest

from rltrain_api.errors import UserError
from rltrain_trainer.log import summary
from rltrain_trainer.log.frames import Frame, encode_frame
from rltrain_trainer.log.reader import START, DamagedRange, LogReader
from rltrain_trainer.log.records import RunState, Scalars, Text
from rltrain_trainer.log.segments import read_frames, segment_path
from rltrain_trainer.log.summary import state_of
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory

OpenLog = Callable[..., RunLog]
LogSteps = Callable[..., None]
Standing = Callable[[], dict[int, Any]]


def frames(run: RunDirectory, segment: int) -> list[Frame]:
    found = list(read_frames(segment_path(run.log, segment), 0, None))
    return [item for item in found if isinstance(item, Frame)]


def damage(run: RunDirectory, segment: int, at: int) -> None:
    with segment_path(run.log, segment).open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 255]))


def test_reading_goes_on_from_any_position(run: RunDirectory, open_log: OpenLog, log_steps: LogSteps) -> None:
    for resume_step in (0, 3, 6):
        log_steps(open_log(resume_step=resume_step), range(resume_step + 1, resume_step + 4))
    everything = list(LogReader(run.log).read())
    positions = [START, *(position for _, position in everything)]
    assert positions == sorted(positions)
    for index, position in enumerate(positions):
        assert list(LogReader(run.log).read(position)) == everything[index:]


def test_an_empty_log_has_no_entries(run: RunDirectory) -> None:
    assert list(LogReader(run.log).read()) == []
    assert LogReader(run.log).summary().last_step == 0


def test_a_record_torn_at_any_byte_is_waited_for_and_cut_by_the_next_attempt(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing, caplog: pytest.LogCaptureFixture
) -> None:
    log_steps(open_log(), range(1, 3))
    path = segment_path(run.log, 1)
    last = frames(run, 1)[-1]
    whole = path.read_bytes()
    for end in range(last.start + 1, last.end):
        path.write_bytes(whole[:end])
        assert len(list(LogReader(run.log).read())) == 3
    assert caplog.records == []
    log_steps(open_log(resume_step=1), range(2, 4), factor=5)
    assert path.stat().st_size == last.start
    assert standing() == {1: 1, 2: 2, 3: 15}
    assert LogReader(run.log).damage() == []


def test_a_growing_log_is_read_as_it_grows(run: RunDirectory, open_log: OpenLog, log_steps: LogSteps) -> None:
    log, reader, position, seen = open_log(), LogReader(run.log), START, 0
    for step in range(1, 20):
        log_steps(log, range(step, step + 1))
        new = list(reader.read(position))
        seen, position = seen + len(new), new[-1][1]
        assert seen == 2 * step


def test_a_damaged_record_costs_that_record_and_is_reported(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing, caplog: pytest.LogCaptureFixture
) -> None:
    log_steps(open_log(), range(1, 6))
    victim = frames(run, 1)[3]  # header, scalars 1, mark 1, scalars 2
    damage(run, 1, victim.end - 1)
    assert standing() == {1: 1, 3: 3, 4: 4, 5: 5}
    assert LogReader(run.log).damage() == [DamagedRange(file="000001.rec", start=victim.start, end=victim.end)]
    assert f"bytes {victim.start} to {victim.end} are damaged" in caplog.records[0].message
    log_steps(open_log(resume_step=5), range(6, 8))
    assert standing() == {1: 1, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7}


def test_damage_at_the_end_of_a_finished_segment_is_reported(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing
) -> None:
    log_steps(open_log(), range(1, 3))
    log_steps(open_log(resume_step=2), range(3, 4))
    last = frames(run, 1)[-1]
    os.truncate(segment_path(run.log, 1), last.start + 3)
    assert standing() == {1: 1, 2: 2, 3: 3}
    assert LogReader(run.log).damage() == [DamagedRange(file="000001.rec", start=last.start, end=last.end)]


def test_a_damaged_segment_header_costs_no_record(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing
) -> None:
    for resume_step in (0, 2, 4):
        log_steps(open_log(resume_step=resume_step), range(resume_step + 1, resume_step + 3))
    for segment in (1, 2, 3):
        damage(run, segment, 6)
    assert standing() == {step: step for step in range(1, 7)}
    log_steps(open_log(resume_step=6), range(7, 8))
    assert standing() == {step: step for step in range(1, 8)}


def test_a_length_beyond_reason_allocates_nothing(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing
) -> None:
    log_steps(open_log(), range(1, 4))
    with segment_path(run.log, 1).open("r+b") as file:
        file.seek(frames(run, 1)[3].start + 4)
        file.write(b"\xff\xff\xff\xff")
    assert standing() == {1: 1, 3: 3}


def test_records_larger_than_a_read_are_whole(run: RunDirectory, open_log: OpenLog) -> None:
    log = open_log()
    for step, size in enumerate((10, 3 << 20, 10, 1 << 20)):
        log.text(step, "t", "x" * size)
    records = [entry.record for entry, _ in LogReader(run.log).read()]
    assert [len(record.text) for record in records if isinstance(record, Text)] == [10, 3 << 20, 10, 1 << 20]


def test_a_position_that_a_power_cut_took_away_goes_on_in_the_next_segment(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps
) -> None:
    log_steps(open_log(), range(1, 4))
    *_, (_, position) = LogReader(run.log).read()
    os.truncate(segment_path(run.log, 1), frames(run, 1)[-2].start)
    log_steps(open_log(resume_step=1), range(2, 6))
    steps = [entry.record.step for entry, _ in LogReader(run.log).read(position) if isinstance(entry.record, Scalars)]
    assert steps == [2, 3, 4, 5]
    assert LogReader(run.log).damage() == []


def test_an_empty_segment_of_a_crash_at_its_start_is_passed_over(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, standing: Standing
) -> None:
    log_steps(open_log(), range(1, 3))
    segment_path(run.log, 2).write_bytes(b"\xa7R")
    log_steps(open_log(resume_step=2), range(3, 5))
    assert standing() == {1: 1, 2: 2, 3: 3, 4: 4}
    assert segment_path(run.log, 2).stat().st_size == 0


def test_a_log_of_a_newer_format_is_refused(run: RunDirectory) -> None:
    segment_path(run.log, 1).write_bytes(encode_frame(b"\x97\xabrltrain-log\x02\x01\x01\x90\x00\x00"))
    with pytest.raises(UserError, match="format 2, written by a newer rltrain"):
        RunLog(run, attempt=run.begin_attempt(), resume_step=0, log_interval=1)


def test_summary_has_the_end_of_the_log(run: RunDirectory, open_log: OpenLog, log_steps: LogSteps) -> None:
    log = open_log()
    log_steps(log, range(1, 5))
    log.scalars(4, {"other": 7.0})
    found = LogReader(run.log).summary(["reward/mean", "other", "absent"])
    assert (found.attempt, found.sequence, found.last_step) == (1, 9, 4)
    assert found.metrics == {"reward/mean": 4.0, "other": 7.0}
    assert found.started is not None and found.updated is not None and found.started <= found.updated


def test_summary_of_a_long_log_reads_its_tail_and_looks_further_for_a_metric(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "_TAIL_BYTES", (400, 2000))
    log = open_log()
    log.scalars(0, {"too old": 1.0})
    log_steps(log, range(1, 90))
    log.scalars(90, {"validation": 0.5})
    log_steps(log, range(90, 101))
    assert LogReader(run.log).summary(["reward/mean"]).metrics == {"reward/mean": 100.0}
    assert LogReader(run.log).summary(["validation", "too old"]).metrics == {"validation": 0.5}


def test_summary_after_a_resume_counts_the_steps_that_stand(
    run: RunDirectory, open_log: OpenLog, log_steps: LogSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "_TAIL_BYTES", (100,))
    log_steps(open_log(), range(1, 31))
    log_steps(open_log(resume_step=10), range(11, 13), factor=9)
    found = LogReader(run.log).summary(["reward/mean"])
    assert (found.last_step, found.metrics) == (30, {})


@pytest.mark.parametrize("state", [RunState.FINISHED, RunState.STOPPED, RunState.FAILED])
def test_state_is_what_the_last_attempt_said_at_its_end(run: RunDirectory, open_log: OpenLog, state: RunState) -> None:
    assert state_of(run) is RunState.KILLED
    with run.lock():
        open_log().mark(state, 3)
        assert state_of(run) is RunState.RUNNING
    assert state_of(run) is state
    log = open_log()
    assert state_of(run) is RunState.KILLED
    log.mark(state, 3)
    assert state_of(run) is state


def test_marks_of_the_same_state_in_two_attempts_both_count(run: RunDirectory, open_log: OpenLog) -> None:
    for _ in itertools.repeat(None, 2):
        open_log().mark(RunState.FAILED, 3)
        assert state_of(run) is RunState.FAILED
