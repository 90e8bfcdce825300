"""What the resource has a place for but this version does not do yet: refused in words, never ignored."""

from collections.abc import Callable
from dataclasses import dataclass

from rltrain_api.job import JobSpec, RLTrainingJob
from rltrain_api.problems import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pending:
    """A field, when it asks for something that is not there yet, and what to do instead."""

    path: str
    asked: Callable[[JobSpec], object]
    instead: str


def _trackers_missing(spec: JobSpec) -> bool:
    return any(name in ("wandb", "swanlab") for name in spec.tracking.logger)


def _preference_keys(spec: JobSpec) -> bool:
    sources = [source for source in (spec.data.train, spec.data.validation) if source and source.file]
    return any(s.file and (s.file.chosen_key or s.file.rejected_key or s.file.label_key) for s in sources)


_PENDING: tuple[_Pending, ...] = (
    _Pending(path="algorithm.type", asked=lambda s: s.algorithm.type != "grpo", instead="use grpo"),
    _Pending(path="data.*.file", asked=_preference_keys, instead="remove chosenKey, rejectedKey and labelKey"),
    _Pending(path="rollout.engine", asked=lambda s: s.rollout.engine == "vllm", instead="use auto or transformers"),
    _Pending(path="rollout.vllm", asked=lambda s: s.rollout.vllm, instead="remove it"),
    _Pending(path="rollout.maxTurns", asked=lambda s: s.rollout.max_turns > 1, instead="set it to 1"),
    _Pending(path="rollout.tools", asked=lambda s: s.rollout.tools, instead="remove it"),
    _Pending(path="rollout.async", asked=lambda s: s.rollout.async_, instead="set it to false"),
    _Pending(path="reward.model", asked=lambda s: s.reward.model, instead="use reward functions"),
    _Pending(path="tracking.logger", asked=_trackers_missing, instead="use console, tensorboard and mlflow"),
    _Pending(path="tracking.wandb", asked=lambda s: s.tracking.wandb, instead="remove it"),
    _Pending(path="tracking.swanlab", asked=lambda s: s.tracking.swanlab, instead="remove it"),
    _Pending(path="tracking.trace", asked=lambda s: s.tracking.trace, instead="remove it"),
    _Pending(
        path="tracking.metricNames",
        asked=lambda s: s.tracking.metric_names != "rltrain",
        instead="use rltrain",
    ),
    _Pending(path="tracking.ranks", asked=lambda s: s.tracking.ranks != "first", instead="use first"),
    _Pending(
        path="tracking.tensorboard.embeddings",
        asked=lambda s: s.tracking.tensorboard and s.tracking.tensorboard.embeddings,
        instead="set it to 0",
    ),
    _Pending(
        path="tracking.mlflow.registerModel",
        asked=lambda s: s.tracking.mlflow and s.tracking.mlflow.register_model,
        instead="remove it",
    ),
    _Pending(
        path="tracking.mlflow.secretRef",
        asked=lambda s: s.tracking.mlflow and s.tracking.mlflow.secret_ref,
        instead="remove it; on one machine set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD",
    ),
    _Pending(path="runtime.type", asked=lambda s: s.runtime.type != "builtin", instead="use builtin"),
    _Pending(path="runtime.command", asked=lambda s: s.runtime.command, instead="remove it"),
    _Pending(path="runtime.env", asked=lambda s: s.runtime.env, instead="set the variables in the shell"),
)


def check_supported(job: RLTrainingJob) -> list[Problem]:
    """Every field of `job` that asks for what this version cannot do."""
    return [
        Problem(path=f"spec.{entry.path}", message=f"not available in this version; {entry.instead}")
        for entry in _PENDING
        if entry.asked(job.spec)
    ]


def cluster_only(job: RLTrainingJob) -> list[str]:
    """Parts of the spec that were given but act only on Kubernetes."""
    parts = ("runtime", "cluster", "storage", "dashboards", "run_policy")
    return [f"spec.{JobSpec.model_fields[part].alias or part}" for part in parts if part in job.spec.model_fields_set]
