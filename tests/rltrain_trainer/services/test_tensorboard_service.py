"""TensorBoard over a directory of runs, as a real server."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from rltrain_trainer.services.tensorboard import start_tensorboard
from rltrain_trainer.tracking.start import deliver_all
from tests.rltrain_cli.builders import REWARD, make_run


def get(address: str) -> Any:
    """The answer of a server that may not be up yet, as JSON."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30) as reply:
                return json.load(reply)
        except urllib.error.URLError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_two_boards_at_once_serve_what_was_written(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", steps=3)
    deliver_all(run, "tensorboard")
    boards = [start_tensorboard(tmp_path / "runs", tmp_path / f"{number}.log") for number in range(2)]
    try:
        assert boards[0].url != boards[1].url
        for board in boards:
            assert board.url.startswith("http://127.0.0.1:")
            name = f"{run.name}/tensorboard"
            deadline = time.monotonic() + 120
            while get(f"{board.url}/data/runs") != [name]:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            points = get(f"{board.url}/data/plugin/scalars/scalars?run={name}&tag={REWARD}")
            assert [(step, value) for _, step, value in points] == [(s, pytest.approx(s / 10)) for s in (1, 2, 3)]
    finally:
        for board in boards:
            board.stop()
