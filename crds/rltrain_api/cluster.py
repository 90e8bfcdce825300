"""`spec.cluster` and `spec.runtime`: Pods, their resources, and what runs in them."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from rltrain_api.schema import (
    CountOrZero,
    DnsLabel,
    LongText,
    PathText,
    Quantity,
    Rule,
    ShortText,
    SpecModel,
)

StringMap = Annotated[dict[str, Annotated[str, Field(max_length=1024)]], Field(max_length=64)]
AnyObject = Annotated[dict[str, Any], Field(max_length=64)]


class SecretKeyRef(SpecModel):
    """One key of a Secret."""

    name: DnsLabel
    """Name of the Secret."""
    key: ShortText
    """Key in it."""


class EnvVar(SpecModel):
    """An environment variable of the trainer."""

    name: Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """Name of the variable."""
    value: LongText | None = None
    """Its value, not for secrets."""
    secret_key_ref: SecretKeyRef | None = None
    """Where its secret value is."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="give exactly one of `value` and `secretKeyRef`",
            holds=lambda env: (env.value is None) != (env.secret_key_ref is None),
        ),
    )


class RuntimeSpec(SpecModel):
    """What trains."""

    type: Literal["builtin", "verl", "command"] = "builtin"
    """rltrain's own trainer, verl, or a command of one's own."""
    image: ShortText | None = None
    """Container image. Default: the platform's trainer image."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When the image is pulled."""
    image_pull_secrets: Annotated[list[DnsLabel], Field(max_length=8)] = []
    """Secrets with the registry's credentials."""
    command: Annotated[list[LongText], Field(max_length=64)] = []
    """Command, for `type: command`."""
    env: Annotated[list[EnvVar], Field(max_length=128)] = []
    """Environment variables of the trainer."""


class PodGroupSpec(SpecModel):
    """Resources and placement of Pods."""

    cpu: Quantity | None = None
    """CPU request and limit."""
    memory: Quantity | None = None
    """Memory request and limit."""
    gpus: CountOrZero = 0
    """GPUs a Pod."""
    gpu_resource: ShortText = "nvidia.com/gpu"
    """Name of the GPU resource."""
    shared_memory: Quantity | None = None
    """Size of /dev/shm. Default: a third of the memory."""
    node_selector: StringMap = {}
    """Labels that the node must have."""
    tolerations: Annotated[list[AnyObject], Field(max_length=32)] = []
    """Taints that the Pod tolerates."""
    affinity: AnyObject | None = None
    """Affinity of the Pod."""
    priority_class_name: DnsLabel | None = None
    """Priority class of the Pod."""
    pod_template: AnyObject | None = None
    """Merged into the Pod."""


class WorkerGroupSpec(PodGroupSpec):
    """Worker Pods of one kind."""

    name: DnsLabel
    """Name of the group, part of its Pods' names."""
    replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    """Pods in the group."""


class ClusterSpec(SpecModel):
    """The Ray cluster; used on Kubernetes, not on one machine."""

    backend: Literal["native", "kuberay"] = "native"
    """Pods made by the operator, or a RayCluster."""
    head: PodGroupSpec = PodGroupSpec()
    """The head Pod: Ray's head and the driver."""
    workers: Annotated[list[WorkerGroupSpec], Field(max_length=16)] = []
    """Worker groups."""
    queue: DnsLabel | None = None
    """Kueue's queue."""
    scheduler: DnsLabel | None = None
    """Name of another scheduler."""
    proxy: PathText | None = None
    """HTTP proxy for trackers outside of the cluster."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="two worker groups have the same name; give one of them another",
            holds=lambda spec: len({group.name for group in spec.workers}) == len(spec.workers),
        ),
    )
