"""What every evaluator is worth in votes of people, one by one and together.

All comparisons of systems count, each about its own means: knowing which system is liked better on the whole tells
nothing of single pairs, and an evaluator that knows no more than that saves no vote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.page import Axis, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, describe_order, number, to_plain
from seedvote.analysis.stats.gain import Gain, bound_gain, gain_of, pair_correlation, rater_part
from seedvote.analysis.stats.paired.order_agreement import OrderAgreement, order_agreement
from seedvote.analysis.stats.powered import Sample
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe, marked_parts, not_people, told_of_reading, voters
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.columns import read_elsewhere
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.scores.paired import Differences, side_differences, signed_ranks
from seedvote.analysis.votes.study import ReportRequest
from seedvote.analysis.votes.systems import Matches, key_of, pairs_of, system_names
from seedvote.analysis.votes.verdicts import (
    NET,
    TIE,
    Bench,
    Outcome,
    benches_beside,
    cluster_name,
    clusters_by_name,
    contrast_of,
)
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.judges import VERDICTS
from seedvote.dialogue.records import Pair
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = Mapping[Outcome, Mapping[str, float]]  # outcome -> pair -> what an evaluator says of it
OUTCOMES: Mapping[Outcome, str] = {NET: "preference", TIE: "ties"}
TOGETHER = "all together"
FOLDS = 5
RIDGE = 1.0  # of predictors that are scaled to a variance of 1, over so many pairs
LEAST_PAIRS = 10
MEANING = (
    "Worth is the part of the votes that could be spared for the same error if the evaluator scored pairs without end. "
    "A range that begins at 0 shows no worth."
)


@dataclass(frozen=True, slots=True)
class Worth:
    """One evaluator for one outcome."""

    name: str
    outcome: Outcome
    pairs: int
    others: int  # pairs that it scored and nobody voted on
    votes: int
    correlation: float  # with pairs' mean votes, within comparisons
    now: Gain  # with the pairs without votes that there are
    endless: Gain  # with pairs without end
    ceiling: float
    varied: bool  # whether its pairs' votes differ within comparisons; else nothing can be said of it
    signs: tuple[int, int]  # pairs on which it and people lean to one side, of those where both lean
    order: OrderAgreement | None  # of the systems, by it and by people; None for ties and for fewer than four systems


@dataclass(frozen=True, eq=False)
class WorthAnswer:
    """Every evaluator, all of them together, and what could not be used."""

    rows: tuple[Worth, ...]
    together: tuple[Worth, ...]  # empty where there is only one evaluator
    votes: int
    clusters: str
    voters: Voters
    warnings: tuple[str, ...]
    signature: str

    def of_outcome(self, outcome: Outcome) -> list[Worth]:
        """Every evaluator for one outcome, then all together."""
        return [row for row in (*self.rows, *self.together) if row.outcome == outcome]


@dataclass(frozen=True, eq=False)
class _Table:
    """Votes of all comparisons with the pairs behind them."""

    y: Mapping[Outcome, Floats]  # (votes,) turned to the first system
    by: Mapping[str, Ints]
    pair: Ints  # (votes,) code of its pair
    voted: tuple[Pair, ...]
    unvoted: tuple[Pair, ...]
    wide: Ints  # cluster of the voted pairs, then of the others
    comparison: Ints  # likewise
    turn: Floats  # 1 where a is the first system, -1 where it is b; likewise

    def mean_votes(self, outcome: Outcome) -> Floats:
        """The mean vote of every voted pair."""
        return np.asarray(np.bincount(self.pair, weights=self.y[outcome]) / np.bincount(self.pair))


@dataclass(frozen=True, eq=False)
class _Predictor:
    """What an evaluator says of every pair, voted ones first; 0 where it says nothing."""

    has_score: NDArray[np.bool_]
    values: Floats


def answer(
    matches: Matches,
    pairs: Mapping[str, Pair],
    evaluators: Sequence[Differences],
    benches: Sequence[Bench] = (),
    *,
    clusters: str = "auto",
    seed: int = 0,
) -> WorthAnswer:
    """Every evaluator that scored both sides of ten voted pairs or more, and all of them together."""
    table = _tabulate_votes(matches, pairs, clusters)
    generator = np.random.default_rng(child_seed(seed, "worth"))
    scores = {**{row.name: _score_differences(row) for row in evaluators}, **_score_benches(benches)}
    if not scores:
        raise InputError("No evaluator scored both sides of a pair.")
    counts = {name: sum(pair.pair in its[NET] for pair in table.voted) for name, its in scores.items()}
    usable = {name: its for name, its in scores.items() if counts[name] >= LEAST_PAIRS}
    if not usable:
        raise InputError(
            f"No evaluator scored both sides of {LEAST_PAIRS} pairs with votes; "
            f"{max(counts, key=lambda name: counts[name])} scored {max(counts.values())}."
        )
    rows = tuple(
        _measure_worth(name, outcome, table, _predict_outcome(outcome, table, its[outcome]), generator)
        for name, its in usable.items()
        for outcome in OUTCOMES
    )
    together = tuple(
        _measure_together(outcome, table, [its[outcome] for its in usable.values()], generator)
        for outcome in OUTCOMES
        if len(usable) > 1
    )
    people = voters(matches.votes)
    unusable = [
        f"{name} scored both sides of {count(pairs, 'pair')} with votes, and {LEAST_PAIRS} are needed."
        for name, pairs in counts.items()
        if name not in usable
    ]
    return WorthAnswer(
        rows=rows,
        together=together,
        votes=len(matches.votes),
        clusters="+".join(table.by) or "vote",
        voters=people,
        warnings=(*matches.votes.warnings, *unusable),
        signature=signature(
            votes=len(matches.votes),
            pairs=len(table.voted),
            evaluators=len(usable),
            clusters=clusters,
            seed=seed,
            **judges_in_recipe(people),
        ),
    )


def _score_differences(evaluator: Differences) -> Scores:
    """Signed ranks for the preference; for ties how near the two sides are."""
    ranks = signed_ranks(list(evaluator.by_pair.values()))
    return {
        outcome: dict(zip(evaluator.by_pair, (ranks if outcome == NET else -np.abs(ranks)).tolist(), strict=True))
        for outcome in OUTCOMES
    }


def _score_benches(benches: Sequence[Bench]) -> dict[str, Scores]:
    """Judges, named with the prompt where one name has several, and each criterion of their rubrics."""
    names = [bench.judge for bench in benches]
    scores: dict[str, Scores] = {}
    for bench in benches:
        title = f"judge {bench.judge}" + (f" (prompt {bench.prompt[:8]})" if names.count(bench.judge) > 1 else "")
        scores[title] = {
            outcome: {name: value for name in bench.verdicts if (value := bench.value(name, outcome)) is not None}
            for outcome in OUTCOMES
        }
        for criterion in bench.criteria:
            name = f"{title}: {criterion}"
            scores[name] = _score_differences(Differences(name, bench.criterion(criterion)))
    return scores


def _tabulate_votes(matches: Matches, pairs: Mapping[str, Pair], clusters: str) -> _Table:
    votes, names = matches.votes, system_names(pairs.values())
    codes, place = np.unique(votes.pair, return_inverse=True)
    voted = [pairs[votes.pairs[code]] for code in codes]
    compared = {contrast_of(pair, names)[:2] for pair in voted}
    voted_names = {pair.pair for pair in voted}
    unvoted = [
        pair
        for name, pair in pairs.items()
        if name not in voted_names
        and pair.kind == "real"
        and key_of(pair.a) != key_of(pair.b)
        and contrast_of(pair, names)[:2] in compared
    ]
    ways = clusters_of(votes, clusters)
    wide = next((name for name in ways if name != "rater"), "pair")
    cluster_names = [*clusters_by_name(votes, voted, place, wide), *(cluster_name(pair, wide) for pair in unvoted)]
    contrasts = [contrast_of(pair, names) for pair in (*voted, *unvoted)]
    turn = np.array([1.0 if is_straight else -1.0 for *_, is_straight in contrasts])
    return _Table(
        y={NET: net_scores(votes.choice) * turn[place], TIE: votes.tie.astype(float)},
        by=ways,
        pair=place,
        voted=tuple(voted),
        unvoted=tuple(unvoted),
        wide=np.unique(cluster_names, return_inverse=True)[1],
        comparison=np.unique([f"{first}\n{second}" for first, second, _ in contrasts], return_inverse=True)[1],
        turn=turn,
    )


def _centre_values(values: Floats, codes: Ints) -> Floats:
    """Values about the mean of their code."""
    if not len(values):
        return values
    place = np.unique(codes, return_inverse=True)[1]
    return np.asarray(values - (np.bincount(place, weights=values) / np.bincount(place))[place])


def _predict_outcome(outcome: Outcome, table: _Table, scores: Mapping[str, float]) -> _Predictor:
    """The scores, turned to the first system of each pair's comparison."""
    pairs = (*table.voted, *table.unvoted)
    values = np.array([scores.get(pair.pair, 0.0) for pair in pairs])
    has_score = np.array([pair.pair in scores for pair in pairs])
    return _Predictor(has_score, values * table.turn if outcome == NET else values)


