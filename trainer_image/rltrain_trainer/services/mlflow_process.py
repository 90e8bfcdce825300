"""The process that becomes MLflow's server once its database is whole. Started by `mlflow_server`.

MLflow makes and migrates dozens of tables one by one. A server that is killed in between leaves a file that no later
one accepts, so the file is made under another name and gets its own when it is whole.
"""

import os
import sys
from pathlib import Path

from rltrain_trainer.log.durable import sync_directory

_SQLITE = "sqlite:///"


def make_database(database: Path) -> None:
    """Make the SQLite file if there is none, whole or not at all."""
    if database.exists():
        return
    making = database.with_name(f".{database.name}.making")
    for left in (making, making.with_name(f"{making.name}-journal")):
        left.unlink(missing_ok=True)
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy import Engine, event

    # Hundreds of waits for the disk are one, below: nobody needs the file before it is whole.
    event.listen(Engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
    # The second argument is where the server keeps the artifacts of the experiment that is there from the start.
    SqlAlchemyStore(f"{_SQLITE}{making}", "mlflow-artifacts:/")  # type: ignore[no-untyped-call]
    with making.open("rb") as file:
        os.fsync(file.fileno())
    making.rename(database)
    sync_directory(database.parent)


if __name__ == "__main__":
    path, *options = sys.argv[1:]
    make_database(Path(path))
    server = ["-m", "mlflow", "server", "--backend-store-uri", f"{_SQLITE}{path}", *options]
    os.execv(sys.executable, [sys.executable, *server])  # noqa: S606 (a list, and ours)
