"""The trackers by name. `rltrain_api.support` refuses the names that are not here yet."""

from collections.abc import Callable

from rltrain_trainer.tracking.console import ConsoleTracker
from rltrain_trainer.tracking.mlflow import MlflowTracker
from rltrain_trainer.tracking.tensorboard import TensorboardTracker
from rltrain_trainer.tracking.tracker import Tracker, TrackerSettings

TRACKERS: dict[str, Callable[[TrackerSettings], Tracker]] = {
    "console": ConsoleTracker,
    "tensorboard": TensorboardTracker,
    "mlflow": MlflowTracker,
}