def _join_sample(outcome: Outcome, table: _Table, predictor: _Predictor) -> Sample:
    """Votes and scores of the pairs that have both, each comparison about its own means."""
    known = len(table.voted)
    is_scored = predictor.has_score[:known][table.pair]
    pair = table.pair[is_scored]
    is_outside = predictor.has_score.copy()
    is_outside[:known] = False
    comparison = table.comparison[:known][pair]
    return Sample(
        _centre_values(table.y[outcome][is_scored], comparison),
        _centre_values(predictor.values[:known][pair], comparison),
        {name: np.unique(codes[is_scored], return_inverse=True)[1] for name, codes in table.by.items()},
        np.unique(pair, return_inverse=True)[1],
        table.wide[:known][pair],
        _centre_values(predictor.values[is_outside], table.comparison[is_outside]),
        table.wide[is_outside],
    )


def _measure_worth(
    name: str, outcome: Outcome, table: _Table, predictor: _Predictor, generator: np.random.Generator
) -> Worth:
    sample = _join_sample(outcome, table, predictor)
    rho = pair_correlation(sample)
    return Worth(
        name=name,
        outcome=outcome,
        pairs=sample.pairs,
        others=len(sample.other),
        votes=len(sample.y),
        correlation=rho,
        now=gain_of(sample, generator),
        endless=gain_of(sample, generator, endless=True),
        ceiling=bound_gain(rho, rater_part(sample)),
        varied=bool(np.ptp(sample.y) > 1e-12),
        signs=_count_signs(table, predictor) if outcome == NET else (0, 0),
        order=_compare_orders(table, predictor) if outcome == NET else None,
    )


