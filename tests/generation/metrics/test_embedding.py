"""Texts as vectors: learned words, a local encoder made here, and the cosine between them."""

import numpy as np
import pytest
import torch

from seedvote.dialogue.errors import InputError
from seedvote.generation.metrics.embedding import learned_words, local_encoder, row_cosines
from seedvote.generation.models.architectures import build_model
from seedvote.generation.vocabulary import SPECIAL, Vocabulary

WORDS = Vocabulary((*SPECIAL, "hotel", "train", "yes"))


def test_a_text_is_the_mean_of_its_learned_words():
    sizes = {"embedding": 4, "hidden": 4, "layers": 1, "dropout": 0.0}
    model = build_model("seq2seq", len(WORDS), sizes)
    with torch.no_grad():
        model.source.weight.copy_(torch.arange(len(WORDS) * 4.0).view(-1, 4))
    one, both = learned_words(model, WORDS)(["hotel", "Hotel train"])
    np.testing.assert_allclose(one, [28, 29, 30, 31])
    np.testing.assert_allclose(both, [30, 31, 32, 33])


def test_cosines_of_rows():
    one, two = np.array([[1.0, 0], [1, 1], [0, 0]]), np.array([[2.0, 0], [1, -1], [1, 1]])
    np.testing.assert_allclose(row_cosines(one, two), [100, 0, 0], atol=1e-12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny encoder with random weights in a local folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("encoder")
    raw = Tokenizer(models.WordLevel({"<pad>": 0, "<unk>": 1, "hotel": 2, "train": 3, "yes": 4}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", unk_token="<unk>").save_pretrained(path)
    config = BertConfig(vocab_size=5, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    BertModel(config).save_pretrained(path)
    return path


def test_a_local_encoder_averages_over_real_tokens_whatever_the_batch(folder):
    texts = ["hotel", "hotel train yes train", "yes yes"]
    whole = local_encoder(folder)(texts)
    assert whole.shape == (3, 8)
    np.testing.assert_allclose(local_encoder(folder, batch_size=1)(texts), whole, atol=1e-6)


def test_a_folder_without_an_encoder_is_said(tmp_path):
    with pytest.raises(InputError, match="holds no Hugging Face encoder"):
        local_encoder(tmp_path)
