"""`rltrain validate`: every problem of a manifest at once. Its check is what `run` does first."""

from pathlib import Path
from typing import Annotated

import typer

from rltrain_api.errors import UserError
from rltrain_api.job import RLTrainingJob
from rltrain_api.load import load_job
from rltrain_api.paths import resolve_paths
from rltrain_api.problems import ManifestError, Problem
from rltrain_api.support import check_supported
from rltrain_cli.output import stdout

JobArgument = Annotated[Path, typer.Argument(help="Manifest (YAML).", show_default=False)]
OverridesArgument = Annotated[
    list[str] | None, typer.Argument(help="Fields to set, such as training.batch_size=32.", show_default=False)
]


def validate(job: JobArgument, overrides: OverridesArgument = None) -> None:
    """Check a manifest and everything that it names, without running it."""
    checked = check_job(job, overrides or [])
    stdout.print(f"{job} is valid: {checked.metadata.name}, {describe(checked)}", markup=False)


def check_job(path: Path, overrides: list[str]) -> RLTrainingJob:
    """The job of `path` with absolute paths. Raises ManifestError with all that keeps it from running."""
    job = resolve_paths(load_job(path, overrides), path.parent)
    problems = check_supported(job) + _check_references(job)
    if problems:
        raise ManifestError(str(path), problems)
    return job


def describe(job: RLTrainingJob) -> str:
    """A job in a line."""
    spec = job.spec
    return (
        f"{spec.algorithm.type} of {spec.model.path} for {spec.training.total_steps} steps of "
        f"{spec.training.batch_size} prompts x {spec.rollout.samples_per_prompt} samples"
    )


def _check_references(job: RLTrainingJob) -> list[Problem]:
    """Problems of the data and the reward functions that the spec names; they are read as training would."""
    from rltrain_trainer.data.prompts import load_prompts
    from rltrain_trainer.rewards.score import RewardScorer

    problems = []
    sources = {"spec.data.train": job.spec.data.train, "spec.data.validation": job.spec.data.validation}
    for place, source in sources.items():
        try:
            if source:
                load_prompts(source, Path())
        except UserError as error:
            problems.append(Problem(path=place, message=str(error)))
    try:
        RewardScorer(job.spec.reward, Path())
    except UserError as error:
        problems.append(Problem(path="spec.reward", message=str(error)))
    return problems
