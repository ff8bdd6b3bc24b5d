"""The unigram baseline: the words of replies by their frequency, in no order, the same for one seed."""

from collections import Counter

import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.tokens import tokenize
from seedvote.generation.sampling import unigram_responses

ITEMS = [f"d:{n}" for n in range(2000)]


@pytest.fixture(scope="module")
def train():
    turns = [Turn("user", "hello there"), Turn("system", "yes yes no")] * 2
    return list(iterate_examples([Dialogue("d", "train", turns)]))


def test_words_come_by_their_frequency_and_replies_by_their_length(train):
    responses = unigram_responses(train, ITEMS, draws=1, checkpoint="last", seed=0)
    words = Counter(word for response in responses for word in tokenize(response.text))
    assert set(words) == {"yes", "no"} and words["yes"] / words.total() == pytest.approx(2 / 3, abs=0.02)
    assert {len(tokenize(response.text)) for response in responses} == {3}
    assert {(response.model, response.seed, response.checkpoint) for response in responses} == {
        ("unigram", None, "last")
    }


def test_a_seed_gives_the_same_and_each_draw_another(train):
    both = [unigram_responses(train, ITEMS[:50], draws=2, checkpoint="last", seed=seed) for seed in (0, 0, 1)]
    assert both[0] == both[1] != both[2]
    assert [response.text for response in both[0][::2]] != [response.text for response in both[0][1::2]]


def test_a_corpus_without_training_replies_gets_a_sentence():
    with pytest.raises(InputError, match="no training split"):
        unigram_responses([], ITEMS[:1], draws=1, checkpoint="last", seed=0)
