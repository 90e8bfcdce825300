"""MLflow's database is made whole or not at all."""

import sqlite3
from contextlib import closing
from pathlib import Path

from rltrain_trainer.services.mlflow_process import make_database


def test_a_database_is_whole_whatever_an_earlier_making_left(new_database: Path) -> None:
    assert [path.name for path in new_database.parent.iterdir()] == ["mlflow.db"]
    with closing(sqlite3.connect(new_database)) as connection:
        assert len(connection.execute("select version_num from alembic_version").fetchall()) == 1
        (experiment,) = connection.execute("select name, artifact_location from experiments").fetchall()
    assert experiment == ("Default", "mlflow-artifacts:/0")


def test_a_database_that_is_there_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "mlflow.db"
    database.write_text("anything")
    make_database(database)
    assert database.read_text() == "anything"
