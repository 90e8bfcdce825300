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

COPY_ONE_DIGIT = {
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


def marked_processes(run_pid: int) -> list[int]:
    """Processes, other than the run itself, that a run with this process id started and that still live."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # it ended while we looked
            if f"RLTRAIN_RUN_PROCESSES={run_pid}-".encode() in environment:
                found.append(int(entry.name))
    return found


def wait_until_gone(run_pid: int, seconds: float = 20.0) -> list[int]:
    """What is left of a run's processes; waits for the watcher to end them."""
    deadline = time.monotonic() + seconds
    while (left := marked_processes(run_pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def kill(run: Run, number: int = signal.SIGKILL) -> None:
    os.kill(run.process.pid, number)


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))
