"""Tables of `rltrain runs list` and `show`."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from rltrain_cli.output import print_fields, print_table, stdout
from rltrain_cli.tracker_line import tracker_line
from rltrain_trainer.log.records import RunState
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.tracking.states import TrackerState

_COLOURS: dict[str, str] = {RunState.RUNNING: "green", RunState.FINISHED: "blue", RunState.STOPPED: "yellow"}
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def print_runs(described: Sequence[Mapping[str, Any]]) -> None:
    """A line a run, and below them what is wrong with any."""
    titles = ("run", "state", "step", "reward", "validation", "updated")
    print_table([[Text(title, "bold") for title in titles], *map(_row, described)])
    for run in described:
        if run["problem"]:
            stdout.print(f"{run['name']}: {run['problem']}", markup=False)


def print_run(
    run: RunDirectory, described: Mapping[str, Any], details: Mapping[str, Any], trackers: Sequence[TrackerState]
) -> None:
    """Everything about a run, a field a line."""
    fields = {
        "run": described["path"],
        "state": described["state"],
        "step": _steps(described),
        "attempt": str(described["attempt"]),
        "metrics": [f"{name} {value:.4f}" for name, value in described["metrics"].items()] or ["-"],
        "started": _moment(described["started"]),
        "updated": _moment(described["updated"]),
        "checkpoints": details["checkpoints"] or ["-"],
        "trackers": [f"{tracker.name}: {tracker_line(tracker, run)}" for tracker in trackers] or ["-"],
        "log damage": details["damage"] or ["none"],
    }
    if described["problem"]:
        fields["problem"] = described["problem"]
    print_fields(fields)


def _row(run: Mapping[str, Any]) -> list[str | Text]:
    return [
        run["name"],
        Text(run["state"], _COLOURS.get(run["state"], "red")),
        _steps(run),
        _number(run["metrics"].get(metric_names.REWARD_MEAN)),
        _number(run["metrics"].get(metric_names.VALIDATION_REWARD_MEAN)),
        _age(run["updated"]),
    ]


def _steps(run: Mapping[str, Any]) -> str:
    return f"{run['step']}/{'?' if run['total_steps'] is None else run['total_steps']}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _moment(timestamp: float | None) -> str:
    return "-" if timestamp is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(timestamp))


def _age(timestamp: float | None) -> str:
    if timestamp is None:
        return "-"
    seconds = time.time() - timestamp
    return next((f"{seconds // size:.0f} {unit} ago" for size, unit in _UNITS if seconds >= size), "just now")
