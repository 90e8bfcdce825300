"""Rollouts by a transformers model itself, which may be the very module that is trained. Made by the policy.

A response depends on its request and the policy alone, not on the other requests of its batch, up to the last digits
that kernels may compute differently for batches of different shapes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rltrain_api.errors import UserError
from rltrain_trainer.rollout.decoding import DecodingBatch, Response
from rltrain_trainer.rollout.grouped_attention import use_grouped_attention
from rltrain_trainer.rollout.sampling import choose
from rltrain_trainer.rollout.stopping import Stopping
from rltrain_trainer.rollout.types import Completion, Request, Sampling

# Finished rows leave the batch once they are one in so many: each time costs a copy of the cache.
_DROP_AT_ONE_IN = 8


class TransformersEngine:
    """Samples from a causal language model of transformers, on the device where it is."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        batch_size: int | None = None,
        precision: Literal["fp32", "bf16"] = "fp32",
    ) -> None:
        """`batch_size`: sequences decoded at once; None: all of a call."""
        self._model = model
        self._tokenizer = tokenizer
        self._batch_size = batch_size
        self._precision = precision

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion for each request, in their order; equal prompts are read by the model once a batch."""
        if not requests:
            return []
        order = sorted(range(len(requests)), key=lambda i: (len(requests[i].prompt_ids), requests[i].prompt_ids))
        size = self._batch_size or len(order)
        stopping = Stopping(self._model, self._tokenizer, sampling.stop)
        responses: dict[int, Response] = {}
        with self._inference():
            for first in range(0, len(order), size):
                chosen = order[first : first + size]
                batch = DecodingBatch(self._model, [requests[index] for index in chosen], sampling.max_new_tokens)
                responses |= zip(chosen, _decode(batch, sampling, stopping), strict=True)
        return self._completions([responses[index] for index in range(len(requests))])

    @contextmanager
    def _inference(self) -> Iterator[None]:
        training = self._model.training
        self._model.train(False)
        try:
            with (
                torch.inference_mode(),
                use_grouped_attention(self._model),
                torch.autocast(self._model.device.type, torch.bfloat16, enabled=self._precision == "bf16"),
            ):
                yield
        finally:
            self._model.train(training)

    def _completions(self, responses: Sequence[Response]) -> list[Completion]:
        texts = self._tokenizer.batch_decode(
            [response.token_ids for response in responses],
            skip_special_tokens=True,
            clean_up_tokenization_spaces=False,
        )
        return [
            Completion(token_ids=r.token_ids, logprobs=r.logprobs, text=text, finished=r.ended)
            for r, text in zip(responses, texts, strict=True)
        ]


def _decode(batch: DecodingBatch, sampling: Sampling, stopping: Stopping) -> list[Response]:
    """Decode all rows of `batch` to their ends."""
    responses = batch.rows
    logits = batch.read_prompts()
    for position in range(sampling.max_new_tokens):
        tokens, logprobs = choose(logits, batch.uniforms(position), sampling)
        _append(batch, tokens, logprobs, stopping)
        active = batch.active()
        if not active or position + 1 == sampling.max_new_tokens:
            break
        if _DROP_AT_ONE_IN * (len(batch.rows) - len(active)) >= len(batch.rows):
            places = torch.tensor(active, device=tokens.device)
            batch.keep(places)
            tokens = tokens[places]
        logits = batch.read_tokens(tokens)
    return responses


def _append(batch: DecodingBatch, tokens: Tensor, logprobs: Tensor, stopping: Stopping) -> None:
    """Add its token [rows] to each row that has not ended."""
    if bool(logprobs.isnan().any()):
        raise UserError(
            "the policy's probabilities are not numbers any more (NaN): the training has diverged, or its weights are "
            "damaged; start from sound weights, with a lower training.learningRate or training.maxGradNorm"
        )
    active = [row for row in batch.rows if not row.ended]
    for row, token, logprob in zip(batch.rows, tokens.tolist(), logprobs.tolist(), strict=True):
        if not row.ended:
            row.token_ids.append(token)
            row.logprobs.append(logprob)
    for row, ended in zip(active, stopping.ended([row.token_ids for row in active]), strict=True):
        row.ended = ended
