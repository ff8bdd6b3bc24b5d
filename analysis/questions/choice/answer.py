"""Next-utterance choice by people and models: the paper's Table 2 with intervals that allow for raters and dialogues.

A share's interval is crossed by dialogue (or question) and rater, on the logit scale, so it never leaves 0 to 100 %; a
model's allows for dialogues and training seeds. Each share also has the paper's own half-width and Wilson's interval,
which take every answer as independent.

People less a model is paired by question: each answer counts as the person's hit less the model's mean over seeds. Its
error is that of votes, crossed by dialogue and rater, with the variance between training seeds, as in
`stats/mean_over_seeds.py`. Interval and p are of one t distribution, so they never disagree.

Lowe et al. (2016) print the people's half of Table 2 as a share with 1.96 sqrt(p (1 - p) / n), and a star where
n min(p, 1 - p) < 5, too few for that formula. So n = 1.96^2 p (1 - p) / h^2 follows from the cell, and the star from n.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from seedvote.analysis.showing.words import count
from seedvote.analysis.stats.disparity import Disparity, compare_groups
from seedvote.analysis.stats.intervals import Interval, bound_mean, mean_interval
from seedvote.analysis.stats.mean_over_seeds import mean_over_seeds, replicates_by_dialogue
from seedvote.analysis.stats.reruns import both_levels, estimate_between, pick_wider
from seedvote.analysis.stats.sign_tests import holm_where
from seedvote.analysis.votes.choices import FIRST, SECOND, Choices, ModelChoices, hits_interval
from seedvote.analysis.votes.clusters import FEWEST, clusters_of, hidden_groups
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.people import NOT_GIVEN
from seedvote.dialogue.records import Question
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
METRICS = (FIRST, SECOND)
ALL = "all people"
TABLE = Path(__file__).with_name("published_choice.csv")
Z = 1.96
FEWEST_EXPECTED = 5  # of the rarer outcome, below which the formula is starred


@dataclass(frozen=True, slots=True)
class ShareCell:
    """One share with its intervals."""

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
    gaps: Mapping[str, Disparity]  # strata of people: R@1 less that of the others, by corpus
    p_holm: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class PeopleLessModel:
    """A difference of shares, people's less the model's, with its 95 % interval."""

    value: float
    low: float
    high: float
    p: float
    people: float
    model: float
    answers: int


@dataclass(frozen=True, slots=True)
class AgainstModel:
    """People less one model on the same questions."""

    model: str
    corpus: str
    metric: str
    difference: PeopleLessModel
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
    questions: Sequence[Question],
    choices: Choices | None,
    models: Sequence[ModelChoices] = (),
    *,
    groups: Mapping[str, str] | None = None,
    by: str = "",
    profiles: Mapping[str, Mapping[str, str]] | None = None,
    clusters: str = "auto",
) -> ChoiceAnswer:
    """People by stratum (`groups`: rater -> stratum), then models, on each corpus of the questions."""
    real = [question for question in questions if question.kind == "real"]
    corpora = tuple(dict.fromkeys(question.corpus for question in real))
    answers = choices if choices is not None and len(choices) else None
    if answers is None and not models:
        raise InputError(
            "Nobody has answered these questions: there is no choices.jsonl, and no nuc.parquet. "
            "Let models answer: python -m evaluators choose STUDY"
        )
    dialogues = question_dialogues(questions)
    strata, notes = _split_strata(answers, groups) if answers is not None else ({}, [])
    rows: list[ChoiceRow] = []
    against: list[AgainstModel] = []
    ways: Mapping[str, Ints] = {}
    if answers is not None:
        rows = _adjust_p([_describe_people(name, part, answers, corpora, clusters) for name, part in strata.items()])
        ways = clusters_of(answers, clusters)
        against = list(_compare_with_models(answers, models, corpora, ways, dialogues))
    rows += [_describe_model(model, questions, corpora, dialogues) for model in models]
    seconds = choices.seconds[~np.isnan(choices.seconds)] if choices is not None else np.zeros(0)
    participants, hidden = _count_participants(choices, profiles or {}) if choices is not None else ((), 0)
    unit = "+".join(ways).replace("pair", "question") or "answer"
    return ChoiceAnswer(
        corpora=corpora,
        chance={name: _compute_chance([question for question in real if question.corpus == name]) for name in corpora},
        rows=tuple(rows),
        against=tuple(against),
        by=by,
        turns=tuple(_split_by_turns(answers, clusters)) if answers is not None else (),
        participants=participants,
        hidden=hidden,
        raters=len(choices.raters) if choices is not None else 0,
        answers=len(choices) if choices is not None else 0,
        unasked=len(real) - (len(np.unique(answers.pair)) if answers is not None else 0),
        median_seconds=float(np.median(seconds)) if len(seconds) else None,
        sources=choices.sources if choices is not None else (),
        unit=unit,
        warnings=(*(choices.notes if choices is not None else ()), *notes),
        signature=signature(
            answers=0 if choices is None else len(choices),
            questions=len(real),
            corpora=len(corpora),
            models=len(models),
            by=by or None,
            clusters=unit,
            level=0.95,
        ),
    )


def question_dialogues(questions: Sequence[Question]) -> Ints:
    """The dialogue of each question as a number; a question that names none stands for itself."""
    names = [question.dialogue or question.question for question in questions]
    return np.asarray(np.unique(np.array(names), return_inverse=True)[1], dtype=np.int64)


def _compute_chance(questions: Sequence[Question]) -> tuple[float, float]:
    sizes = np.array([len(question.options) for question in questions], dtype=float)
    return float((1 / sizes).mean()), float(np.minimum(2 / sizes, 1).mean())


def _split_strata(choices: Choices, groups: Mapping[str, str] | None) -> tuple[dict[str, Bools], list[str]]:
    """Everybody, then each stratum that has enough people to be shown."""
    strata = {ALL: np.ones(len(choices), dtype=bool)}
    if groups is None:
        return strata, []
    names = [groups.get(rater, NOT_GIVEN) for rater in choices.raters]
    people = {name: names.count(name) for name in sorted(set(names))}
    hidden = hidden_groups(people)
    for name in people:
        if name not in hidden:
            strata[name] = np.array([group == name for group in names], dtype=bool)[choices.rater]
    note = (
        f"Not shown: {count(len(hidden), 'group')} with {sum(people[name] for name in hidden)} people together. A "
        f"group of fewer than {FEWEST} is hidden, and never one alone, since the total would give it away."
    )
    return strata, [note] if hidden else []


def _describe_people(name: str, is_inside: Bools, choices: Choices, corpora: Sequence[str], clusters: str) -> ChoiceRow:
    cells, gaps = [], {}
    for corpus in corpora:
        in_corpus = choices.corpus(corpus)
        part = choices.select(is_inside & in_corpus)
        cells += [measure_share(part, corpus, metric, clusters) for metric in METRICS if len(part)]
        if name != ALL and len(part) and (in_corpus & ~is_inside).any():
            everybody = choices.select(in_corpus)
            ways = clusters_of(everybody, clusters, part=True)
            if (gap := compare_groups(everybody.hits[FIRST], is_inside[in_corpus], ways)) is not None:
                gaps[corpus] = gap
    return ChoiceRow(name, "people", len(np.unique(choices.rater[is_inside])), tuple(cells), gaps, {})


def measure_share(part: Choices, corpus: str, metric: str, clusters: str = "auto") -> ShareCell:
    """The share of hits among answers."""
    values = part.hits[metric]
    return _make_cell(corpus, metric, float(values.mean()), len(values), hits_interval(part, metric, clusters))


def _make_cell(corpus: str, metric: str, share: float, n: int, interval: Interval | None) -> ShareCell:
    return ShareCell(
        corpus=corpus,
        metric=metric,
        value=share,
        n=n,
        half=half_width(share, n),
        starred=too_few(share, n),
        wilson=wilson(share, n),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        design_effect=None if interval is None else interval.design_effect,
    )


def _adjust_p(rows: Sequence[ChoiceRow]) -> list[ChoiceRow]:
    """The tests of all strata and corpora adjusted together; of two strata that are all people, one test."""
    strata = [row for row in rows if row.name != ALL]
    everybody = sum(row.people for row in rows if row.name == ALL)
    is_one_test = len(strata) == 2 and sum(row.people for row in strata) == everybody
    places = [(row.name, corpus) for row in strata for corpus in row.gaps]
    tests = [(corpus if is_one_test else name, corpus) for name, corpus in places]
    values = [row.gaps[corpus].p for row in strata for corpus in row.gaps]
    adjusted = dict(zip(places, holm_where(values, tests), strict=True))
    return [replace(row, p_holm={corpus: adjusted[row.name, corpus] for corpus in row.gaps}) for row in rows]


def _describe_model(
    model: ModelChoices, questions: Sequence[Question], corpora: Sequence[str], dialogues: Ints
) -> ChoiceRow:
    cells = []
    for corpus in corpora:
        in_corpus = np.array([question.kind == "real" and question.corpus == corpus for question in questions], bool)
        for metric in METRICS:
            hits = model.hits[metric]
            is_answered = in_corpus & ~np.isnan(hits).any(0)
            if is_answered.any():
                cells.append(_measure_model(hits[:, is_answered], dialogues[is_answered], corpus, metric))
    return ChoiceRow(
        _name_model(model), "baseline" if model.baseline else "model", len(model.seeds), tuple(cells), {}, {}
    )


def _name_model(model: ModelChoices) -> str:
    return model.model if model.baseline else f"{model.model}, {model.rule}"


def _measure_model(hits: Floats, dialogues: Ints, corpus: str, metric: str) -> ShareCell:
    """A model's share, with an interval for dialogues and training seeds."""
    wide = np.unique(dialogues, return_inverse=True)[1]
    means, n = hits.mean(1), hits.shape[1]
    share = float(means.mean())
    cell = _make_cell(corpus, metric, share, n, None)
    if wide.max() < 1:
        return cell
    mean = mean_over_seeds(replicates_by_dialogue(means, _dialogue_parts(hits, wide)))
    freedom = mean.freedom if 0 < share < 1 else float(wide.max())
    low, high = bound_mean(share, mean.se, freedom, 0.95, share=True)
    return replace(cell, low=low, high=high)