def _count_signs(table: _Table, predictor: _Predictor) -> tuple[int, int]:
    """Not about the means: which side people and the evaluator lean to, as they said it."""
    means = table.mean_votes(NET)
    scores = np.where(predictor.has_score, predictor.values, 0.0)[: len(table.voted)]
    lean = (np.abs(means) > 1e-12) & (np.abs(scores) > 1e-12)
    return int((np.sign(means[lean]) == np.sign(scores[lean])).sum()), int(lean.sum())


def _compare_orders(table: _Table, predictor: _Predictor) -> OrderAgreement | None:
    """The systems by people and by the evaluator, on the pairs that have both."""
    places = np.flatnonzero(predictor.has_score[: len(table.voted)])
    keys = [[key_of(side) for side in (table.voted[place].a, table.voted[place].b)] for place in places]
    codes = {key: code for code, key in enumerate(sorted({key for sides in keys for key in sides}, key=str))}
    first, second = np.array([[codes[key] for key in sides] for sides in keys], dtype=np.int64).reshape(-1, 2).T
    turn = table.turn[places]
    return order_agreement(first, second, table.mean_votes(NET)[places] * turn, predictor.values[places] * turn)


def _measure_together(
    outcome: Outcome, table: _Table, scores: Sequence[Mapping[str, float]], generator: np.random.Generator
) -> Worth:
    """A ridge of all evaluators; every voted pair is predicted by a fit on other clusters than its own."""
    predictors = [_predict_outcome(outcome, table, its) for its in scores]
    columns = np.column_stack([_centre_scores(predictor, table.comparison) for predictor in predictors])
    scale = columns.std(axis=0)
    columns = columns[:, scale > 1e-12] / scale[scale > 1e-12]
    known = len(table.voted)
    means = _centre_values(table.mean_votes(outcome), table.comparison[:known])
    groups, place = np.unique(table.wide[:known], return_inverse=True)
    fold = generator.permutation(np.arange(len(groups)) % FOLDS)[place]
    values, fits = np.zeros(len(columns)), []
    for part in np.unique(fold):
        inside, outside = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        fits.append(_fit_ridge(columns[outside], means[outside]))
        values[inside] = columns[inside] @ fits[-1]
    values[known:] = columns[known:] @ np.mean(fits, axis=0)
    has_score = np.any([predictor.has_score for predictor in predictors], axis=0)
    worth = _measure_worth(TOGETHER, outcome, table, _Predictor(has_score, values), generator)
    # Its predictions are about the mean of each comparison, so they order no systems.
    return replace(worth, now=_cut_below_one(worth.now), endless=_cut_below_one(worth.endless), order=None)


