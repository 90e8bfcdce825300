"""TensorBoard over all runs of a directory. Started by `rltrain run` and `rltrain dashboards`."""

import sys
from pathlib import Path

from rltrain_trainer.services.process import Service, claim_port, start_service

_PORT = 6006
_RELOAD_SECONDS = 5


def start_tensorboard(runs_dir: Path, log: Path) -> Service:
    """Start it without waiting; it answers a few seconds later."""
    port = claim_port(_PORT)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(runs_dir), "--host", "127.0.0.1"]
    options = ["--port", str(port.number), "--reload_interval", str(_RELOAD_SECONDS)]
    # The reader that keeps all runs in memory, not the one that starts a second program: memory stays bounded by its
    # sampling, and there is nothing to leave behind.
    return start_service([*command, *options, "--load_fast", "false"], port=port, log=log)
