"""Reads a manifest's YAML strictly (no key twice, one document), with the line of each field. Used by `load`."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import yaml

from rltrain_api.problems import ManifestError, Problem


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses a mapping with the same key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the field `{key}` is given twice; keep one", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class Manifest:
    """The content of a manifest file, as plain data, with the line of each field."""

    def __init__(self, path: Path) -> None:
        self.source = str(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ManifestError(self.source, [Problem(path="", message=f"cannot be read: {error}")]) from error
        try:
            self.content: Any = yaml.load(text, _StrictLoader)  # noqa: S506 (a SafeLoader)
            self._root = yaml.compose(text, yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else None
            message = error.problem or "is not YAML"
            raise ManifestError(self.source, [Problem(path="", message=message, line=line)]) from error

    def line_of(self, location: Sequence[str | int]) -> int | None:
        """Line, from 1, of the field at `location`, or of the part that it is missing from."""
        node, line = self._root, None
        for index, part in enumerate(location):
            found = _child(node, part)
            if found is None:
                return line if index == len(location) - 1 else None
            node, line = found
        return line


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return value, key.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line + 1
    return None
