"""What the directory of a run says of it, as plain data. Used by `rltrain runs list` and `show`."""

from typing import Any

import yaml

from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.summary import state_of, summarize_log
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.tracking.states import TrackerState

_METRICS = (metric_names.REWARD_MEAN, metric_names.VALIDATION_REWARD_MEAN, metric_names.KL)


def describe_run(run: RunDirectory) -> dict[str, Any]:
    """State, progress and latest metrics; `problem` says what cannot be read."""
    summary = summarize_log(run.log, _METRICS)
    total_steps, problem = _total_steps(run)
    return {
        "name": run.name,
        "path": str(run.path),
        "state": str(state_of(run)),
        "step": summary.last_step,
        "total_steps": total_steps,
        "attempt": run.attempt,
        "metrics": summary.metrics,
        "started": summary.started,
        "updated": summary.updated,
        "problem": problem,
    }


def describe_details(run: RunDirectory, trackers: list[TrackerState]) -> dict[str, Any]:
    """What `show` tells besides."""
    steps = sorted((path.name for path in run.checkpoints.glob("step-*")), key=lambda name: (len(name), name))
    return {
        "checkpoints": steps,
        "trackers": [_tracker(tracker) for tracker in trackers],
        "damage": [str(damaged) for damaged in LogReader(run.log).damage()],
    }


def _total_steps(run: RunDirectory) -> tuple[int | None, str | None]:
    try:
        return run.total_steps(), None
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        # One run that cannot be read must not hide the others.
        reason = str(error).partition("\n")[0]
        return None, f"{run.job_file} cannot be read as a job ({type(error).__name__}: {reason})"


def _tracker(state: TrackerState) -> dict[str, Any]:
    return {
        "name": state.name,
        "health": str(state.health),
        "step": state.step if state.step >= 0 else None,
        "records_left": state.lag,
        "records_refused": state.set_aside,
        "error": state.error,
        "url": state.url,
        "run_id": state.run_id,
    }
