"""`rltrain runs`: what runs there are, one of them in detail, and late delivery to a tracker."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rltrain_api.errors import UserError
from rltrain_cli.output import stdout
from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.records import RunState
from rltrain_trainer.log.summary import state_of, summarize_log
from rltrain_trainer.run_directory import RunDirectory, find_runs
from rltrain_trainer.services.mlflow_server import MlflowServer, find_mlflow, wait_for_mlflow
from rltrain_trainer.services.reaper import start_reaper
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.tracking.states import TrackerState, tracker_states

app = typer.Typer(help="Runs of a directory.", no_args_is_help=True)
_METRICS = (metric_names.REWARD_MEAN, metric_names.VALIDATION_REWARD_MEAN, metric_names.KL)
_COLOURS = {RunState.RUNNING: "green", RunState.FINISHED: "blue", RunState.STOPPED: "yellow"}

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunArgument = Annotated[str, typer.Argument(help="Name in the runs directory, or path.", show_default=False)]
DirOption = Annotated[Path, typer.Option("--dir", help="Directory of the runs.")]


@app.command("list")
def list_runs(
    directory: Annotated[Path, typer.Argument(help="Directory of the runs.", metavar="[DIR]")] = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """List the runs of a directory: state, last step, reward."""
    found = [_describe(run) for run in find_runs(directory)]
    if as_json:
        print(json.dumps(found, indent=2))
        return
    if not found:
        stdout.print(f"no runs in {directory}; `rltrain run JOB --dir {directory}` makes one", markup=False)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("run", overflow="fold", min_width=max(len(row["name"]) for row in found))
    for title in ("state", "step", "reward", "validation", "updated"):
        table.add_column(title, overflow="fold")
    for row in found:
        state = RunState(row["state"])
        table.add_row(
            row["name"],
            f"[{_COLOURS.get(state, 'red')}]{state}[/]",
            f"{row['step']}/{row['total_steps']}",
            _number(row["metrics"].get(metric_names.REWARD_MEAN)),
            _number(row["metrics"].get(metric_names.VALIDATION_REWARD_MEAN)),
            _when(row["updated"]),
        )
    stdout.print(table)


@app.command("show")
def show_run(run: RunArgument, runs_dir: DirOption = Path("runs"), as_json: JsonOption = False) -> None:
    """Show one run: progress, checkpoints, trackers, damage of the log."""
    directory = open_run(run, runs_dir)
    described = _describe(directory)
    described["checkpoints"] = sorted(path.name for path in directory.checkpoints.glob("step-*"))
    described["trackers"] = [_tracker(tracker) for tracker in tracker_states(directory)]
    described["damage"] = [str(damaged) for damaged in LogReader(directory.log).damage()]
    if as_json:
        print(json.dumps(described, indent=2))
        return
    table = Table.grid(padding=(0, 2))
    for name, value in described.items():
        for index, line in enumerate(_lines(name, value)):
            table.add_row(name.replace("_", " ") if index == 0 else "", line)
    stdout.print(table)


@app.command("sync")
def sync_run(
    run: RunArgument,
    tracker: Annotated[list[str] | None, typer.Option("--tracker", help="Only this one; may be repeated.")] = None,
    runs_dir: DirOption = Path("runs"),
) -> None:
    """Deliver to the trackers of a run what they have not got yet; `--tracker` fills one that the run did not have."""
    from rltrain_api.load import load_job
    from rltrain_trainer.tracking.start import deliver_all

    directory = open_run(run, runs_dir)
    tracking = load_job(directory.job_file).spec.tracking
    names = tracker or [name for name in tracking.logger if name != "console"]
    start_reaper()
    mlflow = find_mlflow(directory.path.parent, tracking)
    try:
        for name in names:
            state = deliver_all(directory, name, lambda: wait_for_mlflow(mlflow))
            stdout.print(f"{name}: delivered to step {state.step}  {state.url or ''}".rstrip(), markup=False)
    finally:
        if isinstance(mlflow, MlflowServer):
            mlflow.stop()


def open_run(name: str, runs_dir: Path) -> RunDirectory:
    """The run called `name` in `runs_dir`, or at the path `name`. Raises UserError when there is none."""
    for path in (runs_dir / name, Path(name)):
        if path.is_dir():
            return RunDirectory.open(path)
    raise UserError(f"there is no run {name} in {runs_dir}; `rltrain runs list {runs_dir}` shows those there are")


def _describe(run: RunDirectory) -> dict[str, Any]:
    summary = summarize_log(run.log, _METRICS)
    return {
        "name": run.name,
        "path": str(run.path),
        "state": str(state_of(run)),
        "step": summary.last_step,
        "total_steps": run.total_steps(),
        "attempt": run.attempt,
        "metrics": summary.metrics,
        "started": summary.started,
        "updated": summary.updated,
    }


def _tracker(state: TrackerState) -> dict[str, Any]:
    return {
        "name": state.name,
        "health": str(state.health),
        "step": state.step,
        "records_left": state.lag,
        "records_refused": state.set_aside,
        "error": state.error,
        "url": state.url,
        "run_id": state.run_id,
    }


def _lines(name: str, value: Any) -> Sequence[str]:
    if name in ("started", "updated"):
        return [_when(value)]
    if isinstance(value, dict):
        return [f"{key} {number:.4f}" for key, number in value.items()] or ["-"]
    if isinstance(value, list):
        return [_line(item) for item in value] or ["-"]
    return [str(value)]


def _line(item: Any) -> str:
    if isinstance(item, dict):
        return "  ".join(f"{key.replace('_', ' ')} {value}" for key, value in item.items() if value not in (None, 0))
    return str(item)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _when(timestamp: float | None) -> str:
    return "-" if timestamp is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(timestamp))
