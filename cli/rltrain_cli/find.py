"""Runs of a directory, and one of them by name or path. Used by `run` and `runs`."""

from pathlib import Path

from rltrain_api.errors import UserError
from rltrain_trainer.run_directory import RunDirectory, find_runs


def runs_in(directory: Path) -> list[RunDirectory]:
    """The runs in `directory`, by name; none if it does not exist. Raises UserError if it is something else."""
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is not a directory; name the one that holds the runs")
    return find_runs(directory)


def run_at(path: Path) -> RunDirectory:
    """The run in `path`; its own path has the directory of runs as parent. Raises UserError if it is none."""
    return RunDirectory.open(path.resolve() if path.name in ("", "..") else path)


def run_named(name: str, runs_dir: Path) -> RunDirectory:
    """The run called `name` in `runs_dir`, or at the path `name`. Raises UserError when there is none."""
    for path in (runs_dir / name, Path(name)):
        if RunDirectory(path).uid_file.is_file():
            return run_at(path)
    if Path(name).is_dir():
        return run_at(Path(name))
    raise UserError(f"there is no run {name} in {runs_dir}; `rltrain runs list {runs_dir}` shows those there are")
