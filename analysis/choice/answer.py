"""Next-utterance choice by people and models: the paper's Table 2 with intervals that allow for raters and dialogues.

Computed once for command, notebook and report. A share's interval is crossed by dialogue (or question) and rater, on
the logit scale, so it never leaves 0 to 100 %; a model's allows for dialogues and training seeds. Beside them stand the
paper's own half-width and Wilson's interval, which take every answer as independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.choice.paired import PeopleLessModel, people_less_model
from analysis.choice.published import half_width, too_few, wilson
from analysis.showing.words import count
from analysis.stats.disparity import Disparity, disparity
from analysis.stats.intervals import Interval, bounds
from analysis.stats.mean_over_seeds import mean_over_seeds, replicates_by_dialogue
from analysis.stats.sign_tests import holm_where
from analysis.votes.choices import FIRST, SECOND, Choices, ModelChoices, hits_interval
from analysis.votes.clusters import clusters_of
from analysis.votes.strata import FEWEST, hidden_groups
from dialogue.errors import InputError
from dialogue.importing.people import NOT_GIVEN
from dialogue.records import Question
from dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
METRICS = (FIRST, SECOND)
ALL = "all people"


@dataclass(frozen=True, slots=True)
class ShareCell:
    """One share with everything that stands beside it."""

    corpus: str
    metric: str
    value: float
    n: int  # answers, or questions of a model
    half: float  # the paper's
    starred: bool
    wilson: tuple[float, float]
    low: float | None  # crossed by dialogues and raters, or by dialogues and seeds; None where there is too little
    high: float | None
    design_effect: float | None


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One stratum of people, one model by one rule, or one simple rule."""

    name: str
    kind: str  # people | model | baseline
    people: int  # raters, or training seeds
    cells: tuple[ShareCell, ...]
    apart: Mapping[str, Disparity]  # strata of people: R@1 less that of the others, by corpus
    p_holm: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class AgainstModel:
    """People less one model on the same questions."""

    model: str
    corpus: str
    metric: str
    found: PeopleLessModel
    seeds: int


@dataclass(frozen=True, slots=True)
class ByTurns:
    """R@1 of people by how many turns were shown."""

    turns: int
    share: ShareCell


@dataclass(frozen=True, eq=False)
class ChoiceAnswer:
    """Everything."""

    corpora: tuple[str, ...]
    chance: Mapping[str, tuple[float, float]]  # corpus -> R@1, R@2 by guessing
    rows: tuple[ChoiceRow, ...]
    against: tuple[AgainstModel, ...]
    by: str
    turns: tuple[ByTurns, ...]
    participants: tuple[tuple[str, str, int], ...]  # question about the rater, answer, people
    hidden: int  # cells of participants with fewer than five people
    raters: int
    answers: int
    unasked: int  # real questions that nobody answered
    median_seconds: float | None
    sources: tuple[str, ...]
    unit: str
    warnings: tuple[str, ...]
    signature: str


