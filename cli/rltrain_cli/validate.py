"""`rltrain validate`: every problem of a manifest at once."""

from pathlib import Path
from typing import Annotated

import typer

from rltrain_cli.output import stdout

JobArgument = Annotated[Path, typer.Argument(help="Manifest (YAML).", show_default=False)]
OverridesArgument = Annotated[
    list[str] | None, typer.Argument(help="Fields to set, such as training.batch_size=32.", show_default=False)
]


def validate(job: JobArgument, overrides: OverridesArgument = None) -> None:
    """Check a manifest, its data and its reward functions, without training.

    Exit codes: 0 valid; 2 something to fix.
    """
    from rltrain_cli.check import check_job, describe_job

    checked = check_job(job, overrides or [])
    stdout.print(f"{job} is valid: {checked.metadata.name}, {describe_job(checked)}", markup=False)
