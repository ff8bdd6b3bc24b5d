"""What reviewers ask about a human evaluation, answered from the study's files or left to the author by name.

The questions are in our words; they come from the datasheet of Shimorina and Belz (2022), the best practices
of van der Lee et al. (2021), Howcroft et al. (2020), Card et al. (2020) on power, Reimers and Gurevych (2017) on seeds,
section D of the Responsible NLP Research checklist of the ACL Rolling Review, and on judges from Zheng et al. (2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seedvote.analysis.questions.agreement.answer import NONE_TWICE, AgreementAnswer
from seedvote.analysis.questions.agreement.showing import spell_interval
from seedvote.analysis.questions.judge.answer import JudgeAnswer
from seedvote.analysis.questions.judge.showing import ORDERS
from seedvote.analysis.questions.preference.answer import Position, PreferenceAnswer, position
from seedvote.analysis.questions.preference.showing import spell_clusters
from seedvote.analysis.questions.ratings.showing import name_test
from seedvote.analysis.report.answers import VotesAnswers
from seedvote.analysis.showing.words import count, percent
from seedvote.analysis.stats.power import smallest_shown
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.scores.panel import UNSEEN, Panel
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes

HEDS = "Shimorina and Belz 2022"
LEE = "van der Lee et al. 2021"
TWENTY = "Howcroft et al. 2020"
CARD = "Card et al. 2020"
REIMERS = "Reimers and Gurevych 2017"
ZHENG = "Zheng et al. 2023"
ARR = "ACL Rolling Review checklist"
AUTHOR = "For the author to add: "


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing a reviewer asks; `known` is whether the study's own files answer it."""

    what: str
    answer: str
    known: bool
    source: str


def fill_checklist(study: Study, answers: VotesAnswers, panels: list[Panel]) -> list[Asked]:
    """Every question with its answer, those on people first; without votes only the ones on models and files."""
    hit = study.hit
    if study.ratings is not None:
        return [*_answer_on_ratings(study, study.ratings, answers), *_answer_on_models(study, panels)]
    if study.votes is None:
        return [*_answer_on_models(study, panels)]
    preference = answers.preference
    side = position(study.votes) if preference is None else preference.position
    task, raters = _answer_on_task(study, study.votes, hit, side), _answer_on_raters(study, study.votes, hit)
    return [*task, *raters, *_answer_on_results(preference, answers.agreement), *_answer_on_models(study, panels)]


def asked_of_judges(answer: JudgeAnswer | None) -> Iterator[Asked]:
    """What is asked where a language model ruled on pairs."""
    for judge in answer.judges if answer else ():
        habits, people, agreement = judge.habits, judge.people, None
        name = f"{judge.judge}, prompt {judge.prompt}" if judge.prompt else judge.judge
        yield _build_row(
            f"Which judge, with which prompt, in which orders: {judge.title}",
            ZHENG,
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
            ZHENG,
            agreement,
            "its agreement with people, next to that of people with each other",
        )
        yield _build_row(
            f"When {judge.title} was asked, and whether it saw these texts in training",
            ZHENG,
            None,
            "the days, the model's full name there, and what is known of its training data",
        )


def _answer_on_ratings(study: Study, table: RatingsTable, answers: VotesAnswers) -> Iterator[Asked]:
    """What is asked about ratings or ranks; a table alone holds nothing of how they were gathered."""
    question, ours = study.asked, "the built-in wording (docs/responses.md)" if study.hit else None
    wording = (
        f"\N{LEFT DOUBLE QUOTATION MARK}{question['ask']}\N{RIGHT DOUBLE QUOTATION MARK}"
        if question.get("ask")
        else ours
    )
    yield _build_row(
        "Which quality was judged, and how it was worded",
        f"{HEDS}; {TWENTY}",
        wording,
        "the question as raters saw it, and what the quality means",
    )
    instructions = "hit.toml holds them" if "instructions" in study.hit else ours
    yield _build_row("Full instructions and examples", f"{ARR}, D1", instructions, "the instructions, in an appendix")
    low, high = table.scale
    ranked = "a rank for each response, 1 the best; equals share the mean of their ranks" if table.ranks else None
    yield _build_row(
        "How raters could answer",
        HEDS,
        ranked,
        f"the scale and what its steps were called; the ratings run from {low:g} to {high:g}",
    )
    yield _build_row(
        "How many items, and how they were chosen",
        f"{HEDS}; {LEE}",
        None,
        f"how the {count(table.items, 'item')} were chosen",
    )
    yield _build_row(
        "How many raters, from where",
        f"{LEE}; {ARR}, D2",
        None,
        f"where the {count(table.people, 'rater')} came from" if table.people else "number and origin of the raters",
    )
    if study.raters:
        yield from _answer_on_treatment(study, study.hit)
    test = name_test(answers.rated) if answers.rated else None
    yield _build_row("Which test, on which unit, corrected for how many", f"{LEE}; {CARD}", test, "the test")
    yield _build_row("Agreement, with its interval", f"{LEE}; {TWENTY}", None, "how far raters of one item agree")
    yield _build_row(
        "Hypotheses stated beforehand", LEE, None, "the preregistration, with the difference that would matter"
    )


def _build_row(what: str, source: str, answer: str | None, otherwise: str) -> Asked:
    return Asked(what, answer or AUTHOR + otherwise, bool(answer), source)


