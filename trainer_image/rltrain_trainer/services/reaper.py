"""Ends every process that a run started once the run's own process is gone, however it went. Started by the commands.

Ray's and MLflow's processes start others, some of which outlive a parent that is killed. All of them inherit a mark; a
small watcher process waits for the end of the run, then ends whatever carries the mark.

The mark is a resource limit without effect, on the processor time of real-time threads. Unlike an environment variable
it cannot be lost: Ray's agents overwrite theirs when they change their title.
"""

import contextlib
import os
import resource
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_RLIMIT_RTTIME = 15  # Linux's number; the module names it from Python 3.12 on
_HIGHEST = 1 << 62  # microseconds
_PAUSE_SECONDS = 0.05


def start_reaper() -> None:
    """From now on, every process that this one starts ends with it. The watcher lives as long as this process."""
    _, hard = resource.getrlimit(_RLIMIT_RTTIME)
    ceiling = _HIGHEST if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(_RLIMIT_RTTIME, (ceiling - secrets.randbelow(ceiling // 2), hard))
    # A handle on this process, and not a pipe: a child forked from it would hold a pipe open beyond its end.
    myself = os.pidfd_open(os.getpid())
    subprocess.Popen([sys.executable, "-I", __file__], stdin=myself, stdout=subprocess.DEVNULL, start_new_session=True)
    os.close(myself)


def mark_of(pid: int) -> int | None:
    """The mark of a process; None if it is gone or another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        return resource.prlimit(pid, _RLIMIT_RTTIME)[0]
    return None


def marked_processes(mark: int) -> Iterator[int]:
    """Processes that carry `mark`, without the calling one."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and mark_of(int(entry.name)) == mark:
            yield int(entry.name)


def _wait_for_end(process: int) -> None:
    """Return when the process behind the handle has ended."""
    ended = select.poll()
    ended.register(process, select.POLLIN)
    ended.poll()


def _reap(mark: int) -> None:
    """Kill until nobody new turns up: a process may start another while it is being killed."""
    killed: set[int] = set()
    while fresh := set(marked_processes(mark)) - killed:
        for pid in fresh:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= fresh
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    _wait_for_end(sys.stdin.fileno())
    _reap(resource.getrlimit(_RLIMIT_RTTIME)[0])
