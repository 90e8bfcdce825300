"""How a tracker of a run stands, in a line. Used by the summary of `run` and by `runs`."""

from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.states import TrackerState


def tracker_line(tracker: TrackerState, run: RunDirectory) -> str:
    """How a tracker stands, and the command that delivers what it lacks."""
    text = f"{tracker.health} to step {tracker.step}" if tracker.step >= 0 else f"{tracker.health}, nothing yet"
    if tracker.url:
        text += f"  {tracker.url}"
    if tracker.set_aside:
        text += f"; {tracker.set_aside} records refused, see {run.cursors}"
    if tracker.lag:
        because = f" ({tracker.error})" if tracker.error else ""
        text += f"; {tracker.lag} records left{because}; deliver them with: rltrain runs sync {run.path}"
    return text
