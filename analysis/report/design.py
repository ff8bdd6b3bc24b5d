"""The report's account of the study: what was done, what was left out, what reviewers ask, what every field means.

What reviewers ask about a human evaluation is answered from the study's files or left to the author by name. The
questions are in our words; they come from the datasheet of Shimorina and Belz (2022), the best practices of van der Lee
et al. (2021), Howcroft et al. (2020), Card et al. (2020) on power, Reimers and Gurevych (2017) on seeds, section D of
the Responsible NLP Research checklist of the ACL Rolling Review, and on judges from Zheng et al. (2023).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seedvote.analysis.questions.agreement.answer import NONE_TWICE
from seedvote.analysis.questions.agreement.showing import spell_interval
from seedvote.analysis.questions.judge.answer import JudgeAnswer
from seedvote.analysis.questions.judge.showing import ORDERS
from seedvote.analysis.questions.preference.answer import Position, position
from seedvote.analysis.questions.preference.showing import spell_clusters
from seedvote.analysis.questions.ratings.showing import name_test
from seedvote.analysis.report.answers import VotesAnswers
from seedvote.analysis.showing.page import Section
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, percent
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.scores.files import find_score_files
from seedvote.analysis.votes.scores.panel import PEOPLE, UNSEEN, Panel
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.records import Pair, Rater, Response, ResponseRating, ResponseSet, Score, Vote

_HEDS = "Shimorina and Belz 2022"
_LEE = "van der Lee et al. 2021"
_TWENTY = "Howcroft et al. 2020"
_CARD = "Card et al. 2020"
_REIMERS = "Reimers and Gurevych 2017"
_ZHENG = "Zheng et al. 2023"
_ARR = "ACL Rolling Review checklist"
_AUTHOR = "For the author to add: "
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


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing a reviewer asks; `known` is whether the study's own files answer it."""

    what: str
    answer: str
    known: bool
    source: str


def fill_checklist(study: Study, answers: VotesAnswers, panels: list[Panel]) -> list[Asked]:
    """Every question with its answer, those on people first; without votes only the ones on models and files."""
    if study.ratings is not None:
        return [*_answer_on_ratings(study, study.ratings, answers), *_answer_on_models(study, panels)]
    if study.votes is None:
        return [*_answer_on_models(study, panels)]
    preference = answers.preference
    side = position(study.votes) if preference is None else preference.position
    task, raters = _answer_on_task(study, study.votes, side), _answer_on_raters(study, study.votes)
    return [*task, *raters, *_answer_on_results(answers), *_answer_on_models(study, panels)]


def asked_of_judges(answer: JudgeAnswer | None) -> Iterator[Asked]:
    """What is asked where a language model ruled on pairs."""
    for judge in answer.judges if answer else ():
        habits, people, agreement = judge.habits, judge.people, None
        name = f"{judge.judge}, prompt {judge.prompt}" if judge.prompt else judge.judge
        yield _build_row(
            f"Which judge, with which prompt, in which orders: {judge.title}",
            _ZHENG,
            f"{name}, {ORDERS[habits.orders]}; {count(habits.unusable.part, 'unusable reply')}",
            "",
        )
        if people is not None and people.person_equals_vote is not None:
            agreement = (
                f"it equals {percent(people.equals_vote.value)} of {count(people.votes, 'vote')}; another person does "
                f"in {percent(people.person_equals_vote)}"
            )
        yield _build_row(
            f"How far {judge.title} agrees with people",
            _ZHENG,
            agreement,
            "its agreement with people, next to that of people with each other",
        )
        yield _build_row(
            f"When {judge.title} was asked, and whether it saw these texts in training",
            _ZHENG,
            None,
            "the days, the model's full name there, and what is known of its training data",
        )


