"""All pairs, in numbers and as a page of one file without network, readable without script, whose texts are data.

Its policy lets in the one script and the one style sheet of this file, by their hashes, and nothing else. The numbers
are those of the terminal and of `--json`; the texts are on the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from seedvote.analysis.questions.browse.answer import BrowseAnswer, CastVote, JudgedPair, SliceNet, Talks, answer
from seedvote.analysis.questions.browse.sets import (
    AnsweredQuestion,
    QuestionsAnswer,
    RatedSet,
    SetsAnswer,
    answer_questions,
    answer_sets,
    has_choices,
    has_ratings,
)
from seedvote.analysis.showing.page import TEMPLATES, hash_source, link_files, load_templates
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, percent, signed, to_plain
from seedvote.analysis.stats.between_raters.overlap import Overlap
from seedvote.analysis.votes.cautions import marked_table, not_people, told_of_reading, with_reading
from seedvote.analysis.votes.inputs import pairs_known, votes_of
from seedvote.analysis.votes.passages import Passages, TextRun, read_passages
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, read_records
from seedvote.dialogue.records import Candidate, HeldConversation
from seedvote.dialogue.signature import VERSION

AGREEMENT = {
    "all": "all raters alike",
    "most": "more than half alike",
    "split": "no majority",
    "single": "fewer than two votes",
}


def parts(answer: BrowseAnswer) -> list[Table | str]:
    """The table of slices, what to know, and the recipe."""
    tables = [marked_table(_slices_table(answer), answer.voters)] if answer.nets else []
    real = [pair for pair in answer.pairs if pair.kind == "real"]
    return [
        *tables,
        f"{count(len(real), 'pair')}: {_agreement_words(real)}.",
        *_passage_sentences(answer.passages),
        *answer.notes,
        *not_people(answer.voters),
        answer.signature,
    ]


def _slices_table(answer: BrowseAnswer) -> Table:
    """A line for every two systems, and one for each slice of theirs."""
    titles = {cut.name: cut.title for cut in answer.slices}
    rows = [
        [
            f"{net.first} against {net.second}",
            f"{titles[net.slice]}: {_slice_words(answer, net)}" if net.slice else "all pairs",
            f"{net.pairs:,}",
            f"{net.votes:,}",
            _net_words(net),
            percent(net.counts[2] / net.votes),
        ]
        for net in answer.nets
    ]
    head = ["systems", "slice", "pairs", "votes", "net preference for the first, points (95 % interval)", "ties"]
    return Table(head, rows, "What the votes say in each slice")


def _slice_words(answer: BrowseAnswer, net: SliceNet) -> str:
    """The words of a slice's value, without its title; `all pairs` for the whole."""
    values = {cut.name: dict(cut.values) for cut in answer.slices}
    return values[net.slice][net.value] if net.slice else "all pairs"


def _net_words(net: SliceNet) -> str:
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
        *_passage_sentences(answer.passages),
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


def _passage_sentences(passages: Passages | None) -> list[str]:
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


PAGE = "browse.html"
TALKS = "conversations.jsonl"
FIXED = 5  # keys of a pair before its slices: both systems, winner, agreement, kind


def browse(
    votes: Path,
    *,
    pairs: Path | None = None,
    out: Path | None = None,
    title: str = "",
    clusters: str = "auto",
    question: str = "",
    uncounted: bool = False,
    **reading: Any,
) -> Result:
    """Write the page of every pair, or of every question or set of responses, and say what the votes show."""
    page_title = title or votes.resolve().name
    if has_ratings(votes):
        sets = answer_sets(votes, sets=pairs, question=question, uncounted=uncounted)
        place = out or votes / PAGE
        page = sets_page(sets, page_title, link_files((pairs or votes / PAGE).parent, place))
        return _write_page(page, place, sets_document(sets), sets_parts(sets))
    if has_choices(votes):
        picked = answer_questions(votes, uncounted=uncounted)
        numbers, pieces = questions_document(picked), questions_parts(picked)
        place = out or votes / PAGE
        return _write_page(questions_page(picked, page_title, link_files(votes, place)), place, numbers, pieces)
    reading |= {"uncounted": uncounted} | ({"question": question} if question else {})
    table = votes_of(votes, also=("comment",), **reading)
    try:
        controls = votes_of(votes, also=("comment",), kinds=("control",), **reading)
    except InputError:  # no control pairs
        controls = None
    file, known = pairs_known(votes, pairs)
    folder, name = (votes, votes.name) if votes.is_dir() else (votes.parent, votes.stem)
    judged = answer(table, tuple(known.values()), controls, clusters=clusters, talks=read_talks(folder))
    judged = replace(judged, passages=read_passages(folder, [*known.values()]))
    place = out or folder / (f"browse-{question}.html" if question else PAGE)
    page = browse_page(judged, title or name, link_files(file.parent, place))
    return _write_page(page, place, with_reading(document(judged), table), parts(judged), told_of_reading(table))


