"""TensorBoard's event files: equal to the log, each value once, whatever was cut off or killed."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event

from rltrain_trainer.log.records import Entry, RunState
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking import pump as pump_module
from rltrain_trainer.tracking.pump import Pump
from rltrain_trainer.tracking.tensorboard import TensorboardTracker
from rltrain_trainer.tracking.tfrecord import scan_tfrecords
from rltrain_trainer.tracking.tracker import TrackerSettings

MakeRun = Callable[..., Any]
OpenLog = Callable[..., Any]
LogSteps = Callable[..., None]


def make_pump(run: RunDirectory, job: Any) -> Pump:
    return Pump(run, "tensorboard", TensorboardTracker(TrackerSettings(run=run, job=job)), None)


def event_files(run: RunDirectory) -> list[Path]:
    return sorted(run.tensorboard.iterdir())


def values(run: RunDirectory) -> Counter[tuple[str, int]]:
    """How often each tag and step is in the event files."""
    records = [data for path in event_files(run) for data, _ in scan_tfrecords(path.read_bytes())]
    events = [Event.FromString(data) for data in records]
    return Counter((value.tag, event.step) for event in events for value in event.summary.value)


def expected(steps: int) -> Counter[tuple[str, int]]:
    return Counter(
        (tag, step) for step in range(1, steps + 1) for tag in ("reward/episode_reward_mean", "samples/text")
    )


def read(run: RunDirectory) -> EventAccumulator:
    accumulator = EventAccumulator(str(run.tensorboard), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    return accumulator.Reload()


def test_tensorboard_reads_what_was_logged(make_run: MakeRun, open_log: OpenLog) -> None:
    run, job = make_run()
    log = open_log(run)
    log.parameters({"a_b": 1})
    for step in range(1, 6):
        log.scalars(step, {"reward/mean": step / 4, "pass@1": math.nan})
        log.histogram(step, "reward/distribution", [0.0, 1.0, math.inf, step])
        log.table(step, "samples/rollout", ["prompt", "response"], [["a_b_", "x|y\nz"]])
        log.text(step, "half", "pair \ud83d")
        log.end_step(step)
    pump = make_pump(run, job)
    pump.deliver()
    pump.close(RunState.FINISHED)
    found = read(run)
    assert [(event.step, event.value) for event in found.Scalars("reward/mean")] == [(n, n / 4) for n in range(1, 6)]
    assert [math.isnan(event.value) for event in found.Scalars("custom/pass@1")] == [True] * 5
    assert [event.value for event in found.Scalars("nonfinite/reward/distribution")] == [1.0] * 5
    histogram = found.Histograms("reward/distribution")[-1].histogram_value
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (0, 5, 3, 6)
    assert found.Tensors("custom/half")[0].tensor_proto.string_val == [b"pair ?"]
    table = found.Tensors("samples/rollout")[2].tensor_proto.string_val[0].decode()
    assert table.splitlines()[2] == "| a&#95;b&#95; | x&#124;y<br>z |"
    assert "a&#95;b" in found.Tensors("run/parameters")[0].tensor_proto.string_val[0].decode()


def test_wall_times_are_those_of_the_log(make_run: MakeRun, open_log: OpenLog) -> None:
    run, job = make_run()
    open_log(run).scalars(1, {"a/b": 1})
    pump = make_pump(run, job)
    delivered: list[Entry] = [entry for batch in pump._batches() for entry in batch.entries]
    pump.deliver()
    pump.close(RunState.FINISHED)
    assert read(run).Scalars("a/b")[0].wall_time == delivered[0].time


def test_a_histogram_and_a_metric_of_one_name_are_kept_apart(make_run: MakeRun, open_log: OpenLog) -> None:
    run, job = make_run()
    log = open_log(run)
    log.scalars(1, {"a/b": 1})
    log.histogram(1, "a/b", [1])
    pump = make_pump(run, job)
    pump.deliver()
    pump.close(RunState.FINISHED)
    (tag,) = read(run).Tags()["histograms"]
    assert tag.startswith("a/b-")
    assert read(run).Tags()["scalars"] == ["a/b"]


def test_killed_before_the_cursor_is_saved_every_value_is_there_once(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, deliver_until_killed: Callable[..., int]
) -> None:
    run, job = make_run()
    log_steps(open_log(run), range(1, 21))
    for files in (1, 2, 3):
        assert deliver_until_killed(run, "tensorboard") == -9
        assert len(event_files(run)) == files
    make_pump(run, job).deliver()
    assert values(run) == expected(20)


def test_a_tail_torn_at_any_byte_is_cut_and_written_again(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps
) -> None:
    run, job = make_run()
    log_steps(open_log(run), range(1, 3))
    make_pump(run, job).deliver()
    (run.cursors / "tensorboard.json").unlink()
    (path,) = event_files(run)
    whole = path.read_bytes()
    ends = [end for _, end in scan_tfrecords(whole)]
    for end in range(ends[-3], len(whole)):
        path.write_bytes(whole[:end])
        make_pump(run, job).deliver()
        assert path.stat().st_size == max(whole_end for whole_end in ends if whole_end <= end)
        assert values(run) == expected(2)
        (run.cursors / "tensorboard.json").unlink()
        for later in event_files(run)[1:]:
            later.unlink()


def test_a_resume_adds_only_what_is_new(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "_BATCH_ENTRIES", 4)
    run, job = make_run()
    log_steps(open_log(run), range(1, 8))
    make_pump(run, job).deliver()
    log_steps(open_log(run, resume_step=4), range(5, 11), factor=100)
    pump = make_pump(run, job)
    pump.deliver()
    pump.close(RunState.FINISHED)
    assert values(run) == expected(10)
    scalars = [(event.step, event.value) for event in read(run).Scalars("reward/episode_reward_mean")]
    assert scalars == [(step, step if step < 8 else 100 * step) for step in range(1, 11)]


def test_files_are_read_in_the_order_they_were_written(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps
) -> None:
    run, job = make_run()
    for step in range(1, 5):
        log_steps(open_log(run, resume_step=step - 1), range(step, step + 1))
        make_pump(run, job).deliver()
    assert len(event_files(run)) == 4
    assert [event.step for event in read(run).Scalars("reward/episode_reward_mean")] == [1, 2, 3, 4]
