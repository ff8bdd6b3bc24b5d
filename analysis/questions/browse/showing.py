"""What browsing shows in numbers, as a table, sentences and the document of `--json`; the texts are on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seedvote.analysis.questions.browse.answer import BrowseAnswer, JudgedPair, SliceNet
from seedvote.analysis.questions.browse.options import AnsweredQuestion, QuestionsAnswer
from seedvote.analysis.questions.browse.sets import RatedSet, SetsAnswer
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, percent, signed, to_plain
from seedvote.analysis.stats.between_raters.overlap import Overlap
from seedvote.analysis.votes.cautions import marked_table, not_people
from seedvote.analysis.votes.passages import Passages

AGREEMENT = {
    "all": "all raters alike",
    "most": "more than half alike",
    "split": "no majority",
    "single": "fewer than two votes",
}


def parts(answer: BrowseAnswer) -> list[Table | str]:
    """The table of slices, what to know, and the recipe."""
    tables = [marked_table(slices_table(answer), answer.voters)] if answer.nets else []
    real = [pair for pair in answer.pairs if pair.kind == "real"]
    return [
        *tables,
        f"{count(len(real), 'pair')}: {_agreement_words(real)}.",
        *passage_sentences(answer.passages),
        *answer.notes,
        *not_people(answer.voters),
        answer.signature,
    ]


def slices_table(answer: BrowseAnswer) -> Table:
    """A line for every two systems, and one for each slice of theirs."""
    titles = {cut.name: cut.title for cut in answer.slices}
    rows = [
        [
            f"{net.first} against {net.second}",
            f"{titles[net.slice]}: {slice_words(answer, net)}" if net.slice else "all pairs",
            f"{net.pairs:,}",
            f"{net.votes:,}",
            net_words(net),
            percent(net.counts[2] / net.votes),
        ]
        for net in answer.nets
    ]
    head = ["systems", "slice", "pairs", "votes", "net preference for the first, points (95 % interval)", "ties"]
    return Table(head, rows, "What the votes say in each slice")


def slice_words(answer: BrowseAnswer, net: SliceNet) -> str:
    """The words of a slice's value, without its title; `all pairs` for the whole."""
    values = {cut.name: dict(cut.values) for cut in answer.slices}
    return values[net.slice][net.value] if net.slice else "all pairs"


def net_words(net: SliceNet) -> str:
    """`+6.1 (−2.0 to +14.2)`, or why there is no interval."""
    if net.net is None:
        return f"{signed(100 * (net.counts[0] - net.counts[1]) / net.votes)} ({net.reason})"
    return f"{signed(100 * net.net.value)} ({signed(100 * net.net.low)} to {signed(100 * net.net.high)})"


def document(answer: BrowseAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    keys = {
        "pairs": len(answer.pairs),
        "systems": answer.systems,
        "slices": [{"slice": cut.name, "title": cut.title, "values": dict(cut.values)} for cut in answer.slices],
        "nets": [_net_keys(net) for net in answer.nets],
        "marks": _passage_keys(answer.passages),
        "notes": answer.notes,
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def questions_parts(answer: QuestionsAnswer) -> list[Table | str]:
    """How far raters agree, what to know, and the recipe."""
    sizes = f"{count(len(answer.questions), 'question')} with {count(answer.answers, 'answer')}"
    return [f"{sizes}: {_agreement_words(answer.questions)}.", *answer.notes, answer.signature]


def questions_document(answer: QuestionsAnswer) -> dict[str, Any]:
    """The stable keys of `--json` for a study of questions."""
    keys = {
        "questions": len(answer.questions),
        "answers": answer.answers,
        "agreement": _agreement_counts(answer.questions),
        "notes": answer.notes,
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def sets_parts(answer: SetsAnswer) -> list[Table | str]:
    """How far raters agree on the highest, what to know, and the recipe."""
    sizes = f"{count(len(answer.sets), 'set')} with {count(answer.answers, 'answer')}"
    return [
        f"{sizes}; the highest by {answer.question}: {_agreement_words(answer.sets)}.",
        *passage_sentences(answer.passages),
        *answer.notes,
        answer.signature,
    ]


def sets_document(answer: SetsAnswer) -> dict[str, Any]:
    """The stable keys of `--json` for a study of sets."""
    keys = {
        "sets": len(answer.sets),
        "answers": answer.answers,
        "question": answer.question,
        "agreement": _agreement_counts(answer.sets),
        "marks": _passage_keys(answer.passages),
        "notes": answer.notes,
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def passage_sentences(passages: Passages | None) -> list[str]:
    """How many passages were marked, and how far raters mark the same ones."""
    if passages is None:
        return []
    number = sum(passages.by_category.values())
    kinds = ", ".join(f"{category} {many:,}" for category, many in passages.by_category.items())
    sentences = [f"{count(number, 'marked passage')}{': ' + kinds if kinds else ''}."]
    for overlap, what in ((passages.found, "characters"), (passages.named, "characters with the same category")):
        if overlap is not None:
            low, high = overlap.low, overlap.high
            ends = "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"
            sentences.append(
                f"Two raters mark the same {what} at F1 {percent(overlap.value)}{ends}; chance gives "
                f"{percent(overlap.chance)}."
            )
    return sentences


def _passage_keys(passages: Passages | None) -> dict[str, Any] | None:
    if passages is None:
        return None
    return {
        "categories": dict(passages.by_category),
        "overlap": passages.found and _overlap_keys(passages.found),
        "overlap_with_category": passages.named and _overlap_keys(passages.named),
    }


def _overlap_keys(overlap: Overlap) -> dict[str, Any]:
    return {
        "f1": overlap.value,
        "low": overlap.low,
        "high": overlap.high,
        "chance": overlap.chance,
        "comparisons": overlap.comparisons,
    }


def _net_keys(net: SliceNet) -> dict[str, Any]:
    first, second, ties = net.counts
    interval = net.net
    return {
        "first": net.first,
        "second": net.second,
        "slice": net.slice,
        "value": net.value,
        "pairs": net.pairs,
        "votes": net.votes,
        "for_first": first,
        "for_second": second,
        "ties": ties,
        "net": (first - second) / net.votes if interval is None else interval.value,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "no_interval": net.reason,
    }


def _agreement_counts(judged: Sequence[JudgedPair | AnsweredQuestion | RatedSet]) -> dict[str, int]:
    """How many there are of each kind of agreement."""
    kinds = [item.agreement for item in judged]
    return {key: kinds.count(key) for key in AGREEMENT}


def _agreement_words(judged: Sequence[JudgedPair | AnsweredQuestion | RatedSet]) -> str:
    return ", ".join(f"{AGREEMENT[key]} {number:,}" for key, number in _agreement_counts(judged).items() if number)
