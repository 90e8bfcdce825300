"""What the commands print with: results to stdout, notes and errors to stderr, plain text where no terminal is."""

import sys

from rich.console import Console

stdout = Console(highlight=False, soft_wrap=True)
stderr = Console(highlight=False, soft_wrap=True, stderr=True)


def fail(message: str) -> None:
    """Print an error as one block."""
    stderr.print("error: ", style="bold red", end="")
    stderr.print(message, markup=False)


def is_terminal() -> bool:
    """Whether somebody watches the output as it comes."""
    return sys.stdout.isatty()