def read_talks(folder: Path) -> Talks:
    """The live conversations of a study, by pair and rater."""
    path = folder / TALKS
    records = read_records(path, HeldConversation) if path.exists() else ()
    return {(talk.pair, talk.rater): talk for talk in records}


def _write_page(
    page: str, path: Path, numbers: dict[str, Any], pieces: Sequence[Table | str], lines: Sequence[str] = ()
) -> Result:
    with atomic(path) as handle:
        handle.write(page)
    return Result(numbers, pieces, dict, lines, written=str(path))


def browse_page(answer: BrowseAnswer, title: str, link: Callable[[str], str] = str) -> str:
    """The whole page of pairs; `link` gives the addresses of their images and recordings."""
    places = {cut.name: k for k, cut in enumerate(answer.slices, FIXED)}
    return _render_template(
        "browse/pairs.html",
        "pair",
        title=title,
        answer=answer,
        facets=list(_list_facets(answer)),
        articles=list(_describe_pairs(answer)),
        tables=list(_slice_tables(answer)),
        places=places,
        not_people=not_people(answer.voters),
        link=link,
        marks=_passage_sentences(answer.passages),
    )


def questions_page(answer: QuestionsAnswer, title: str, link: Callable[[str], str] = str) -> str:
    """The whole page of questions; its script is that of pairs, whose keys of systems stay empty."""
    kinds = dict.fromkeys(question.source.kind for question in answer.questions)
    facets = [
        (
            "winner",
            "Most picked",
            [("true", "the true option"), ("other", "another option"), ("none", "nothing: even")],
        ),
        ("agreement", "Agreement", [*AGREEMENT.items()]),
        ("kind", "Kind", [(kind, kind) for kind in kinds]),
    ]
    articles = [
        _describe_question(question, question.source.question, question.picked) | {"question": question}
        for question in answer.questions
    ]
    return _render_template(
        "browse/questions.html", "question", title=title, answer=answer, facets=facets, articles=articles, link=link
    )


def sets_page(answer: SetsAnswer, title: str, link: Callable[[str], str] = str) -> str:
    """The whole page of sets of responses."""
    systems = sorted({name for rated in answer.sets for name in rated.systems})
    kinds = dict.fromkeys(rated.source.kind for rated in answer.sets)
    facets = [
        ("winner", f"Highest by {answer.question}", [*((name, name) for name in systems), (":none", "nothing: even")]),
        ("agreement", "Agreement on the highest", [*AGREEMENT.items()]),
        ("kind", "Kind", [(kind, kind) for kind in kinds]),
    ]
    articles = [
        _describe_question(rated, rated.source.set, rated.systems[rated.best[0]] if len(rated.best) == 1 else ":none")
        | {"rated": rated}
        | {"runs": _list_runs(answer.passages, rated.source.set, map(str, range(len(rated.source.responses))))}
        for rated in answer.sets
    ]
    return _render_template(
        "browse/sets.html",
        "set",
        title=title,
        answer=answer,
        facets=facets,
        articles=articles,
        link=link,
        marks=_passage_sentences(answer.passages),
    )


def _describe_question(judged: AnsweredQuestion | RatedSet, name: str, winner: str) -> dict[str, Any]:
    """What the frame shows of a question or a set; the keys of two systems stay empty."""
    keys = json.dumps(["", "", winner, judged.agreement, judged.source.kind])
    return {"name": name, "source": judged.source, "keys": keys, "counts": "0 0 0", "comments": judged.comments}


def _render_template(template: str, what: str, **values: object) -> str:
    """What no text file can hold (half a character) becomes a question mark."""
    script, style = ((TEMPLATES / "browse" / name).read_text(encoding="utf-8") for name in ("browse.js", "browse.css"))
    page = (
        load_templates()
        .get_template(template)
        .render(
            **{"places": {}, "not_people": [], "link": str, "marks": [], **values},
            what=what,
            version=VERSION,
            script=script,
            style=style,
            policy=f"default-src 'none'; script-src '{hash_source(script)}'; style-src '{hash_source(style)}'; "
            "img-src 'self' file:; media-src 'self' file:; base-uri 'none'; form-action 'none'",
        )
    )
    return page.encode("utf-8", "replace").decode()


def address_of(facets: Mapping[str, str], page: str = "") -> str:
    """Where the pairs stand that these choices of the form leave.

    >>> address_of({"system": "lstm 0", "agreement": "split"}, "browse.html")
    'browse.html#system=lstm+0&agreement=split'
    """
    return f"{page}#{urlencode(facets)}"


