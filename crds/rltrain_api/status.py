"""`status`: what the operator reports of a job (CONTRACTS, the life of a job)."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rltrain_api.schema import CountOrZero, LongText, ShortText, SpecModel


class Phase(StrEnum):
    """Where a job stands, in one word."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class ConditionType(StrEnum):
    """The conditions of a job."""

    ADMITTED = "Admitted"
    SECRETS_READY = "SecretsReady"
    STORAGE_READY = "StorageReady"
    CLUSTER_READY = "ClusterReady"
    RUNNING = "Running"
    TRACKING_HEALTHY = "TrackingHealthy"
    DASHBOARDS_READY = "DashboardsReady"
    SUSPENDED = "Suspended"
    COMPLETE = "Complete"
    FAILED = "Failed"


class Condition(SpecModel):
    """One condition, as Kubernetes has them."""

    type: ConditionType
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Field(max_length=64, pattern=r"^[A-Z][A-Za-z]*$")]
    message: LongText
    observed_generation: CountOrZero
    last_transition_time: ShortText


class Attempt(SpecModel):
    """One attempt at the run: a head Pod and what became of it."""

    number: CountOrZero
    head_uid: ShortText | None = None
    started: ShortText | None = None
    ended: ShortText | None = None
    reason: ShortText | None = None
    resumed_from: CountOrZero | None = None


class Progress(SpecModel):
    """How far training is."""

    step: CountOrZero = 0
    total_steps: CountOrZero = 0
    eta: ShortText | None = None
    metrics: Annotated[dict[str, float], Field(max_length=64)] = {}


class WorkersStatus(SpecModel):
    """Worker Pods."""

    ready: CountOrZero = 0
    desired: CountOrZero = 0


class TrackerStatus(SpecModel):
    """One tracker: its run and how far it lags."""

    name: ShortText
    run_id: ShortText | None = None
    url: LongText | None = None
    lag: CountOrZero = 0


class JobStatus(SpecModel):
    """The whole status."""

    phase: Phase | None = None
    conditions: Annotated[list[Condition], Field(max_length=16)] = []
    observed_generation: CountOrZero | None = None
    attempts: Annotated[list[Attempt], Field(max_length=1200)] = []
    progress: Progress | None = None
    workers: WorkersStatus | None = None
    trackers: Annotated[list[TrackerStatus], Field(max_length=8)] = []
    message: LongText | None = None
