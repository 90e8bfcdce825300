"""Finds or makes the MLflow experiment and run of a run directory. Used by the MLflow tracker."""

import logging
import time
from typing import TYPE_CHECKING

from rltrain_trainer.tracking.tracker import Unavailable

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run

logger = logging.getLogger(__name__)
UID_TAG = "rltrain.run_uid"


def find_or_create_run(
    client: "MlflowClient", project: str, run_name: str, run_uid: str, started: float | None
) -> "Run":
    """The run tagged with `run_uid` in the experiment `project`, made when it is not there.

    It is looked for before it is made: the answer to an earlier request to make it may have been lost.
    """
    from mlflow.entities import ViewType

    experiment_id = _experiment_id(client, project)
    found = client.search_runs(
        [experiment_id], f"tags.`{UID_TAG}` = '{run_uid}'", run_view_type=ViewType.ALL, max_results=1
    )
    if found:
        return found[0]
    start_time = int((started or time.time()) * 1000)
    return client.create_run(experiment_id, start_time, tags={UID_TAG: run_uid}, run_name=run_name)


def resume_run(client: "MlflowClient", run: "Run") -> None:
    """Set the run running again, whatever it was: ended, or deleted in the server's pages."""
    if run.info.lifecycle_stage != "active":
        logger.warning("MLflow's run %s was deleted; restoring it to go on", run.info.run_id)
        client.restore_run(run.info.run_id)
    if run.info.status != "RUNNING":
        client.update_run(run.info.run_id, status="RUNNING")


def _experiment_id(client: "MlflowClient", project: str) -> str:
    experiment = client.get_experiment_by_name(project) or _create_experiment(client, project)
    if experiment.lifecycle_stage != "active":
        logger.warning("MLflow's experiment %s was deleted; restoring it, since its name cannot be used again", project)
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def _create_experiment(client: "MlflowClient", project: str) -> "Experiment":
    from mlflow.exceptions import RestException

    try:
        return client.get_experiment(client.create_experiment(project))
    except RestException as error:
        if error.error_code == "RESOURCE_ALREADY_EXISTS":
            raise Unavailable(f"another run is making MLflow's experiment {project}") from error
        raise