def _list_facets(answer: BrowseAnswer) -> Iterator[tuple[str, str, Sequence[tuple[str, str]]]]:
    """Name, label and choices of every list of the form, in the order of each pair's keys."""
    systems = [(name, name) for name in answer.systems]
    yield "system", "System", systems
    yield "against", "Against", systems
    yield "winner", "Most votes for", [*systems, (":tie", "tie"), (":none", "nothing: even")]
    yield "agreement", "Agreement", [*AGREEMENT.items()]
    yield "kind", "Kind", [(kind, kind) for kind in dict.fromkeys(pair.kind for pair in answer.pairs)]
    for cut in answer.slices:
        yield cut.name, cut.title, cut.values


def _slice_tables(answer: BrowseAnswer) -> Iterator[dict[str, Any]]:
    """A table of slices for every two systems, each line with the address of its pairs; one table where none is cut."""
    titles = {cut.name: cut.title for cut in answer.slices}
    if not any(net.slice for net in answer.nets):
        lines = [_link_line(net, f"{net.first} against {net.second}") for net in answer.nets]
        table = {"summary": "What the votes say", "first": "the first system", "head": "Systems"}
        yield from [table | {"groups": [("", lines)]}] if lines else []
        return
    for (first, second), nets in groupby(answer.nets, lambda net: (net.first, net.second)):
        groups = [
            (titles.get(name, ""), [_link_line(net, _slice_words(answer, net)) for net in group])
            for name, group in groupby(nets, lambda net: net.slice)
        ]
        summary = f"{first} against {second}, slice by slice"
        yield {"summary": summary, "first": first, "head": "Slice", "groups": groups}


def _link_line(net: SliceNet, words: str) -> dict[str, str]:
    cut = {net.slice: net.value} if net.slice else {}
    return {
        "words": words,
        "address": address_of({"system": net.first, "against": net.second, "kind": "real", **cut}),
        "net": _net_words(net),
        "ties": percent(net.counts[2] / net.votes),
        "votes": f"{net.votes:,}",
        "pairs": f"{net.pairs:,}",
    }


def _describe_pairs(answer: BrowseAnswer) -> Iterator[dict[str, Any]]:
    """Every pair as the template needs it; `keys` are for the script, in the order of the form."""
    for k, pair in enumerate(answer.pairs):
        keys = [*pair.systems, _name_winner(pair), pair.agreement, pair.kind]
        keys += [cut.values[cut.codes[k]][0] if cut.codes[k] >= 0 else "" for cut in answer.slices]
        yield {
            "name": pair.pair,
            "source": pair.source,
            "keys": json.dumps(keys),
            "counts": " ".join(map(str, pair.counts)),
            "sides": _list_sides(pair),
            "runs": _list_runs(answer.passages, pair.pair, ("a", "b")),
            "votes": "; ".join(_vote_words(vote, pair.systems) for vote in pair.votes),
            "comments": [vote.comment for vote in pair.votes if vote.comment],
            "talks": [_describe_talk(vote, pair.systems) for vote in pair.votes if vote.talk],
        }


def _describe_talk(vote: CastVote, systems: tuple[str, str]) -> dict[str, Any]:
    """What one rater said to both systems, and what they answered."""
    sides = () if vote.talk is None else zip(systems, (vote.talk.a, vote.talk.b), strict=True)
    return {"words": _vote_words(vote, systems), "sides": list(sides)}


def _name_winner(pair: JudgedPair) -> str:
    side = pair.winner
    return pair.systems[side == "b"] if side in ("a", "b") else f":{side or 'none'}"


def _list_sides(pair: JudgedPair) -> list[tuple[str, int, Candidate | None]]:
    sides = (None, None) if pair.source is None else (pair.source.a, pair.source.b)
    return list(zip(pair.systems, pair.counts[:2], sides, strict=True))


def _list_runs(passages: Passages | None, name: str, responses: Iterable[str]) -> list[list[TextRun]]:
    """The texts of the responses, cut where marks begin and end; empty where nobody marked anything."""
    runs = [passages.runs(name, response) if passages else [] for response in responses]
    return [of_response if any(run.raters for run in of_response) else [] for of_response in runs]


def _vote_words(vote: CastVote, systems: tuple[str, str]) -> str:
    """`lstm-0, on the left, 6.0 s`."""
    if vote.automatic:
        return "tie, recorded because both are the same text"
    words = ["tie" if vote.choice == "tie" else systems[vote.choice == "b"]]
    if vote.left and vote.choice != "tie":
        words.append("on the left" if vote.left == vote.choice else "on the right")
    return ", ".join([*words, *([] if vote.seconds is None else [f"{vote.seconds:.1f} s"])])
