"""What is printed at the end of a run."""

from pathlib import Path

import pytest

from rltrain_cli.summary import print_summary, sparkline
from rltrain_cli.tracker_line import tracker_line
from rltrain_trainer.progress import Outcome
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.states import Health, TrackerState


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([0.5], "▁"),
        ([1, 1, 1], "▁▁▁"),
        ([0, 1], "▁█"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([-7, 0], "▁█"),
        ([3, 2, 1, 0], "█▆▃▁"),
        ([0, 0, 1, 1, 0, 0], "▁▁██▁▁"),
    ],
)
def test_a_sparkline_goes_from_the_lowest_to_the_highest_value(values: list[float], line: str) -> None:
    assert sparkline(values) == line


def test_a_long_course_is_averaged_into_the_width() -> None:
    assert sparkline([0, 2, 1, 1, 0, 0, 7, 7], width=4) == "▂▂▁█"
    assert len(sparkline([float(value) for value in range(1000)])) == 40


def make_state(**fields: object) -> TrackerState:
    usual: dict[str, object] = {"lag": 0, "set_aside": 0, "error": None, "url": None, "run_id": None}
    return TrackerState(**{"name": "mlflow", "health": Health.DELIVERED, "step": 9, **usual, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (make_state(), "delivered to step 9"),
        (make_state(url="http://host/run"), "delivered to step 9  http://host/run"),
        (make_state(set_aside=2), "delivered to step 9; 2 records refused, see runs/a/log/cursors"),
        (
            make_state(health=Health.RETRYING, step=-1, lag=7, error="refused"),
            "retrying, nothing yet; 7 records left (refused); deliver them with: rltrain runs sync runs/a",
        ),
        (
            make_state(health=Health.DELIVERING, lag=1),
            "delivering to step 9; 1 records left; deliver them with: rltrain runs sync runs/a",
        ),
    ],
)
def test_a_tracker_that_lags_names_the_command_that_delivers(state: TrackerState, line: str) -> None:
    assert tracker_line(state, RunDirectory(Path("runs/a"))) == line


def make_outcome(**fields: object) -> Outcome:
    usual: dict[str, object] = {"step": 2, "total_steps": 2, "rewards": [], "validations": [], "seconds": {}}
    return Outcome(**{"best_validation": None, "best_step": None, **usual, **fields})  # type: ignore[arg-type]


def printed(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> str:
    print_summary(RunDirectory(Path("runs/a")), outcome, [make_state()], Path("runs"))
    return capsys.readouterr().out


def test_a_finished_run_is_summed_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs/a/checkpoints/latest").mkdir(parents=True)
    outcome = make_outcome(
        rewards=[0.1, 0.75],
        validations=[0.2, 0.5, 0.4],
        best_validation=0.5,
        best_step=1,
        seconds={"update": 61.0, "generate": 120.4, "log": 0.1},
    )
    assert printed(outcome, capsys) == (
        "\n"
        "finished    step 2 of 2\n"
        "reward      0.100 -> 0.750  ▁█\n"
        "validation  0.200 -> 0.400, best 0.500 at step 1\n"
        "time        generate 2m00s, update 1m01s\n"
        "checkpoint  runs/a/checkpoints/latest\n"
        "log         runs/a/log\n"
        "mlflow      delivered to step 9\n"
        "look at all runs with: rltrain dashboards runs\n"
    )


def test_a_run_stopped_before_its_first_step_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(make_outcome(step=0), capsys) == (
        "\n"
        "stopped     step 0 of 2\n"
        "checkpoint  none yet\n"
        "log         runs/a/log\n"
        "mlflow      delivered to step 9\n"
        "continue with: rltrain run runs/a --resume\n"
        "look at all runs with: rltrain dashboards runs\n"
    )
