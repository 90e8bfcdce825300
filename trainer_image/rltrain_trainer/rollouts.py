"""From prompts to scored responses. Called by the training loop for each step and for each validation."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltrain_api.rollout import RolloutSpec
from rltrain_trainer.data.encode import EncodedPrompt
from rltrain_trainer.rewards.score import RewardBatch, RewardScorer, Scores
from rltrain_trainer.rollout.types import Completion, Request, Sampling, request_seed

Generate = Callable[[Sequence[Request], Sampling], list[Completion]]
Phase = Callable[[str], AbstractContextManager[object]]
"""Entered with a phase's name for as long as it lasts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollout:
    """Responses to a batch of prompts; the samples of one prompt lie together."""

    prompts: list[EncodedPrompt]
    """Prompt of each sample."""
    completions: list[Completion]
    """Response of each sample."""
    scores: Scores
    """Rewards, [samples] each."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each response, [samples]."""
        return np.array([len(completion.token_ids) for completion in self.completions])


@dataclass(frozen=True, kw_only=True, slots=True)
class Collector:
    """Samples responses and scores them, under the spec of a run."""

    spec: RolloutSpec
    seed: int
    generate: Generate
    scorer: RewardScorer

    def train(self, prompts: Sequence[EncodedPrompt], indices: Sequence[int], step: int, phase: Phase) -> Rollout:
        """A training rollout: `samplesPerPrompt` responses to each prompt in `indices`."""
        return self._collect(prompts, indices, self.spec.samples_per_prompt, self.spec.temperature, step, phase)

    def validate(self, prompts: Sequence[EncodedPrompt], step: int) -> Rollout:
        """A validation rollout: one response to each prompt. It is a phase of its caller, without phases of its own."""
        return self._collect(prompts, range(len(prompts)), 1, self.spec.validation_temperature, step, nullcontext)

    def _collect(
        self,
        prompts: Sequence[EncodedPrompt],
        indices: Sequence[int],
        samples: int,
        temperature: float,
        step: int,
        phase: Phase,
    ) -> Rollout:
        # A request's seed follows from seed, step, prompt and sample alone: a resumed run repeats it.
        requests = [
            Request(prompt_ids=prompts[index].token_ids, seed=request_seed(self.seed, step, index, sample))
            for index in indices
            for sample in range(samples)
        ]
        asked = [prompts[index] for index in indices for _ in range(samples)]
        with phase("generate"):
            completions = self.generate(requests, self._sampling(temperature))
        with phase("reward"):
            scores = self.scorer.score(_reward_batch(asked, completions, step))
        return Rollout(prompts=asked, completions=completions, scores=scores)

    def _sampling(self, temperature: float) -> Sampling:
        return Sampling(
            temperature=temperature,
            top_p=self.spec.top_p,
            top_k=self.spec.top_k,
            max_new_tokens=self.spec.max_new_tokens,
            stop=tuple(self.spec.stop),
        )


def _reward_batch(prompts: Sequence[EncodedPrompt], completions: Sequence[Completion], step: int) -> RewardBatch:
    return RewardBatch(
        prompts=[prompt.text for prompt in prompts],
        responses=[completion.text for completion in completions],
        answers=[prompt.prompt.answer for prompt in prompts],
        columns=[prompt.prompt.columns for prompt in prompts],
        response_lengths=[len(completion.token_ids) for completion in completions],
        step=step,
    )
