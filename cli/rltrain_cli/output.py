"""What the commands print with: results to stdout, notes and errors to stderr, plain text where no terminal is."""

import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

stdout = Console(highlight=False, soft_wrap=True)
stderr = Console(highlight=False, soft_wrap=True, stderr=True)


def fail(message: str) -> None:
    """Print an error as one block."""
    stderr.print("error: ", style="bold red", end="")
    stderr.print(message, markup=False)


def is_terminal() -> bool:
    """Whether somebody watches the output as it comes."""
    return sys.stdout.isatty()


def print_table(rows: Sequence[Sequence[str | Text]]) -> None:
    """Rows in aligned columns. Nothing is ever cut, so that it can be copied: a narrow terminal breaks the lines."""
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    widths = [max(cell.cell_len for cell in column) for column in zip(*cells, strict=True)]
    for row in cells:
        for cell, width in zip(row, widths, strict=True):
            cell.pad_right(width - cell.cell_len)
        line = Text("  ").join(row)
        line.rstrip()
        stdout.print(line)


def print_fields(fields: Mapping[str, str | Sequence[str]]) -> None:
    """Names and values below each other; a value of several lines stands beside its name."""
    rows: list[tuple[Text, str]] = []
    for name, value in fields.items():
        lines = [value] if isinstance(value, str) else value
        rows += [(Text(name if index == 0 else "", "bold"), line) for index, line in enumerate(lines)]
    print_table(rows)
