"""From a file and overrides to a validated `RLTrainingJob`, and back to YAML. Every command starts here."""

from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from rltrain_api.job import RLTrainingJob
from rltrain_api.manifest import Manifest
from rltrain_api.overrides import apply_overrides
from rltrain_api.problems import ManifestError, Problem, format_path, problems_of


def load_job(path: Path, overrides: Sequence[str] = ()) -> RLTrainingJob:
    """The job of the manifest `path` with `overrides` applied.

    Raises ManifestError with every problem found: YAML, unknown fields, types, bounds, relations between fields.
    """
    manifest = Manifest(path)
    if not isinstance(manifest.content, dict):
        message = "is not an RLTrainingJob: the file must hold one mapping with apiVersion, kind, metadata and spec"
        raise ManifestError(manifest.source, [Problem(path="", message=message)])
    written, problems = apply_overrides(manifest.content, overrides)
    try:
        job = RLTrainingJob.model_validate(manifest.content, by_alias=True, by_name=False)
    except ValidationError as error:
        for at, message in problems_of(error, RLTrainingJob):
            overridden = any(at[: len(place)] == place for place in written)
            line = None if overridden else manifest.line_of(at)
            problems.append(Problem(path=format_path(at), message=message, line=line))
        raise ManifestError(manifest.source, problems) from error
    if problems:
        raise ManifestError(manifest.source, problems)
    return job


def dump_job(job: RLTrainingJob) -> str:
    """The job as YAML with what was given (defaults left out), readable by `load_job`."""
    content = job.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"status"})
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
