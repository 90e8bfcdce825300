"""Texts and tables as Markdown that shows them unchanged, line ends included. Used by the TensorBoard tracker."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"[!-/:-@\[-`{-~]")
_HARMLESS = frozenset(",;:'\"?/%@$")


def verbatim(text: str) -> str:
    """Markdown, on one line, that is shown as `text`."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ").split("\n")
    return "<br>".join(_verbatim_line(line) for line in lines)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table whose cells are shown unchanged."""
    lines = [[verbatim(name) for name in columns], ["---"] * len(columns)]
    lines += [[verbatim(cell_text(cell)) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell_text(cell: object) -> str:
    """A table's cell as text; numbers to six digits."""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _verbatim_line(line: str) -> str:
    # Entities are shown as the character they name and never read as markup. Of blanks in a row only one is shown.
    escaped = _SPECIAL.sub(lambda at: at[0] if at[0] in _HARMLESS else f"&#{ord(at[0])};", line)
    return re.sub(r"^ | (?= )| $", "&nbsp;", escaped)