def _centre_scores(predictor: _Predictor, comparison: Ints) -> Floats:
    """Scores about the mean of their comparison; 0 where there is none."""
    values = np.zeros(len(predictor.values))
    scored = predictor.has_score
    values[scored] = _centre_values(predictor.values[scored], comparison[scored])
    return values


def _fit_ridge(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ (y - y.mean())))


def _cut_below_one(gain: Gain) -> Gain:
    """The gain of predictions that were fitted: votes that go against them show a fit to chance, and no worth."""
    if gain.correlation > 0 and gain.correlation_low > 0:
        return gain
    value = gain.value if gain.correlation > 0 else 1.0
    high = 1 / (1 - gain.correlation_high**2) if gain.correlation_high > 0 else 1.0
    return Gain(value, 1.0, high, gain.correlation, min(gain.correlation_low, 0.0), max(gain.correlation_high, 0.0))


def parts(answer: WorthAnswer) -> list[Table | str]:
    """A table for preference and one for ties, what they mean, the cautions, and the recipe last."""
    pieces: list[Table | str] = [*worth_tables(answer), *list_worths(answer), *list_shown(answer), MEANING]
    return [*marked_parts(pieces, answer.voters), *not_people(answer.voters), *answer.warnings, answer.signature]


def worth_tables(answer: WorthAnswer) -> list[Table]:
    """One table for each outcome."""
    head = (
        "evaluator",
        "pairs",
        "without votes",
        "corr.",
        "same side",
        "votes saved now (95 %)",
        "gain, pairs without end (95 %)",
        "worth of the votes (95 %)",
    )
    return [
        Table(
            head,
            [_worth_cells(row) for row in answer.of_outcome(outcome)],
            f"What each evaluator is worth in votes on {name} (errors by {answer.clusters})",
        )
        for outcome, name in OUTCOMES.items()
    ]


def _worth_cells(row: Worth) -> tuple[str, ...]:
    same, leaning = row.signs
    value, low, high = row.now.saved(row.votes)
    gain = row.endless
    return (
        row.name,
        f"{row.pairs:,}",
        f"{row.others:,}",
        number(row.correlation, 2),
        f"{same:,} of {leaning:,}" if leaning else "-",
        f"{value:,.0f} ({low:,.0f} to {high:,.0f})" if row.others > 1 and row.varied else "-",
        f"{gain.value:.2f} ({gain.low:.2f} to {gain.high:.2f})" if row.varied else "-",
        percent_worth(row),
    )


def list_worths(answer: WorthAnswer) -> Iterator[str]:
    """A sentence for each evaluator, and how far it orders the systems as people do."""
    for net, tie in zip(answer.of_outcome(NET), answer.of_outcome(TIE), strict=True):
        who = "all of them together are" if net.name == TOGETHER else f"{net.name} is"
        yield (
            f"By these {count(net.votes, 'vote')} {who} worth {percent_worth(net)} of the votes on preference and "
            f"{percent_worth(tie)} of those on ties."
        )
    yield from (describe_order(row.order, row.name) for row in answer.rows if row.order is not None)
    if answer.together:
        yield "Together means a fit that predicts each pair from other clusters."


def list_shown(answer: WorthAnswer) -> Iterator[str]:
    """Which evaluators the votes show to be worth any, one sentence for each outcome."""
    for outcome, name in OUTCOMES.items():
        rows = answer.of_outcome(outcome)
        if not any(row.varied for row in rows):
            yield f"The votes on {name} do not differ within comparisons, so no evaluator can be held against them."
            continue
        names = ", ".join(row.name for row in rows if row.endless.shown)
        yield f"Shown to be worth votes on {name}: {names or 'none'}."


