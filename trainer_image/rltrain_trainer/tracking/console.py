"""The console as a tracker: one line a step. Named `console` in `trackers`."""

from collections import deque
from collections.abc import Sequence

from rltrain_trainer.log.records import STEP_MARK, Entry, Mark, RunState, Scalars
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.tracking.cursor import Cursor
from rltrain_trainer.tracking.tracker import TrackedRun, TrackerSettings

_SHOWN: tuple[tuple[str, str, str], ...] = (
    (metric_names.REWARD_MEAN, "reward", ".4f"),
    (metric_names.VALIDATION_REWARD_MEAN, "validation", ".4f"),
    (metric_names.KL, "kl", ".4f"),
    (metric_names.POLICY_LOSS, "loss", ".4f"),
    (metric_names.RESPONSE_LENGTH_MEAN, "length", ".1f"),
    (metric_names.TOKENS_PER_SECOND, "tokens/s", ".0f"),
)
# Time left is told from the pace of so many steps.
_PACE_STEPS = 20


class ConsoleTracker:
    """Prints each step once, when it is whole."""

    def __init__(self, settings: TrackerSettings) -> None:
        self.bookmark = ""
        self.names: dict[str, str] = {}
        self._run_uid = settings.run.run_uid
        self._total = settings.job.spec.training.total_steps
        self._printed = -1
        self._metrics: dict[str, float] = {}
        self._times: deque[tuple[int, float]] = deque(maxlen=_PACE_STEPS)
        self._closed_output = False

    def open(self, cursor: Cursor) -> TrackedRun:
        """Nothing to connect to; steps up to the cursor's are printed already."""
        self._printed = max(self._printed, cursor.step)
        return TrackedRun(run_id=self._run_uid)

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Print the steps that become whole."""
        for entry in entries:
            record = entry.record
            if isinstance(record, Scalars):
                self._metrics.update(record.values)
            elif isinstance(record, Mark) and record.name == STEP_MARK and record.step > self._printed:
                self._times.append((record.step, entry.time))
                self._print(self._line(record.step))
                self._printed = record.step
                self._metrics = {}

    def close(self, state: RunState) -> None:
        """Nothing to say: the command prints how the run ended."""

    def _line(self, step: int) -> str:
        shown = [f"{label} {self._metrics[name]:{form}}" for name, label, form in _SHOWN if name in self._metrics]
        return "  ".join([f"step {step}/{self._total}", *shown, *self._time_left(step)])

    def _time_left(self, step: int) -> list[str]:
        (first, began), (last, ended) = self._times[0], self._times[-1]
        if first == last or step >= self._total:
            return []
        seconds = round((self._total - step) * (ended - began) / (last - first))
        return [f"left {format_duration(seconds)}"]

    def _print(self, line: str) -> None:
        try:
            if not self._closed_output:
                print(line, flush=True)
        except BrokenPipeError:
            # Whoever read the output has gone (`| head`); there is nobody to print for.
            self._closed_output = True


def format_duration(seconds: int) -> str:
    """Such as `2h05m`, `3m07s`, `12s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
