"""Server processes: their ports, their identity, and that they end whole."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltrain_trainer.services import process as process_module
from rltrain_trainer.services.process import Port, Service, claim_port, start_service, start_time


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a shell script as a service, which is killed after the test."""
    services = []

    def start(script: str, **environment: str) -> Service:
        services.append(
            start_service(
                ["sh", "-c", script], port=claim_port(0), log=tmp_path / "logs" / "log", environment=environment
            )
        )
        return services[-1]

    yield start
    for service in services:
        service.stop()


def first_line(log: Path) -> str:
    deadline = time.monotonic() + 60
    while not (log.exists() and log.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return log.read_text().splitlines()[0]


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while start_time(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    return start_time(pid) is None


@pytest.fixture
def claim() -> Iterator[Callable[[int], Port]]:
    """Claims a port, which is released after the test."""
    ports = []

    def claim(preferred: int) -> Port:
        ports.append(claim_port(preferred))
        return ports[-1]

    yield claim
    for port in ports:
        port.release()


def test_the_preferred_port_is_taken_when_it_is_free(claim: Callable[[int], Port]) -> None:
    first = claim(0)
    first.release()
    assert claim(first.number).number == first.number


def test_another_port_is_found_when_somebody_listens_on_the_preferred_one(claim: Callable[[int], Port]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = claim(server.getsockname()[1])
        assert port.number != server.getsockname()[1]
        with socket.create_server(("127.0.0.1", port.number)):
            pass


def test_two_servers_that_start_at_once_get_two_ports(claim: Callable[[int], Port]) -> None:
    first = claim(0)
    second = claim(first.number)
    assert second.number != first.number


def test_a_port_stays_claimed_as_long_as_its_server_lives(
    start: Callable[..., Service], claim: Callable[[int], Port]
) -> None:
    service = start("sleep 600")
    number = int(service.url.rpartition(":")[2])
    assert claim(number).number != number
    service.stop()
    assert claim(number).number == number


def test_the_start_time_tells_a_process_from_a_later_one_of_the_same_number() -> None:
    later = subprocess.Popen(["sleep", "600"])
    try:
        assert start_time(os.getpid()) == start_time(os.getpid())
        times = start_time(os.getpid()), start_time(later.pid)
        assert None not in times
        assert times[0] != times[1]
    finally:
        later.kill()
        later.wait()


def test_a_process_that_has_ended_has_no_start_time_be_it_reaped_or_not() -> None:
    process = subprocess.Popen(["sleep", "600"])
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{process.pid}").exists()
    assert start_time(process.pid) is None
    process.wait()
    assert start_time(process.pid) is None


def test_the_name_of_a_process_may_hold_anything(tmp_path: Path) -> None:
    odd, plain = tmp_path / "a) Z 1 2 (", tmp_path / "plain"
    sleep = Path("/bin/sleep").resolve()
    odd.symlink_to(sleep)
    plain.symlink_to(sleep)
    processes = [subprocess.Popen([str(path), "600"]) for path in (plain, odd)]
    try:
        first, second = (start_time(process.pid) for process in processes)
        assert first is not None
        assert second is not None
        assert 0 <= second - first < 1000
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_output_goes_to_the_log_behind_what_is_there(tmp_path: Path, start: Callable[..., Service]) -> None:
    for number in ("1", "2"):
        start('echo "$NUMBER"; echo error >&2', NUMBER=number).process.wait()
    assert (tmp_path / "logs" / "log").read_text() == "1\nerror\n2\nerror\n"


def test_the_address_is_of_the_loopback_interface(start: Callable[..., Service]) -> None:
    assert start("true").url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("sleep 600 & echo $!; wait", id="a child"),
        pytest.param("sleep 600 & echo $!", id="the child of one that has ended"),
        pytest.param("trap '' TERM; sleep 600 & echo $!; while :; do wait; done", id="one that ignores SIGTERM"),
    ],
)
def test_stopping_ends_the_process_and_its_children(
    script: str, tmp_path: Path, start: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_GRACE_SECONDS", 0.3)
    service = start(script)
    child = int(first_line(tmp_path / "logs" / "log"))
    assert start_time(child) is not None
    service.stop()
    assert start_time(service.process.pid) is None
    assert ends(child)
    service.stop()


def test_a_server_is_given_time_to_end_in_order(tmp_path: Path, start: Callable[..., Service]) -> None:
    service = start("trap 'echo ended; exit 7' TERM; echo begun; while :; do :; done")
    log = tmp_path / "logs" / "log"
    assert first_line(log) == "begun"
    service.stop()
    assert log.read_text() == "begun\nended\n"
    assert service.process.returncode == 7


CTRL_C = """
import sys, signal
from pathlib import Path
from rltrain_trainer.services.process import claim_port, start_service
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
service = start_service(["sleep", "600"], port=claim_port(0), log=Path(sys.argv[1]))
try:
    print(service.process.pid, flush=True)
    signal.pause()
except KeyboardInterrupt:
    print(service.process.poll(), flush=True)
    service.stop()
"""


def test_ctrl_c_is_for_the_command_alone(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to the whole process group in the foreground."""
    with subprocess.Popen(
        [sys.executable, "-c", CTRL_C, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == "None\n"
    assert start_time(pid) is None