def answer(
    questions: Sequence[Question], choices: Choices | None, models: Sequence[ModelChoices] = (), *,
    groups: Mapping[str, str] | None = None, by: str = "", profiles: Mapping[str, Mapping[str, str]] | None = None,
    clusters: str = "auto",
) -> ChoiceAnswer:  # fmt: skip
    """People by stratum (`groups`: rater -> stratum), then models, on each corpus of the questions."""
    real = [one for one in questions if one.kind == "real"]
    corpora = tuple(dict.fromkeys(one.corpus for one in real))
    there = choices is not None and len(choices) > 0
    if not there and not models:
        raise InputError(
            "Nobody has answered these questions: there is no choices.jsonl, and no nuc.parquet. "
            "Let models answer: python -m evaluators choose STUDY"
        )
    strata, notes = _strata(choices, groups) if choices is not None and there else ({}, [])
    rows = [_people(name, inside, choices, corpora, clusters) for name, inside in strata.items() if choices is not None]
    rows = _corrected(rows)
    dialogues = question_dialogues(questions)
    rows += [_model(one, questions, corpora, dialogues) for one in models]
    asked = np.unique(choices.pair) if choices is not None and there else np.zeros(0, dtype=np.int64)
    seconds = choices.seconds[~np.isnan(choices.seconds)] if choices is not None else np.zeros(0)
    participants, hidden = _participants(choices, profiles or {}) if choices is not None else ((), 0)
    ways = clusters_of(choices, clusters) if choices is not None and there else {}
    unit = "+".join(ways).replace("pair", "question") or "answer"
    against = _against(choices, models, corpora, ways, dialogues) if choices is not None and there else []
    return ChoiceAnswer(
        corpora=corpora,
        chance={name: _chance([one for one in real if one.corpus == name]) for name in corpora},
        rows=tuple(rows),
        against=tuple(against),
        by=by,
        turns=tuple(_by_turns(choices, clusters)) if choices is not None and there else (),
        participants=participants,
        hidden=hidden,
        raters=len(choices.raters) if choices is not None else 0,
        answers=len(choices) if choices is not None else 0,
        unasked=len(real) - len(asked),
        median_seconds=float(np.median(seconds)) if len(seconds) else None,
        sources=choices.sources if choices is not None else (),
        unit=unit,
        warnings=(*(choices.notes if choices is not None else ()), *notes),
        signature=signature(
            answers=0 if choices is None else len(choices), questions=len(real), corpora=len(corpora),
            models=len(models), by=by or None, clusters=unit, level=0.95,
        ),
    )  # fmt: skip


def question_dialogues(questions: Sequence[Question]) -> Ints:
    """The dialogue of each question as a number; a question that names none stands for itself."""
    names = [one.dialogue or one.question for one in questions]
    return np.asarray(np.unique(np.array(names), return_inverse=True)[1], dtype=np.int64)


def _chance(asked: Sequence[Question]) -> tuple[float, float]:
    sizes = np.array([len(one.options) for one in asked], dtype=float)
    return float((1 / sizes).mean()), float(np.minimum(2 / sizes, 1).mean())


def _strata(choices: Choices, groups: Mapping[str, str] | None) -> tuple[dict[str, Bools], list[str]]:
    """Everybody, then each stratum that has enough people to be shown."""
    found = {ALL: np.ones(len(choices), dtype=bool)}
    if groups is None:
        return found, []
    of = [groups.get(name, NOT_GIVEN) for name in choices.raters]
    people = {name: of.count(name) for name in sorted(set(of))}
    hidden = hidden_groups(people)
    for name in (one for one in people if one not in hidden):
        found[name] = np.array([one == name for one in of], dtype=bool)[choices.rater]
    notes = [
        f"{count(len(hidden), 'group')} of together {sum(people[one] for one in hidden)} people not shown: a group of "
        f"fewer than {FEWEST} people is hidden, and never one alone, since the total would give it away."
    ]
    return found, notes if hidden else []


def _people(name: str, inside: Bools, choices: Choices, corpora: Sequence[str], clusters: str) -> ChoiceRow:
    cells, apart = [], {}
    for corpus in corpora:
        here = choices.corpus(corpus)
        part = choices.select(inside & here)
        cells += [cell_of(part, corpus, metric, clusters) for metric in METRICS if len(part)]
        if name != ALL and len(part) and (here & ~inside).any():
            whole = choices.select(here)
            ways = clusters_of(whole, clusters, part=True)
            if (test := disparity(whole.hits[FIRST], inside[here], ways)) is not None:
                apart[corpus] = test
    people = len(np.unique(choices.rater[inside]))
    return ChoiceRow(name, "people", people, tuple(cells), apart, {})


def cell_of(part: Choices, corpus: str, metric: str, clusters: str = "auto") -> ShareCell:
    """The share of hits among answers."""
    values = part.hits[metric]
    return _cell(corpus, metric, float(values.mean()), len(values), hits_interval(part, metric, clusters))


def _cell(corpus: str, metric: str, share: float, n: int, found: Interval | None) -> ShareCell:
    return ShareCell(
        corpus, metric, share, n, half_width(share, n), too_few(share, n), wilson(share, n),
        None if found is None else found.low, None if found is None else found.high,
        None if found is None else found.design_effect,
    )  # fmt: skip


