"""Delivery to one tracker in a thread of its own: retries, back-off, circuit breaker. Started by `start_tracking`."""

import logging
import random
import threading
import time
from collections.abc import Callable

from rltrain_api.errors import FencedError
from rltrain_trainer.log.records import RunState
from rltrain_trainer.tracking.pump import Pump
from rltrain_trainer.tracking.states import Health, TrackerState, make_state
from rltrain_trainer.tracking.tracker import Unavailable

logger = logging.getLogger(__name__)
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 30.0
_LONGEST_PAUSE_AT_END_SECONDS = 2.0
# After so many failures in a row the circuit is open: the tracker counts as unavailable until a try succeeds.
_FAILURES_TO_OPEN = 5


class Delivery:
    """The thread behind one tracker. It is a daemon: a tracker that hangs never keeps the process."""

    def __init__(self, pump: Pump, sequence: Callable[[], int]) -> None:
        """`sequence` says the number of the log's last record."""
        self._pump = pump
        self._sequence = sequence
        self._wake = threading.Event()
        self._ending: RunState | None = None
        self._failures = 0
        self._done = False
        self._thread = threading.Thread(target=self._run, name=f"tracker-{pump.name}", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._wake.set()
        self._thread.start()

    def wake(self) -> None:
        """There is more to deliver."""
        self._wake.set()

    def finish(self, state: RunState) -> None:
        """Deliver what is left, say how the run ended, and end. Returns at once; `join` waits."""
        self._ending = state
        self._wake.set()

    def join(self, timeout: float) -> None:
        """Wait for the end, `timeout` seconds at most."""
        self._thread.join(max(0.0, timeout))

    def state(self) -> TrackerState:
        """How the tracker stands."""
        health = Health.DELIVERING
        if self._failures:
            health = Health.UNAVAILABLE if self._failures >= _FAILURES_TO_OPEN else Health.RETRYING
        elif self._done:
            health = Health.DELIVERED
        return make_state(self._pump.name, self._pump.cursor, self._sequence(), health)

    def _run(self) -> None:
        try:
            while not self._done:
                self._wake.wait()
                self._wake.clear()
                self._try()
        except FencedError as error:
            logger.warning("%s: %s", self._pump.name, error)

    def _try(self) -> None:
        # Read before delivering: what is logged until then is delivered before the tracker is told of the end.
        ending = self._ending
        try:
            self._pump.deliver()
            if ending is not None:
                self._pump.close(ending)
                self._done = True
            self._failures = 0
        except FencedError:
            raise
        except Unavailable as error:
            self._back_off(str(error))
        except Exception as error:  # Whatever a tracker's library raises must neither end training nor the delivery.
            logger.warning("%s: delivery failed", self._pump.name, exc_info=True)
            self._back_off(f"{type(error).__name__}: {error}")

    def _back_off(self, reason: str) -> None:
        self._failures += 1
        if self._failures == 1 or self._failures == _FAILURES_TO_OPEN:
            logger.warning("%s: %s; training goes on, the log keeps everything", self._pump.name, reason)
        try:
            self._pump.failed(reason)
        except OSError as error:
            logger.warning("%s: the cursor cannot be saved: %s", self._pump.name, error)
        longest = _LONGEST_PAUSE_SECONDS if self._ending is None else _LONGEST_PAUSE_AT_END_SECONDS
        pause = min(longest, _FIRST_PAUSE_SECONDS * 2.0 ** min(self._failures, 10))
        self._sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not for secrets
        self._wake.set()

    def _sleep(self, seconds: float) -> None:
        """Wait, but not through the beginning of the end: then there is little time left to try."""
        was_ending = self._ending
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._ending is was_ending:
            time.sleep(min(0.1, max(0.0, until - time.monotonic())))
