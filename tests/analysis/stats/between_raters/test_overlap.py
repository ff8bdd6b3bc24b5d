"""Overlap of marked passages: against counting by hand, at chance, and over studies whose overlap is known."""

import numpy as np
import pytest

from seedvote.analysis.stats.between_raters.overlap import MarkedText, measure_overlap


def text(dialogue, length=20, **marks):
    """Raters with the ranges that they marked, all of one category but where they name another one."""
    chosen = {
        rater: {(place, rest[0] if rest else "") for start, end, *rest in ranges for place in range(start, end)}
        for rater, ranges in marks.items()
    }
    return MarkedText(dialogue, length, chosen)


def test_characters_are_counted_over_every_two_raters():
    texts = [
        text("d", ann=[(0, 10)], bob=[(5, 10)], eve=[]),
        text("e", ann=[], bob=[]),
        text("f", ann=[(3, 5)], bob=[(3, 5)]),
    ]
    overlap = measure_overlap(texts)
    # ann and bob share 5 of 10 + 5, each shares nothing with eve; in f they share both; in e nobody marked anything
    assert overlap.value == pytest.approx((2 * 5 + 2 * 2) / (15 + 10 + 5 + 4))
    assert overlap.chance == pytest.approx((2 * 10 * 5 / 20 + 2 * 2 * 2 / 20) / 34) and overlap.comparisons == 4
    assert measure_overlap([text("e", ann=[], bob=[])]) is None and measure_overlap([text("e", ann=[(0, 3)])]) is None


def test_same_words_of_another_category_are_not_the_same():
    both = [
        text("d", ann=[(0, 4, "fact")], bob=[(0, 4, "language")]),
        text("e", ann=[(0, 4, "fact")], bob=[(0, 2, "fact")]),
    ]
    assert measure_overlap(both).value == pytest.approx(2 * 2 / (8 + 6))


def test_two_raters_or_one_dialogue_have_no_interval():
    few = measure_overlap([text("d", ann=[(0, 9)], bob=[(5, 9)]), text("e", ann=[(0, 9)], bob=[(5, 9)])])
    lone = measure_overlap([text("d", ann=[(0, 9)], bob=[(5, 9)], eve=[(4, 9)])])
    assert few.low is few.high is lone.low is None and 0 < few.value < 1


def study(rng, dialogues=30, raters=6, length=60):
    """Each response has one wrong passage; who sees it marks it with an edge of their own, others mark at random."""
    skill = rng.beta(6, 3, raters)
    texts = []
    for d in range(dialogues):
        plain, start = rng.beta(4, 3), int(rng.integers(0, 40))
        marks = {}
        for r in rng.choice(raters, 3, replace=False):
            if rng.random() < skill[r] * plain * 1.3:
                marks[f"r{r}"] = [(start + int(rng.integers(-2, 3)) + 2, start + 14 + int(rng.integers(-4, 5)))]
            elif rng.random() < 0.2:
                marks[f"r{r}"] = [(at := int(rng.integers(0, 50)), at + 8)]
            else:
                marks[f"r{r}"] = []
        texts.append(text(f"d{d}", length + 10, **marks))
    return texts


def test_the_interval_covers():
    """The truth is the overlap of a study of many dialogues and raters drawn from the same crowd."""
    truth = measure_overlap(study(np.random.default_rng(1), dialogues=9000, raters=3000)).value
    rng = np.random.default_rng(2)
    overlaps = [measure_overlap(study(rng)) for _ in range(150)]
    held = [overlap.low <= truth <= overlap.high for overlap in overlaps]
    assert 0.9 <= np.mean(held) <= 0.995  # a share of .95 would be below .9 once in 200 such tests
    assert np.mean([overlap.value for overlap in overlaps]) == pytest.approx(truth, abs=0.02)
