"""What a study found and what it cannot tell, in plain sentences made from its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from seedvote.analysis.questions.agreement import showing as agreement
from seedvote.analysis.questions.comparison.untrained import AboveUntrained, BaselineAbove, probe_claims
from seedvote.analysis.questions.comparison.verdicts import find_spreads
from seedvote.analysis.questions.preference import showing as preference
from seedvote.analysis.questions.ratings.showing import find_headline
from seedvote.analysis.questions.ties import showing as ties
from seedvote.analysis.report.answers import VotesAnswers
from seedvote.analysis.showing.words import count, part_of
from seedvote.analysis.votes.cautions import SAME_PAIRS
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.scores.panel import UNSEEN, Method
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.importing.columns import plain_name
from seedvote.dialogue.importing.reading import Reading

MANY_RATERS = 60
SEED_NAME = re.compile(r"(.+?)(?:[-_./ ]s|[-_./ ]?seed[-_=. ]?)\d+", re.IGNORECASE)
NO_SEEDS = "The table names systems and no training seeds, so it is unknown what other seeds would show."
ONE_SEED = "The table names one training seed of each system, so it is unknown what other seeds would show."
SEEDS_AS_SYSTEMS = (
    "Every seed is a system of its own here, so the intervals are about these seeds and not about new ones."
)


def list_findings(
    votes: VotesAnswers, methods: Sequence[Method], above: Sequence[AboveUntrained], below: Sequence[BaselineAbove]
) -> list[str]:
    """The findings, the verdict on the study's question first."""
    if votes.rated is not None:
        return [find_headline(votes.rated)]
    probes, has_shown = " ".join(probe_claims(above, below)), any(task.shown_as_trained for task in above)
    parts = [
        *(preference.findings(votes.preference) if votes.preference else ()),
        " ".join(ties.findings(votes.ties)) if votes.ties else "",
        probes if has_shown else "",
        *(agreement.findings(votes.agreement) if votes.agreement else ()),
        find_spreads(methods),
        "" if has_shown else probes,
    ]
    return [part for part in parts if part]


def list_limitations(study: Study, methods: Sequence[Method]) -> list[str]:
    """What the design cannot tell, from its own numbers."""
    if study.ratings is not None:
        return [*_of_ratings(study.ratings)]
    return [*_of_votes(study), *_of_models(study, methods)]


def _of_ratings(table: RatingsTable) -> Iterator[str]:
    if table.simulated:
        yield f"{table.not_of_people[0][:-1]}: they say nothing about the models."
    if table.people is None:
        whose = f"correlated {table.noun}s of one person"
        yield f"The {table.noun}s do not name their raters, so no interval allows for {whose}."
    elif table.people < MANY_RATERS:
        yield f"With {count(table.people, 'rater')}, the spread between raters is itself uncertain."
    if table.ranks:
        yield "Ranks say which response is better, and not by how much, or whether any of them is good."
    else:
        yield (
            "Ratings do not say what a person would have chosen with both responses in view. A difference too small "
            "for a step of the scale shows as equal."
        )
    if "seed" not in table.ledger.columns:
        yield _say_seeds(table.ledger, table.systems)


def _of_votes(study: Study) -> list[str]:
    votes = study.votes
    if votes is None:
        return ["There are no votes here: everything comes from classifiers and metrics."]
    sentences = []
    programs = 0 if study.voters is None else study.voters.simulated
    if programs:
        predicate = "was cast by a program and says" if programs == 1 else "were cast by programs and say"
        sentences.append(f"{part_of(programs, len(votes), 'vote').capitalize()} {predicate} nothing about the models.")
    if len(votes.rounds) > 1:
        sentences.append(SAME_PAIRS)
    if votes.rater is None:
        sentences.append("The votes do not name their raters, so no interval allows for correlated votes of one rater.")
    elif (raters := votes.voters or 0) < MANY_RATERS:
        sentences.append(f"With {count(raters, 'rater')}, the spread between raters is itself uncertain.")
    if study.controls is None:
        sentences.append(
            "No control pairs were judged (a seed against itself, or a clearly worse answer). How these raters judge "
            "pairs with a known answer is unknown."
        )
    if votes.left is None:
        sentences.append(
            "The votes do not say which response stood on the left, so a preference for one side cannot be detected."
        )
    return sentences


def _say_seeds(ledger: Reading | None, systems: Sequence[str]) -> str:
    """What a table says of training seeds: by columns that were read, by one that was not, or by the systems' names."""
    if ledger is not None and "seed_a" in ledger.columns:
        return SEEDS_AS_SYSTEMS
    unread = () if ledger is None else ledger.unread
    if {"seed_a", "seed_b"} <= set(map(plain_name, unread)):
        return ONE_SEED
    if column := next((name for name in unread if "seed" in plain_name(name).split("_")), None):
        return (
            f"The column {column} was not read: it does not say whose seed it is, as seed_a and seed_b do. What other "
            "seeds would show is unknown."
        )
    stems: dict[str, list[str]] = {}
    for name in systems:
        if seed := SEED_NAME.fullmatch(name):
            stems.setdefault(seed[1], []).append(name)
    if several := next((names for names in stems.values() if len(names) > 1), None):
        return f"By their names, {several[0]} and {several[1]} are seeds of one model. {SEEDS_AS_SYSTEMS}"
    return NO_SEEDS


def _of_models(study: Study, methods: Sequence[Method]) -> list[str]:
    trained, sentences = [m for m in methods if m.checkpoint != UNSEEN], []
    if study.votes is not None and not study.pairs:
        has_pairs = study.table is not None and (study.table.parent / "pairs.jsonl").exists()
        sentences.append(
            "Of a table, pairs.jsonl beside it tells the names of the systems alone; controls, models and seeds are "
            "read in a study folder."
            if has_pairs
            else "There is no pairs.jsonl, so the votes cannot be traced to models and seeds."
            if study.votes.system_a is None
            else _say_seeds(study.votes.ledger, study.votes.systems)
        )
    if len({m.model for m in trained}) == 1:
        sentences.append(f"One architecture ({trained[0].model}): these results say nothing about other architectures.")
    if study.scores is None:
        sentences.append("There are no scores of evaluators to compare the votes with.")
    elif any("fit=valid" in key.condition for key in study.scores.values):
        sentences.append("The probes were fit on the validation split, which is not the official protocol.")
    return sentences
