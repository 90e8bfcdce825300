"""The policy in a Ray actor: placement, threads, its output, and its death in words. Called by `session`."""

import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError

from rltrain_api.errors import RetryLater, RltrainError
from rltrain_api.job import JobSpec
from rltrain_trainer.batches import Sample
from rltrain_trainer.rollout.types import Completion, Request, Sampling


@contextmanager
def ray_cluster() -> Iterator[None]:
    """A Ray cluster: the one that RAY_ADDRESS names, else one of this process's own on this machine."""
    address = os.environ.get("RAY_ADDRESS", "local")
    # Ray would run the policy behind everything else, the delivery to trackers included.
    os.environ.setdefault("RAY_worker_niceness", "0")
    # Ray answers SIGTERM by leaving at once; a run ends at a step, with a checkpoint.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        ray.shutdown()


class PolicyWorker:
    """The policy, called as if it were here; it lives in an actor with the GPUs of this machine, if there are any."""

    def __init__(self, spec: JobSpec, directory: Path, output: Path) -> None:
        """Begin to start the actor and to load the policy; what it prints goes to the end of the file `output`."""
        gpus = min(1, ray.cluster_resources().get("GPU", 0))
        actor_class: Any = ray.remote(_PolicyActor)
        self._actor = actor_class.options(num_cpus=1, num_gpus=gpus, max_restarts=0).remote(output)
        self._loading = self._actor.load.remote(spec, directory)

    def wait(self) -> None:
        """Return once the policy is loaded. Raises UserError when it cannot be."""
        self._get(self._loading)

    def begin(self) -> None:
        """See `Policy.begin`."""
        self._call("begin")

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """See `Policy.generate`."""
        completions: list[Completion] = self._call("generate", requests, sampling)
        return completions

    def warm_start(self, samples: Sequence[Sample], rate: float) -> float:
        """See `Policy.warm_start`."""
        return float(self._call("warm_start", samples, rate))

    def update(self, samples: Sequence[Sample], step: int) -> dict[str, float]:
        """See `Policy.update`."""
        metrics: dict[str, float] = self._call("update", samples, step)
        return metrics

    def save(self, directory: Path) -> None:
        """See `Policy.save`."""
        self._call("save", directory)

    def save_reference(self, directory: Path) -> None:
        """See `Policy.save_reference`."""
        self._call("save_reference", directory)

    def restore(self, directory: Path, reference: Path | None) -> None:
        """See `Policy.restore`."""
        self._call("restore", directory, reference)

    def _call(self, method: str, *arguments: object) -> Any:
        return self._get(self._actor.call.remote(method, *arguments))

    def _get(self, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except RayTaskError as error:
            if isinstance(error.cause, RltrainError):
                raise error.cause from None
            raise
        except (RayActorError, OutOfMemoryError) as error:
            raise RetryLater(
                f"The process that holds the policy died: {_brief(error)} If memory was short, lower "
                "training.microBatchSize, training.batchSize or rollout.maxNewTokens; then resume the run."
            ) from error


# cuBLAS computes the same values each time only with this; tokenizers warn without it.
_ENVIRONMENT = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "TOKENIZERS_PARALLELISM": "false"}


class _PolicyActor:
    """What runs in the actor's process."""

    def __init__(self, output: Path) -> None:
        os.environ.update(_ENVIRONMENT)
        with output.open("ab") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)

    def load(self, spec: JobSpec, directory: Path) -> None:
        from rltrain_trainer.policy import Policy

        self._policy = Policy(spec, directory)

    def call(self, method: str, *arguments: object) -> Any:
        return getattr(self._policy, method)(*arguments)


def _brief(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])
