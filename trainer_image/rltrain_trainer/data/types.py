"""A prompt as every source of prompts gives it."""

from dataclasses import dataclass, field
from typing import Any

Message = dict[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """One prompt before it is encoded."""

    index: int
    """Place among the prompts of its source, from 0."""
    prompt: str | list[Message]
    """Text, or chat messages with `role` and `content`."""
    answer: str | None = None
    """Reference answer that reward functions compare with."""
    columns: dict[str, Any] = field(default_factory=dict)
    """What else the source knows about the prompt, by name; reward functions get it."""
