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


@dataclass(frozen=True, kw_only=True, slots=True)
class Port:
    """A free port of the loopback interface, claimed: a server needs seconds until it listens there itself."""

    number: int
    claim: socket.socket
    """A name in the kernel that only one socket can have; it is free again when every process with it has ended."""

    def release(self) -> None:
        """Give up this process's part in the claim."""
        self.claim.close()


def start_service(
    command: Sequence[str], *, port: Port, log: Path, environment: Mapping[str, str] | None = None
) -> Service:
    """Start `command`, which serves on `port` and holds its claim from now on; its output goes to the file `log`.

    It gets a session of its own: Ctrl-C in the terminal is for the run alone, which then ends it in order.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=[port.claim.fileno()],
                env={**os.environ, **(environment or {})},
            )
    finally:
        port.release()
    return Service(process=process, url=f"http://127.0.0.1:{port.number}")


def claim_port(preferred: int) -> Port:
    """`preferred` if nobody listens there or has claimed it, else another port."""
    while True:
        number = _free_port(preferred)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0rltrain-port-{number}")
        except OSError:
            claim.close()
            preferred = 0
            continue
        return Port(number=number, claim=claim)


def _free_port(preferred: int) -> int:
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
