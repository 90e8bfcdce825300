"""Delivery whatever the tracker does: down, hanging, refusing, failing in unknown ways."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from rltrain_trainer.log.records import Entry, RunState, Scalars
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking import delivery as delivery_module
from rltrain_trainer.tracking.cursor import Cursor
from rltrain_trainer.tracking.delivery import Delivery
from rltrain_trainer.tracking.pump import Pump
from rltrain_trainer.tracking.states import Health, tracker_states
from rltrain_trainer.tracking.tracker import Refused, TrackedRun, Unavailable

MakeRun = Callable[..., Any]
OpenLog = Callable[..., Any]
LogSteps = Callable[..., None]
Eventually = Callable[[Callable[[], bool]], None]


class InMemory:
    """A tracker that keeps what it gets, and fails as it is told."""

    def __init__(self) -> None:
        self.bookmark = ""
        self.names: dict[str, str] = {}
        self.run_id = "run"
        self.steps: list[int] = []
        self.opened = 0
        self.ended: RunState | None = None
        self.failure: Exception | None = None
        self.hang = threading.Event()
        self.hang.set()

    def open(self, cursor: Cursor) -> TrackedRun:
        self.opened += 1
        self._fail()
        return TrackedRun(run_id=self.run_id)

    def deliver(self, entries: Sequence[Entry]) -> None:
        self.hang.wait()
        self._fail()
        steps = [entry.record.step for entry in entries if isinstance(entry.record, Scalars)]
        if 3 in steps and isinstance(self.failure, Refused):
            raise self.failure
        self.steps += steps

    def close(self, state: RunState) -> None:
        self._fail()
        self.ended = state

    def _fail(self) -> None:
        if self.failure is not None and not isinstance(self.failure, Refused):
            raise self.failure


@pytest.fixture
def tracker() -> Iterator[InMemory]:
    tracker = InMemory()
    yield tracker
    tracker.hang.set()


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_module, "_FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(delivery_module, "_LONGEST_PAUSE_SECONDS", 0.05)


def start(run: RunDirectory, log: Any, tracker: InMemory) -> Delivery:
    delivery = Delivery(Pump(run, "memory", tracker, run.fence(run.attempt)), lambda: log.sequence)
    log.subscribe(delivery.wake)
    delivery.start()
    return delivery


def test_steps_are_delivered_as_they_become_whole(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, tracker: InMemory, eventually: Eventually
) -> None:
    run, _ = make_run()
    log = open_log(run)
    delivery = start(run, log, tracker)
    for step in range(1, 6):
        log_steps(log, range(step, step + 1))
        eventually(lambda: tracker.steps[-1:] == [log.last_step])
    delivery.finish(RunState.FINISHED)
    delivery.join(60)
    assert tracker.ended is RunState.FINISHED
    state = delivery.state()
    assert (state.health, state.step, state.lag, state.error) == (Health.DELIVERED, 5, 0, None)
    assert tracker_states(run) == [state]


@pytest.mark.parametrize("failure", [Unavailable("is down"), KeyError("a bug of the library")])
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failing_tracker_is_tried_again_until_it_works(
    make_run: MakeRun,
    open_log: OpenLog,
    log_steps: LogSteps,
    tracker: InMemory,
    eventually: Eventually,
    failure: Exception,
) -> None:
    run, _ = make_run()
    log = open_log(run)
    tracker.failure = failure
    delivery = start(run, log, tracker)
    log_steps(log, range(1, 4))
    eventually(lambda: delivery.state().health is Health.UNAVAILABLE)
    state = delivery.state()
    assert state.lag == 9
    assert state.error is not None and str(failure) in state.error
    assert tracker_states(run)[0].error == state.error
    tracker.failure = None
    eventually(lambda: delivery.state().health is Health.DELIVERING)
    assert (tracker.steps, delivery.state().lag, delivery.state().error) == ([1, 2, 3], 0, None)
    delivery.finish(RunState.STOPPED)
    delivery.join(60)


def test_the_end_is_said_even_if_the_tracker_was_down_when_it_came(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, tracker: InMemory, eventually: Eventually
) -> None:
    run, _ = make_run()
    log = open_log(run)
    delivery = start(run, log, tracker)
    log_steps(log, range(1, 4))
    eventually(lambda: delivery.state().lag == 0)
    tracker.failure = Unavailable("is down")
    delivery.finish(RunState.FAILED)
    eventually(lambda: delivery.state().health is Health.UNAVAILABLE)
    tracker.failure = None
    delivery.join(60)
    assert tracker.ended is RunState.FAILED
    assert tracker.steps == [1, 2, 3]


def test_a_refused_record_is_set_aside_and_those_behind_it_arrive(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, tracker: InMemory, caplog: pytest.LogCaptureFixture
) -> None:
    run, _ = make_run()
    log_steps(open_log(run), range(1, 7))
    tracker.failure = Refused("too ugly")
    pump = Pump(run, "memory", tracker, None)
    pump.deliver()
    assert tracker.steps == [1, 2, 4, 5, 6]
    assert (pump.cursor.set_aside, pump.cursor.step, pump.cursor.error) == (1, 6, None)
    assert (
        '"sequence": 7, "kind": "scalars", "reason": "too ugly"' in (run.cursors / "memory.refused.jsonl").read_text()
    )
    assert "refused record 7 (scalars): too ugly" in caplog.text


def test_a_hanging_tracker_delays_neither_the_log_nor_the_end(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, tracker: InMemory
) -> None:
    run, _ = make_run()
    log = open_log(run)
    tracker.hang.clear()
    delivery = start(run, log, tracker)
    log_steps(log, range(1, 1001))
    delivery.finish(RunState.FINISHED)
    delivery.join(0.2)
    assert (delivery.state().health, delivery.state().lag) == (Health.DELIVERING, 3000)
    tracker.hang.set()
    delivery.join(60)
    assert tracker.steps == list(range(1, 1001))


def test_a_run_that_the_tracker_has_lost_is_filled_anew(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, tracker: InMemory
) -> None:
    run, _ = make_run()
    log = open_log(run)
    pump = Pump(run, "memory", tracker, None)
    log_steps(log, range(1, 4))
    pump.deliver()
    tracker.run_id = "another"
    pump.failed("the run is gone")
    log_steps(log, range(4, 6))
    pump.deliver()
    assert tracker.steps == [1, 2, 3, 1, 2, 3, 4, 5]
    assert pump.cursor.run_id == "another"


def test_replayed_steps_are_not_delivered(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, tracker: InMemory
) -> None:
    run, _ = make_run()
    log_steps(open_log(run), range(1, 7))
    Pump(run, "memory", tracker, None).deliver()
    log_steps(open_log(run, resume_step=3), range(4, 9))
    Pump(run, "memory", tracker, None).deliver()
    assert tracker.steps == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_fenced_attempt_delivers_nothing_more(
    make_run: MakeRun, open_log: OpenLog, log_steps: LogSteps, tracker: InMemory, eventually: Eventually
) -> None:
    run, _ = make_run()
    log = open_log(run)
    delivery = start(run, log, tracker)
    log_steps(log, range(1, 3))
    eventually(lambda: delivery.state().lag == 0)
    cursor = (run.cursors / "memory.json").read_bytes()
    log_steps(open_log(run, resume_step=2), range(3, 5))
    delivery.wake()
    delivery.join(60)
    assert tracker.steps == [1, 2]
    assert (run.cursors / "memory.json").read_bytes() == cursor
