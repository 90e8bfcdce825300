"""Starts the trackers of a run and ends them; delivers to one tracker later. Used by the training loop and `sync`."""

import logging
import time
from collections.abc import Callable

from rltrain_api.errors import FencedError, RetryLater, UserError
from rltrain_api.job import RLTrainingJob
from rltrain_api.load import load_job
from rltrain_trainer.log.records import RunState
from rltrain_trainer.log.summary import summarize_log
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.delivery import Delivery
from rltrain_trainer.tracking.parameters import run_parameters
from rltrain_trainer.tracking.pump import Pump
from rltrain_trainer.tracking.states import Health, TrackerState, make_state
from rltrain_trainer.tracking.tracker import TrackerSettings, Unavailable
from rltrain_trainer.tracking.trackers import TRACKERS

logger = logging.getLogger(__name__)


class Tracking:
    """The trackers of a run in training."""

    def __init__(self, log: RunLog, deliveries: list[Delivery]) -> None:
        self._log = log
        self._deliveries = deliveries

    def states(self) -> list[TrackerState]:
        """How each tracker stands now."""
        return [delivery.state() for delivery in self._deliveries]

    def finish(self, state: RunState, timeout: float = 60.0) -> list[TrackerState]:
        """Log how the run ended, and deliver for at most `timeout` seconds. The log is to be closed after it.

        What is left then is delivered by `deliver_all`. Never raises: training has ended, well or not.
        """
        deadline = time.monotonic() + timeout
        try:
            self._log.mark(state, self._log.last_step)
            self._log.sync()
        except (FencedError, RetryLater) as error:
            logger.warning("the end of the run could not be logged: %s", error)
        for delivery in self._deliveries:
            delivery.finish(state)
        for delivery in self._deliveries:
            delivery.join(deadline - time.monotonic())
        return self.states()


def start_tracking(
    run: RunDirectory, job: RLTrainingJob, log: RunLog, mlflow_uri: Callable[[], str] | None = None
) -> Tracking:
    """Log the run's parameters and begin to deliver to the trackers of `spec.tracking.logger`.

    `mlflow_uri` says where the MLflow server is, each time that a connection is made.
    """
    settings = TrackerSettings(run=run, job=job, mlflow_uri=mlflow_uri)
    fence = run.fence(run.attempt)
    pumps = [Pump(run, name, TRACKERS[name](settings), fence) for name in job.spec.tracking.logger]
    log.parameters(run_parameters(job))
    log.artifact(0, "job.yaml", run.job_file.name)
    deliveries = [Delivery(pump, lambda: log.sequence) for pump in pumps]
    for delivery in deliveries:
        log.subscribe(delivery.wake)
        delivery.start()
    return Tracking(log, deliveries)


def deliver_all(run: RunDirectory, tracker: str, mlflow_uri: Callable[[], str] | None = None) -> TrackerState:
    """Deliver to `tracker` what it has not got yet of a run that is not in training.

    Raises UserError when the run is in training, RetryLater when the tracker cannot be reached.
    """
    if tracker not in TRACKERS:
        raise UserError(f"no tracker is named {tracker!r}; there are {', '.join(TRACKERS)}")
    with run.lock():
        summary = summarize_log(run.log)
        settings = TrackerSettings(run=run, job=load_job(run.job_file), mlflow_uri=mlflow_uri)
        pump = Pump(run, tracker, TRACKERS[tracker](settings), run.fence(run.attempt))
        try:
            pump.deliver()
            pump.close(summary.ended or RunState.KILLED)
        except Unavailable as error:
            pump.failed(str(error))
            raise RetryLater(f"{tracker}: {error}") from error
    return make_state(tracker, pump.cursor, summary.sequence, Health.DELIVERED)
