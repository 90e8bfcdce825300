"""What is printed at a run's start and at its end. Used by `run`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rltrain_api.job import RLTrainingJob
from rltrain_api.support import cluster_only
from rltrain_cli.check import describe_job
from rltrain_cli.output import print_fields, stdout
from rltrain_cli.tracker_line import tracker_line
from rltrain_trainer.progress import Outcome
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.console import format_duration
from rltrain_trainer.tracking.states import TrackerState


def print_start(run: RunDirectory, job: RLTrainingJob, addresses: Mapping[str, str]) -> None:
    """What runs, where, and where to watch it."""
    print_fields({"run": str(run.path), "job": describe_job(job), **addresses})
    if parts := cluster_only(job):
        stdout.print(f"not used on one machine: {', '.join(parts)}", markup=False)


def print_summary(run: RunDirectory, outcome: Outcome, trackers: Sequence[TrackerState], runs_dir: Path) -> None:
    """How the run ended, where everything lies, and what to do next."""
    ending = "stopped" if outcome.stopped else "finished"
    rows = {ending: f"step {outcome.step} of {outcome.total_steps}"}
    if outcome.rewards:
        rows["reward"] = f"{outcome.rewards[0]:.3f} -> {outcome.rewards[-1]:.3f}  {sparkline(outcome.rewards)}"
    if outcome.validations:
        rows["validation"] = f"{outcome.validations[0]:.3f} -> {outcome.validations[-1]:.3f}"
        if outcome.best_validation is not None:
            rows["validation"] += f", best {outcome.best_validation:.3f} at step {outcome.best_step}"
    spent = sorted(outcome.seconds.items(), key=lambda item: -item[1])
    if times := [f"{phase} {format_duration(round(seconds))}" for phase, seconds in spent if seconds >= 0.5]:
        rows["time"] = ", ".join(times)
    latest = run.checkpoints / "latest"
    rows["checkpoint"] = str(latest) if latest.exists() else "none yet"
    rows["log"] = str(run.log)
    for tracker in trackers:
        rows[tracker.name] = tracker_line(tracker, run)
    stdout.print()
    print_fields(rows)
    if outcome.stopped:
        stdout.print(f"continue with: rltrain run {run.path} --resume", markup=False)
    stdout.print(f"look at all runs with: rltrain dashboards {runs_dir}", markup=False)


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """The course of `values` as a line of blocks, at most `width` long."""
    blocks = "▁▂▃▄▅▆▇█"
    count = min(width, len(values))
    parts = [values[index * len(values) // count : (index + 1) * len(values) // count] for index in range(count)]
    means = [sum(part) / len(part) for part in parts]
    low, high = min(means), max(means)
    scale = (len(blocks) - 1) / (high - low) if high > low else 0.0
    return "".join(blocks[round((mean - low) * scale)] for mean in means)
