"""The resource `RLTrainingJob` itself: metadata, spec and status."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rltrain_api.algorithm import AlgorithmSpec
from rltrain_api.cluster import ClusterSpec, RuntimeSpec
from rltrain_api.data import DataSpec
from rltrain_api.lifecycle import DashboardsSpec, RunPolicySpec, StorageSpec
from rltrain_api.model import ModelSpec
from rltrain_api.reward import RewardSpec
from rltrain_api.rollout import RolloutSpec
from rltrain_api.schema import DnsLabel, Rule, SpecModel
from rltrain_api.status import JobStatus
from rltrain_api.tracking import TrackingSpec
from rltrain_api.training import TrainingSpec

API_VERSION = "rltrain.io/v1alpha1"
KIND = "RLTrainingJob"


class Metadata(SpecModel):
    """The part of Kubernetes' metadata that a manifest writes."""

    name: Annotated[DnsLabel, Field(max_length=40)]
    """Name of the job; 40 characters, so that its Pods' names fit into 63."""
    namespace: DnsLabel | None = None
    """Namespace on a cluster."""
    labels: Annotated[dict[str, str], Field(max_length=64)] = {}
    """Labels."""
    annotations: Annotated[dict[str, str], Field(max_length=64)] = {}
    """Annotations."""


class JobSpec(SpecModel):
    """One post-training run."""

    model: ModelSpec
    """The policy's starting weights."""
    data: DataSpec
    """Prompts."""
    algorithm: AlgorithmSpec
    """How rollouts become a loss."""
    training: TrainingSpec
    """Length, batches, optimizer, validation, checkpoints."""
    rollout: RolloutSpec = RolloutSpec()
    """Sampling of responses."""
    reward: RewardSpec
    """What a response is worth."""
    tracking: TrackingSpec = TrackingSpec()
    """Trackers."""
    runtime: RuntimeSpec = RuntimeSpec()
    """What trains."""
    cluster: ClusterSpec = ClusterSpec()
    """Pods; used on Kubernetes."""
    storage: StorageSpec = StorageSpec()
    """Volumes; used on Kubernetes."""
    dashboards: DashboardsSpec = DashboardsSpec()
    """Dashboards; used on Kubernetes."""
    run_policy: RunPolicySpec = RunPolicySpec()
    """Life cycle; used on Kubernetes."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="`training.validateEvery` needs prompts; add `data.validation` or set it to 0",
            holds=lambda spec: not spec.training.validate_every or spec.data.validation is not None,
        ),
        Rule(
            message="`rollout.samplesPerPrompt` must be at least 2 for grpo: a group of one has no advantage",
            holds=lambda spec: spec.algorithm.type != "grpo" or spec.rollout.samples_per_prompt >= 2,
        ),
        Rule(
            message="`training.minibatches` must not exceed the samples of a step, batchSize x samplesPerPrompt",
            holds=lambda spec: spec.training.minibatches <= spec.training.batch_size * spec.rollout.samples_per_prompt,
        ),
    )


class RLTrainingJob(SpecModel):
    """One reinforcement-learning post-training run of a language model."""

    api_version: Literal["rltrain.io/v1alpha1"]
    """Always rltrain.io/v1alpha1."""
    kind: Literal["RLTrainingJob"]
    """Always RLTrainingJob."""
    metadata: Metadata
    """Name and labels."""
    spec: JobSpec
    """What to run."""
    status: JobStatus | None = None
    """What the operator reports; a manifest does not write it."""
