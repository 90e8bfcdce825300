"""How far a run is and how it ended, as plain data. Made by the training loop, shown by the command line."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A moment of a run."""

    phase: str
    """What is being done: load, warm start, generate, reward, update, log, validate, checkpoint."""
    step: int
    """Steps done."""
    total_steps: int
    metrics: dict[str, float] = field(default_factory=dict)
    """Metrics of the last whole step."""
    seconds_left: float | None = None
    """Estimate; None until a step is done."""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How an attempt at a run ended."""

    step: int
    """Steps done in the run."""
    total_steps: int
    rewards: list[float]
    """Mean reward of each step of this attempt."""
    validations: list[float]
    """Mean reward on held-out prompts, each time they were tried in this attempt."""
    best_validation: float | None
    best_step: int | None
    seconds: dict[str, float]
    """Time spent in each phase by this attempt."""

    @property
    def stopped(self) -> bool:
        """Whether the run was asked to stop before its last step."""
        return self.step < self.total_steps


class Clock:
    """Time spent in each phase, in seconds: of the attempt, and of the step that is being made."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.step_seconds: dict[str, float] = {}
        self._recent: deque[float] = deque(maxlen=20)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the block to `name`."""
        began = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - began
            for record in (self.seconds, self.step_seconds):
                record[name] = record.get(name, 0.0) + took

    def begin_step(self) -> None:
        """Forget the last step's phases but for their sum, which the estimate needs."""
        if self.step_seconds:
            self._recent.append(sum(self.step_seconds.values()))
        self.step_seconds = {}

    def seconds_left(self, steps: int) -> float | None:
        """Estimate for `steps` more steps by the mean of the last twenty."""
        return steps * sum(self._recent) / len(self._recent) if self._recent else None
