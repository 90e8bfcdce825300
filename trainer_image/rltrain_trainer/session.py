"""One attempt at a run, wired together: directory, log, trackers, Ray, policy, loop. Called by `rltrain run`."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rltrain_api.job import JobSpec, RLTrainingJob
from rltrain_api.load import dump_job
from rltrain_trainer.checkpoint import Checkpoints, CheckpointState
from rltrain_trainer.log.durable import replace_file
from rltrain_trainer.log.records import RunState
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.models.load import load_tokenizer
from rltrain_trainer.progress import OnProgress, Outcome, Progress
from rltrain_trainer.prompts import load_all_prompts
from rltrain_trainer.rewards.score import RewardScorer
from rltrain_trainer.run_directory import RunDirectory
from rltrain_trainer.tracking.start import start_tracking
from rltrain_trainer.tracking.states import TrackerState
from rltrain_trainer.train import Trainer
from rltrain_trainer.workers import PolicyWorker, ray_cluster

logger = logging.getLogger(__name__)


def run_training(
    run: RunDirectory,
    job: RLTrainingJob,
    *,
    stop: threading.Event,
    on_progress: OnProgress,
    mlflow_uri: Callable[[], str] | None,
) -> tuple[Outcome, list[TrackerState]]:
    """Train `job` in `run` from its newest checkpoint on, or from the beginning.

    Set `stop` to end at the next step, with a checkpoint. `mlflow_uri` gives the address of the MLflow server, asked at
    each connection. Raises RltrainError of the kind that says what the user can do; what was logged is kept.
    """
    with run.lock(), _log_file(run.trainer_log):
        replace_file(run.job_file, dump_job(job).encode(), sync=True)
        checkpoints = Checkpoints(run.checkpoints, job.spec.training.keep_checkpoints)
        state = checkpoints.latest()
        # Without a checkpoint even step 0, the first validation, is computed again.
        resume_step = state.step if state else -1
        attempt = run.begin_attempt()
        log = RunLog(run, attempt=attempt, resume_step=resume_step, log_interval=job.spec.tracking.log_interval)
        logger.info("attempt %d begins after step %d", attempt, max(resume_step, 0))
        tracking = start_tracking(run, job, log, mlflow_uri=mlflow_uri)
        ended = RunState.FAILED
        try:
            outcome = _train(run, job.spec, log, checkpoints, state, stop, on_progress)
            ended = RunState.STOPPED if outcome.stopped else RunState.FINISHED
        except BaseException:
            logger.exception("the attempt failed")
            raise
        finally:
            trackers = tracking.finish(ended)
            log.close()
        return outcome, trackers


def _train(
    run: RunDirectory,
    spec: JobSpec,
    log: RunLog,
    checkpoints: Checkpoints,
    state: CheckpointState | None,
    stop: threading.Event,
    on_progress: OnProgress,
) -> Outcome:
    on_progress(Progress(phase="load", step=state.step if state else 0, total_steps=spec.training.total_steps))
    reference = run.path / "reference" if spec.training.warm_start else None
    with ray_cluster():
        # The actor imports and loads while prompts are encoded here.
        policy = PolicyWorker(spec, run.path, run.trainer_log)
        scorer = RewardScorer(spec.reward, run.path)
        prompts = load_all_prompts(spec, run.path, load_tokenizer(spec.model, run.path))
        policy.wait()
        if state:
            policy.restore(checkpoints.path(state.step), reference)
        trainer = Trainer(
            spec=spec,
            policy=policy,
            prompts=prompts,
            scorer=scorer,
            log=log,
            checkpoints=checkpoints,
            state=state,
            reference=reference,
            stop=stop,
            on_progress=on_progress,
        )
        return trainer.train()


@contextmanager
def _log_file(path: Path) -> Iterator[None]:
    """Send this process's log messages to `path` as long as the attempt lasts."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
