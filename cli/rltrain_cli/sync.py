"""Late delivery to the trackers of a run. Called by `rltrain runs sync`."""

from collections.abc import Sequence

from rltrain_api.load import load_job
from rltrain_cli.output import stdout
from rltrain_cli.tracker_line import tracker_line
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.services.mlflow_server import MlflowServer, find_mlflow, wait_for_mlflow
from rltrain_trainer.services.reaper import start_reaper
from rltrain_trainer.tracking.start import deliver_all


def sync(run: RunDirectory, trackers: Sequence[str] | None) -> None:
    """Deliver to `trackers`, or to those that the run's job names; MLflow's server is started if there is none."""
    tracking = load_job(run.job_file).spec.tracking
    names = trackers or [name for name in tracking.logger if name != "console"]
    if not names:
        stdout.print("the run has no trackers; name one with --tracker", markup=False)
    mlflow = find_mlflow(run.path.parent, tracking) if "mlflow" in names else ""
    start_reaper()
    try:
        for name in names:
            state = deliver_all(run, name, lambda: wait_for_mlflow(mlflow))
            stdout.print(f"{name}: {tracker_line(state, run)}", markup=False)
    finally:
        if isinstance(mlflow, MlflowServer):
            mlflow.stop()
