"""Real runs of `rltrain run` in processes of their own: starting, killing, and reading what they left."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.log.records import Entry, Mark, Scalars
from rltrain_trainer.run_directory import RunDirectory, find_runs
from rltrain_trainer.services.process import start_time
from rltrain_trainer.services.reaper import mark_of, marked_processes

COPY_ONE_DIGIT: dict[str, Any] = {
    "apiVersion": "rltrain.io/v1alpha1",
    "kind": "RLTrainingJob",
    "metadata": {"name": "copy"},
    "spec": {
        "model": {"path": "builtin:tiny-llama"},
        "data": {
            "train": {"type": "digits", "digits": {"task": "copy", "length": 1, "size": 200}},
            "validation": {"type": "digits", "digits": {"task": "copy", "length": 1, "size": 8, "seed": 1}},
        },
        "algorithm": {"type": "grpo", "grpo": {"klCoefficient": 0.001}},
        "training": {
            "totalSteps": 12,
            "batchSize": 4,
            "learningRate": 0.001,
            "deterministic": True,
            "checkpointEvery": 5,
            "validateEvery": 6,
        },
        "rollout": {"samplesPerPrompt": 4, "maxNewTokens": 4},
        "reward": {"functions": [{"type": "exact", "exact": {"partialCredit": True}}]},
        "tracking": {"logger": ["console"]},
    },
}


@dataclass(kw_only=True)
class Run:
    """A `rltrain run` that was started, and its output."""

    process: subprocess.Popen[str]
    runs_dir: Path
    lines: list[str] = field(default_factory=list)

    def directory(self) -> RunDirectory:
        (run,) = find_runs(self.runs_dir)
        return run

    @property
    def mark(self) -> int:
        """What all processes of the run carry."""
        mark = mark_of(self.process.pid)
        assert mark is not None
        return mark

    def wait_for_step(self, step: int) -> None:
        """Return once the console has printed `step` or a later one."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith("step ") and int(line.split()[1].split("/")[0]) >= step:
                return
        raise AssertionError("the run ended before step {}:\n{}".format(step, "".join(self.lines)))

    def finish(self) -> int:
        """Wait for the end; returns the exit code."""
        output, _ = self.process.communicate(timeout=300)
        self.lines.append(output)
        return self.process.returncode

    @property
    def output(self) -> str:
        return "".join(self.lines)


class Starter:
    """Starts runs in one directory, and makes sure that none outlives the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.runs_dir = directory / "runs"
        self._processes: list[subprocess.Popen[str]] = []

    def manifest(self, spec: dict[str, Any] | None = None) -> Path:
        content = yaml.safe_load(yaml.safe_dump(COPY_ONE_DIGIT))
        for part, values in (spec or {}).items():
            content["spec"][part] = content["spec"].get(part, {}) | values
        path = self.directory / "job.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    def start(self, *arguments: object, **environment: str) -> Run:
        command = [sys.executable, "-m", "rltrain_cli.main", "run", *map(str, arguments), "--dir", str(self.runs_dir)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=os.environ | environment,
            cwd=self.directory,
        )
        self._processes.append(process)
        return Run(process=process, runs_dir=self.runs_dir)

    def run(self, *arguments: object, **environment: str) -> Run:
        run = self.start(*arguments, **environment)
        run.finish()
        return run

    def end(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def entries(run: RunDirectory) -> list[Entry]:
    return [entry for entry, _ in LogReader(run.log).read()]


def first_values(run: RunDirectory) -> dict[tuple[str, int], float]:
    """The value that stands for each metric and step, without those that measure time."""
    values: dict[tuple[str, int], float] = {}
    for entry in entries(run):
        if isinstance(entry.record, Scalars) and not entry.replay:
            for name, value in entry.record.values.items():
                assert (name, entry.record.step) not in values, "a metric stands twice"
                if not name.startswith(("time/", "throughput/")):
                    values[name, entry.record.step] = value
    return values


def marks(run: RunDirectory) -> list[str]:
    return [entry.record.name for entry in entries(run) if isinstance(entry.record, Mark)]


def wait_until_gone(mark: int, seconds: float = 20.0) -> list[int]:
    """What is left of a run's processes, which carry `mark`; waits for the watcher to end them."""
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in marked_processes(mark) if not is_zombie(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def is_zombie(pid: int) -> bool:
    return start_time(pid) is None


def kill(run: Run) -> None:
    """SIGKILL; returns once nothing of the run is left."""
    mark = run.mark
    assert list(marked_processes(mark)) != [run.process.pid], "Ray and the watcher are part of it"
    os.kill(run.process.pid, signal.SIGKILL)
    assert run.finish() == -signal.SIGKILL
    assert wait_until_gone(mark) == []


def interrupt(run: Run, number: signal.Signals) -> int:
    """Send a signal that stops the run in order; returns the exit code once nothing of the run is left."""
    mark = run.mark
    os.kill(run.process.pid, number)
    code = run.finish()
    assert wait_until_gone(mark) == []
    return code


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))