def _dialogue_parts(hits: Floats, wide: Ints) -> Floats:
    """What each dialogue adds to the error of each seed's mean."""
    n = hits.shape[1]
    return np.stack([np.bincount(wide, row - row.mean()) / n for row in hits])


def _compare_with_models(
    choices: Choices,
    models: Sequence[ModelChoices],
    corpora: Sequence[str],
    ways: Mapping[str, Ints],
    dialogues: Ints,
) -> Iterator[AgainstModel]:
    for model in models:
        for corpus in corpora:
            in_corpus = choices.corpus(corpus)
            pair = choices.pair[in_corpus]
            by = {name: codes[in_corpus] for name, codes in ways.items()}
            for metric in METRICS:
                hits = choices.hits[metric][in_corpus]
                difference = people_less_model(hits, model.hits[metric][:, pair], by, dialogues[pair])
                if difference is not None:
                    yield AgainstModel(_name_model(model), corpus, metric, difference, len(model.seeds))


def people_less_model(hits: Floats, model: Floats, ways: Mapping[str, Ints], wide: Ints) -> PeopleLessModel | None:
    """From people's hits (answers,) and the model's (seeds, answers); `wide` is the dialogue of each answer."""
    is_answered = ~np.isnan(model).any(0)
    if is_answered.sum() < 2:
        return None
    hits, model = hits[is_answered], model[:, is_answered]
    wide = np.unique(wide[is_answered], return_inverse=True)[1]
    by = {name: np.unique(codes[is_answered], return_inverse=True)[1] for name, codes in ways.items()}
    by = {name: codes for name, codes in by.items() if codes.max() > 0}
    difference = mean_interval(hits - model.mean(0), by=by)
    value, seeds = difference.value, len(model)
    variance, freedom = difference.se**2, difference.df
    if seeds > 1 and wide.max() > 0:
        replicates = replicates_by_dialogue(model.mean(1), _dialogue_parts(model, wide))
        # The variance of the seeds' means, and what of it the dialogues would make if all seeds were equal.
        observed, noise = estimate_between(replicates, np.arange(seeds))
        shared = max(variance - noise / seeds, 0.0)  # what the dialogues do to each seed alone is in `observed`
        with_seeds = both_levels((shared, freedom), (observed / seeds, seeds - 1.0))
        variance, freedom = pick_wider((variance, freedom), with_seeds)
    se = math.sqrt(variance)
    reach = float(stdtrit(freedom, 0.975)) * se if se else 0.0
    low, high = max(value - reach, -1.0), min(value + reach, 1.0)
    p = 2 * float(stdtr(freedom, -abs(value) / se)) if se else float(value == 0)
    return PeopleLessModel(value, low, high, p, float(hits.mean()), float(model.mean()), int(is_answered.sum()))


