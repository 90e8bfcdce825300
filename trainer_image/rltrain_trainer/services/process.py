"""A server process in a session of its own, on a loopback port. Used by the dashboards' services."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_GRACE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A server that was started, and where it answers."""

    process: subprocess.Popen[bytes]
    url: str

    def stop(self) -> None:
        """End the process and what it started; wait until it is gone. May be called again."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE_SECONDS)
        # What is left of its group: the process itself, or children that it did not end.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def start_service(
    command: Sequence[str], *, port: int, log: Path, environment: Mapping[str, str] | None = None
) -> Service:
    """Start `command`, which serves on `port` of the loopback interface; its output goes to the file `log`.

    It gets a session of its own: Ctrl-C in the terminal is for the run alone, which then ends it in order.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    return Service(process=process, url=f"http://127.0.0.1:{port}")


def free_port(preferred: int) -> int:
    """`preferred` if nothing listens there on the loopback interface, else a port that is free."""
    for port in (preferred, 0):
        with socket.socket() as candidate:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(candidate.getsockname()[1])
    raise OSError("no port of the loopback interface is free")


def start_time(pid: int) -> int | None:
    """When process `pid` was started, in clock ticks since boot; None if there is none. Process ids are used again."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything; state, the third field, comes behind it.
    state, *fields = status.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])
