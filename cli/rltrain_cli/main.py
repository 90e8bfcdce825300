"""The command `rltrain`: its subcommands, and how every error becomes a message and an exit code."""

import importlib.metadata
import sys
from typing import Annotated

import typer

from rltrain_api.errors import RltrainError
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
    if wanted:
        print(importlib.metadata.version("rltrain"))
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Reinforcement learning of language models from one manifest."""


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except RltrainError as error:
        fail(str(error))
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
