"""The live line of a run on a terminal: bar, phase, reward, KL, speed, time left. Used by `run`."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from rltrain_cli.output import is_terminal, stdout
from rltrain_trainer.progress import OnProgress
from rltrain_trainer.progress import Progress as Moment
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.tracking.console import format_duration

_SHOWN = (
    (metric_names.REWARD_MEAN, "reward {:.3f}"),
    (metric_names.KL, "kl {:.4f}"),
    (metric_names.TOKENS_PER_SECOND, "{:.0f} tokens/s"),
)
# What may take minutes before step 1; a count may follow, as in `warm start 3/60`.
_LONG_PHASES = ("load", "warm start", "validate")


@contextmanager
def live_progress(total_steps: int) -> Iterator[OnProgress]:
    """Show the moments that the yielded function is given; on no terminal, only phases that take long before step 1."""
    if not is_terminal():
        yield _PlainPhases().show
        return
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=stdout) as display:
        task = display.add_task("starting", total=total_steps)
        yield lambda moment: display.update(task, completed=moment.step, description=_describe(moment))


def _describe(moment: Moment) -> str:
    shown = [form.format(moment.metrics[name]) for name, form in _SHOWN if name in moment.metrics]
    if moment.seconds_left is not None and moment.phase != "done":
        shown.append(f"{format_duration(round(moment.seconds_left))} left")
    return "  ".join([*shown, moment.phase])


class _PlainPhases:
    """Lines for what happens before the first step, once each."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, moment: Moment) -> None:
        phase = next((phase for phase in _LONG_PHASES if moment.phase.startswith(phase)), "")
        if moment.step == 0 and phase not in ("", self._shown):
            stdout.print(f"{phase} …")
            self._shown = phase
