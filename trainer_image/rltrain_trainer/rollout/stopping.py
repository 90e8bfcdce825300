"""When a response is complete. Called by the engine after each token."""

from collections.abc import Sequence

from transformers import PreTrainedModel, PreTrainedTokenizerBase


class Stopping:
    """End-of-sequence tokens and stop texts."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._texts = tuple(texts)
        self._eos_ids = _eos_ids(model, tokenizer)
        # A token is at least a byte of text, so these many hold the longest stop text that the last token completes;
        # the first ones may decode differently than within the whole response.
        self._tail = max((len(text.encode()) for text in texts), default=0) + 4

    def ended(self, responses: Sequence[list[int]]) -> list[bool]:
        """Whether the last token of each response completed it."""
        by_token = [response[-1] in self._eos_ids for response in responses]
        if not self._texts:
            return by_token
        tails = self._tokenizer.batch_decode(
            [response[-self._tail :] for response in responses], clean_up_tokenization_spaces=False
        )
        by_text = [any(text in tail for text in self._texts) for tail in tails]
        return [token or text for token, text in zip(by_token, by_text, strict=True)]


def _eos_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """The tokenizer's end-of-sequence token and those of the model's generation settings: one, several or none."""
    named = model.generation_config.eos_token_id if model.generation_config else None
    return {*(named if isinstance(named, list) else [named]), tokenizer.eos_token_id} - {None}
