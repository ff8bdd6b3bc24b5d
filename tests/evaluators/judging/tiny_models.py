"""A language model of a few thousand weights, as a folder in the form of Hugging Face: no network, no download."""

import contextlib

import torch

with contextlib.suppress(ImportError):  # once, before the workers part; without them test_local.py skips
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_model(folder, *, chat=True, longest=4096):
    """Its weights are drawn at random, so it has opinions and no knowledge."""
    signs = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
    known = {word: n for n, word in enumerate([*signs, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    spelling = Tokenizer(models.BPE(vocab=known, merges=[]))
    spelling.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spelling.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=spelling, bos_token="<s>", eos_token="</s>", additional_special_tokens=signs[2:]
    )
    if chat:
        tokenizer.chat_template = TEMPLATE
    config = LlamaConfig(
        vocab_size=len(known), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=longest, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(1)
        LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
