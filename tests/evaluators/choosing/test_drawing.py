"""False options: never the truth's words or dialogue, every other utterance as likely as every other."""

from collections import Counter

import pytest
from scipy.stats import chisquare

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.tokens import normalize, telling_words
from seedvote.evaluators.choosing.drawing import DrawingRules, draw_questions, pool_of, shuffle_numbers
from tests.evaluators.choosing.made import corpus_examples


def drawn(examples=None, **rules):
    pool = pool_of(examples or corpus_examples(), DrawingRules(**rules), "made")
    return draw_questions(pool), pool


@pytest.mark.parametrize("false", ["uniform", "same-turn", "hard"])
def test_no_false_option_shares_words_or_dialogue_with_the_truth(false):
    number = 0
    for seed in range(25 if false == "uniform" else 2):
        found, pool = drawn(false=false, seed=seed, law="all")
        dialogue = {one.item: one.dialogue for one in pool.options}
        for one in (each for each in found if each.kind == "real"):
            plain = [normalize(option.text) for option in one.options]
            assert len(set(plain)) == 5
            assert one.options[one.answer].item == one.item
            others = [dialogue[option.item] for k, option in enumerate(one.options) if k != one.answer]
            assert one.dialogue not in others
            number += 4
    assert number >= 10_000 or false != "uniform"


def test_every_utterance_of_other_dialogues_is_as_likely_as_every_other():
    examples = [one for one in corpus_examples(12) if one.n < 7]  # without the reply that is the same everywhere
    often = Counter()
    for seed in range(400):
        found, _ = drawn(examples, n=1, checks=0, seed=seed)
        often.update(option.item for k, option in enumerate(found[0].options) if k != found[0].answer)
    # The truth's own dialogue moves with the context, which is drawn too: over contexts all are alike.
    assert len(often) == len(examples)
    assert chisquare(list(often.values())).pvalue > 0.001


def test_every_order_of_a_shuffle_is_as_likely():
    orders = Counter(tuple(shuffle_numbers(4, child_random(seed, "test"))) for seed in range(4800))
    assert len(orders) == 24
    assert chisquare(list(orders.values())).pvalue > 0.001


def test_what_was_said_elsewhere_after_the_same_context_is_no_false_option():
    examples = []
    for d in range(12):
        turns = [Turn("user", "Hello!"), Turn("system", f"reply {d % 6} of many"), Turn("user", f"what is {d}?"),
                 Turn("system", f"this is {d}")]  # fmt: skip
        dialogue = Dialogue(f"D{d}", "test", turns)
        examples += [Example(f"D{d}:{n}", dialogue, n) for n in (1, 3)]
    found, pool = drawn(examples, checks=0, options=4)
    for one in found:
        if one.item.endswith(":1"):
            assert not [o for k, o in enumerate(one.options) if k != one.answer and o.text.startswith("reply")]
    assert pool.counts.alike > 0


def test_versions_are_even_and_nobody_meets_a_context_twice():
    found, _ = drawn(n=80, draws=3, versions=4, checks=2)
    real = [one for one in found if one.kind == "real"]
    assert set(Counter(one.version for one in real).values()) == {60}
    assert max(Counter((one.version, one.item) for one in real).values()) == 1
    assert Counter(one.version for one in found if one.kind == "check") == dict.fromkeys(range(1, 5), 2)
    by_draw = {draw: {one.item: one for one in real if one.extra["draw"] == draw} for draw in range(3)}
    assert by_draw[0].keys() == by_draw[1].keys() == by_draw[2].keys()
    assert all(by_draw[0][item].context == by_draw[1][item].context for item in by_draw[0])
    assert len({one.question for one in found}) == len(found)


def test_the_truth_stands_in_every_place():
    found, pool = drawn(n=100, checks=8)
    places = Counter(one.answer for one in found if one.kind == "real")
    assert len(places) == 5
    assert chisquare(list(places.values())).pvalue > 0.001
    said = {one.plain for one in pool.options}
    checks = [one for one in found if one.kind == "check"]
    assert len(checks) == 32
    asked_about = {one.item for one in found if one.kind == "real"}
    for one in checks:
        assert one.item not in asked_about
        assert all(normalize(option.text) in said for option in one.options)  # what somebody said, no word salad


def test_checks_look_like_other_questions_and_their_false_options_are_off_topic():
    examples = []
    for number in range(40):
        topic, words = f"topic{number}", " ".join(f"word{number}x{n}" for n in range(number % 9))
        turns = [
            Turn("user", f"tell me of {topic}"),
            Turn("system", f"here is {topic} {words}"),
            Turn("user", "ok bye"),
        ]
        dialogue = Dialogue(f"D{number}", "test", turns)
        examples += [Example(f"D{number}:{n}", dialogue, n) for n in (1, 2)]
    found, _ = drawn(examples, n=8, checks=4)
    lengths = []
    for one in (each for each in found if each.kind == "check"):
        topic = telling_words(" ".join(turn.text for turn in one.context))
        shares = [bool(telling_words(option.text) & topic) for option in one.options]
        assert shares == [k == one.answer for k in range(5)]
        words = [len(option.text.split()) for option in one.options]
        lengths.append(max(abs(n - words[one.answer]) for n in words))
    assert len(lengths) == 16 and max(lengths) <= 1  # length does not tell the truth


def test_a_longer_list_begins_with_the_shorter_one_and_the_seed_decides():
    few, many = (drawn(n=n, checks=0)[0] for n in (20, 60))
    assert {one.question for one in few} < {one.question for one in many}
    assert drawn(n=20, checks=0)[0] == few
    assert drawn(n=20, checks=0, seed=1)[0] != few


def test_mentions_and_words_of_a_list():
    examples = corpus_examples(10)
    turns = [Turn("user", "hi @ann"), Turn("system", "@bob said darn it")]
    examples += [Example("X:1", Dialogue("X", "test", turns), 1)]
    found, _ = drawn(examples, checks=0, mentions=True)
    texts = [t for one in found for t in (*(o.text for o in one.options), *(turn.text for turn in one.context))]
    assert not [text for text in texts if "@ann" in text or "@bob" in text]
    assert [text for text in texts if "@user said" in text]
    found, pool = drawn(examples, checks=0, pruned=frozenset({"darn"}))
    assert pool.counts.pruned == 1
    assert not [o for one in found for o in one.options if "darn" in o.text]


def test_too_little_to_draw_from_is_told():
    with pytest.raises(InputError, match="utterances of 1 dialogues; false options come from other dialogues"):
        drawn(corpus_examples(1))
    with pytest.raises(InputError, match=r"only \d false options could be found.*--options"):
        drawn(corpus_examples(2), options=20, checks=0)
