"""The policy that is trained: model, tokenizer, optimizer, reference and rollout engine in one process.

`workers` runs it inside a Ray actor; nothing here knows Ray.
"""

import copy
import dataclasses
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from transformers import PreTrainedModel

from rltrain_api.job import JobSpec
from rltrain_trainer.batches import Sample, collate
from rltrain_trainer.logprobs import Forward, chosen_logprobs, response_logits
from rltrain_trainer.models.load import load_model, load_tokenizer
from rltrain_trainer.rollout.transformers_engine import TransformersEngine
from rltrain_trainer.rollout.types import Completion, Request, Sampling
from rltrain_trainer.schedule import learning_rate
from rltrain_trainer.tracking import metric_names
from rltrain_trainer.update import GRPOUpdate, apply_gradients

# Below this many parameters the cost of handing work to a second thread exceeds its gain.
_ONE_THREAD_PARAMETERS = 10_000_000


class Policy:
    """The policy and all that one step does with it."""

    def __init__(self, spec: JobSpec, directory: Path) -> None:
        """Load the model that `spec` names; relative paths start at `directory`."""
        torch.manual_seed(spec.training.seed)
        torch.use_deterministic_algorithms(spec.training.deterministic)
        self._spec = spec
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer = load_tokenizer(spec.model, directory)
        self._model = load_model(spec.model, directory, seed=spec.training.seed)
        torch.nn.Module.to(self._model, self._device)
        if spec.training.gradient_checkpointing:
            self._model.gradient_checkpointing_enable()
        parameters = sum(p.numel() for p in self._model.parameters())
        torch.set_num_threads(1 if parameters < _ONE_THREAD_PARAMETERS else os.cpu_count() or 1)
        self._engine = TransformersEngine(
            self._model, self._tokenizer, batch_size=spec.rollout.batch_size, precision=spec.training.precision
        )
        self._reference: PreTrainedModel | None = None
        self._optimizer = self._make_optimizer()

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Responses of the current policy."""
        return self._engine.generate(requests, sampling)

    def warm_start(self, samples: Sequence[Sample], rate: float) -> float:
        """One supervised step on the responses of `samples` at learning rate `rate`; returns a token's mean loss."""
        self._model.train()
        batch = collate(samples, self._forward.pad_id, self._device)
        logits = response_logits(self._model, batch, dataclasses.replace(self._forward, temperature=1.0))
        logprobs = chosen_logprobs(logits, batch.response_ids)
        loss = -(logprobs * batch.response_mask).sum() / batch.response_mask.sum()
        loss.backward()
        self._set_learning_rate(rate)
        apply_gradients(self._model, self._optimizer, self._spec.training.max_grad_norm)
        return loss.item()

    def begin(self) -> None:
        """Before step 1: a fresh optimizer, and the reference policy as the policy is now, if the loss needs one."""
        self._optimizer = self._make_optimizer()
        if self._spec.algorithm.grpo_settings.kl_coefficient > 0:
            self._reference = copy.deepcopy(self._model).eval().requires_grad_(False)

    def update(self, samples: Sequence[Sample], step: int) -> dict[str, float]:
        """All optimizer steps on the samples of `step`; returns their metrics."""
        rate = learning_rate(self._spec.training, step)
        self._set_learning_rate(rate)
        update = GRPOUpdate(
            model=self._model,
            reference=self._reference,
            optimizer=self._optimizer,
            spec=self._spec.algorithm.grpo_settings,
            training=self._spec.training,
            forward=self._forward,
            max_response=self._spec.rollout.max_new_tokens,
        )
        return update.run(samples, step) | {metric_names.LEARNING_RATE_ACTOR: rate}

    def save(self, directory: Path) -> None:
        """Write weights and tokenizer in Hugging Face format, optimizer and random state beside them."""
        self._model.save_pretrained(directory)
        self._tokenizer.save_pretrained(directory)
        state = {"optimizer": self._optimizer.state_dict(), "rng": torch.get_rng_state()}
        torch.save(state, directory / "trainer_state.pt")

    def save_reference(self, directory: Path) -> None:
        """Write the reference policy's weights, if there is one."""
        if self._reference is not None:
            self._reference.save_pretrained(directory)

    def restore(self, directory: Path, reference: Path | None) -> None:
        """Continue from what `save` wrote to `directory`.

        `reference` holds the reference policy's weights; None: it is the model that the run started from.
        """
        self.begin()
        if reference and self._reference is not None:
            self._load_weights(self._reference, reference)
        self._load_weights(self._model, directory)
        state = torch.load(directory / "trainer_state.pt", weights_only=True)
        self._optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])

    def _load_weights(self, model: PreTrainedModel, directory: Path) -> None:
        stored = type(model).from_pretrained(directory, dtype=torch.float32)
        model.load_state_dict(stored.state_dict())

    def _make_optimizer(self) -> torch.optim.Optimizer:
        training = self._spec.training
        return torch.optim.AdamW(
            self._model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay, fused=True
        )

    def _set_learning_rate(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    @cached_property
    def _forward(self) -> Forward:
        return Forward(
            pad_id=self._tokenizer.pad_token_id,
            device=self._device,
            temperature=self._spec.rollout.temperature,
            precision=self._spec.training.precision,
            micro_batch_size=self._spec.training.micro_batch_size,
        )
