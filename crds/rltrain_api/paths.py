"""Makes the files that a manifest names independent of the directory that it lies in. Called before a run starts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rltrain_api.job import RLTrainingJob

# Where a spec names a file of this machine: a mapping's key in dotted form, lists by `*`.
_FILE_FIELDS = ("data.train.file.path", "data.validation.file.path")
_FUNCTION_FIELDS = ("reward.functions.*.custom.function", "algorithm.custom.function", "rollout.tools.*")
_MAYBE_DIRECTORY_FIELDS = ("model.path", "model.tokenizer", "reward.model.path")


def resolve_paths(job: RLTrainingJob, directory: Path) -> RLTrainingJob:
    """`job` with the relative paths of its files made absolute, starting from `directory`."""
    content = job.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for field in _FILE_FIELDS:
        _replace(content["spec"], field.split("."), lambda text: str(directory.absolute() / text))
    for field in _FUNCTION_FIELDS:
        _replace(content["spec"], field.split("."), lambda text: _resolve_function(text, directory))
    for field in _MAYBE_DIRECTORY_FIELDS:
        _replace(content["spec"], field.split("."), lambda text: _resolve_directory(text, directory))
    return RLTrainingJob.model_validate(content, by_alias=True, by_name=False)


def _resolve_function(text: str, directory: Path) -> str:
    file, _, name = text.rpartition(":")
    return f"{directory.absolute() / file}:{name}" if file.endswith(".py") else text


def _resolve_directory(text: str, directory: Path) -> str:
    path = directory.absolute() / text
    # What begins like a path is one, be it there or not; anything else may be a hub id.
    return str(path) if path.is_dir() or text.startswith(("./", "../")) else text


def _replace(node: Any, parts: list[str], change: Callable[[str], str]) -> None:
    """Apply `change` to the text at `parts` below `node`, wherever it is given."""
    key, rest = parts[0], parts[1:]
    keys = range(len(node)) if key == "*" else [key] if isinstance(node, dict) and node.get(key) else []
    for each in keys:
        if rest:
            _replace(node[each], rest, change)
        else:
            node[each] = change(node[each])
