"""What a tracker is to its delivery: one protocol and two errors. Implemented by console, tensorboard and mlflow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rltrain_api.job import RLTrainingJob
from rltrain_trainer.log.records import Entry, RunState
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.cursor import Cursor


class Unavailable(Exception):
    """The tracker cannot take anything now; deliver the same again later."""


class Refused(Exception):
    """The tracker will never take this record; set it aside and go on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedRun:
    """The run as the tracker knows it."""

    run_id: str
    url: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackerSettings:
    """What a tracker is made from. `mlflow_uri` is asked at each connection, since a server may move."""

    run: RunDirectory
    job: RLTrainingJob
    mlflow_uri: Callable[[], str] | None = None


class Tracker(Protocol):
    """One place where a run's records go. Called from one thread at a time."""

    @property
    def bookmark(self) -> str:
        """A note of the tracker's own, kept in the cursor with every delivery and found there by `open`."""

    @property
    def names(self) -> dict[str, str]:
        """Names decided so far, kept in the cursor likewise."""

    def open(self, cursor: Cursor) -> TrackedRun:
        """Connect, and find the run or make it. Called again after each Unavailable.

        A run with another id than the cursor's is empty: everything is delivered to it from the start.
        """

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Hand the records over, all or, when it raises, perhaps some: they come again, and must not count twice.

        Raises Unavailable or Refused.
        """

    def close(self, state: RunState) -> None:
        """Everything is delivered; the run ended so."""
