"""The command `rltrain`: its subcommands, and how every error becomes a message and an exit code.

The commands import what they do when they are called, so that help, completion and `runs list` are there at once.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from rltrain_api.errors import RltrainError, UserError
from rltrain_cli import dashboards, run, runs, validate
from rltrain_cli.output import fail

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("validate")(validate.validate)
app.command("dashboards")(dashboards.dashboards)
app.add_typer(runs.app, name="runs")


def _print_version(wanted: bool) -> None:
    from importlib.metadata import version

    if wanted:
        print(version("rltrain"))
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Reinforcement learning of language models from one manifest."""


def _refuse_dashes(arguments: Sequence[str]) -> None:
    """No option has a dot in its name: who writes one means a field."""
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name.startswith("-") and "." in name and "/" not in name:
            field = name.lstrip("-")
            raise UserError(f"there is no option {name}; a field is set without dashes: {field}={value or '…'}")


def main() -> None:
    """Entry point of the console script."""
    try:
        _refuse_dashes(sys.argv[1:])
        app(prog_name="rltrain")
    except RltrainError as error:
        fail(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