def _split_by_turns(choices: Choices, clusters: str) -> list[ByTurns]:
    turns = np.array([len(question.context) for question in choices.questions])[choices.pair]
    return [
        ByTurns(number, measure_share(choices.select(turns == number), "", FIRST, clusters))
        for number in sorted(set(turns.tolist()))
    ]


def _count_participants(
    choices: Choices, profiles: Mapping[str, Mapping[str, str]]
) -> tuple[tuple[tuple[str, str, int], ...], int]:
    """Who took part: every answer that five people or more gave, and how many answers are hidden."""
    rows, hidden = [], 0
    for name in dict.fromkeys(name for rater in choices.raters for name in profiles.get(rater, {})):
        answers = [profiles.get(rater, {}).get(name, NOT_GIVEN) for rater in choices.raters]
        people = {text: answers.count(text) for text in sorted(set(answers))}
        small = hidden_groups(people)
        hidden += len(small)
        rows += [(name, text, number) for text, number in people.items() if text not in small]
    return tuple(rows), hidden


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell: a share in parts of one, its half-width, and whether it has the star in print."""

    group: str
    corpus: str
    metric: str
    share: float
    half: float
    starred: bool

    @property
    def implied(self) -> int:
        """The number of answers from which the half-width follows."""
        return round(Z**2 * self.share * (1 - self.share) / self.half**2)


def published_cells() -> tuple[PublishedCell, ...]:
    """The cells in the order of the paper."""
    with TABLE.open(encoding="utf-8") as file:
        return tuple(
            PublishedCell(
                row["group"],
                row["corpus"],
                row["metric"],
                float(row["percent"]) / 100,
                float(row["half_width"]) / 100,
                row["starred"] == "1",
            )
            for row in csv.DictReader(file)
        )


def half_width(share: float, n: int) -> float:
    """The paper's half-width of a share."""
    return Z * math.sqrt(share * (1 - share) / n)


def too_few(share: float, n: int) -> bool:
    """The paper's star: the rarer outcome is expected fewer than five times.

    >>> too_few(0.94, 80), too_few(0.884, 80)
    (True, False)
    """
    return n * min(share, 1 - share) < FEWEST_EXPECTED


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n independent answers; it never leaves 0 to 1.

    >>> tuple(round(end, 3) for end in wilson(0.984, 83))
    (0.929, 0.997)
    """
    centre, reach = share + Z**2 / (2 * n), Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n * n))
    low, high = (centre - reach) / (1 + Z**2 / n), (centre + reach) / (1 + Z**2 / n)
    return max(low, 0.0), min(high, 1.0)
