"""What every import is tried on: twenty invented dialogues and the contexts of their test split."""

import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_toy(folder, 20, seed=0)
    return folder


@pytest.fixture(scope="module")
def contexts(corpus):
    return list(iterate_examples(read_corpus(corpus).split("test")))[:6]
