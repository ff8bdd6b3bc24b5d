"""The report's account of the study: what was done, what was left out, what reviewers ask, what every field means."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from seedvote.analysis.report.checklist import Asked
from seedvote.analysis.showing.page import Section
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count
from seedvote.analysis.votes.scores.files import find_score_files
from seedvote.analysis.votes.scores.panel import PEOPLE, UNSEEN, Panel
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.records import Pair, Rater, Response, ResponseRating, ResponseSet, Score, Vote

RECORDS = (
    (("votes.jsonl",), Vote),
    (("pairs.jsonl",), Pair),
    (("raters.jsonl",), Rater),
    (("responses.jsonl",), Response),
    (("response_sets.jsonl",), ResponseSet),
    (("ratings.jsonl",), ResponseRating),
)


def count_facts(study: Study, panels: Sequence[Panel]) -> list[tuple[str, str]]:
    """The size of the study in numbers with their nouns, for the head of the page."""
    sizes: list[tuple[int, str]] = []
    votes, rated = study.votes, study.ratings
    if rated is not None:
        sizes += [(rated.compared, rated.noun), (rated.items, "item"), (len(rated.systems), "system")]
        sizes += [(rated.people, "rater")] if rated.people else []
    if votes is not None:
        cast_votes = votes.given()
        sizes += [(len(cast_votes), "vote")]
        sizes += [(len(votes) - len(cast_votes), "recorded tie")] if len(cast_votes) < len(votes) else []
        sizes += [(len(np.unique(cast_votes.pair)), "pair")]
        sizes += [(votes.voters, "rater")] if votes.voters else []
        sizes += [(len(votes.dialogues), "dialogue")] if votes.dialogues else []
    trained = [panel for panel in panels if panel.checkpoint != UNSEEN]
    models = {model for panel in trained for model in panel.models}
    seeds = {system for panel in trained for system in panel.systems if system.seed is not None}
    sizes += [(len(models), "architecture")] if models else []
    sizes += [(len(seeds), "trained model")] if seeds else []
    tasks = {(panel.kind, panel.name) for panel in trained if panel.kind != PEOPLE}
    sizes += [(len(tasks), "automatic measure")] if tasks else []
    return [(f"{number:,}", noun if number == 1 else noun + "s") for number, noun in sizes]


def done_section(study: Study, panels: Sequence[Panel]) -> Section:
    """What was done, in sentences, and the recipe of every file."""
    recipes = tuple((name, line) for name, line in study.recipes.items())
    tables = (
        Table(("file", "recipe"), recipes, "Signature of every file (the same signature gives the same numbers)", True),
    )
    return Section(
        "done", "What was done", items=tuple(_describe_design(study, panels)), inline=tables if recipes else ()
    )


def _describe_design(study: Study, panels: Sequence[Panel]) -> Iterator[str]:
    if study.ratings is not None:
        yield from study.ratings.told
    votes = study.votes
    if votes is not None:
        yield from _describe_votes(votes.given())
        if recorded := len(votes) - len(votes.given()):
            yield (
                f"{count(recorded, 'tie')} recorded for pairs of two identical responses, which nobody was shown: part "
                "of the share of ties, not of the agreement between raters."
            )
        if days := _format_days(study):
            yield days
        if known := [f"{number:,} {door}" for door, number in votes.source.items() if door != "unknown"]:
            yield f"Votes by where the raters came from: {', '.join(known)}."
        yield from _left_out(study)
    for kind, name in dict.fromkeys((panel.kind, panel.shown.group) for panel in panels):
        mine_ = [panel for panel in panels if panel.kind == kind and panel.checkpoint != UNSEEN]
        if mine_:
            yield f"Models judged by {name}: {_list_models(mine_)}."
    if decodings := sorted({response.decoding for response in study.responses}):
        yield f"Responses were decoded by {', '.join(decodings)}."
    points = "" if study.ratings is not None else " Points are hundredths (x 100)."
    yield f"Intervals are 95 % unless another level is named.{points}"


def _describe_votes(votes: Votes) -> Iterator[str]:
    """How many pairs were judged how often, and by how many."""
    if not len(votes):
        return
    per = np.bincount(np.unique(votes.pair, return_inverse=True)[1])
    times = f"{per.min()} to {per.max()} times"
    if per.min() == per.max():
        times = "once" if per.max() == 1 else f"{per.max()} times"
    was = "was" if len(per) == 1 else "were each"
    text = f"{count(len(per), 'pair')} of responses {was} judged {times}"
    if votes.rater is not None:
        votes_of_raters = np.bincount(np.unique(votes.rater, return_inverse=True)[1])
        most = count(int(votes_of_raters.max()), "vote")
        text += f", by {count(len(votes_of_raters), 'rater')} with "
        least = "" if votes_of_raters.min() == votes_of_raters.max() else f"{votes_of_raters.min():,} to "
        text += f"{least}{most} each"
    yield text + "."


def _format_days(study: Study) -> str:
    """The days of the first and the last vote."""
    stamps = [] if study.votes is None else [s[:10] for s in study.votes.also.get("submitted", ()) if s]
    if not stamps:
        return ""
    first, last = min(stamps), max(stamps)
    return f"Votes were cast on {first}." if first == last else f"Votes were cast from {first} to {last}."


def _left_out(study: Study) -> Iterator[str]:
    """Exclusions and what was kept though one might leave it out."""
    votes = study.votes
    if votes is None:
        return
    yield from votes.warnings
    if votes.ledger is not None and votes.ledger.dropped:
        yield votes.ledger.lost
    if not votes.warnings and votes.counted is not None and not (votes.ledger and votes.ledger.dropped):
        yield "No vote on a real pair was left out."
    if votes.identical is not None and (same := int(votes.identical.sum())):
        yield f"{count(same, 'vote')} on pairs of two identical responses: kept and used in every number."
    if doubts := Counter(
        doubt for rater in study.raters for doubt in str(rater.extra.get("doubts") or "").split("; ") if doubt
    ):
        signals = ", ".join(f"{doubt} ({count(number, 'rater')})" for doubt, number in sorted(doubts.items()))
        yield f"Signals of bots, language models or second accounts: {signals}. Their votes are kept as they are."
    yield from _page_events(study)
    if study.controls is not None:
        control_votes = count(len(study.controls), "vote")
        yield f"{control_votes} on control pairs: shown separately and used in no other number except the tie index."


def _page_events(study: Study) -> Iterator[str]:
    """How many raters left the page, copied or pasted on some pair, where the study counted it."""
    events = [counts for rater in study.raters if isinstance(counts := rater.extra.get("page_events"), dict)]
    if events:
        raters = {name: sum(bool(event.get(name)) for event in events) for name in ("left", "copied", "pasted")}
        yield (
            f"While answering, {raters['left']} of {count(len(events), 'rater')} left the page at least once, "
            f"{raters['copied']} copied from it and {raters['pasted']} pasted into it. Their votes are "
            "kept as they are."
        )


def _list_models(panels: Sequence[Panel]) -> str:
    seeds: dict[str, set[int | None]] = {}
    for panel in panels:
        for system in panel.systems:
            seeds.setdefault(system.model, set()).add(system.seed)
    seed_counts = {
        model: "seed not named" if numbers == {None} else count(len(numbers), "seed")
        for model, numbers in seeds.items()
    }
    return ", ".join(f"{model} ({seed_counts[model]})" for model in sorted(seed_counts))


def reviewers_section(questions: Sequence[Asked]) -> Section:
    """The checklist: what the data document, and what only the author can say."""
    known = [question for question in questions if question.known]
    rows = tuple(
        (question.what, question.answer, question.source)
        for question in (*known, *(question for question in questions if not question.known))
    )
    text = (
        f"These files answer {len(known)} of {count(len(questions), 'question')} that reviewers ask about an "
        f"evaluation; only the author can answer the other {len(questions) - len(known)}. The table names the "
        "published checklist behind each question.",
    )
    return Section(
        "reviewers",
        "What reviewers ask",
        text,
        inline=(Table(("question", "answer", "asked by"), rows, "Checklist", True),),
    )


def dictionary_section(study: Study) -> Section | None:
    """Every field of the files that this study has."""
    tables = tuple(path.name for path in find_score_files(study.folder)[0])
    rows = [
        (", ".join(files), field.name, str(field.metadata.get("doc", "")).replace("`", ""))
        for names, record in (*RECORDS, (tables, Score))
        if (files := [name for name in names if (study.folder / name).exists()])
        for field in dataclasses.fields(record)
        if field.name != "extra"
    ]
    if not rows:
        return None
    return Section(
        "dictionary",
        "Data dictionary",
        tables=(Table(("file", "field", "meaning"), tuple(rows), "What every field means", True),),
    )
