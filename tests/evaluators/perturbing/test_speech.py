"""Speech errors: the distance, the words that sound alike, and a rate that is what was asked for."""

import random
from collections import Counter

import pytest

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.evaluators.perturbing.kinds import Means, conditions_of, told_otherwise
from seedvote.evaluators.perturbing.material import Span, UserTurns
from seedvote.evaluators.perturbing.speech import (
    Confusions,
    Recogniser,
    as_heard,
    edit_distance,
    spell_by_sound,
    word_errors,
)


def plain_distance(one, other):
    """The table of Wagner and Fischer, cell by cell."""
    row = list(range(len(other) + 1))
    for n, part in enumerate(one, 1):
        row, before = [n], row
        for m, against in enumerate(other, 1):
            row.append(min(before[m] + 1, row[m - 1] + 1, before[m - 1] + (part != against)))
    return row[-1]


def test_the_distance_is_that_of_the_plain_table():
    rng = random.Random(0)
    for letters in ("ab", "abcdefgh"):
        for _ in range(300):
            one, other = ("".join(rng.choices(letters, k=rng.randrange(0, 90))) for _ in range(2))
            assert edit_distance(one, other) == plain_distance(one, other)


def jiwer_rate(before, after):
    """Word error rate by jiwer where it is installed, else by the plain table."""
    try:
        import jiwer
    except ImportError:
        errors = sum(plain_distance(a.split(), b.split()) for a, b in zip(before, after, strict=True))
        return errors / sum(len(a.split()) for a in before)
    return jiwer.wer(before, after)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "corpus"
    write_toy(folder, dialogues=300, seed=0)
    return read_corpus(folder)


@pytest.mark.parametrize("protected", [True, False])
def test_the_measured_rate_is_the_wanted_one(corpus, protected):
    material = UserTurns(corpus, "test", 0, protected)
    before = [one.turn.text for one in material.turns]
    for one in conditions_of(material, "speech", [0.05, 0.1, 0.2, 0.3, 0.5], Means()):
        changed = {turn.item: turn.after for turn in one.changed}
        after = [changed.get(turn.item, turn.turn.text) for turn in material.turns]
        assert one.word_error_rate == pytest.approx(jiwer_rate(before, after))
        assert abs(one.word_error_rate - one.dose) <= 0.01
        assert one.kept == one.held


def test_speech_errors_are_nested_across_rates():
    recogniser = Recogniser(Confusions(Counter(["their", "there", "bear", "bare", "night", "knight"])))
    words = recogniser.listen([Span("there is a bear at night " * 400, False)], rng=random.Random(1))
    kinds = Counter(
        "deleted" if not one.misheard else "inserted" if " " in one.misheard else "substituted" for one in words
    )
    shares = [kinds[kind] / len(words) for kind in ("substituted", "inserted", "deleted")]
    assert shares == pytest.approx([0.65, 0.2, 0.15], abs=0.03)
    low, high = ({n for n, one in enumerate(words) if one.number < rate} for rate in (0.1, 0.3))
    assert low < high
    assert as_heard(words, "as before", 0.0) == "as before"


def test_speech_errors_never_become_values():
    counts = Counter({"their": 9, "there": 8, "where": 5, "north": 7, "forth": 2, "fourth": 1})
    assert spell_by_sound("night") == spell_by_sound("knight") == spell_by_sound("nite") and spell_by_sound(
        "there"
    ) != spell_by_sound("tea")
    assert Confusions(counts).of("there")[0] in ("their", "where")
    assert "north" in Confusions(counts).of("forth") and "north" not in Confusions(counts, never=["north"]).of("forth")
    assert Confusions(Counter(["alone"])).of("alone") == ()
    assert Confusions(counts).of("zzzz")  # far from all of them


def test_a_rate_that_cannot_be_reached_is_said(corpus):
    material = UserTurns(corpus, "test", 0)
    (one,) = conditions_of(material, "speech", [1.0], Means())
    assert one.word_error_rate < 1 and "cannot be reached" in one.notes[0] and one.kept == one.held


def test_a_turn_of_nothing_has_no_words():
    assert word_errors("", "") == (0, 0)
    assert Recogniser(Confusions(Counter())).listen([], rng=random.Random(0)) == []


def test_what_is_lost_is_counted(corpus):
    material = UserTurns(corpus, "test", 0)
    turn = next(one for one in material.turns if any(piece.held for piece in one.pieces))
    found = told_otherwise(material, "typos", 0.1, {turn.item: "nothing of it"}, chosen=1)
    assert found.kept < found.held and len(found.changed) == 1 and found.unchanged == 0
