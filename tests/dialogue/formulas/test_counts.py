"""BLEU and micro-F1 from counts: one by one and as arrays, at the edges too. sacrebleu's and nltk's values stand in the
tests of token metrics and of task success."""

import numpy as np
import pytest

from seedvote.analysis.stats import multibootstrap
from seedvote.analysis.votes.scores import values
from seedvote.dialogue.formulas.counts import corpus_bleu, corpus_bleus, micro_f1
from seedvote.evaluators.task import rates
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts

NAMES = ("match1", "total1", "match2", "total2", "length", "reference")


def test_micro_f1_of_summed_counts():
    counts = np.random.default_rng(1).integers(0, 50, (200, 3))
    edges = np.array([(0, 3, 0), (0, 0, 3), (7, 0, 0), (1, 1_000_000, 1)])
    for tp, fp, fn in np.concatenate([counts, edges]).astype(float):
        precision, recall = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
        expected = 2 * precision * recall / (precision + recall) if tp else 0.0
        assert float(micro_f1(tp, fp, fn)) == pytest.approx(expected, abs=1e-15)
    assert micro_f1([0, 2], [0, 0], [0, 0]).tolist() == [0, 1]


def test_bleu2_of_one_corpus_is_that_of_an_array_of_them():
    rng, metric = np.random.default_rng(2), multibootstrap.bleu2_metric(NAMES)
    unigrams_only = 0
    for longest in (1, 2, 9):  # in a corpus of one-word responses nobody has a bigram
        for _ in range(100):
            texts = [["abcdef"[n] for n in rng.integers(0, 6, length)] for length in rng.integers(1, longest + 1, 6)]
            counts = add_counts(bleu_counts(*pair) for pair in zip(texts[::2], texts[1::2], strict=True))
            sums = np.array([counts[name] for name in NAMES])
            assert bleu2(counts, smooth="none") == pytest.approx(float(metric(sums)), abs=1e-10)
            assert values.bleu(counts) == pytest.approx(float(metric(sums)), abs=1e-10)
            by_array = corpus_bleus(sums[[0, 2]], sums[[1, 3]], sums[4], sums[5], smooth="exp", effective=True)
            assert bleu2(counts, smooth="exp") == pytest.approx(float(by_array), abs=1e-10)
            unigrams_only += not counts["total2"] and counts["match1"] > 0
            if counts["match2"] or not counts["total2"]:  # the smoothing touches nothing else
                assert bleu2(counts, smooth="exp") == bleu2(counts, smooth="none")
    assert unigrams_only > 20


def test_bleu4_of_one_corpus_is_that_of_an_array_of_them():
    """`evaluators task` and the readers of its score table, also where replies are short or have next to no match."""
    rng, cases = np.random.default_rng(0), set()
    for words in [1, 2, 3, 4, 4, 5, 6] * 20:
        letters = ["abcdefgh", "ab"][words % 2]
        replies = [" ".join(rng.choice(list(letters), words)) for _ in range(2)]
        pairs = [(reply, " ".join(rng.choice(list("abbx"), 6))) for reply in replies]
        sums = np.sum([rates.count_ngrams(*pair) for pair in pairs], 0)
        score = float(rates.bleu4(sums))
        counts = dict(zip(rates.BLEU_COUNTS, sums, strict=True))
        assert values.bleu(counts) == pytest.approx(score, abs=1e-9)
        assert corpus_bleu(counts, (1, 2, 3, 4), smooth="exp", effective=False) == pytest.approx(score, abs=1e-9)
        cases.add((score > 0, bool(sums[3] > 0)))
    assert {(False, False), (True, False), (True, True)} <= cases


@pytest.mark.parametrize("reference", [["a", "b", "c"], ["b"], ["a"]])
@pytest.mark.parametrize("response", [[], ["a"]])
def test_bleu2_of_a_response_without_a_bigram(response, reference):
    counts = bleu_counts(response, reference)
    sums = np.array([counts[name] for name in NAMES], dtype=float)
    by_array = float(multibootstrap.bleu2_metric(NAMES)(sums))
    assert bleu2(counts, smooth="none") == pytest.approx(by_array, abs=1e-10)
    assert (by_array > 0) == (response == ["a"] and "a" in reference)
