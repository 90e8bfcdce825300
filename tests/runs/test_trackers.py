"""Every tracker of a real run holds what the log holds: each step, tag and value, once, also after a kill."""

import json
import signal
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rltrain_trainer.run_directory import RunDirectory
from tests.runs.harness import Run, Starter, first_values, interrupt, kill

ALL = {"tracking": {"logger": ["console", "tensorboard", "mlflow"], "logValGenerations": 2, "projectName": "copy"}}
DEFAULT_TAGS = {
    "reward/episode_reward_mean",
    "kl/kl_divergence",
    "loss/policy_loss",
    "throughput/rollout_per_second",
    "throughput/step_per_second",
    "grad_norm/actor",
}


@pytest.fixture(scope="module")
def run(module_starter: Starter) -> Iterator[Run]:
    """A run with all trackers, killed after a checkpoint and resumed, its dashboards still up."""
    killed = module_starter.start(module_starter.manifest(ALL))
    killed.wait_for_step(8)
    kill(killed)
    resumed = module_starter.start(module_starter.manifest(ALL), "--resume", "--serve")
    resumed.wait_for_step(12)
    assert resumed.process.stdout
    for line in resumed.process.stdout:
        resumed.lines.append(line)
        if "Ctrl-C" in line and "dashboards" in line.lower():
            break
    yield resumed
    assert interrupt(resumed, signal.SIGINT) == 0, resumed.output


def logged(run: RunDirectory) -> dict[tuple[str, int], float]:
    return first_values(run)


def mlflow_address(run: Run) -> str:
    server = json.loads((run.runs_dir / "mlflow" / "mlflow.server.json").read_text())
    return f"http://127.0.0.1:{server['port']}"


def post(address: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{address}/api/2.0/mlflow/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def get(address: str, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}/api/2.0/mlflow/{path}", timeout=30) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def test_tensorboard_holds_every_scalar_of_the_log_once(run: Run) -> None:
    events = EventAccumulator(str(run.directory().tensorboard), size_guidance={"scalars": 0})
    events.Reload()
    held = Counter((tag, event.step) for tag in events.Tags()["scalars"] for event in events.Scalars(tag))
    assert set(held.values()) == {1}
    values = {(tag, e.step): e.value for tag in events.Tags()["scalars"] for e in events.Scalars(tag)}
    for key, value in logged(run.directory()).items():
        assert values[key] == pytest.approx(value, rel=1e-6)
    assert {name for name, _ in values} >= DEFAULT_TAGS


def test_tensorboard_holds_distributions_and_samples(run: Run) -> None:
    events = EventAccumulator(str(run.directory().tensorboard), size_guidance={"histograms": 0, "tensors": 0})
    events.Reload()
    for name in ("reward/distribution", "response_length/distribution"):
        assert [event.step for event in events.Histograms(name)] == list(range(1, 13))
    texts = {tag: [event.step for event in events.Tensors(tag)] for tag in events.Tags()["tensors"]}
    assert any(tag.startswith("samples/rollout") and steps == list(range(1, 13)) for tag, steps in texts.items())
    assert any(tag.startswith("samples/validation") and steps == [0, 6, 12] for tag, steps in texts.items())


def test_mlflow_holds_every_scalar_of_the_log_once_in_one_finished_run(run: Run) -> None:
    address = mlflow_address(run)
    experiment = get(address, "experiments/get-by-name?experiment_name=copy")["experiment"]["experiment_id"]
    (found,) = post(address, "runs/search", {"experiment_ids": [experiment]})["runs"]
    assert found["info"]["status"] == "FINISHED"
    assert found["info"]["run_name"] == run.directory().name
    expected: dict[str, dict[int, float]] = {}
    for (name, step), value in logged(run.directory()).items():
        expected.setdefault(name, {})[step] = value
    for name, points in expected.items():
        history = get(address, f"metrics/get-history?run_id={found['info']['run_id']}&metric_key={name}")["metrics"]
        assert sorted(int(point.get("step", 0)) for point in history) == sorted(points)
        assert {int(point.get("step", 0)): point["value"] for point in history} == points
    parameters = {item["key"]: item["value"] for item in found["data"]["params"]}
    assert parameters["training.totalSteps"] == "12"


def test_the_summary_names_dashboards_and_where_everything_lies(run: Run) -> None:
    assert str(run.directory().path) in run.output or run.directory().name in run.output
    assert mlflow_address(run) in run.output


def test_tensorboard_serves_the_run(run: Run) -> None:
    address = next(word for word in run.output.split() if (word.startswith("http") and "6006" in word) or ":60" in word)
    with urllib.request.urlopen(f"{address.rstrip('/')}/data/runs", timeout=60) as reply:
        assert any(run.directory().name in name for name in json.load(reply))


def test_nothing_of_the_run_lies_outside_its_directory(run: Run) -> None:
    names = {path.name for path in run.runs_dir.iterdir()}
    assert names == {run.directory().name, "mlflow", ".tensorboard.log"}
    assert {path.name for path in Path(run.runs_dir.parent).iterdir()} == {"job.yaml", "runs"}
