"""A dual encoder from scratch: the same seed the same bits, both ways of training, and what it learns."""

from types import SimpleNamespace

import numpy as np
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.evaluators.choosing.dual_encoder import SMALL, DualSettings, dual_material, train_and_score
from seedvote.evaluators.choosing.rules import recall_table
from tests.evaluators.choosing.made import WORDS, asked


def made_corpus(number=160):
    """The reply is the word of the context."""
    dialogues = [
        Dialogue(f"D{n}", "train", [Turn("user", WORDS[n % 8]), Turn("system", WORDS[n % 8])]) for n in range(number)
    ]
    return SimpleNamespace(split=lambda _: dialogues, digest="made")


@pytest.fixture(scope="module")
def questions():
    return [asked(f"q{n}", [WORDS[n], WORDS[(n + 3) % 8]], 0, WORDS[n]) for n in range(8)]


@pytest.mark.parametrize("in_batch", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_it_learns_which_word_follows_and_the_same_bits_again(questions, in_batch):
    how = DualSettings(16, 20, 32, 3e-2, in_batch)
    material = dual_material(made_corpus(), questions, how)
    scores = train_and_score(material, how, 0)
    assert np.array_equal(scores, train_and_score(material, how, 0))
    got = recall_table([scores[2 * k : 2 * k + 2] for k in range(8)], [0] * 8)[:, 0].mean()
    assert got >= 0.75


def test_too_little_text_is_told(questions):
    with pytest.raises(InputError, match="The train split has 15 examples; a dual encoder needs 16"):
        dual_material(made_corpus(15), questions, SMALL)
