"""How each tracker of a run stands, live or from the run directory. Shown by the trainer and by `rltrain runs`."""

from dataclasses import dataclass
from enum import StrEnum

from rltrain_trainer.log.reader import LogReader
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.cursor import Cursor


class Health(StrEnum):
    """How delivery to a tracker goes."""

    DELIVERED = "delivered"
    DELIVERING = "delivering"
    RETRYING = "retrying"
    UNAVAILABLE = "unavailable"
    """It failed several times in a row and is tried rarely."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackerState:
    """One tracker: how far it is and why it is not further."""

    name: str
    health: Health
    step: int
    """Last whole step delivered."""
    lag: int
    """Records in the log that it has not got."""
    set_aside: int
    """Records that it refused."""
    error: str | None
    url: str | None
    run_id: str | None


def make_state(name: str, cursor: Cursor, sequence: int, health: Health) -> TrackerState:
    """The state of a tracker whose cursor this is, in a log whose last record is number `sequence`."""
    return TrackerState(
        name=name,
        health=health,
        step=cursor.step,
        lag=max(0, sequence - cursor.sequence),
        set_aside=cursor.set_aside,
        error=cursor.error,
        url=cursor.url,
        run_id=cursor.run_id,
    )


def tracker_states(run: RunDirectory) -> list[TrackerState]:
    """The trackers of a run as its directory tells, for when its trainer is another process or has ended."""
    sequence = LogReader(run.log).summary().sequence
    states = []
    for path in sorted(run.cursors.glob("*.json")):
        cursor = Cursor.load(path)
        health = Health.RETRYING if cursor.error else Health.DELIVERING
        if cursor.sequence >= sequence:
            health = Health.DELIVERED
        states.append(make_state(path.stem, cursor, sequence, health))
    return states
