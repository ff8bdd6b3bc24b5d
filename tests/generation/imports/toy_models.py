"""Tiny models in the form of Hugging Face with random weights, made here: nothing is fetched."""

import json

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
# Loaded as soon as tests are collected, once for all forks: on first use each of them would take two seconds for it.
assert transformers.GPT2LMHeadModel and transformers.T5ForConditionalGeneration and transformers.BertModel

WORDS = ["<pad>", "</s>", "<unk>", "user", "assistant", ":", "hotel", "train", "please", "yes", ".", "?", "i", "the"]
WORDS += ["a", "you", "is", "what", "where", "to", "in", "on", "it", "for"]
PLAIN = "{% for m in messages %}{{ m.role }} : {{ m.content }}\n{% endfor %}assistant :"


def tokenizer_of(template=None):
    from tokenizers import Tokenizer, models, pre_tokenizers

    raw = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **names)
    made.chat_template = template
    return made


def save(path, kind, template=None, **more):
    """A tiny model with random weights that follow from its kind."""
    words = len(WORDS)
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(1)
        if kind == "causal":
            size = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 600, "initializer_range": 1.0} | more
            config = transformers.GPT2Config(vocab_size=words, eos_token_id=1, bos_token_id=1, **size)
            model = transformers.GPT2LMHeadModel(config)
        elif kind == "sequence to sequence":
            size = {"d_model": 16, "d_ff": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8} | more
            numbers = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
            config = transformers.T5Config(vocab_size=words, initializer_factor=1.0, **size, **numbers)
            model = transformers.T5ForConditionalGeneration(config)
        else:
            size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16} | more
            config = transformers.BertConfig(vocab_size=words, initializer_range=1.0, **size)
            model = getattr(transformers, kind)(config)
    # Settings that a folder may bring, and that nobody here asks for.
    if kind in ("causal", "sequence to sequence"):
        model.generation_config.repetition_penalty = 5.0
        model.generation_config.no_repeat_ngram_size = 2
    model.save_pretrained(path)
    tokenizer_of(template).save_pretrained(path)
    return path


def save_sentence_folder(path, pooling="pooling_mode_mean_tokens", window=40):
    """A folder as sentence-transformers writes it."""
    save(path, "BertModel")
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    modules = [{"path": where, "type": f"sentence_transformers.models.{name}"} for where, name in kinds.items()]
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": window}))
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling" / "config.json").write_text(json.dumps({pooling: True}))
    return path
