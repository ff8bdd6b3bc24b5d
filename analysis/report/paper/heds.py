"""The Human Evaluation Datasheet (HEDS 3.0, Belz and Thomson 2025): filled as far as the study's files know.

The numbers are the datasheet's, so that answers can be carried over into its form; the questions are in our words.
What no file can know is left to the author by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seedvote.analysis.questions.agreement.showing import spell_interval
from seedvote.analysis.questions.preference.showing import spell_clusters
from seedvote.analysis.report.answers import VotesAnswers
from seedvote.analysis.showing.words import count
from seedvote.analysis.votes.cautions import judges_caption, voters
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.shell.wording import as_typed

AUTHOR = "**For the author to answer.**"
OURS = {"local", "mturk", "prolific", "panel", "mephisto"}  # doors of the tool's own rating page
PLACES = {
    "local": "by links or on the researchers' own page",
    "mturk": "on Mechanical Turk",
    "prolific": "on Prolific",
    "panel": "through a panel",
    "mephisto": "through Mephisto",
    "simulated": "none: votes were cast by programs",
    "judge": "none: judges are programs",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One question of the datasheet; an empty answer is the author's to give, `hint` says what is asked for."""

    number: str
    question: str
    answer: str = ""
    hint: str = ""


SECTIONS = {
    "1": "Paper and resources",
    "2": "Evaluated systems",
    "3.1": "Sample of outputs",
    "3.2": "Evaluators",
    "3.3": "Experimental design",
    "4.1": "Quality criterion: properties",
    "4.2": "Quality criterion: mode",
    "4.3": "Quality criterion: how answers were elicited",
    "5": "Ethics",
}


def fill_datasheet(study: Study, answers: VotesAnswers) -> tuple[Item, ...]:
    """Every question in the order of the datasheet."""
    votes = study.votes
    if votes is None:
        return ()
    hit = study.hit
    return (
        *_list_contacts(),
        *_answer_on_systems(study),
        *_answer_on_sample(study, votes, answers),
        *_answer_on_evaluators(study, votes, hit),
        *_answer_on_design(study, votes, hit),
        *_answer_on_criterion(votes, hit, study.asked),
        *_answer_on_results(answers),
        *_answer_on_ethics(),
    )


def sheet_text(items: tuple[Item, ...]) -> str:
    """The sheet as a text to complete."""
    known = sum(bool(item.answer) for item in items)
    parts = [
        "# Human evaluation datasheet",
        f"After HEDS 3.0 (Belz and Thomson 2025), whose numbers stand before the questions; the questions are in other "
        f"words. The study's files answer {known} of {len(items)}. The others are yours; carry all of them over into "
        "the form of the datasheet.",
    ]
    current_section = ""
    for item in items:
        section = next(key for key in sorted(SECTIONS, reverse=True) if f"{item.number}.".startswith(f"{key}."))
        parts += [f"## {section} {SECTIONS[section]}"] if section != current_section else []
        current_section = section
        parts.append(f"**{item.number} {item.question}**\n\n{item.answer or f'{AUTHOR} {item.hint}'.strip()}")
    return "\n\n".join(parts) + "\n"


def _list_contacts() -> Iterator[Item]:
    yield Item("1.1.1", "Where is the experiment reported?", hint="A link, or that this is a preregistration.")
    yield Item("1.1.2", "Which experiment of that report is this?", hint="Section or table.")
    yield Item("1.2", "Where are the resources?", hint="The folder data/ beside this file is ready to be published.")
    for number, who in (("1.3.1", "whoever fills in this sheet"), ("1.3.2", "the contact author")):
        for part, what in enumerate(("Name", "Affiliation", "E-mail address"), 1):
            yield Item(f"{number}.{part}", f"{what} of {who}")


def _answer_on_systems(study: Study) -> Iterator[Item]:
    dialogue = any(pair.context for pair in study.pairs)
    yield Item("2.1", "What do the systems take as input?", "Text: dialogue." if dialogue else "")
    yield Item("2.2", "What do they produce?", "Text: one turn of a dialogue." if dialogue else "")
    judged = {side.model for pair in study.pairs if pair.kind == "real" for side in (pair.a, pair.b)}
    systems = sorted({f"{r.model} ({r.decoding})" for r in study.responses if r.model in judged})
    sentence = f" Systems and decoding: {', '.join(systems)}." if systems else ""
    yield Item("2.3", "Which task do they carry out?", f"Generation of dialogue turns.{sentence}" if dialogue else "")
    yield Item("2.4", "Language of the input", hint="Full names of the languages.")
    yield Item("2.5", "Language of the output", hint="Full names of the languages.")


