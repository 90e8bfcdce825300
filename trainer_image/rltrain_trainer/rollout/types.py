"""What the trainer asks of a rollout engine and what it gets back."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How tokens are chosen; the same for all requests of a call."""

    temperature: float = 1.0
    """Softmax temperature. 0: the most likely token."""
    top_p: float = 1.0
    """Choose among the fewest tokens with this probability together."""
    top_k: int = 0
    """Choose among this many most likely tokens. 0: all."""
    max_new_tokens: int
    """Longest response."""
    stop: tuple[str, ...] = ()
    """Texts that end a response, which keeps them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One response that is wanted."""

    prompt_ids: list[int]
    seed: int
    """64 bits; together with the policy they determine the response."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """A response."""

    token_ids: list[int]
    """With the end-of-sequence token, if that ended it."""
    logprobs: list[float]
    """Log-probability of each token, of the distribution at the temperature before top-k and top-p."""
    text: str
    """Without special tokens."""
    finished: bool
    """Ended by the end-of-sequence token or a stop text; otherwise by its length."""


class RolloutEngine(Protocol):
    """Samples responses from the current policy."""

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion for each request, in their order."""
        ...


def request_seed(seed: int, step: int, prompt: int, sample: int) -> int:
    """Seed of one request: 64 bits, the same on every machine and in every process."""
    digest = hashlib.blake2b(f"{seed}/{step}/{prompt}/{sample}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