def _answer_on_task(study: Study, votes: Votes, hit: Mapping[str, Any], side: Position | None) -> Iterator[Asked]:
    ours = "the built-in wording (docs/hit.md)" if set(votes.source) - {"imported", "unknown"} else None
    wording = study.asked.get("ask") or hit.get("question")
    question = f"\N{LEFT DOUBLE QUOTATION MARK}{wording}\N{RIGHT DOUBLE QUOTATION MARK}" if wording else ours
    yield _build_row(
        "Which quality was judged, and how it was worded",
        f"{HEDS}; {TWENTY}",
        question,
        "the question as raters saw it, and what the quality means",
    )
    instructions = "hit.toml holds them" if "instructions" in hit else ours
    yield _build_row("Full instructions and examples", f"{ARR}, D1", instructions, "the instructions, in an appendix")
    labels = [label for k, label in enumerate(votes.labels) if (votes.choice == k).any()]
    yield _build_row("How raters could answer", HEDS, f"one of {', '.join(labels)}; all are reported", "")
    pairs, dialogues = len(np.unique(votes.pair)), len(votes.dialogues)
    text = f"{count(pairs, 'pair')}" + (f" from {count(dialogues, 'dialogue')}" if dialogues else "")
    yield _build_row(
        "How many items, and how they were chosen",
        f"{HEDS}; {LEE}",
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
        LEE,
        known,
        "whether sides were drawn by chance, and what raters could see of the models",
    )


def _answer_on_raters(study: Study, votes: Votes, hit: Mapping[str, Any]) -> Iterator[Asked]:
    doors = ", ".join(f"{number:,} {door}" for door, number in votes.source.items())
    people = count(votes.voters, "rater") if votes.voters else None
    yield _build_row(
        "How many raters, from where",
        f"{LEE}; {ARR}, D2",
        f"{people}; votes from: {doors}" if people and doors else people,
        "number and origin of the raters",
    )
    per = np.bincount(np.unique(votes.pair, return_inverse=True)[1])
    spread = f"{per.min()}" if per.min() == per.max() else f"{per.min()} to {per.max()}"
    yield _build_row("Judgements per item", HEDS, f"{spread}, {len(votes):,} in all", "")
    yield from _answer_on_treatment(study, hit)


def _answer_on_treatment(study: Study, hit: Mapping[str, Any]) -> Iterator[Asked]:
    """How raters were checked, paid and asked."""
    checks = sum(rater.checks_seen for rater in study.raters)
    blocked = sum(rater.status == "blocked" for rater in study.raters)
    yield _build_row(
        "Attention checks and exclusions",
        f"{HEDS}; {LEE}",
        f"{count(checks, 'hidden check')}, {count(blocked, 'rater')} blocked" if checks else None,
        "how careless raters were found, and what was left out",
    )
    pay = f"{hit['pay_per_sitting']} {hit.get('currency', 'USD')} a sitting" if hit.get("pay_per_sitting") else None
    yield _build_row(
        "Pay, and whether it is fair where raters live", f"{ARR}, D2", pay, "pay per hour, and how it compares"
    )
    consented = sum(rater.consented is not None for rater in study.raters)
    yield _build_row(
        "Consent",
        f"{ARR}, D3",
        f"recorded for {consented} of {count(len(study.raters), 'rater')}" if consented else None,
        "how raters consented, and what they were told",
    )
    yield _build_row("Ethics review", f"{ARR}, D4", None, "approval or exemption, and by whom")
    yield _build_row(
        "Who the raters are (language, country, expertise)",
        f"{ARR}, D5; {HEDS}",
        None,
        "what is known of them; these files hold no personal data",
    )


def _answer_on_results(preference: PreferenceAnswer | None, agreement: AgreementAnswer | None) -> Iterator[Asked]:
    kappa = None if agreement is None else agreement.statistics.fleiss_kappa
    known = None if kappa is None or not np.isfinite(kappa.value) else f"Fleiss' kappa {spell_interval(kappa, 2)}"
    without = NONE_TWICE if agreement is None or not agreement.comparable else "All votes have the same label."
    yield Asked("Agreement, with its interval", known or without, known is not None, f"{LEE}; {TWENTY}")
    tested = (
        None if preference is None else f"net preference by t, new {spell_clusters(preference)}, with Holm's correction"
    )
    yield _build_row(
        "Which test, on which unit, corrected for how many", f"{LEE}; {CARD}", tested, "which systems were compared"
    )
    yield _build_row(
        "What difference the study could have shown", CARD, _say_smallest_difference(preference), "a power analysis"
    )
    yield _build_row(
        "Hypotheses stated beforehand", LEE, None, "the preregistration, and the margin of equivalence stated in it"
    )


def _say_smallest_difference(answer: PreferenceAnswer | None) -> str | None:
    if answer is None or not answer.preferences:
        return None
    largest = max((preference.net for preference in answer.preferences), key=lambda net: net.n)
    return f"a net preference of {100 * smallest_shown(largest):.0f} points with power .80" if largest.se else None


def _answer_on_models(study: Study, panels: list[Panel]) -> Iterator[Asked]:
    trained = {s for panel in panels if panel.checkpoint != UNSEEN for s in panel.systems if s.seed is not None}
    seeds = Counter(system.model for system in trained)
    seed_counts = "; ".join(f"{model}: {count(seeds[model], 'seed')}" for model in sorted(seeds))
    yield _build_row("More than one training seed", REIMERS, seed_counts or None, "what was trained, and how often")
    decoding = ", ".join(sorted({response.decoding for response in study.responses}))
    yield _build_row("Decoding of the responses", HEDS, decoding or None, "how the responses were made")
    files = count(len(study.recipes), "file")
    yield _build_row(
        "Data and recipe to repeat it",
        f"{HEDS}; {ARR}, C",
        f"signatures of {files} above" if study.recipes else None,
        "where the files are, and under which licence",
    )
