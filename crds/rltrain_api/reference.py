"""Writes the reference of the manifest, a table of fields for each part, from the models. `make reference` calls it."""

import json
import types
import typing
from collections.abc import Iterator

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from rltrain_api.job import JobSpec
from rltrain_api.problems import model_of
from rltrain_api.schema import SpecModel

_HEADER = """\
# The manifest, field by field

Written by `make reference` from the models in `crds/rltrain_api`; do not edit. Every field can be set on the command
line as well, in camelCase or snake_case: `rltrain run job.yaml training.batch_size=32`.
"""


def render_reference() -> str:
    """The whole page, in Markdown."""
    return _HEADER + "".join(_sections("spec", JobSpec, {}))


def _sections(path: str, model: type[SpecModel], written: dict[type[SpecModel], str]) -> Iterator[str]:
    if model in written:
        yield f"\n## {path}\n\nThe same fields as `{written[model]}`.\n"
        return
    written[model] = path
    rows, children = [], []
    for name, field in model.model_fields.items():
        alias = field.alias or name
        child = model_of(field.annotation)
        if child:
            children.append((f"{path}.{alias}" + ("[]" if _is_list(field.annotation) else ""), child))
        text = " ".join((field.description or "").split()).replace("|", "\\|")
        rows.append(f"| `{alias}` | {_type_name(field.annotation)} | {_default(field)} | {text} |\n")
    summary = " ".join((model.__doc__ or "").split())
    rules = "".join(f"- {rule.message}\n" for rule in model.rules)
    yield f"\n## {path}\n\n{summary}\n\n| field | type | default | meaning |\n|---|---|---|---|\n" + "".join(rows)
    if rules:
        yield f"\nRules, as they are told when broken:\n\n{rules}"
    for child_path, child in children:
        yield from _sections(child_path, child, written)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None or isinstance(field.default, SpecModel) or field.default is PydanticUndefined:
        return ""
    return f"`{json.dumps(field.default)}`"


def _type_name(annotation: object) -> str:
    """A type in words: choices by name, parts as `object`, the rest by its plain kind."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type_name(arguments[0])
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return _type_name(next(argument for argument in arguments if argument is not type(None)))
    if origin is list:
        return f"list of {_type_name(arguments[0])}"
    if origin is dict or model_of(annotation):
        return "object"
    names: dict[object, str] = {str: "text", int: "integer", float: "number", bool: "boolean"}
    return names[annotation]


def _is_list(annotation: object) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        return _is_list(typing.get_args(annotation)[0])
    return typing.get_origin(annotation) is list


if __name__ == "__main__":
    print(render_reference(), end="")
