"""The settings of a run as flat parameters for trackers, without anything secret. Used when tracking starts."""

import re
from typing import Any
from urllib.parse import urlsplit

from rltrain_api.job import RLTrainingJob

# Parts of the spec that make the experiment; the others say where it runs, and may hold environment variables.
_PARTS = {"model", "data", "algorithm", "training", "rollout", "reward", "tracking"}
_SECRET_WORDS = {"token", "secret", "password", "passwd", "passphrase", "credential", "credentials", "apikey", "auth"}
_HIDDEN = "(hidden)"


def run_parameters(job: RLTrainingJob) -> dict[str, Any]:
    """Every field of the experiment with a value, defaults included, by dotted name."""
    content = job.model_dump(mode="json", by_alias=True, include={"spec": _PARTS})
    return {"name": job.metadata.name, **_flat(content["spec"], "")}


def without_credentials(text: str) -> str:
    """`text`, and if it is an address with user and password, without them."""
    if "@" not in text or "://" not in text:
        return text
    address = urlsplit(text)
    return address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()


def _flat(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {key: leaf for name, item in value.items() for key, leaf in _flat(item, _join(path, name)).items()}
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return {key: leaf for at, item in enumerate(value) for key, leaf in _flat(item, _join(path, at)).items()}
    if value is None:
        return {}
    return {path: _without_secret(path, value)}


def _join(path: str, part: object) -> str:
    return f"{path}.{part}" if path else str(part)


def _without_secret(path: str, value: Any) -> Any:
    if _names_secret(path.rpartition(".")[2]):
        return _HIDDEN
    return without_credentials(value) if isinstance(value, str) else value


def _names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret: `apiKey` and `hf_token` do, `maxNewTokens` does not."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())
    return bool(words) and (words[-1] in _SECRET_WORDS or words[-2:] in (["api", "key"], ["access", "key"]))
