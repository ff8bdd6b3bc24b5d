"""What browsing shows in numbers, as a table, sentences and the document of `--json`; the texts are on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.browse.answer import BrowseAnswer, PairShown, SliceNet
from analysis.browse.questions import QuestionShown, QuestionsToBrowse
from analysis.browse.sets import SetShown, SetsToBrowse
from analysis.showing.tables import Table
from analysis.showing.words import count, percent, plain, signed
from analysis.votes.voters import marked_table, not_people

AGREEMENT = {
    "all": "all raters alike", "most": "more than half alike", "split": "no majority", "single": "fewer than two votes",
}  # fmt: skip


def parts(answer: BrowseAnswer) -> list[Table | str]:
    """The table of slices, what to know, and the recipe."""
    tables = [marked_table(slices_table(answer), answer.voters)] if answer.nets else []
    real = [one for one in answer.pairs if one.kind == "real"]
    told = _told(_met(real))
    return [
        *tables,
        f"{count(len(real), 'pair')}: {told}.",
        *answer.notes,
        *not_people(answer.voters),
        answer.signature,
    ]


def slices_table(answer: BrowseAnswer) -> Table:
    """A line for every two systems, and one for each slice of theirs."""
    titles = {one.name: one.title for one in answer.slices}
    words = {(one.name, key): said for one in answer.slices for key, said in one.values}
    rows = [
        [f"{one.first} against {one.second}",
         f"{titles[one.slice]}: {words[one.slice, one.value]}" if one.slice else "all pairs",
         f"{one.pairs:,}", f"{one.votes:,}", said_net(one), percent(one.counts[2] / one.votes)]
        for one in answer.nets
    ]  # fmt: skip
    head = ["systems", "slice", "pairs", "votes", "net preference for the first, points (95 % interval)", "ties"]
    return Table(head, rows, "What the votes say in each slice")


def said_net(one: SliceNet) -> str:
    """`+6.1 (−2.0 to +14.2)`, or why there is no interval."""
    if one.net is None:
        return f"{signed(100 * (one.counts[0] - one.counts[1]) / one.votes)} ({one.reason})"
    return f"{signed(100 * one.net.value)} ({signed(100 * one.net.low)} to {signed(100 * one.net.high)})"


def document(answer: BrowseAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    found = {
        "pairs": len(answer.pairs),
        "systems": answer.systems,
        "slices": [{"slice": one.name, "title": one.title, "values": dict(one.values)} for one in answer.slices],
        "nets": [_net(one) for one in answer.nets],
        "notes": answer.notes,
        "signature": answer.signature,
    }
    return dict(plain(found))


def questions_parts(found: QuestionsToBrowse) -> list[Table | str]:
    """How far raters agree, what to know, and the recipe."""
    told = _told(_met(found.questions))
    return [
        f"{count(len(found.questions), 'question')} with {count(found.answers, 'answer')}: {told}.",
        *found.notes,
        found.signature,
    ]


def questions_document(found: QuestionsToBrowse) -> dict[str, Any]:
    """The stable keys of `--json` for a study of questions."""
    agreement = _met(found.questions)
    told = {"questions": len(found.questions), "answers": found.answers, "agreement": agreement, "notes": found.notes}
    return dict(plain({**told, "signature": found.signature}))


def sets_parts(found: SetsToBrowse) -> list[Table | str]:
    """How far raters agree on the highest, what to know, and the recipe."""
    seen = f"{count(len(found.sets), 'set')} with {count(found.answers, 'answer')}"
    return [
        f"{seen}; the highest by {found.question}: {_told(_met(found.sets))}.",
        *found.notes,
        found.signature,
    ]


def sets_document(found: SetsToBrowse) -> dict[str, Any]:
    """The stable keys of `--json` for a study of sets."""
    told = {
        "sets": len(found.sets),
        "answers": found.answers,
        "question": found.question,
        "agreement": _met(found.sets),
    }
    return dict(plain({**told, "notes": found.notes, "signature": found.signature}))


def _net(one: SliceNet) -> dict[str, Any]:
    first, second, ties = one.counts
    net = one.net
    return {
        "first": one.first, "second": one.second, "slice": one.slice, "value": one.value, "pairs": one.pairs,
        "votes": one.votes, "for_first": first, "for_second": second, "ties": ties,
        "net": (first - second) / one.votes if net is None else net.value, "low": net and net.low,
        "high": net and net.high, "no_interval": one.reason,
    }  # fmt: skip


def _met(shown: Sequence[PairShown | QuestionShown | SetShown]) -> dict[str, int]:
    """How many there are of each kind of agreement."""
    met = [one.agreement for one in shown]
    return {key: met.count(key) for key in AGREEMENT}


def _told(met: Mapping[str, int]) -> str:
    return ", ".join(f"{AGREEMENT[key]} {number:,}" for key, number in met.items() if number)
