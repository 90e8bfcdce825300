"""Which run directory a command trains in: a new one, or one to resume, and with which job. Used by `run`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rltrain_api.errors import UserError
from rltrain_api.job import RLTrainingJob
from rltrain_api.load import load_job
from rltrain_api.problems import ManifestError
from rltrain_cli.check import check_job
from rltrain_cli.find import run_at, runs_in
from rltrain_trainer.log.records import RunState
from rltrain_trainer.log.summary import summarize_log
from rltrain_trainer.run_directory import RunDirectory

# What may change on resume without making the run another one.
_CHANGEABLE = (
    "training.totalSteps",
    "training.validateEvery",
    "training.checkpointEvery",
    "training.keepCheckpoints",
    "tracking.",
)


def prepare_run(
    path: Path, overrides: list[str], runs_dir: Path, *, resume: bool
) -> tuple[RunDirectory, RLTrainingJob]:
    """The directory to train in and the job. Raises UserError with the remedy when there is nothing to train."""
    if not resume:
        if path.is_dir():
            raise UserError(f"{path} is a directory; give a manifest, or add --resume to continue the run in it")
        job = check_job(path, overrides)
        return _create(runs_dir, job.metadata.name), job
    if path.is_dir():
        run = run_at(path)
        if not run.job_file.exists():
            raise UserError(f"{path} holds no job.yaml, since its run never began; begin a new run from the manifest")
        job = check_job(run.job_file, overrides)
    else:
        job = check_job(path, overrides)
        run = _newest_unfinished(runs_dir, job)
    _refuse_changes(load_job(run.job_file), job)
    if _is_finished(run, job):
        raise UserError(
            f"{run.path} is finished at step {job.spec.training.total_steps}; to train it on, add "
            "training.totalSteps=N with a larger number"
        )
    return run, job


def _create(runs_dir: Path, name: str) -> RunDirectory:
    try:
        return RunDirectory.create(runs_dir, name)
    except OSError as error:
        raise UserError(
            f"no run can be made in {runs_dir} ({error.strerror}); name another directory with --dir"
        ) from error


def _newest_unfinished(runs_dir: Path, job: RLTrainingJob) -> RunDirectory:
    """The newest run of this job in `runs_dir` that has steps left."""
    same = [run for run in runs_in(runs_dir) if _job_name(run) == job.metadata.name]
    unfinished = [run for run in same if not _is_finished(run, job)]
    if unfinished:
        return unfinished[-1]
    reason = "every run of it there is finished" if same else "there is no run of it"
    raise UserError(
        f"nothing to resume for job `{job.metadata.name}` in {runs_dir}: {reason}; "
        "leave --resume out to begin a new run"
    )


def _is_finished(run: RunDirectory, job: RLTrainingJob) -> bool:
    """Whether nothing is left to do. A run that was killed before its last checkpoint has that still to make."""
    summary = summarize_log(run.log)
    return summary.ended is RunState.FINISHED and summary.last_step >= job.spec.training.total_steps


def _job_name(run: RunDirectory) -> str | None:
    try:
        return load_job(run.job_file).metadata.name
    except ManifestError:
        # A run that never began, or one that another version made, does not keep the others from going on.
        return None


def _refuse_changes(stored: RLTrainingJob, wanted: RLTrainingJob) -> None:
    old, new = _flat(stored), _flat(wanted)
    changed = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    refused = [name for name in changed if not name.startswith(_CHANGEABLE)]
    if refused:
        lines = "\n".join(f"  - {name}: {old.get(name)!r} in the run, {new.get(name)!r} now" for name in refused)
        raise UserError(
            f"these fields cannot change when a run is resumed:\n{lines}\nput them back, or leave --resume out "
            "to begin a new run"
        )


def _flat(job: RLTrainingJob) -> dict[str, object]:
    return dict(_leaves(job.spec.model_dump(mode="json", by_alias=True), ""))


def _leaves(node: Any, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list) and node:
        for index, value in enumerate(node):
            yield from _leaves(value, f"{path}.{index}")
    else:
        yield path, node