def _answer_on_wording(study: Study, wording: str | None, built_in: str | None) -> Iterator[Asked]:
    """The question and the instructions; `built_in` says where those of our own pages stand, if they were shown."""
    question = f"\N{LEFT DOUBLE QUOTATION MARK}{wording}\N{RIGHT DOUBLE QUOTATION MARK}" if wording else built_in
    yield _build_row(
        "Which quality was judged, and how it was worded",
        f"{_HEDS}; {_TWENTY}",
        question,
        "the question as raters saw it, and what the quality means",
    )
    instructions = "hit.toml holds them" if "instructions" in study.hit else built_in
    yield _build_row("Full instructions and examples", f"{_ARR}, D1", instructions, "the instructions, in an appendix")


def _answer_on_ratings(study: Study, table: RatingsTable, answers: VotesAnswers) -> Iterator[Asked]:
    """What is asked about ratings or ranks; a table alone holds nothing of how they were gathered."""
    built_in = "the built-in wording (docs/responses.md)" if study.hit else None
    yield from _answer_on_wording(study, study.asked.get("ask"), built_in)
    low, high = table.scale
    ranked = "a rank for each response, 1 the best; equals share the mean of their ranks" if table.ranks else None
    yield _build_row(
        "How raters could answer",
        _HEDS,
        ranked,
        f"the scale and what its steps were called; the ratings run from {low:g} to {high:g}",
    )
    yield _build_row(
        "How many items, and how they were chosen",
        f"{_HEDS}; {_LEE}",
        None,
        f"how the {count(table.items, 'item')} were chosen",
    )
    yield _build_row(
        "How many raters, from where",
        f"{_LEE}; {_ARR}, D2",
        None,
        f"where the {count(table.people, 'rater')} came from" if table.people else "number and origin of the raters",
    )
    if study.raters:
        yield from _answer_on_treatment(study)
    test = name_test(answers.rated) if answers.rated else None
    yield _build_row("Which test, on which unit, corrected for how many", f"{_LEE}; {_CARD}", test, "the test")
    yield _build_row("Agreement, with its interval", f"{_LEE}; {_TWENTY}", None, "how far raters of one item agree")
    yield _build_row(
        "Hypotheses stated beforehand", _LEE, None, "the preregistration, with the difference that would matter"
    )


def _build_row(what: str, source: str, answer: str | None, otherwise: str) -> Asked:
    return Asked(what, answer or _AUTHOR + otherwise, bool(answer), source)


def _answer_on_task(study: Study, votes: Votes, side: Position | None) -> Iterator[Asked]:
    built_in = "the built-in wording (docs/hit.md)" if set(votes.source) - {"imported", "unknown"} else None
    yield from _answer_on_wording(study, study.asked.get("ask") or study.hit.get("question"), built_in)
    labels = [label for k, label in enumerate(votes.labels) if (votes.choice == k).any()]
    yield _build_row("How raters could answer", _HEDS, f"one of {', '.join(labels)}; all are reported", "")
    pairs, dialogues = len(np.unique(votes.pair)), len(votes.dialogues)
    text = f"{count(pairs, 'pair')}" + (f" from {count(dialogues, 'dialogue')}" if dialogues else "")
    yield _build_row(
        "How many items, and how they were chosen",
        f"{_HEDS}; {_LEE}",
        text + f"; recipe {study.recipes['pairs.jsonl']}" if "pairs.jsonl" in study.recipes else None,
        f"how the {text} were chosen",
    )
    known = (
        None
        if side is None
        else f"recorded for every vote; left chosen in {side.test.a:,} of {side.test.a + side.test.b:,}"
    )
    yield _build_row(
        "Order of the responses",
        _LEE,
        known,
        "whether sides were drawn by chance, and what raters could see of the models",
    )


