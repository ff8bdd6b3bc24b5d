"""The page of all pairs: one file without network, readable without script, whose texts are data and never markup.

Its policy lets in the one script and the one style sheet of this file, by their hashes, and nothing else.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2

from analysis.browse.answer import BrowseAnswer, CastVote, PairShown, SliceNet
from analysis.browse.questions import QuestionShown, QuestionsToBrowse
from analysis.browse.sets import SetShown, SetsToBrowse
from analysis.browse.text import AGREEMENT, slices_table
from analysis.showing.page import hash_source
from analysis.votes.voters import not_people
from dialogue.signature import VERSION

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
PAGE = "browse.html"
FIXED = 5  # keys of a pair before its slices: both systems, winner, agreement, kind


def browse_page(answer: BrowseAnswer, title: str) -> str:
    """The whole page of pairs."""
    places = {cut.name: k for k, cut in enumerate(answer.slices, FIXED)}
    return _page(
        "browse/pairs.html", "pair", title=title, found=answer, facets=list(_facets(answer)),
        shown=list(_shown(answer)), rows=_rows(answer), places=places, not_people=not_people(answer.voters),
    )  # fmt: skip


def questions_page(found: QuestionsToBrowse, title: str) -> str:
    """The whole page of questions; its script is that of pairs, whose keys of systems stay empty."""
    kinds = dict.fromkeys(one.source.kind for one in found.questions)
    facets = [
        (
            "winner",
            "Most picked",
            [("true", "the true option"), ("other", "another option"), ("none", "nothing: even")],
        ),
        ("agreement", "Agreement", [*AGREEMENT.items()]),
        ("kind", "Kind", [(kind, kind) for kind in kinds]),
    ]
    shown = [_without_votes(one, one.source.question, one.picked) | {"asked": one} for one in found.questions]
    return _page("browse/questions.html", "question", title=title, found=found, facets=facets, shown=shown)


def sets_page(found: SetsToBrowse, title: str) -> str:
    """The whole page of sets of responses."""
    systems = sorted({name for one in found.sets for name in one.systems})
    kinds = dict.fromkeys(one.source.kind for one in found.sets)
    facets = [
        ("winner", f"Highest by {found.question}", [*((name, name) for name in systems), (":none", "nothing: even")]),
        ("agreement", "Agreement on the highest", [*AGREEMENT.items()]),
        ("kind", "Kind", [(kind, kind) for kind in kinds]),
    ]
    shown = [
        _without_votes(one, one.source.set, one.systems[one.best[0]] if len(one.best) == 1 else ":none")
        | {"judged": one}
        for one in found.sets
    ]
    return _page("browse/sets.html", "set", title=title, found=found, facets=facets, shown=shown)


def _without_votes(one: QuestionShown | SetShown, name: str, winner: str) -> dict[str, Any]:
    """What the frame shows of a question or a set; the keys of two systems stay empty."""
    keys = json.dumps(["", "", winner, one.agreement, one.source.kind])
    return {"name": name, "source": one.source, "keys": keys, "counts": "0 0 0", "comments": one.comments}


@functools.cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _page(template: str, what: str, **values: object) -> str:
    """What no text file can hold (half a character) becomes a question mark."""
    script, style = (_file(name) for name in ("browse.js", "browse.css"))
    made = _templates().get_template(template).render(
        **{"places": {}, "not_people": [], **values}, what=what, version=VERSION, script=script, style=style,
        policy=f"default-src 'none'; script-src '{hash_source(script)}'; style-src '{hash_source(style)}'; "
        "base-uri 'none'; form-action 'none'",
    )  # fmt: skip
    return made.encode("utf-8", "replace").decode()


def address_of(facets: Mapping[str, str], page: str = "") -> str:
    """Where the pairs stand that these choices of the form leave.

    >>> address_of({"system": "lstm 0", "agreement": "split"}, "browse.html")
    'browse.html#system=lstm+0&agreement=split'
    """
    return f"{page}#{urlencode(facets)}"


def _file(name: str) -> str:
    return (TEMPLATES / "browse" / name).read_text(encoding="utf-8")


def _facets(answer: BrowseAnswer) -> Iterator[tuple[str, str, Sequence[tuple[str, str]]]]:
    """Name, label and choices of every list of the form, in the order of each pair's keys."""
    systems = [(name, name) for name in answer.systems]
    yield "system", "System", systems
    yield "against", "Against", systems
    yield "winner", "Most votes for", [*systems, (":tie", "tie"), (":none", "nothing: even")]
    yield "agreement", "Agreement", [*AGREEMENT.items()]
    yield "kind", "Kind", [(kind, kind) for kind in dict.fromkeys(one.kind for one in answer.pairs)]
    for cut in answer.slices:
        yield cut.name, cut.title, cut.values


def _rows(answer: BrowseAnswer) -> list[tuple[Sequence[object], str]]:
    """The table of slices, each line with the address of its pairs."""
    return [(cells, _pairs_of(one)) for cells, one in zip(slices_table(answer).rows, answer.nets, strict=True)]


def _pairs_of(one: SliceNet) -> str:
    cut = {one.slice: one.value} if one.slice else {}
    return address_of({"system": one.first, "against": one.second, "kind": "real", **cut})


def _shown(answer: BrowseAnswer) -> Iterator[dict[str, Any]]:
    """Every pair as the template needs it; `keys` are for the script, in the order of the form."""
    for k, one in enumerate(answer.pairs):
        keys = [*one.systems, _winner(one), one.agreement, one.kind]
        keys += [cut.values[cut.codes[k]][0] if cut.codes[k] >= 0 else "" for cut in answer.slices]
        yield {
            "name": one.pair,
            "source": one.source,
            "keys": json.dumps(keys),
            "counts": " ".join(map(str, one.counts)),
            "sides": _sides(one),
            "votes": "; ".join(_said(vote, one.systems) for vote in one.votes),
            "comments": [vote.comment for vote in one.votes if vote.comment],
        }


def _winner(one: PairShown) -> str:
    side = one.winner
    return one.systems[side == "b"] if side in ("a", "b") else f":{side or 'none'}"


def _sides(one: PairShown) -> list[tuple[str, int, str]]:
    texts = ("", "") if one.source is None else (one.source.a.text, one.source.b.text)
    return [(name, number, text) for name, number, text in zip(one.systems, one.counts[:2], texts, strict=True)]


def _said(vote: CastVote, systems: tuple[str, str]) -> str:
    """`lstm-0, on the left, 6.0 s`."""
    if vote.automatic:
        return "tie, recorded because both are the same text"
    told = ["tie" if vote.choice == "tie" else systems[vote.choice == "b"]]
    if vote.left and vote.choice != "tie":
        told.append("on the left" if vote.left == vote.choice else "on the right")
    return ", ".join([*told, *([] if vote.seconds is None else [f"{vote.seconds:.1f} s"])])
