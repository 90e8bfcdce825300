"""A run that is killed, stopped or fenced at any moment: what it leaves, and that a resume continues it."""

import os
import pty
import signal
import sys

import pytest

from rltrain_trainer.log.summary import summarize_log
from rltrain_trainer.services.reaper import mark_of
from tests.runs.harness import Run, Starter, entries, first_values, interrupt, kill, marks, same, wait_until_gone


@pytest.fixture(scope="module")
def control(module_starter: Starter) -> Run:
    """The run that nobody interrupts."""
    run = module_starter.run(module_starter.manifest(), "tracking.experiment_name=control", "--no-dashboards")
    assert run.process.returncode == 0, run.output
    return run


def test_a_whole_run_logs_every_step_once_and_says_that_it_finished(control: Run) -> None:
    values = first_values(control.directory())
    rewards = [step for name, step in values if name == "reward/episode_reward_mean"]
    assert rewards == list(range(1, 13))
    assert [step for name, step in values if name == "validation/reward_mean"] == [0, 6, 12]
    assert marks(control.directory()) == ["step"] * 13 + ["finished"]
    assert not any(entry.replay for entry in entries(control.directory()))


def test_a_run_killed_and_resumed_equals_one_never_interrupted(starter: Starter, control: Run) -> None:
    killed = starter.start(starter.manifest(), "--no-dashboards")
    killed.wait_for_step(8)
    kill(killed)
    resumed = starter.run(starter.manifest(), "--resume", "--no-dashboards")
    assert resumed.process.returncode == 0, resumed.output

    values, expected = first_values(resumed.directory()), first_values(control.directory())
    assert values.keys() == expected.keys()
    assert {key: (values[key], expected[key]) for key in values if not same(values[key], expected[key])} == {}
    replayed = [entry for entry in entries(resumed.directory()) if entry.replay]
    assert {entry.attempt for entry in replayed} == {2}
    printed = [line.split()[1] for line in [*killed.lines, *resumed.output.splitlines()] if line.startswith("step ")]
    # A step may be printed again if the kill came between the print and the note of it; none may be missing.
    assert sorted(set(printed), key=lambda text: int(text.split("/")[0])) == [f"{step}/12" for step in range(13)]
    assert len(printed) <= 14


def test_sigterm_stops_at_a_step_with_a_checkpoint_and_leaves_no_process(starter: Starter, control: Run) -> None:
    run = starter.start(starter.manifest(), "--no-dashboards")
    run.wait_for_step(2)
    assert interrupt(run, signal.SIGTERM) == 143, run.output
    directory = run.directory()
    stopped_at = summarize_log(directory.log).last_step
    assert (directory.checkpoints / "latest").resolve().name == f"step-{stopped_at}"
    assert marks(directory)[-1] == "stopped"
    resumed = starter.run(directory.path, "--resume", "--no-dashboards")
    assert resumed.process.returncode == 0, resumed.output
    assert not any(entry.replay for entry in entries(directory))
    assert first_values(directory) == first_values(control.directory())


def test_a_second_ctrl_c_ends_at_once_and_leaves_no_process(starter: Starter) -> None:
    """Ctrl-C as a terminal sends it: to every process in the foreground."""
    manifest = starter.manifest({"training": {"totalSteps": 100000, "checkpointEvery": 0, "validateEvery": 0}})
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(starter.directory)
        command = [sys.executable, "-m", "rltrain_cli.main", "run", str(manifest), "--no-dashboards"]
        os.execv(sys.executable, command)
    output = read_until(terminal, b"step 3/")
    mark = mark_of(pid)
    assert mark is not None
    os.write(terminal, b"\x03\x03")
    output += read_until(terminal, None)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130, output.decode()
    os.close(terminal)
    assert wait_until_gone(mark) == []


def read_until(terminal: int, text: bytes | None) -> bytes:
    """Output of a terminal up to `text`, or to its end."""
    output = b""
    while text is None or text not in output:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side of a terminal has gone
            break
        if not part:
            break
        output += part
    return output


def test_another_attempt_fences_the_old_one_out(starter: Starter) -> None:
    run = starter.start(starter.manifest({"training": {"totalSteps": 100000}}), "--no-dashboards")
    run.wait_for_step(2)
    directory = run.directory()
    directory.begin_attempt()
    last = entries(directory)[-1].sequence
    assert run.finish() == 3, run.output
    assert "attempt 2 owns this run" in run.output
    assert entries(directory)[-1].sequence - last <= 30  # what was under way when the other attempt began


def test_a_run_in_training_is_not_resumed_a_second_time(starter: Starter) -> None:
    run = starter.start(starter.manifest({"training": {"totalSteps": 100000}}), "--no-dashboards")
    run.wait_for_step(1)
    second = starter.run(run.directory().path, "--resume", "--no-dashboards")
    assert second.process.returncode == 2
    assert f"in use by process {run.process.pid}" in second.output
    assert run.directory().attempt == 1
    assert interrupt(run, signal.SIGTERM) == 143


def test_more_steps_can_be_asked_for_on_resume_but_not_another_seed(starter: Starter) -> None:
    short = starter.run(starter.manifest(), "training.total_steps=3", "--no-dashboards")
    assert short.process.returncode == 0, short.output
    directory = short.directory()
    refused = starter.run(directory.path, "--resume", "--no-dashboards", "training.seed=1")
    assert refused.process.returncode == 2
    assert "training.seed" in refused.output
    longer = starter.run(directory.path, "--resume", "--no-dashboards", "training.total_steps=5")
    assert longer.process.returncode == 0, longer.output
    rewards = [step for name, step in first_values(directory) if name == "reward/episode_reward_mean"]
    assert rewards == [1, 2, 3, 4, 5]


def test_the_checkpoint_is_a_model_that_transformers_loads(control: Run) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = control.directory().checkpoints / "latest"
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path)
    assert tokenizer.decode(tokenizer("copy 4 =")["input_ids"]) == "copy 4 ="
    assert model.num_parameters() > 500_000


def test_the_spec_as_run_is_kept_with_overrides_applied(control: Run) -> None:
    assert "experimentName: control" in control.directory().job_file.read_text()
