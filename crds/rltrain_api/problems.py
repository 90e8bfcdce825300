"""Validation errors as sentences: which field, what is wrong, the remedy. Used by `load` and the commands."""

import difflib
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rltrain_api.errors import UserError
from rltrain_api.schema import SpecModel


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that the user must change. `line` is the manifest's, where there is one."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


class ManifestError(UserError):
    """A manifest or an override that cannot run, with every problem found."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__(f"{source} cannot run:\n" + "\n".join(f"  - {problem}" for problem in problems))


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint that follows an unknown `name`: the nearest known one, or all of them."""
    names = sorted(known)
    by_fold = {candidate.replace("_", "").lower(): candidate for candidate in names}
    folded = name.replace("_", "").lower()
    close = [folded] if folded in by_fold else difflib.get_close_matches(folded, by_fold, n=1, cutoff=0.6)
    return f"did you mean `{by_fold[close[0]]}`?" if close else f"known are {', '.join(names)}"


def model_of(annotation: object) -> type[SpecModel] | None:
    """The model inside an annotation such as `X | None` or `list[X]`, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, SpecModel):
        return annotation
    if typing.get_origin(annotation) in (list, typing.Union, typing.Annotated, types.UnionType):
        return next(filter(None, map(model_of, typing.get_args(annotation))), None)
    return None


def field_names(model: type[SpecModel]) -> dict[str, str]:
    """Names in YAML to names in Python of a model's fields."""
    return {field.alias or name: name for name, field in model.model_fields.items()}


def format_path(parts: Sequence[str | int]) -> str:
    """`("spec", "rollout", "stop", 0)` as `spec.rollout.stop[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")


def problems_of(error: ValidationError, root: type[SpecModel]) -> list[tuple[tuple[str | int, ...], str]]:
    """Location and sentence of each error that pydantic found in a document of type `root`."""
    return [(detail["loc"], _sentence(detail, root)) for detail in error.errors()]


def _sentence(detail: ErrorDetails, root: type[SpecModel]) -> str:
    value = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            parent = _model_at(root, detail["loc"][:-1])
            hint = nearest(str(detail["loc"][-1]), field_names(parent)) if parent else ""
            return f"unknown field; {hint}"
        case "missing":
            return "is required; add it"
        case "literal_error":
            expected = detail["ctx"]["expected"].replace("'", "`")
            return f"must be {expected}, not {value!r}"
        case "string_pattern_mismatch":
            return f"{value!r} does not have the form {detail['ctx']['pattern']}"
        case "rule":
            return detail["msg"]
        case "model_type":
            return f"must be a mapping of fields, not {value!r}"
        case _:
            return f"{detail['msg'][0].lower()}{detail['msg'][1:]}, not {value!r}"


def _model_at(root: type[SpecModel], location: Sequence[str | int]) -> type[SpecModel] | None:
    model: type[SpecModel] | None = root
    for part in location:
        if model is None or isinstance(part, int):
            continue
        name = field_names(model).get(part)
        model = model_of(model.model_fields[name].annotation) if name else None
    return model
