"""Text to numbers and back."""

import pytest

from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.tokens import LONGEST_CONTEXT
from seedvote.generation.numbering import study_vocabulary
from seedvote.generation.vocabulary import (
    EOS,
    EOU,
    OTHER,
    SELF,
    SPECIAL,
    UNK,
    build_vocabulary,
    read_vocabulary,
    write_vocabulary,
)


def vocabulary(*texts, largest=1000, at_least=1):
    return build_vocabulary(texts, largest=largest, at_least=at_least)


def test_frequent_words_come_first_and_ties_are_alphabetical():
    words = vocabulary("b b c a", "c b").words
    assert words == (*SPECIAL, "b", "c", "a")


def test_rare_words_and_those_beyond_the_limit_are_unknown():
    words = vocabulary("a a b b c", largest=len(SPECIAL) + 2, at_least=2)
    assert len(words) == len(SPECIAL) + 2
    assert words.encode("c") == [UNK]


def test_a_response_never_shows_a_special_token():
    words = vocabulary("hello there")
    assert words.decode([*range(len(SPECIAL)), *words.encode("hello there"), EOS]) == "hello there"


def test_speakers_are_told_apart_from_the_side_of_the_one_who_answers():
    words = vocabulary("hi bye")
    turns = [Turn("user", "hi"), Turn("system", "bye")]
    hi, bye = words.encode("hi bye")
    assert words.context(turns, "system") == [OTHER, hi, EOU, SELF, bye, EOU]
    assert words.context(turns, "user") == [SELF, hi, EOU, OTHER, bye, EOU]


@pytest.mark.parametrize("length", [1, 97, 98, 99, 100, 101, 250])
def test_fault_6_the_newest_tokens_are_always_kept(length):
    words = vocabulary(" ".join(f"w{i}" for i in range(length)))
    context = words.context([Turn("user", " ".join(f"w{i}" for i in range(length)))], "system")
    assert len(context) <= LONGEST_CONTEXT
    assert context[-2:] == [words.numbers[f"w{length - 1}"], EOU]


def test_the_file_gives_back_the_same_words_and_refuses_foreign_ones(tmp_path):
    words = vocabulary("hello there")
    write_vocabulary(tmp_path / "vocabulary.json", words)
    assert read_vocabulary(tmp_path / "vocabulary.json") == words
    (tmp_path / "foreign.json").write_text('{"words": ["<s>", "hello"]}')
    with pytest.raises(InputError, match="the first words must be <pad>"):
        read_vocabulary(tmp_path / "foreign.json")


def test_no_words_is_said_in_a_sentence():
    with pytest.raises(InputError, match="holds no words"):
        vocabulary()


def test_a_corpus_without_training_dialogues_is_refused_by_what_it_holds(tmp_path):
    chats = tuple(Dialogue(f"D{n}", split, (), {}) for n, split in enumerate(("valid", "test", "test")))
    with pytest.raises(InputError, match="no training dialogues, only 1 of valid, 2 of test"):
        study_vocabulary(tmp_path, Corpus("personachat", "JSON", chats), largest=10, at_least=1)
    assert not (tmp_path / "vocabulary.json").exists()


def test_a_vocabulary_of_rare_words_only_is_said():
    with pytest.raises(
        InputError, match=r"No word occurs 3 times in the training split; the most frequent word, 'yes', occurs 2 times"
    ):
        build_vocabulary(["yes no", "yes"], largest=100, at_least=3)
