"""`rltrain runs`: what runs there are, one of them in detail, and late delivery to a tracker."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rltrain_cli.output import stdout

app = typer.Typer(help="List, show and deliver the runs of a directory.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunArgument = Annotated[str, typer.Argument(help="Name in the runs directory, or path.", show_default=False)]
DirOption = Annotated[Path, typer.Option("--dir", help="Directory of the runs.")]


@app.command("list")
def list_runs(
    directory: Annotated[Path, typer.Argument(help="Directory of the runs.", metavar="[DIR]")] = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """List the runs of a directory: state, last step, reward."""
    from rltrain_cli.describe import describe_run
    from rltrain_cli.find import runs_in
    from rltrain_cli.listing import print_runs

    described = [describe_run(run) for run in runs_in(directory)]
    if as_json:
        print(json.dumps(described, indent=2))
    elif described:
        print_runs(described)
    else:
        stdout.print(f"no runs in {directory}; `rltrain run JOB --dir {directory}` makes one", markup=False)


@app.command("show")
def show_run(run: RunArgument, runs_dir: DirOption = Path("runs"), as_json: JsonOption = False) -> None:
    """Show one run: progress, checkpoints, trackers, damage of the log."""
    from rltrain_cli.describe import describe_details, describe_run
    from rltrain_cli.find import run_named
    from rltrain_cli.listing import print_run
    from rltrain_trainer.tracking.states import tracker_states

    directory = run_named(run, runs_dir)
    trackers = tracker_states(directory)
    described, details = describe_run(directory), describe_details(directory, trackers)
    if as_json:
        print(json.dumps(described | details, indent=2))
    else:
        print_run(directory, described, details, trackers)


@app.command("sync")
def sync_run(
    run: RunArgument,
    trackers: Annotated[
        list[str] | None, typer.Option("--tracker", help="Only this one, also if the run did not have it; repeatable.")
    ] = None,
    runs_dir: DirOption = Path("runs"),
) -> None:
    """Deliver to the trackers of a run what they have not got yet."""
    from rltrain_cli.find import run_named
    from rltrain_cli.sync import sync

    sync(run_named(run, runs_dir), trackers)
