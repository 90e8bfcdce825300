"""The console line: what it says, and never twice."""

from collections.abc import Callable
from typing import Any

import pytest

from rltrain_trainer.tracking.console import ConsoleTracker, format_duration
from rltrain_trainer.tracking.pump import Pump
from rltrain_trainer.tracking.tracker import TrackerSettings

MakeRun = Callable[..., Any]


def make_pump(run: Any, job: Any) -> Pump:
    return Pump(run, "console", ConsoleTracker(TrackerSettings(run=run, job=job)), None)


def test_a_line_has_the_metrics_of_its_step(
    make_run: MakeRun, open_log: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run, job = make_run(training={"totalSteps": 150})
    log = open_log(run)
    log.scalars(12, {"reward/episode_reward_mean": 0.5, "kl/kl_divergence": 0.01234, "loss/policy_loss": -1})
    log.scalars(12, {"response_length/mean": 31.25, "throughput/tokens_per_second": 1234.5})
    log.end_step(12)
    make_pump(run, job).deliver()
    line = "step 12/150  reward 0.5000  kl 0.0123  loss -1.0000  length 31.2  tokens/s 1234\n"
    assert capsys.readouterr().out == line


def test_no_step_is_printed_twice(
    make_run: MakeRun,
    open_log: Callable[..., Any],
    log_steps: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, job = make_run()
    log_steps(open_log(run), range(1, 4))
    make_pump(run, job).deliver()
    log_steps(open_log(run, resume_step=1), range(2, 6))
    pump = make_pump(run, job)
    pump.deliver()
    pump.failed("try again")
    pump.deliver()
    steps = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert steps == ["1/10", "2/10", "3/10", "4/10", "5/10"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (12, "12s"), (187, "3m07s"), (3600, "1h00m"), (7500, "2h05m")]
)
def test_durations(seconds: int, text: str) -> None:
    assert format_duration(seconds) == text
