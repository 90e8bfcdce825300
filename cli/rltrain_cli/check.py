"""Everything that keeps a manifest from running, found before anything starts. Used by `validate` and `run`."""

import itertools
from pathlib import Path

from rltrain_api.errors import UserError
from rltrain_api.job import RLTrainingJob
from rltrain_api.load import load_job
from rltrain_api.paths import resolve_paths
from rltrain_api.problems import ManifestError, Problem
from rltrain_api.support import check_supported


def check_job(path: Path, overrides: list[str]) -> RLTrainingJob:
    """The job of `path` with absolute paths. Raises ManifestError with all that keeps it from running."""
    if path.is_dir():
        raise UserError(f"{path} is a directory; give a manifest")
    if not path.exists():
        raise UserError(f"{path} does not exist; give a manifest first, then the fields to set")
    job = resolve_paths(load_job(path, overrides), path.parent)
    references = (_check_data(job, path.parent), _check_rewards(job, path.parent), _check_trackers(job))
    if problems := list(itertools.chain(check_supported(job), *references)):
        raise ManifestError(str(path), problems)
    return job


def describe_job(job: RLTrainingJob) -> str:
    """A job in a line."""
    spec = job.spec
    return (
        f"{spec.algorithm.type} of {spec.model.path} for {spec.training.total_steps} steps of "
        f"{spec.training.batch_size} prompts x {spec.rollout.samples_per_prompt} samples"
    )


def _check_data(job: RLTrainingJob, directory: Path) -> list[Problem]:
    """Problems of the prompts, which are read as training would."""
    from rltrain_trainer.data.prompts import load_prompts

    problems = []
    sources = {"spec.data.train": job.spec.data.train, "spec.data.validation": job.spec.data.validation}
    for place, source in sources.items():
        try:
            if source:
                load_prompts(source, directory)
        except UserError as error:
            problems.append(Problem(path=place, message=str(error)))
    return problems


def _check_rewards(job: RLTrainingJob, directory: Path) -> list[Problem]:
    """Problems of the reward functions, each of which is made as training would."""
    from rltrain_trainer.rewards.score import RewardScorer

    problems = []
    for index, function in enumerate(job.spec.reward.functions):
        try:
            RewardScorer(job.spec.reward.model_copy(update={"functions": [function]}), directory)
        except UserError as error:
            problems.append(Problem(path=f"spec.reward.functions[{index}]", message=str(error)))
    return problems


def _check_trackers(job: RLTrainingJob) -> list[Problem]:
    from rltrain_trainer.services.mlflow_server import find_mlflow

    try:
        if "mlflow" in job.spec.tracking.logger:
            find_mlflow(Path(), job.spec.tracking)
    except UserError as error:
        return [Problem(path="spec.tracking", message=str(error))]
    return []
