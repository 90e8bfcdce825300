"""`builtin:tiny-llama`: a Llama of 0.9 million random weights that reads characters. For tests and first steps."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

_PAD, _BOS, _EOS, _UNKNOWN = "<pad>", "<bos>", "<eos>", "<unk>"
_SPECIAL = (_PAD, _BOS, _EOS, _UNKNOWN)
_CHARACTERS = ("\n", *map(chr, range(ord(" "), ord("~") + 1)))


def make_model(seed: int) -> "LlamaForCausalLM":
    """The model with weights drawn by `seed`; the caller's random state stays as it was."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(_SPECIAL) + len(_CHARACTERS),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=2048,
        tie_word_embeddings=False,
        pad_token_id=_SPECIAL.index(_PAD),
        bos_token_id=_SPECIAL.index(_BOS),
        eos_token_id=_SPECIAL.index(_EOS),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def make_tokenizer() -> "PreTrainedTokenizerFast":
    """One token a character of printable ASCII and the line feed; another character becomes `<unk>`."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: number for number, token in enumerate((*_SPECIAL, *_CHARACTERS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=_UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=_PAD,
        bos_token=_BOS,
        eos_token=_EOS,
        unk_token=_UNKNOWN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
