"""The command as a whole: version, help, and how errors are told."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rltrain_cli.builders import make_manifest, make_run
from tests.rltrain_cli.conftest import Call

HEAVY = {"torch", "transformers", "ray", "mlflow", "tensorboard", "reasoning_gym", "pyarrow"}

LOADED = """
import sys
from rltrain_cli.main import main
sys.argv[0] = "rltrain"
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def test_the_version_is_printed(call: Call) -> None:
    assert call("--version").out == "0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["run", "validate", "dashboards", "runs"]),
        (["run"], ["--resume", "--serve", "--no-dashboards", "--dir", "Exit codes", "143"]),
        (["validate"], ["job", "overrides", "Exit codes"]),
        (["dashboards"], ["[DIR]", "Ctrl-C"]),
        (["runs"], ["list", "show", "sync"]),
        (["runs", "list"], ["[DIR]", "--json"]),
        (["runs", "show"], ["run", "--json", "--dir"]),
        (["runs", "sync"], ["run", "--tracker", "--dir"]),
    ],
)
def test_help_names_what_there_is(arguments: list[str], expected: list[str], call: Call) -> None:
    result = call(*arguments, "--help")
    assert result.code == 0
    assert [word for word in expected if word not in result.out] == []
    assert call(*arguments, "-h") == result


def test_without_a_command_there_is_help(call: Call) -> None:
    assert "Usage: rltrain [OPTIONS] COMMAND" in call().out


@pytest.mark.parametrize(
    "arguments", [["--help"], ["runs", "list", "runs"], ["runs", "show", "{run}"], ["runs", "list", "runs", "--json"]]
)
def test_light_commands_load_nothing_heavy(arguments: list[str], call_apart: Call, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    result = call_apart(*(argument.format(run=run.path) for argument in arguments), code=LOADED)
    assert result.code == 0, result.err
    loaded = set(result.err.split())
    assert "rltrain_cli" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(
    ("argument", "remedy"),
    [
        ("--training.total_steps=3", "--training.total_steps; a field is set without dashes: training.total_steps=3"),
        ("--training.total_steps", "--training.total_steps; a field is set without dashes: training.total_steps=…"),
        ("-spec.training.seed=1", "-spec.training.seed; a field is set without dashes: spec.training.seed=1"),
    ],
)
def test_a_field_written_as_an_option_is_refused_with_the_remedy(
    argument: str, remedy: str, call: Call, tmp_path: Path
) -> None:
    result = call("run", make_manifest(tmp_path), argument)
    assert (result.code, result.out, result.err) == (2, "", f"error: there is no option {remedy}\n")


@pytest.mark.parametrize("arguments", [["run", "job.yaml", "--resum"], ["trian"], ["run"]])
def test_a_command_that_is_written_wrong_ends_with_2(arguments: list[str], call: Call) -> None:
    result = call(*arguments)
    assert (result.code, result.out) == (2, "")
    assert "Usage: rltrain" in result.err


def test_the_installed_command_is_the_same(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("rltrain")
    done = subprocess.run([command, "runs", "list"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "no runs in runs; `rltrain run JOB --dir runs` makes one\n"