def _corrected(rows: Sequence[ChoiceRow]) -> list[ChoiceRow]:
    """The tests of all strata and corpora adjusted together; of two strata that are all people, one test."""
    strata = [row for row in rows if row.name != ALL]
    asked = [(row.name, corpus) for row in strata for corpus in row.apart]
    two = len(strata) == 2 and sum(row.people for row in strata) == sum(r.people for r in rows if r.name == ALL)
    tests = [(corpus if two else name, corpus) for name, corpus in asked]
    values = [row.apart[corpus].p for row in strata for corpus in row.apart]
    adjusted = dict(zip(asked, holm_where(values, tests), strict=True))
    return [replace(row, p_holm={corpus: adjusted[row.name, corpus] for corpus in row.apart}) for row in rows]


def _model(one: ModelChoices, questions: Sequence[Question], corpora: Sequence[str], dialogues: Ints) -> ChoiceRow:
    cells = []
    for corpus in corpora:
        here = np.array([each.kind == "real" and each.corpus == corpus for each in questions], dtype=bool)
        for metric in METRICS:
            hits = one.hits[metric]
            kept = here & ~np.isnan(hits).any(0)
            if kept.any():
                cells.append(_model_cell(hits[:, kept], dialogues[kept], corpus, metric))
    name = one.model if one.baseline else f"{one.model}, {one.rule}"
    return ChoiceRow(name, "baseline" if one.baseline else "model", len(one.seeds), tuple(cells), {}, {})


def _model_cell(hits: Floats, dialogues: Ints, corpus: str, metric: str) -> ShareCell:
    """A model's share, with an interval for dialogues and training seeds."""
    wide = np.unique(dialogues, return_inverse=True)[1]
    means, n = hits.mean(1), hits.shape[1]
    share = float(means.mean())
    base = _cell(corpus, metric, share, n, None)
    if wide.max() < 1:
        return base
    parts = np.stack([np.bincount(wide, row - mean) / n for row, mean in zip(hits, means, strict=True)])
    found = mean_over_seeds(replicates_by_dialogue(means, parts))
    freedom = found.freedom if 0 < share < 1 else float(wide.max())
    low, high = bounds(share, found.se, freedom, 0.95, share=True)
    return replace(base, low=low, high=high)


def _against(
    choices: Choices, models: Sequence[ModelChoices], corpora: Sequence[str], ways: Mapping[str, Ints], dialogues: Ints
) -> list[AgainstModel]:
    found = []
    for one in models:
        for corpus in corpora:
            here = choices.corpus(corpus)
            for metric in METRICS:
                made = people_less_model(
                    choices.hits[metric][here], one.hits[metric][:, choices.pair[here]],
                    {name: codes[here] for name, codes in ways.items()}, dialogues[choices.pair[here]],
                )  # fmt: skip
                if made is not None:
                    name = one.model if one.baseline else f"{one.model}, {one.rule}"
                    found.append(AgainstModel(name, corpus, metric, made, len(one.seeds)))
    return found


def _by_turns(choices: Choices, clusters: str) -> list[ByTurns]:
    turns = np.array([len(one.context) for one in choices.questions])[choices.pair]
    return [
        ByTurns(number, cell_of(choices.select(turns == number), "", FIRST, clusters))
        for number in sorted(set(turns.tolist()))
    ]


def _participants(
    choices: Choices, profiles: Mapping[str, Mapping[str, str]]
) -> tuple[tuple[tuple[str, str, int], ...], int]:
    """Who took part: every answer that five people or more gave, and how many answers are hidden."""
    asked = dict.fromkeys(name for rater in choices.raters for name in profiles.get(rater, {}))
    rows, hidden = [], 0
    for name in asked:
        given = [profiles.get(rater, {}).get(name, NOT_GIVEN) for rater in choices.raters]
        people = {one: given.count(one) for one in sorted(set(given))}
        small = hidden_groups(people)
        hidden += len(small)
        rows += [(name, one, number) for one, number in people.items() if one not in small]
    return tuple(rows), hidden