def percent_worth(row: Worth) -> str:
    """The worth with its range, in per cent."""
    if not row.varied:
        return "an unknown part"
    value, low, high = _scale_to_percent(row)
    begins = f"{low:.1g}" if row.endless.shown and low < 0.5 else f"{low:.0f}"  # what is shown does not begin at 0
    return f"{value:.0f} % ({begins} to {high:.0f})"


def _scale_to_percent(row: Worth) -> tuple[float, float, float]:
    value, low, high = (100 * max(part, 0.0) for part in row.endless.saved(1))
    return value, low, high


def row_figures(answer: WorthAnswer) -> tuple[RowFigure, ...]:
    """The part of the votes that each evaluator could spare: on preference, and on ties."""
    figures = []
    for outcome, name in OUTCOMES.items():
        varied = [row for row in answer.of_outcome(outcome) if row.varied]
        if not varied:
            continue
        axis = Axis(0.0, max(10.0, *(_scale_to_percent(row)[2] for row in varied)))
        rows = []
        for row in varied:
            value, low, high = _scale_to_percent(row)
            marks = axis.interval(low, value, high, "c0")
            rows.append(Row(row.name, percent_worth(row), marks, described=f"{row.votes:,} votes"))
        title = f"Part of the votes on {name} that each evaluator could spare"
        ticks, head = axis.round_ticks(), "worth (95 % interval)"
        figures.append(RowFigure(title, tuple(rows), ticks, "% of the votes", note_head=head, name=f"worth-{outcome}"))
    return tuple(figures)


def document(answer: WorthAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    return dict(
        to_plain(
            {
                "evaluators": [_worth_keys(row) for row in answer.rows],
                "together": [_worth_keys(row) for row in answer.together],
                "votes": answer.votes,
                "clusters": answer.clusters,
                "voters": answer.voters,
                "warnings": [*not_people(answer.voters), *answer.warnings],
                "signature": answer.signature,
            }
        )
    )


def _worth_keys(row: Worth) -> dict[str, Any]:
    ends = ("value", "low", "high")
    return {
        **asdict(row),
        "worth": dict(zip(ends, row.endless.saved(1), strict=True)),
        "votes_saved": dict(zip(ends, row.now.saved(row.votes), strict=True)),
        "shown": row.endless.shown,
    }


def section(answer: WorthAnswer) -> Section:
    """What the report shows."""
    return Section(
        "worth",
        "What each evaluator is worth in human votes",
        ("An evaluator that scores both responses of a pair can stand in for votes on pairs without any.", MEANING),
        row_figures(answer),
        tuple(list_shown(answer)),
        tables=tuple(worth_tables(answer)),
        notes=answer.warnings,
    )


def worth(
    study: str | Path,
    *,
    votes: str | Path | None = None,
    clusters: str = "auto",
    seed: int = 0,
    **reading: Any,
) -> Result:
    """What every evaluator of a study is worth in votes of people (`python -m analysis worth`)."""
    folder = Path(study)
    if not (folder / "pairs.jsonl").exists():
        lacking = f"{folder} has no pairs.jsonl, so nobody knows what was compared. Give a study folder."
        raise InputError(read_elsewhere(folder) or lacking)
    path = folder / "votes.jsonl" if votes is None else Path(votes)
    pairs = pairs_of(folder / "pairs.jsonl")
    matches = matches_of(path, folder / "pairs.jsonl", **reading)[0]
    worths = answer(
        matches, pairs, side_differences(folder, pairs), _read_benches(folder), clusters=clusters, seed=seed
    )
    return Result(document(worths), parts(worths), lambda: row_figures(worths), told_of_reading(matches.votes))


def in_report(request: ReportRequest) -> WorthAnswer | None:
    """As of `analysis worth STUDY`; None where no pair has votes."""
    study, folder = request.study, request.study.folder
    if study.table is not None or not study.pairs or study.votes is None or not (folder / "votes.jsonl").exists():
        return None
    pairs = {pair.pair: pair for pair in study.pairs}
    matches = matches_of(folder / "votes.jsonl", folder / "pairs.jsonl", **study.how)[0]
    return answer(matches, pairs, side_differences(folder, pairs), _read_benches(folder), clusters=request.clusters)


def _read_benches(folder: Path) -> list[Bench]:
    return benches_beside(folder, None) if (folder / VERDICTS).exists() else []
