"""What the tests of MLflow's server share: a database, which takes long to make."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MAKE = """
import sys
from pathlib import Path
from rltrain_trainer.services.mlflow_process import make_database
make_database(Path(sys.argv[1]))
"""


@pytest.fixture(scope="session")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as it is made, in a directory in which an earlier making was killed."""
    directory = tmp_path_factory.mktemp("new")
    for left in (".mlflow.db.making", ".mlflow.db.making-journal"):
        (directory / left).write_text("half of it")
    database = directory / "mlflow.db"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", MAKE, str(database)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return database
