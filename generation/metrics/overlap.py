"""Word-overlap scores of a response against its reference, each item with counts that may be summed.

Every score is on the scale 0-100, as the papers print BLEU, and takes tokens in lower case.

- BLEU-2: Papineni et al. 2002 with unigrams and bigrams; matches clipped in each segment; brevity penalty exp(1 - r/c)
  for c < r. `smooth="exp"` counts no bigram match as half a one (sacrebleu's default); a response of one word has no
  bigrams and is scored by unigrams (effective order).
- ROUGE-1, ROUGE-L: Lin 2004; F = 2PR / (P + R) over clipped unigrams, or over the longest common subsequence.
- METEOR: Lavie and Agarwal 2007 (alpha .9, beta 3, gamma .5), as nltk has it by default: exact matches, stems, then,
  under a name of its own and where a WordNet is at hand, synonyms.
- distinct-n: Li et al. 2016; different n-grams over n-grams of one response.

To add a score: its counts and formula here, and a row in `overlap_scores`. What else may want it by name:
its card (TOKEN in dialogue/cards.py) compares models by it, SELECTORS (generation/training.py) picks epochs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from seedvote.dialogue.formulas.counts import Smooth, corpus_bleu
from seedvote.generation.metrics.word_matching import stem_word

Tokens = Sequence[str]
OverlapCounts = dict[str, float]
Synonyms = Callable[[str], frozenset[str]]  # a word -> the words that may stand for it, itself among them
ORDERS = (1, 2)


def count_ngrams(tokens: Tokens, order: int) -> Counter[tuple[str, ...]]:
    """How often each n-gram occurs."""
    return Counter(zip(*(tokens[i:] for i in range(order)), strict=False))


def bleu_counts(response: Tokens, reference: Tokens) -> OverlapCounts:
    """Summable counts: clipped matches and totals of both orders, lengths of response and reference."""
    counts: OverlapCounts = {"length": len(response), "reference": len(reference)}
    for order in ORDERS:
        counts[f"match{order}"] = (count_ngrams(response, order) & count_ngrams(reference, order)).total()
        counts[f"total{order}"] = max(0, len(response) - order + 1)
    return counts


def add_counts(rows: Iterable[Mapping[str, float]]) -> OverlapCounts:
    """Counts of a corpus from those of its items."""
    total: OverlapCounts = {}
    for row in rows:
        for name, value in row.items():
            total[name] = total.get(name, 0.0) + value
    return total


def bleu2(counts: Mapping[str, float], *, smooth: Smooth) -> float:
    """BLEU-2 of one item, or of a corpus from summed counts."""
    return corpus_bleu(counts, ORDERS, smooth=smooth, effective=True)


def rouge1_counts(response: Tokens, reference: Tokens) -> OverlapCounts:
    """Clipped unigram matches and both lengths."""
    common = (Counter(response) & Counter(reference)).total()
    return {"match": common, "length": len(response), "reference": len(reference)}


def rouge_l_counts(response: Tokens, reference: Tokens) -> OverlapCounts:
    """Length of the longest common subsequence and both lengths."""
    return {"match": longest_common(response, reference), "length": len(response), "reference": len(reference)}


def longest_common(first: Tokens, second: Tokens) -> int:
    """Length of the longest common subsequence; a row of the usual table is one integer (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for place, token in enumerate(second):
        places[token] = places.get(token, 0) | 1 << place
    row = full = (1 << len(second)) - 1
    for token in first:
        matched = row & places.get(token, 0)
        row = ((row + matched) | (row - matched)) & full
    return (row ^ full).bit_count()


def f_measure(counts: Mapping[str, float]) -> float:
    """2PR / (P + R) from matches and lengths."""
    length = counts["length"] + counts["reference"]
    return 200 * counts["match"] / length if length else 0.0


def meteor_score(response: Tokens, reference: Tokens, synonyms: Synonyms | None = None) -> float:
    """METEOR: exact matches first, stems second, then synonyms where given; of equal words the last ones go first."""
    matches = _align_words(response, reference, synonyms)
    if not matches:
        return 0.0
    precision, recall = len(matches) / len(response), len(matches) / len(reference)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    chunks = 1 + sum((a + 1, b + 1) != after for (a, b), after in pairwise(matches))
    return 100 * mean * (1 - 0.5 * (chunks / len(matches)) ** 3)


def _align_words(response: Tokens, reference: Tokens, synonyms: Synonyms | None) -> list[tuple[int, int]]:
    """Matched places in order of the response."""
    matches: dict[int, int] = {}
    for form in (str, stem_word):
        free: dict[str, list[int]] = {}
        for place, token in enumerate(reference):
            if place not in matches.values():
                free.setdefault(form(token), []).append(place)
        for place in reversed(range(len(response))):
            if place not in matches and (places := free.get(form(response[place]))):
                matches[place] = places.pop()
    if synonyms:
        open_places = [place for place in range(len(reference)) if place not in matches.values()]
        for place in reversed(range(len(response))):
            if place not in matches:
                # Synonyms of stems, few of them words: nltk does so, and scores are compared with those of others.
                senses = synonyms(stem_word(response[place]))
                if fits := [match for match in open_places if stem_word(reference[match]) in senses]:
                    matches[place] = fits[-1]
                    open_places.remove(fits[-1])
    return sorted(matches.items())


def distinct_counts(response: Tokens, order: int) -> OverlapCounts:
    """Different n-grams and all n-grams of one response."""
    counts = count_ngrams(response, order)
    return {"different": len(counts), "all": counts.total()}


def overlap_scores(
    response: Tokens, reference: Tokens, synonyms: Synonyms | None = None
) -> dict[str, tuple[float, OverlapCounts]]:
    """Every score of one item: name -> (score, summable counts, empty where a corpus score is the mean of items).

    `meteor_wordnet` is there where synonyms are given.
    `bleu2_swapped` is the variant of the papers' code: response and reference exchanged, no smoothing, and nothing for
    texts without a common bigram, one-word texts too, as nltk's default has it.
    """
    bleu, swapped = bleu_counts(response, reference), bleu_counts(reference, response)
    rouge1, rouge_l = rouge1_counts(response, reference), rouge_l_counts(response, reference)
    distinct = {f"distinct{order}": distinct_counts(response, order) for order in ORDERS}
    return {
        "bleu2": (bleu2(bleu, smooth="exp"), bleu),
        "bleu2_swapped": (bleu2(swapped, smooth="none") if swapped["match2"] else 0.0, swapped),
        "rouge1": (f_measure(rouge1), rouge1),
        "rouge_l": (f_measure(rouge_l), rouge_l),
        "meteor": (meteor_score(response, reference), {}),
        **({"meteor_wordnet": (meteor_score(response, reference, synonyms), {})} if synonyms else {}),
        **{name: (100 * c["different"] / c["all"] if c["all"] else 0.0, c) for name, c in distinct.items()},
    }
