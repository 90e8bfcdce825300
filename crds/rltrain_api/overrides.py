"""Dotted overrides (`training.batch_size=32`), applied to a manifest before it is validated. Used by `load`."""

import types
import typing
from collections.abc import Iterable
from typing import Any

import yaml

from rltrain_api.job import RLTrainingJob
from rltrain_api.problems import Problem, field_names, model_of, nearest
from rltrain_api.schema import SpecModel

# What readers of verl's documentation type, and where it is here. A trailing `.*` takes what follows along.
ALIASES: dict[str, str] = {
    "trainer.logger": "tracking.logger",
    "trainer.project_name": "tracking.projectName",
    "trainer.experiment_name": "tracking.experimentName",
    "actor_rollout_ref.rollout.trace.*": "tracking.trace.*",
}


class OverrideError(Exception):
    """An override that names no field or cannot be applied; carries the problem."""

    def __init__(self, path: str, message: str) -> None:
        self.problem = Problem(path=path, message=message)
        super().__init__(message)


Location = tuple[str | int, ...]


def apply_overrides(content: dict[str, Any], overrides: Iterable[str]) -> tuple[list[Location], list[Problem]]:
    """Write each override into `content`, in place. Returns the places written, and what could not be applied."""
    written, problems = [], []
    for override in overrides:
        try:
            written.append(_apply(content, override))
        except OverrideError as error:
            problems.append(error.problem)
    return written, problems


def _apply(content: dict[str, Any], override: str) -> Location:
    path, equals, text = override.partition("=")
    path = path.strip().lstrip("+")
    if not equals or not path:
        raise OverrideError(override, "is not an override; write it as `field.path=value`")
    parts = _unalias(path).split(".")
    if parts[0] not in ("spec", "metadata"):
        parts.insert(0, "spec")
    node: Any = content
    model: type[SpecModel] | None = RLTrainingJob
    location: list[str | int] = []
    for part in parts[:-1]:
        key, annotation = _field(model, part, path)
        node, model = _descend(node, key, path), model_of(annotation)
        location.append(key)
    key, annotation = _field(model, parts[-1], path)
    _assign(node, key, _value(text, annotation, path), path)
    return (*location, key)


def _unalias(path: str) -> str:
    for typed, ours in ALIASES.items():
        if typed.endswith(".*") and path.startswith(typed[:-1]):
            return ours[:-1] + path[len(typed) - 1 :]
        if path == typed:
            return ours
    return path


def _field(model: type[SpecModel] | None, part: str, path: str) -> tuple[str | int, object]:
    """Key in the content, and type, of the field that `part` names in camelCase or snake_case."""
    if part.isdigit():
        return int(part), model
    if model is None:
        return part, None
    for alias, name in field_names(model).items():
        if part in (alias, name):
            return alias, model.model_fields[name].annotation
    raise OverrideError(path, f"unknown field `{part}`; {nearest(part, field_names(model))}")


def _descend(node: Any, key: str | int, path: str) -> Any:
    if isinstance(key, int):
        if isinstance(node, list) and key < len(node):
            return node[key]
        raise OverrideError(path, f"the list has no entry {key}")
    if not isinstance(node, dict):
        raise OverrideError(path, f"`{key}` is not inside a mapping of fields")
    if node.get(key) is None:
        node[key] = {}
    return node[key]


def _assign(node: Any, key: str | int, value: Any, path: str) -> None:
    holder = _descend([node], 0, path)
    if isinstance(key, int) and not (isinstance(holder, list) and key < len(holder)):
        raise OverrideError(path, f"the list has no entry {key}")
    if isinstance(key, str) and not isinstance(holder, dict):
        raise OverrideError(path, f"`{key}` is not inside a mapping of fields")
    holder[key] = value


def _value(text: str, annotation: object, path: str) -> Any:
    """The value as YAML reads it; for a text field the text itself, so that `007` stays what it is."""
    if _is_text(annotation) and text not in ("null", "~", "") and text[:1] not in "\"'":
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise OverrideError(path, f"the value {text!r} is not YAML; quote it") from error


def _is_text(annotation: object) -> bool:
    if annotation is str:
        return True
    if typing.get_origin(annotation) is typing.Literal:
        return all(isinstance(value, str) for value in typing.get_args(annotation))
    if typing.get_origin(annotation) in (typing.Union, typing.Annotated, types.UnionType):
        return any(map(_is_text, typing.get_args(annotation)))
    return False
