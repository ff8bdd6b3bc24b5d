"""Acts read from words: those of the most similar reply, and how far to trust them."""

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.generation.redecoding import act_reader, acts_named


def example(number, text, acts):
    turns = (Turn("user", "hello"), Turn("system", text, None, acts))
    return next(iter(iterate_examples([Dialogue(f"d{number}", "train", turns)])))


KNOWN = [
    example(0, "the train leaves at 16:15", {"Train-Inform": []}),
    example(1, "which day would you like?", {"Train-Request": []}),
    example(2, "thank you, good bye", {"general-bye": [], "general-thank": []}),
]


def test_a_reply_has_the_acts_of_the_most_alike_known_one():
    reader = act_reader(KNOWN)
    assert reader.read(["a train that leaves at 9:00", "what day?", "bye"]) == [
        "Train-Inform", "Train-Request", "general-bye,general-thank",
    ]  # fmt: skip
    assert reader.accuracy(KNOWN) == 1
    assert reader.accuracy([example(3, "good bye", {"general-bye": []}), *KNOWN[:1]]) == 0.5


def test_rare_words_say_more_than_frequent_ones():
    known = [example(n, f"the the the {word}", {word: []}) for n, word in enumerate(("taxi", "hotel"))]
    assert act_reader([*known, example(2, "the end", {"end": []})]).read(["the the the the end hotel hotel"]) == [
        "hotel"
    ]


def test_where_nothing_is_annotated_nothing_is_read():
    assert act_reader([example(0, "hello", None)]) is None and acts_named(example(0, "hello", None)) == ""
