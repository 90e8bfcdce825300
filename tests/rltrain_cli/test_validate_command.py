"""`rltrain validate`: everything that is wrong, in one message, with the remedy."""

from pathlib import Path
from typing import Any

import pytest

from tests.rltrain_cli.builders import make_manifest
from tests.rltrain_cli.conftest import Call


def test_a_valid_job_is_told_in_a_line(call: Call, tmp_path: Path) -> None:
    make_manifest(tmp_path)
    result = call("validate", "job.yaml", "training.batch_size=2")
    assert (result.code, result.err) == (0, "")
    assert result.out == ("job.yaml is valid: copy, grpo of builtin:tiny-llama for 10 steps of 2 prompts x 8 samples\n")


def test_all_that_is_wrong_with_fields_is_told_at_once(call: Call, tmp_path: Path) -> None:
    make_manifest(tmp_path, training={"totalStep": 3, "learningRate": -1}, rollout={"samplesPerPrompt": "many"})
    result = call("validate", "job.yaml", "training.sed=1")
    assert (result.code, result.out) == (2, "")
    first, *problems = result.err.splitlines()
    assert first == "error: job.yaml cannot run:"
    assert len(problems) == 4
    for part in ("spec.training.totalStep: unknown field; did you mean `totalSteps`?", "spec.training.learningRate"):
        assert part in result.err
    assert "training.sed: unknown field `sed`; did you mean `seed`?" in result.err
    assert "spec.rollout.samplesPerPrompt" in result.err


def test_all_that_is_wrong_with_what_the_job_names_is_told_at_once(call: Call, tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text("def shorter(responses):\n    return [0.0 for _ in responses]\n")
    (tmp_path / "rows.jsonl").write_text('{"question": "1 + 1"}\n')
    make_manifest(
        tmp_path,
        data={
            "train": {"type": "file", "file": {"path": "none.jsonl"}},
            "validation": {"type": "file", "file": {"path": "rows.jsonl", "promptKey": "questoin"}},
        },
        reward={
            "functions": [
                {"type": "custom", "custom": {"function": "rewards.py:shorter"}},
                {"type": "custom", "custom": {"function": "rewards.py:shortr"}},
                {"type": "custom", "custom": {"function": "nowhere.py:f"}},
            ]
        },
        tracking={"logger": ["console", "mlflow", "wandb"], "mlflow": {"uri": "file:///mlruns"}},
    )
    result = call("validate", "job.yaml")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: job.yaml cannot run:\n"
        "  - spec.tracking.logger: not available in this version; use console, tensorboard and mlflow\n"
        f"  - spec.data.train: data file `{tmp_path}/none.jsonl` does not exist (relative paths start at {tmp_path})\n"
        "  - spec.data.validation: rows.jsonl, line 1: there is no column `questoin`; did you mean `question`?\n"
        f"  - spec.reward.functions[1]: `{tmp_path}/rewards.py:shortr`: `{tmp_path}/rewards.py` has no function "
        "`shortr`; did you mean `shorter`?\n"
        f"  - spec.reward.functions[2]: `{tmp_path}/nowhere.py:f`: the file {tmp_path}/nowhere.py does not exist "
        "(relative paths start at the manifest's directory)\n"
        "  - spec.tracking: spec.tracking.mlflow.uri is 'file:///mlruns'; give the http(s) address of an MLflow server "
        "or sqlite:///FILE\n"
    )


def test_files_are_looked_for_beside_the_manifest(call: Call, tmp_path: Path) -> None:
    directory = tmp_path / "elsewhere"
    train: dict[str, Any] = {"type": "file", "file": {"path": "rows.jsonl"}}
    make_manifest(directory, data={"train": train})
    (directory / "rows.jsonl").write_text('{"prompt": "1 + 1", "answer": 2}\n')
    assert call("validate", "elsewhere/job.yaml").code == 0


def test_an_address_in_the_environment_is_checked_as_well(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_manifest(tmp_path, tracking={"logger": ["mlflow"]})
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "mysql://me:secret@host/db")
    result = call("validate", "job.yaml")
    assert result.code == 2
    assert "spec.tracking: MLFLOW_TRACKING_URI is 'mysql://host/db'; give" in result.err
    assert "secret" not in result.err


@pytest.mark.parametrize("command", ["validate", "run"])
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.yaml", "none.yaml does not exist; give a manifest first, then the fields to set"),
        ("training.seed=1", "training.seed=1 does not exist; give a manifest first, then the fields to set"),
        ("list.yaml", "list.yaml cannot run:\n  - is not an RLTrainingJob: the file must hold one mapping"),
        ("broken.yaml", "broken.yaml cannot run:\n  - line 2: "),
        ("binary.yaml", "binary.yaml cannot run:\n  - cannot be read: 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_a_file_that_is_no_manifest_is_told_so(
    command: str, path: str, message: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "broken.yaml").write_text("a: [1\nb: 2\n")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    result = call(command, path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {message}")
    assert not (tmp_path / "runs").exists()


def test_a_directory_is_no_manifest(call: Call, tmp_path: Path) -> None:
    assert call("validate", tmp_path).err == f"error: {tmp_path} is a directory; give a manifest\n"
