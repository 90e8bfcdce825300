"""`spec.storage`, `spec.dashboards` and `spec.runPolicy`: what outlives a Pod, for how long, and how failures count."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rltrain_api.schema import CountOrZero, DnsLabel, Duration, PathText, Quantity, Rule, ShortText, SpecModel


class StorageSpec(SpecModel):
    """The shared volume of a job on Kubernetes."""

    claim_name: DnsLabel | None = None
    """An existing claim."""
    sub_path: PathText | None = None
    """Directory in it."""
    size: Quantity | None = None
    """Size of a claim that is made for the job."""
    storage_class: ShortText | None = None
    """Its storage class."""
    access_mode: Literal["ReadWriteOnce", "ReadWriteMany"] = "ReadWriteOnce"
    """Its access mode."""
    retention: Literal["Retain", "Delete"] = "Retain"
    """Whether the claim outlives the job."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="`claimName` names an existing claim: remove `size` and `storageClass`, or remove `claimName`",
            holds=lambda spec: spec.claim_name is None or (spec.size is None and spec.storage_class is None),
        ),
    )


class DashboardsSpec(SpecModel):
    """Dashboards of a job on Kubernetes."""

    tensorboard: bool = True
    """Run TensorBoard beside the trainer."""
    mlflow: bool = True
    """Run an MLflow server beside the trainer."""
    keep_for: Duration = "1h"
    """How long they stay after the job's end."""


class RunPolicySpec(SpecModel):
    """Life cycle of a job on Kubernetes."""

    suspend: bool = False
    """Stop at a checkpoint and free the Pods, or do not start."""
    backoff_limit: Annotated[int, Field(ge=0, le=100)] = 3
    """Own failures of the trainer before the job fails."""
    disruption_limit: Annotated[int, Field(ge=0, le=1000)] = 20
    """Evictions, lost nodes and the like before the job fails."""
    active_deadline: Duration | None = None
    """Longest time from the first start to the end."""
    start_deadline: Duration | None = None
    """Longest wait for all Pods."""
    ttl_after_finished: Duration | None = None
    """Delete the job this long after its end."""
    managed_by: Annotated[str, Field(max_length=63)] | None = None
    """Another controller that manages the job."""
    priority: CountOrZero | None = None
    """Priority in a queue."""
