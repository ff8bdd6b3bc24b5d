"""Our scores against those of other tools, on real pairs."""

import json
import lzma
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.meteor_score import single_meteor_score

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.tokens import tokenize
from seedvote.generation.metrics.overlap import (
    add_counts,
    bleu2,
    bleu_counts,
    distinct_counts,
    f_measure,
    longest_common,
    meteor_score,
    overlap_scores,
    rouge1_counts,
    rouge_l_counts,
)
from seedvote.generation.metrics.word_matching import stem_word

INVENTED = [
    ("there are 3 hotels in the centre .", "i have 3 cheap hotels in the centre of town ."),
    ("yes", "yes ."),
    ("no .", "yes !"),
    ("booked booked booked", "booking booked it for you"),
    ("the train leaves at 16:15 and arrives at 17:00 .", "the train arrives at 17:00 , leaving at 16:15 ."),
    ("thank you , goodbye .", "thank you , goodbye ."),
]


class Plain:
    """Hands rouge-score our tokens as they are."""

    def tokenize(self, text):
        return text.split()


class NoSynonyms:
    """Stands for a WordNet that knows no word."""

    def synsets(self, word):
        return []


@pytest.fixture(scope="module")
def thousand(pytestconfig, tmp_path_factory):
    """1,000 turns of the real corpus (else of the built-in one), each with one of another dialogue."""
    path = pytestconfig.rootpath.parent / "shared" / "data" / "multiwoz22_text" / "multiwoz22_text.jsonl.xz"
    if path.exists():
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            dialogues = [json.loads(line)["turns"] for line, _ in zip(lines, range(1000), strict=False)]
    else:
        write_toy(folder := tmp_path_factory.mktemp("corpus"), 1000, seed=0)
        found = read_corpus(folder).dialogues[:1000]
        dialogues = [[turn.text for turn in dialogue.turns] for dialogue in found]
    places = [(one[at], two[at]) for one, two in zip(dialogues[::2], dialogues[1::2], strict=True) for at in (1, -1)]
    return [(tokenize(one), tokenize(two)) for one, two in places]


@pytest.fixture(scope="module")
def pairs(thousand):
    """200 of them, with some invented ones."""
    return [*thousand[::5], *((a.split(), b.split()) for a, b in INVENTED)]


def test_sentence_bleu_is_that_of_sacrebleu(pairs):
    from sacrebleu.metrics import BLEU

    oracle = BLEU(max_ngram_order=2, tokenize="none", smooth_method="exp", effective_order=True)
    for response, reference in pairs:
        expected = oracle.sentence_score(" ".join(response), [" ".join(reference)]).score
        assert bleu2(bleu_counts(response, reference), smooth="exp") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("smooth", ["exp", "none"])
def test_corpus_bleu_is_that_of_sacrebleu(pairs, smooth):
    from sacrebleu.metrics import BLEU

    oracle = BLEU(max_ngram_order=2, tokenize="none", smooth_method=smooth)
    responses, references = ([" ".join(pair[side]) for pair in pairs] for side in (0, 1))
    ours = bleu2(add_counts(bleu_counts(a, b) for a, b in pairs), smooth=smooth)
    assert ours == pytest.approx(oracle.corpus_score(responses, [references]).score, abs=1e-9)
    assert ours > 1


def test_fault_3_bleu_with_reference_exchanged(thousand, pairs):
    """As nltk's default: one word, or no common bigram, is worth nothing."""
    for response, reference in [*thousand, *pairs, (["yes"], ["yes"]), (["yes"], ["yes", "yes"]), ([], ["yes"])]:
        score, _ = overlap_scores(response, reference)["bleu2_swapped"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there was no common bigram
            expected = 100 * sentence_bleu([response], reference, weights=(0.5, 0.5))
        assert score == pytest.approx(expected, abs=1e-9)
    short, long = ["yes", "it", "is"], ["yes", "it", "is", "a", "very", "nice", "place", "to", "be"]
    assert bleu2(bleu_counts(short, long), smooth="exp") < bleu2(bleu_counts(long, short), smooth="exp")


def test_rouge_is_that_of_rouge_score(pairs):
    from rouge_score.rouge_scorer import RougeScorer

    oracle = RougeScorer(["rouge1", "rougeL"], tokenizer=Plain())
    for response, reference in pairs:
        expected = oracle.score(" ".join(reference), " ".join(response))
        assert f_measure(rouge1_counts(response, reference)) == pytest.approx(
            100 * expected["rouge1"].fmeasure, abs=1e-9
        )
        assert f_measure(rouge_l_counts(response, reference)) == pytest.approx(
            100 * expected["rougeL"].fmeasure, abs=1e-9
        )


def test_meteor_is_that_of_nltk_by_default_without_synonyms(thousand, pairs):
    for response, reference in [*thousand, *pairs]:
        expected = single_meteor_score(reference, response, wordnet=NoSynonyms())
        assert meteor_score(response, reference) == pytest.approx(100 * expected, abs=1e-9)
    assert meteor_score(["i", "said"], ["is", "sad"]) == 0  # the first stemmer's "is" was "i"


def test_stems_are_those_of_nltk_by_default(thousand):
    suffixed = (
        "caresses ponies relational conditional rational valenci digitizer operator feudalism hopefulness callousness "
        "formaliti triplicate formative electriciti revival allowance adjustable defensible replacement adoption "
        "homologou activate probate rate cease controll roll sky happy agreed plastered motoring sized falling hissing "
        "fizzed is as skies dying news innings exceed dies died spied flies enjoy say fly ally radically probably "
        "possibly hopefully geology theology logi alli bli fulli eyed aged using oiling yyyy y"
    )
    stemmer = PorterStemmer()
    words = {token for pair in thousand for tokens in pair for token in tokens} | set(suffixed.split())
    assert {word: stem_word(word) for word in words} == {word: stemmer.stem(word) for word in words}


def slow_common(one, two):
    table = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_longest_common_subsequence_is_that_of_the_table(one, two):
    assert longest_common(list(one), list(two)) == slow_common(one, two)


@given(st.lists(st.sampled_from("abcd"), max_size=9), st.lists(st.sampled_from("abcd"), min_size=1, max_size=9))
def test_scores_stay_between_0_and_100_and_a_reference_is_perfect(response, reference):
    for score, counts in overlap_scores(response, reference).values():
        assert 0 <= score <= 100 + 1e-9
        assert all(count >= 0 for count in counts.values())
    perfect = overlap_scores(reference, reference)
    assert {name: round(perfect[name][0], 9) for name in ("bleu2", "rouge1", "rouge_l")} == {
        "bleu2": 100,
        "rouge1": 100,
        "rouge_l": 100,
    }


def test_distinct_counts_different_ngrams():
    assert distinct_counts(["a", "b", "a", "b"], 1) == {"different": 2, "all": 4}
    assert distinct_counts(["a", "b", "a", "b"], 2) == {"different": 2, "all": 3}