def _answer_on_sample(study: Study, votes: Votes, answers: VotesAnswers) -> Iterator[Item]:
    outputs: dict[str, set[str]] = {}
    judged = set(votes.pairs)
    for pair in study.pairs:
        if pair.kind == "real" and pair.pair in judged:
            for side in (pair.a, pair.b):
                name = side.model if side.seed is None else f"{side.model}, seed {side.seed}"
                outputs.setdefault(name, set()).add(f"{pair.item}\n{side.text}")
    sizes = "; ".join(f"{name}: {len(texts):,}" for name, texts in sorted(outputs.items()))
    pairs = count(len(np.unique(votes.pair)), "pair")
    yield Item(
        "3.1.1",
        "How many outputs of each system were judged?",
        sizes and f"{sizes} ({pairs} in all).",
        f"{pairs} were judged.",
    )
    recipe = study.recipes.get("pairs.jsonl", "")
    yield Item("3.1.2", "How were they chosen?", "", f"The pairs were made by this recipe: {recipe}." if recipe else "")
    points = answers.smallest_shown
    least = "" if points is None else f".80 for a net preference of {points:.0f} points."
    how = "From the standard error and degrees of freedom of the clustered interval, by t; computed after the study."
    yield Item("3.1.3.1", "How was statistical power computed?", how if least else "")
    yield Item("3.1.3.2", "What is the power of the sample?", least)
    yield Item("3.1.3.3", "Where is the code of that?", "In Seedvote: analysis/stats/power.py." if least else "")


def _answer_on_evaluators(study: Study, votes: Votes, hit: Mapping[str, Any]) -> Iterator[Item]:
    people = "" if votes.rater is None else f"{len(np.unique(votes.rater)):,}"
    counted_voters = voters(votes)
    if counted_voters.simulated or counted_voters.judges:
        facts = ["simulated: programs, not people"] if counted_voters.simulated else []
        people += f" ({'; '.join([*facts, *filter(None, [judges_caption(counted_voters)])])})"
    yield Item("3.2.1", "How many evaluators?", people)
    yield Item("3.2.2.1", "Are they experts of the domain?")
    paid = (
        f"Yes: {hit['pay_per_sitting']} {hit.get('currency', 'USD')} a sitting." if hit.get("pay_per_sitting") else ""
    )
    yield Item("3.2.2.2", "Were they paid?", paid)
    yield Item("3.2.2.3", "Did the authors know them before?")
    yield Item("3.2.2.4", "Are authors among them?")
    doors = "; ".join(f"{PLACES[door]} ({number:,} votes)" for door, number in votes.source.items() if door in PLACES)
    yield Item("3.2.3", "How were they recruited?", doors and f"{doors[0].upper()}{doors[1:]}.", "Who could take part?")
    ours = bool(OURS & set(votes.source))
    trained = "A page of instructions and worked examples before the first pair." if ours else ""
    yield Item("3.2.4", "What training did they get?", trained)
    profile_fields = sorted({name for rater in study.raters for name in rater.profile})
    known = (
        f"Raters were asked: {', '.join(profile_fields)}." if profile_fields else "Language, country, and how you know."
    )
    yield Item("3.2.5", "What else is known of them?", "", known)


def _answer_on_design(study: Study, votes: Votes, hit: Mapping[str, Any]) -> Iterator[Item]:
    ours = bool(OURS & set(votes.source))
    yield Item("3.3.1", "Was the design preregistered?", hint="If so, a link.")
    yield Item("3.3.2", "By what medium were answers collected?", "A web page (Seedvote)." if ours else "")
    checks_answered = sum(rater.checks_seen for rater in study.raters)
    blocked = sum(rater.status == "blocked" for rater in study.raters)
    checks = "Automatic checks during the evaluation; raters who fail them are excluded." if checks_answered else ""
    yield Item("3.3.3.1", "Which kinds of quality assurance?", checks)
    details = (
        f"{count(checks_answered, 'hidden check')} among the pairs; {count(blocked, 'rater')} blocked."
        if checks_answered
        else ""
    )
    yield Item("3.3.3.2", "By which methods?", details)
    preview = "Write them by `python -m crowd preview`, and publish them." if ours else "A screenshot, or a copy."
    yield Item("3.3.4.1", "Where can the form be seen?", "", as_typed(preview))
    screen = "The conversation, two responses side by side without names of systems, the question and three buttons."
    if any(pair.a.turns for pair in study.pairs):
        screen = (
            "Two whole conversations side by side, in each one speaker marked, without names of systems, the question "
        )
        screen += "and three buttons."
    if several := hit.get("questions"):
        screen = f"{screen.rpartition(',')[0]}, and {count(len(several), 'question')}."
    yield Item("3.3.4.2", "What did evaluators see?", screen if ours else "")
    lease = f" A pair was held for {hit.get('lease_minutes', 10)} minutes." if ours else ""
    yield Item("3.3.5", "How free were they in when and how fast to work?", f"Free in both.{lease}" if ours else "")
    yield Item("3.3.6", "Could they ask questions or give feedback?")
    yield Item("3.3.7", "Under which conditions did they work?", "At a place of their choosing." if ours else "")
    yield Item(
        "3.3.8", "How did conditions differ between them?", "Device, place and time were theirs." if ours else ""
    )


