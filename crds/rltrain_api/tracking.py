"""`spec.tracking`: where metrics, samples and traces go."""

from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field
from pydantic.alias_generators import to_camel

from rltrain_api.schema import Count, CountOrZero, DnsLabel, PathText, Rule, ShortText, SpecModel


def _no_credentials(field: str) -> Rule:
    """An address that stands in a manifest, and so in every tracker's copy of it, must hold no password."""
    return Rule(
        message=f"`{to_camel(field)}` holds a user name or password; put it into a Secret or the environment",
        holds=lambda spec: "@" not in urlsplit(getattr(spec, field) or "").netloc,
    )


Tracker = Literal["console", "tensorboard", "mlflow", "wandb", "swanlab"]


class SecretRef(SpecModel):
    """Keys of a Kubernetes Secret; on one machine the environment is used instead."""

    name: DnsLabel
    """Name of the Secret in the job's namespace."""


class TensorboardSpec(SpecModel):
    """TensorBoard's event files."""

    embeddings: CountOrZero = 0
    """Prompt embeddings written for the Projector at each validation. 0: none."""


class MlflowSpec(SpecModel):
    """MLflow's tracking server."""

    uri: PathText | None = None
    """Another server than the job's own. Default: `MLFLOW_TRACKING_URI`, else the runs directory's server."""
    secret_ref: SecretRef | None = None
    """Secret with MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN."""
    register_model: ShortText | None = None
    """Register checkpoints under this name in the model registry."""

    rules: ClassVar[tuple[Rule, ...]] = (_no_credentials("uri"),)


class WandbSpec(SpecModel):
    """Weights & Biases."""

    entity: ShortText | None = None
    """User or team that owns the project."""
    base_url: PathText | None = None
    """Address of a self-hosted server."""
    mode: Literal["online", "offline"] = "online"
    """Send at once, or write files to be sent later."""
    secret_ref: SecretRef | None = None
    """Secret with WANDB_API_KEY."""
    log_model: bool = False
    """Store checkpoints as artifacts."""

    rules: ClassVar[tuple[Rule, ...]] = (_no_credentials("base_url"),)


class SwanlabSpec(SpecModel):
    """SwanLab."""

    workspace: ShortText | None = None
    """Workspace that owns the project."""
    host: PathText | None = None
    """Address of a self-hosted server."""
    mode: Literal["cloud", "offline"] = "cloud"
    """Send at once, or write files to be sent later."""
    secret_ref: SecretRef | None = None
    """Secret with SWANLAB_API_KEY."""

    rules: ClassVar[tuple[Rule, ...]] = (_no_credentials("host"),)


class TraceSpec(SpecModel):
    """Traces of rollouts."""

    backend: Literal["mlflow", "weave"]
    """Where traces are shown."""
    token2text: bool = False
    """Store prompts and responses as text besides token ids."""
    max_samples: Count = 16
    """Samples traced a step."""


class TrackingSpec(SpecModel):
    """Trackers and what they get."""

    project_name: ShortText = "rltrain"
    """Groups runs: MLflow's experiment, W&B's and SwanLab's project."""
    experiment_name: ShortText | None = None
    """Name of the run. Default: the run directory's name."""
    logger: Annotated[list[Tracker], Field(max_length=5)] = ["console", "tensorboard", "mlflow"]
    """Trackers, any number at once."""
    log_interval: Count = 1
    """Bounds, in steps, how far a healthy tracker's data and the data safe from a power cut may lag."""
    log_samples: CountOrZero = 4
    """Prompts and responses of each step stored as text."""
    log_val_generations: CountOrZero = 0
    """Validation prompts and responses stored as text."""
    metric_names: Literal["rltrain", "verl", "both"] = "rltrain"
    """Naming of metrics: rltrain's, verl's, or both at once."""
    ranks: Literal["first", "all"] = "first"
    """Whether rank 0 alone writes, or each rank into `rank_N/`."""
    tensorboard: TensorboardSpec | None = None
    """Settings of TensorBoard."""
    mlflow: MlflowSpec | None = None
    """Settings of MLflow."""
    wandb: WandbSpec | None = None
    """Settings of W&B."""
    swanlab: SwanlabSpec | None = None
    """Settings of SwanLab."""
    trace: TraceSpec | None = None
    """Rollout traces."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="`logger` names a tracker twice; name each once",
            holds=lambda spec: len(set(spec.logger)) == len(spec.logger),
        ),
    )
