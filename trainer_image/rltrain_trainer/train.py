"""The training loop: rollout, reward, advantages, update, log, checkpoint. Called by `session`."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import torch

from rltrain_api.job import JobSpec
from rltrain_api.training import WarmStartSpec
from rltrain_trainer import report
from rltrain_trainer.algorithms.advantages import group_normalized_advantages
from rltrain_trainer.batches import Sample
from rltrain_trainer.checkpoint import Checkpoints, CheckpointState
from rltrain_trainer.data.order import PromptOrder
from rltrain_trainer.log.writer import RunLog
from rltrain_trainer.progress import Clock, OnProgress, Outcome, Progress
from rltrain_trainer.prompts import Prompts
from rltrain_trainer.rewards.score import RewardScorer
from rltrain_trainer.rollouts import Collector, Rollout
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.workers import PolicyWorker


class Trainer:
    """One attempt at a run, from the step after its checkpoint to its last step or a request to stop."""

    def __init__(
        self,
        *,
        spec: JobSpec,
        policy: PolicyWorker,
        prompts: Prompts,
        scorer: RewardScorer,
        log: RunLog,
        checkpoints: Checkpoints,
        state: CheckpointState | None,
        reference: Path | None,
        stop: threading.Event,
        on_progress: OnProgress,
    ) -> None:
        """`state` is that of the checkpoint which `policy` was restored from; `reference` is where the reference
        policy's weights go when the run does not start with them."""
        self._spec, self._policy, self._prompts, self._log = spec, policy, prompts, log
        self._checkpoints, self._reference, self._stop, self._on_progress = checkpoints, reference, stop, on_progress
        self._resumed = state is not None
        self._state = state or CheckpointState(step=0)
        self._clock = Clock()
        self._collector = Collector(spec=spec.rollout, seed=spec.training.seed, generate=policy.generate, scorer=scorer)
        self._metrics: dict[str, float] = {}
        self._rewards: list[float] = []
        self._validations: list[float] = []
        self.global_step = self._state.step

    def train(self) -> Outcome:
        """All remaining steps. Ends early, after a checkpoint, once `stop` is set."""
        training = self._spec.training
        order = PromptOrder(len(self._prompts.train), training.batch_size, self._spec.data.shuffle, training.seed)
        if not self._resumed:
            self._begin()
        for step in range(self.global_step + 1, training.total_steps + 1):
            if self._stop.is_set():
                break
            self._clock.begin_step()
            self._step(step, order.batch(step))
            improved = self._validation_due(step) and self._validate(step)
            self._log.end_step(step)
            self.global_step = step
            if improved or self._stop.is_set() or self._checkpoint_due(step):
                self._checkpoint(step)
        self._report("done")
        return self._outcome()

    def _begin(self) -> None:
        """What comes before step 1: the warm start, the reference policy, a first validation."""
        if self._spec.training.warm_start:
            self._warm_start(self._spec.training.warm_start)
        if self._stop.is_set():
            return
        self._policy.begin()
        if self._reference:
            self._policy.save_reference(self._reference)
        if self._validation_due(0):
            self._validate(0)
        self._log.end_step(0)

    def _warm_start(self, spec: WarmStartSpec) -> None:
        order = PromptOrder(len(self._prompts.warm_start), spec.batch_size, True, self._spec.training.seed)
        for step in range(1, spec.steps + 1):
            if self._stop.is_set():
                return
            samples = [self._prompts.warm_start[index] for index in order.batch(step)]
            with self._phase("warm start", f" {step}/{spec.steps}"):
                loss = self._policy.warm_start(samples, spec.learning_rate)
            self._log.scalars(step, {metric_names.WARM_START_LOSS: loss})

    def _step(self, step: int, indices: Sequence[int]) -> None:
        rollout = self._collector.train(self._prompts.train, indices, step, self._phase)
        samples = self._with_advantages(rollout)
        with self._phase("update"):
            update_metrics = self._policy.update(samples, step)
        self._metrics = {
            **report.rollout_metrics(rollout, self._spec.rollout.samples_per_prompt),
            **update_metrics,
            **report.throughput_metrics(rollout, self._clock.step_seconds),
        }
        self._rewards.append(self._metrics[metric_names.REWARD_MEAN])
        with self._phase("log"):
            self._log.scalars(step, self._metrics)
            report.log_rollout(self._log, rollout, step, self._spec.tracking.log_samples)

    def _with_advantages(self, rollout: Rollout) -> list[Sample]:
        advantages = group_normalized_advantages(
            torch.from_numpy(rollout.scores.total),
            self._spec.rollout.samples_per_prompt,
            normalize_by_std=self._spec.algorithm.grpo_settings.normalize_by_std,
        )
        rows = zip(rollout.prompts, rollout.completions, advantages.tolist(), strict=True)
        return [Sample(prompt_ids=p.token_ids, response_ids=c.token_ids, advantage=a) for p, c, a in rows]

    def _validate(self, step: int) -> bool:
        """Score the held-out prompts; returns whether their reward is the best so far."""
        with self._phase("validate"):
            rollout = self._collector.validate(self._prompts.validation, step)
        reward = float(rollout.scores.total.mean())
        self._validations.append(reward)
        report.log_validation(self._log, rollout, step, self._spec.tracking.log_val_generations)
        # Step 0 has no checkpoint, so it cannot be the best one.
        best = step > 0 and (self._state.best_reward is None or reward > self._state.best_reward)
        if best:
            self._state = replace(self._state, best_reward=reward, best_step=step)
        return best

    def _checkpoint(self, step: int) -> None:
        self._state = replace(self._state, step=step)
        with self._phase("checkpoint"):
            self._checkpoints.write(self._state, self._policy.save, self._log.sync)

    def _validation_due(self, step: int) -> bool:
        every = self._spec.training.validate_every
        return every > 0 and (step % every == 0 or step == self._spec.training.total_steps)

    def _checkpoint_due(self, step: int) -> bool:
        every = self._spec.training.checkpoint_every
        return step == self._spec.training.total_steps or (every > 0 and step % every == 0)

    def _phase(self, name: str, detail: str = "") -> AbstractContextManager[None]:
        """Report that a phase begins, and time it for as long as the block lasts."""
        self._report(f"{name}{detail}")
        return self._clock.phase(name)

    def _report(self, phase: str) -> None:
        total = self._spec.training.total_steps
        left = self._clock.seconds_left(total - self.global_step)
        self._on_progress(
            Progress(phase=phase, step=self.global_step, total_steps=total, metrics=self._metrics, seconds_left=left)
        )

    def _outcome(self) -> Outcome:
        return Outcome(
            step=self.global_step,
            total_steps=self._spec.training.total_steps,
            rewards=self._rewards,
            validations=self._validations,
            best_validation=self._state.best_reward,
            best_step=self._state.best_step,
            seconds=self._clock.seconds,
        )
