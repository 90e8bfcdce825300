"""What the tests of the log and of the trackers share: opening the log of a run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.run_directory import RunDirectory


@pytest.fixture
def open_log() -> Iterator[Callable[..., RunLog]]:
    """Begins an attempt of a run and opens its log, which is closed after the test."""
    with ExitStack() as stack:

        def open_log(run: RunDirectory, resume_step: int = 0, log_interval: int = 1) -> RunLog:
            log = RunLog(run, attempt=run.begin_attempt(), resume_step=resume_step, log_interval=log_interval)
            stack.callback(log.close)
            return log

        yield open_log