def _answer_on_criterion(votes: Votes, hit: Mapping[str, Any], question: Mapping[str, Any]) -> Iterator[Item]:
    yield Item("4.1.1", "Correctness, goodness, or a feature?")
    yield Item("4.1.2", "Form, content, or both?")
    yield Item("4.1.3", "In its own right, relative to the input, or to something else?")
    yield Item("4.2.1", "Objective or subjective?")
    yield Item("4.2.2", "Absolute or relative?", "Relative: two outputs are compared.")
    yield Item("4.2.3", "Intrinsic or extrinsic?")
    yield Item("4.3.1", "What is the criterion called for evaluators?", str(hit.get("title", "")))
    yield Item("4.3.2", "Which definition were they given?", "", "The instructions, word for word.")
    labels = [label for k, label in enumerate(votes.labels) if (votes.choice == k).any()]
    yield Item("4.3.3", "How many values has the scale?", f"{len(votes.labels)}")
    yield Item("4.3.4", "Which values?", f"{', '.join(votes.labels)} (given: {', '.join(labels)})")
    yield Item("4.3.5", "How is the scale shown?", "One choice of several options.")
    yield Item("4.3.6", "Without a scale, what is the task?", "N/A: there is a scale.")
    yield Item("4.3.7", "What is asked, word for word?", str(question.get("ask") or hit.get("question", "")))
    form = "Preference between two outputs, with ties." if "tie" in votes.labels else "Preference between two outputs."
    rated = f"Each output on a scale of {question.get('points', 5)} points; counted here is which one is rated higher."
    yield Item("4.3.8", "By which form of question?", rated if question.get("kind") == "likert" else form)


def _answer_on_results(answers: VotesAnswers) -> Iterator[Item]:
    preference, agreement = answers.preference, answers.agreement
    summed = "Net preference: votes for one system minus votes for the other, as a share of all; shares of ties."
    yield Item("4.3.9", "How were answers put together?", summed if preference else "Shares of the answers.")
    tested = ""
    if preference is not None and preference.preferences:
        tested = f"Intervals and t tests clustered by {spell_clusters(preference)}"
        tested += ", p adjusted by Holm's method." if len(preference.preferences) > 1 else "."
    yield Item("4.3.10", "How were effect size and significance determined?", tested)
    kappa = None if agreement is None or not agreement.comparable else agreement.statistics.fleiss_kappa
    known = kappa is not None and np.isfinite(kappa.value)
    yield Item(
        "4.3.11.1",
        "How was agreement between evaluators measured?",
        "Fleiss' kappa, Krippendorff's alpha, Gwet's AC1." if known else "Not assessed.",
    )
    score = f"Fleiss' kappa {spell_interval(kappa, 2)}." if known and kappa is not None else "Not assessed."
    yield Item("4.3.11.2", "What was it?", score)
    yield Item("4.3.12.1", "How was agreement of an evaluator with themselves measured?", "Not assessed.")
    yield Item("4.3.12.2", "What was it?", "Not assessed.")


def _answer_on_ethics() -> Iterator[Item]:
    yield Item("5.1", "Which committee approved the experiment?", hint="Its name, or that there was no approval.")
    texts = "Votes are stored under keyed hashes; whether the texts name people, only you can say."
    yield Item("5.2", "Do outputs or answers hold personal data?", hint=texts)
    yield Item("5.3", "Do they hold special categories of personal data?")
    yield Item("5.4", "Was an impact assessment made?", hint="If so, a link.")
