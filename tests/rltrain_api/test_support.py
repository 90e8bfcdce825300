"""What this version cannot do is refused in words; what acts only on a cluster is known; paths become absolute."""

from pathlib import Path

import pytest

from rltrain_api.job import RLTrainingJob
from rltrain_api.paths import resolve_paths
from rltrain_api.support import check_supported, cluster_only


def make_job(**spec: object) -> RLTrainingJob:
    given: dict[str, object] = {
        "model": {"path": "builtin:tiny-llama"},
        "data": {"train": {"type": "digits", "digits": {"task": "copy"}}},
        "algorithm": {"type": "grpo"},
        "training": {"totalSteps": 1},
        "reward": {"functions": [{"type": "exact"}]},
    }
    content = {"apiVersion": "rltrain.io/v1alpha1", "kind": "RLTrainingJob", "metadata": {"name": "j"}}
    return RLTrainingJob.model_validate({**content, "spec": given | spec})


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"algorithm": {"type": "ppo"}}, "spec.algorithm.type"),
        ({"rollout": {"engine": "vllm"}}, "spec.rollout.engine"),
        ({"rollout": {"maxTurns": 2}}, "spec.rollout.maxTurns"),
        ({"rollout": {"tools": ["tools.py:search"]}}, "spec.rollout.tools"),
        ({"rollout": {"async": True}}, "spec.rollout.async"),
        ({"reward": {"model": {"path": "org/reward"}}}, "spec.reward.model"),
        ({"tracking": {"logger": ["wandb"]}}, "spec.tracking.logger"),
        ({"tracking": {"metricNames": "verl"}}, "spec.tracking.metricNames"),
        ({"tracking": {"ranks": "all"}}, "spec.tracking.ranks"),
        ({"tracking": {"trace": {"backend": "mlflow"}}}, "spec.tracking.trace"),
        ({"tracking": {"tensorboard": {"embeddings": 5}}}, "spec.tracking.tensorboard.embeddings"),
        ({"tracking": {"mlflow": {"registerModel": "m"}}}, "spec.tracking.mlflow.registerModel"),
        ({"runtime": {"type": "verl"}}, "spec.runtime.type"),
        ({"runtime": {"env": [{"name": "A", "value": "b"}]}}, "spec.runtime.env"),
    ],
)
def test_what_cannot_be_done_yet_is_refused_with_a_remedy(spec: dict[str, object], path: str) -> None:
    (problem,) = check_supported(make_job(**spec))
    assert problem.path == path
    assert problem.message.startswith("not available in this version; ")


def test_a_plain_job_is_supported() -> None:
    assert check_supported(make_job()) == []
    assert cluster_only(make_job()) == []


def test_parts_for_a_cluster_are_named() -> None:
    job = make_job(cluster={"workers": [{"name": "gpu"}]}, runPolicy={"suspend": True})
    assert cluster_only(job) == ["spec.cluster", "spec.runPolicy"]


def test_files_become_absolute_and_ids_stay(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    functions = [
        {"type": "custom", "custom": {"function": "rewards.py:score"}},
        {"type": "custom", "custom": {"function": "package.module:other"}},
    ]
    job = make_job(
        model={"path": "weights", "tokenizer": "org/name"},
        data={"train": {"type": "file", "file": {"path": "train.jsonl"}}},
        reward={"functions": functions},
    )
    spec = resolve_paths(job, tmp_path).spec
    assert spec.model.path == str(tmp_path / "weights")
    assert spec.model.tokenizer == "org/name"
    assert spec.data.train.file and spec.data.train.file.path == str(tmp_path / "train.jsonl")
    missing = resolve_paths(make_job(model={"path": "./none"}), tmp_path)
    assert missing.spec.model.path == str(tmp_path / "none")
    references = [f.custom.function for f in spec.reward.functions if f.custom]
    assert references == [f"{tmp_path}/rewards.py:score", "package.module:other"]