def _answer_on_raters(study: Study, votes: Votes) -> Iterator[Asked]:
    doors = ", ".join(f"{number:,} {door}" for door, number in votes.source.items())
    people = count(votes.voters, "rater") if votes.voters else None
    yield _build_row(
        "How many raters, from where",
        f"{_LEE}; {_ARR}, D2",
        f"{people}; votes from: {doors}" if people and doors else people,
        "number and origin of the raters",
    )
    per = np.bincount(np.unique(votes.pair, return_inverse=True)[1])
    spread = f"{per.min()}" if per.min() == per.max() else f"{per.min()} to {per.max()}"
    yield _build_row("Judgements per item", _HEDS, f"{spread}, {len(votes):,} in all", "")
    yield from _answer_on_treatment(study)


def _answer_on_treatment(study: Study) -> Iterator[Asked]:
    """How raters were checked, paid and asked."""
    hit = study.hit
    checks = sum(rater.checks_seen for rater in study.raters)
    blocked = sum(rater.status == "blocked" for rater in study.raters)
    yield _build_row(
        "Attention checks and exclusions",
        f"{_HEDS}; {_LEE}",
        f"{count(checks, 'hidden check')}, {count(blocked, 'rater')} blocked" if checks else None,
        "how careless raters were found, and what was left out",
    )
    pay = f"{hit['pay_per_sitting']} {hit.get('currency', 'USD')} a sitting" if hit.get("pay_per_sitting") else None
    yield _build_row(
        "Pay, and whether it is fair where raters live", f"{_ARR}, D2", pay, "pay per hour, and how it compares"
    )
    consented = sum(rater.consented is not None for rater in study.raters)
    yield _build_row(
        "Consent",
        f"{_ARR}, D3",
        f"recorded for {consented} of {count(len(study.raters), 'rater')}" if consented else None,
        "how raters consented, and what they were told",
    )
    yield _build_row("Ethics review", f"{_ARR}, D4", None, "approval or exemption, and by whom")
    yield _build_row(
        "Who the raters are (language, country, expertise)",
        f"{_ARR}, D5; {_HEDS}",
        None,
        "what is known of them; these files hold no personal data",
    )


def _answer_on_results(answers: VotesAnswers) -> Iterator[Asked]:
    preference, agreement = answers.preference, answers.agreement
    kappa = None if agreement is None else agreement.statistics.fleiss_kappa
    known = None if kappa is None or not np.isfinite(kappa.value) else f"Fleiss' kappa {spell_interval(kappa, 2)}"
    without = NONE_TWICE if agreement is None or not agreement.comparable else "All votes have the same label."
    yield Asked("Agreement, with its interval", known or without, known is not None, f"{_LEE}; {_TWENTY}")
    tested = (
        None if preference is None else f"net preference by t, new {spell_clusters(preference)}, with Holm's correction"
    )
    yield _build_row(
        "Which test, on which unit, corrected for how many", f"{_LEE}; {_CARD}", tested, "which systems were compared"
    )
    points = answers.smallest_shown
    difference = None if points is None else f"a net preference of {points:.0f} points with power .80"
    yield _build_row("What difference the study could have shown", _CARD, difference, "a power analysis")
    yield _build_row(
        "Hypotheses stated beforehand", _LEE, None, "the preregistration, and the margin of equivalence stated in it"
    )


def _answer_on_models(study: Study, panels: list[Panel]) -> Iterator[Asked]:
    trained = {s for panel in panels if panel.checkpoint != UNSEEN for s in panel.systems if s.seed is not None}
    seeds = Counter(system.model for system in trained)
    seed_counts = "; ".join(f"{model}: {count(seeds[model], 'seed')}" for model in sorted(seeds))
    yield _build_row("More than one training seed", _REIMERS, seed_counts or None, "what was trained, and how often")
    decoding = ", ".join(sorted({response.decoding for response in study.responses}))
    yield _build_row("Decoding of the responses", _HEDS, decoding or None, "how the responses were made")
    files = count(len(study.recipes), "file")
    yield _build_row(
        "Data and recipe to repeat it",
        f"{_HEDS}; {_ARR}, C",
        f"signatures of {files} above" if study.recipes else None,
        "where the files are, and under which licence",
    )
