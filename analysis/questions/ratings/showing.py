"""Says, lists and draws which system is rated or ranked higher."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from seedvote.analysis.questions.ratings.rankings import RankedPair, RanksAnswer, compare_ranks
from seedvote.analysis.questions.ratings.scores import RatingDifference, RatingsAnswer, compare_ratings
from seedvote.analysis.showing.page import Axis, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import MOST_ROWS, Table, in_short
from seedvote.analysis.showing.words import count, number, p_equals, p_value, signed, to_plain
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.ordinal import MOST_STEPS
from seedvote.analysis.stats.paired.davidson import Parameter
from seedvote.analysis.votes.inputs import ranks_of, ratings_of
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.importing.reading import Names

Answer = RatingsAnswer | RanksAnswer
Contrast = RatingDifference | RankedPair
AnyContrast = TypeVar("AnyContrast", RatingDifference, RankedPair)
MOST_NAMED = 6


def parts(answer: Answer) -> list[Table | str]:
    """The tables, the sentences, the recipe."""
    tables = [in_short(table, "comparisons", "with the smallest p")[0] for table in answer_tables(answer)]
    return [*tables, *list_findings(answer), name_basis(answer), *answer.warnings, answer.signature]


def find_headline(answer: Answer) -> str:
    """How many differences were shown, then the largest of them."""
    differences = [contrast for contrast in answer.contrasts if contrast.p_holm < 0.05]
    largest = max(differences or answer.contrasts, key=lambda contrast: abs(contrast.lead))
    if len(answer.contrasts) == 1:
        return describe_contrast(largest)
    return f"{_count_shown(answer)} The largest: {describe_contrast(largest)}"


def list_findings(answer: Answer) -> list[str]:
    """A sentence for every two systems, of very many only for the largest difference; then what to know of them."""
    notes = rank_notes(answer) if isinstance(answer, RanksAnswer) else scale_notes(answer)
    if not 1 < len(answer.contrasts) <= MOST_ROWS:
        return [find_headline(answer), *notes]
    return [_count_shown(answer), *map(describe_contrast, answer.contrasts), *notes]


def _count_shown(answer: Answer) -> str:
    number_shown, total = sum(contrast.p_holm < 0.05 for contrast in answer.contrasts), len(answer.contrasts)
    what = f"difference of {answer.noun}s was shown in"
    head = f"A {what} {number_shown:,}" if number_shown else f"No {what} any"
    return f"{head} of {total:,} comparisons of two systems (Holm's correction)."


def describe_contrast(contrast: Contrast) -> str:
    """Whether one system is shown to be higher than the other, and by how much."""
    first, second = contrast.first, contrast.second
    higher, lower = (first, second) if contrast.lead >= 0 else (second, first)
    if not contrast.lead:
        return f"No difference between {first} and {second} was shown: {_name_equality(contrast)}."
    size = _name_size(contrast)
    if contrast.p_holm < 0.05:
        verb = "rated" if isinstance(contrast, RatingDifference) else "ranked"
        return f"{higher} is {verb} higher than {lower}, {size}."
    return f"No difference between {first} and {second} was shown: {higher} leads {size}."


def _name_equality(contrast: Contrast) -> str:
    if isinstance(contrast, RatingDifference):
        return f"both have a mean of {contrast.means[0]:.2f}"
    return f"they have the same {'mean rank' if contrast.difference else 'strength'}"


def _name_size(contrast: Contrast) -> str:
    """`by 0.32 steps of the scale (95 % interval 0.16 to 0.47; p < .0001)`."""
    if isinstance(contrast, RatingDifference):
        return _name_estimate(contrast, contrast.difference, "steps of the scale")
    if estimate := contrast.difference or contrast.strength:
        return _name_estimate(contrast, estimate, "ranks" if contrast.difference else "in log strength")
    above, rankings = max(contrast.above, contrast.below), count(contrast.rankings, "ranking")
    return f"with the higher rank in {above:,} of {rankings} of the two ({p_equals(contrast.p_holm)})"


def _name_estimate(contrast: Contrast, estimate: Interval | Parameter, unit: str) -> str:
    size = f"by {abs(estimate.value):.2f} {unit}"
    if not math.isfinite(estimate.low):
        return size
    low, high = (estimate.low, estimate.high) if contrast.lead > 0 else (-estimate.high, -estimate.low)
    return f"{size} (95 % interval {signed(low, 2)} to {signed(high, 2)}; {p_equals(contrast.p_holm)})"


def name_basis(answer: Answer) -> str:
    """What is compared, and what the intervals allow for."""
    if not answer.clusters:
        return "Neither items nor raters repeat: every row stands alone."
    basis = (
        "All comparisons of one ranking are one answer, and never count as independent votes."
        if isinstance(answer, RanksAnswer)
        else "The differences are those of a linear mixed model, in steps of the scale."
        if answer.is_mixed
        else "Two ratings of one item by one person belong together: what is compared is their difference."
    )
    return f"{basis} The intervals allow for new {new_units(answer)}."


def new_units(answer: Answer) -> str:
    """What the intervals draw anew, in words: `items and raters`."""
    return " and ".join("items" if way == "pair" else f"{way}s" for way in answer.clusters or ("row",))


def name_test(answer: Answer) -> str:
    """Which test was used, on which unit, for the checklist of reviewers."""
    if isinstance(answer, RatingsAnswer):
        what = "means in a mixed model" if answer.is_mixed else "paired means"
    else:
        what = "ranks in the same ranking" if answer.complete else "strengths"
    return f"difference of {what} by t, new {new_units(answer)}, with Holm's correction"


def scale_notes(answer: RatingsAnswer) -> Iterator[str]:
    """What the numbers of a scale take for granted, and why one may be missing."""
    low, high = answer.scale
    ends = f"The ratings run from {low:g} to {high:g}"
    without = [f"{pair.first} and {pair.second}" for pair in answer.contrasts if pair.odds is None]
    if answer.is_mixed:
        yield "A linear mixed model compares all ratings: systems are fixed, and what ratings share is random."
    if answer.is_mixed and len(without) == len(answer.contrasts):
        yield f"{ends}. The model takes these steps as equal."
    elif answer.steps > MOST_STEPS:
        yield f"{ends} in {answer.steps} steps, so they are compared as numbers: there are no odds ratios."
    else:
        yield f"{ends}. A mean takes these steps as equal; the odds ratio does not."
        if answer.is_mixed:
            yield "The odds ratios are those of an ordinal mixed model (cumulative logit) with the same random effects."
        if without:
            names = ", ".join(without) if len(without) <= MOST_NAMED else count(len(without), "comparison")
            yield (
                f"No odds ratio for {names}: all ratings are the same, or no rating of one system is below any of the "
                "other. So the odds have no finite estimate."
            )


def rank_notes(answer: RanksAnswer) -> Iterator[str]:
    """What incomplete rankings leave open, and how far rankings agree."""
    groups: dict[int, list[str]] = {}
    for system in answer.systems:
        groups.setdefault(system.group, []).append(system.system)
    if not answer.complete:
        yield (
            "Some rankings leave systems out, so a mean rank would depend on the opponents. Systems are compared by "
            "their strengths instead (Plackett-Luce; with equal ranks, Davidson-Luce)."
        )
    if len(groups) > 1:
        names = "" if len(answer.systems) > MOST_ROWS else f" ({'; '.join(map(' and '.join, groups.values()))})"
        yield (
            f"Every ranking that compares two of the {count(len(groups), 'group')} puts the earlier one "
            f"higher{names}, so log strengths are comparable within one group only."
        )
        if not answer.complete:
            yield "Between groups the difference of strengths has no finite estimate; its p is that of a score test."
    if answer.unlinked:
        yield f"{count(answer.unlinked, 'comparison')} left out: no chain of rankings links the two systems."
    if concordance := answer.concordance:
        yield f"Kendall's W is {concordance.w:.2f} (0 no agreement between rankings, 1 the same order in all)."
        if concordance.p is None:
            yield "Friedman's test has no p here, since rankings share raters or items."
        else:
            test = f"chi-square {concordance.statistic:.2f} on {count(concordance.freedom, 'degree')} of freedom"
            yield f"Friedman's test: {test}, {p_equals(concordance.p)}."


def answer_tables(answer: Answer) -> list[Table]:
    """Every system, where they were ranked; every two systems; what ratings share, in a mixed model."""
    if isinstance(answer, RanksAnswer):
        return [system_table(answer), _rank_table(answer)]
    if not answer.is_mixed:
        return [_rating_table(answer)]
    rows = [(spread.name, f"{spread.levels:,}", number(spread.sd)) for spread in answer.spreads]
    return [
        _rating_table(answer),
        Table(("ratings share", "number", "SD"), rows, "What ratings share adds to a rating"),
    ]


def system_table(answer: RanksAnswer) -> Table:
    """A line for every system, the best first."""
    has_groups = len({system.group for system in answer.systems}) > 1
    head = [
        "system",
        "rankings",
        *(["mean rank (95 %)"] if answer.complete else []),
        "log strength (95 %)",
        *(["group"] if has_groups else []),
        "95 % ranks, all at once",
    ]
    rows = [
        [
            system.system,
            f"{system.rankings:,}",
            *([_format_cell(system.mean, "{:.3f}")] if answer.complete else []),
            _format_cell(system.strength, "{:+z.2f}"),
            *([f"{system.group}"] if has_groups else []),
            f"{system.rank_low}" + (f"-{system.rank_high}" if system.rank_high > system.rank_low else ""),
        ]
        for system in answer.systems
    ]
    what, order = ("Mean ranks", "1 the best") if answer.complete else ("Strengths", "the best first")
    return Table(head, rows, f"{what} over {answer.rankings:,} rankings, {order}")


def _rank_table(answer: RanksAnswer) -> Table:
    estimate = "ranks higher by (95 %)" if answer.complete else "log strength apart (95 %)"
    head = ("systems", "rankings", estimate, "p", "p (Holm)", "above / equal / below", "net (95 %)")
    rows = [
        (
            f"{pair.first} - {pair.second}",
            f"{pair.rankings:,}",
            _format_cell(pair.difference) if pair.difference else _format_cell(pair.strength, "{:+z.2f}"),
            p_value(pair.p),
            p_value(pair.p_holm),
            f"{pair.above} / {pair.equal} / {pair.below}",
            _format_cell(pair.net),
        )
        for pair in _smallest_p_first(answer.contrasts)
    ]
    return Table(head, rows, f"Differences of {'ranks in the same ranking' if answer.complete else 'strengths'}")


def _rating_table(answer: RatingsAnswer) -> Table:
    counted = "ratings" if answer.is_mixed else "pairs"
    head = ["systems", counted, "means", "difference (95 %)", "p", "p (Holm)", "odds ratio (95 %)"]
    head += [] if answer.is_mixed else ["higher / equal / lower", "net"]
    rows = []
    for contrast in _smallest_p_first(answer.contrasts):
        odds, pairs = contrast.odds, contrast.pairs
        row = [
            f"{contrast.first} - {contrast.second}",
            f"{contrast.difference.n:,}",
            f"{contrast.means[0]:.2f}, {contrast.means[1]:.2f}",
            _format_cell(contrast.difference),
            p_value(contrast.p),
            p_value(contrast.p_holm),
            "-" if odds is None else f"{odds.ratio:.2f} ({odds.low:.2f} to {odds.high:.2f})",
        ]
        rows.append(
            row + ([f"{pairs.higher} / {pairs.equal} / {pairs.lower}", f"{pairs.net.value:+z.3f}"] if pairs else [])
        )
    return Table(head, rows, f"Differences {'by a linear mixed model' if answer.is_mixed else 'of paired ratings'}")


def _smallest_p_first(contrasts: Sequence[AnyContrast]) -> Sequence[AnyContrast]:
    """All comparisons; very many are ordered by p, since only the first ones are shown."""
    return contrasts if len(contrasts) <= MOST_ROWS else sorted(contrasts, key=lambda contrast: contrast.p)


def _format_cell(estimate: Interval | Parameter | None, form: str = "{:+z.3f}") -> str:
    if estimate is None:
        return "-"
    value, low, high = map(form.format, (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def row_figures(answer: Answer) -> tuple[RowFigure, ...]:
    """Mean ranks or strengths of every system, or the difference of ratings of every two."""
    return _draw_systems(answer) if isinstance(answer, RanksAnswer) else _draw_differences(answer)


def _draw_systems(answer: RanksAnswer) -> tuple[RowFigure, ...]:
    estimates = [(system, system.mean or system.strength) for system in answer.systems][:MOST_ROWS]
    ends = [end for _, estimate in estimates if estimate for end in (estimate.low, estimate.high)]
    if not ends:
        return ()
    what, best = ("mean rank", "left") if answer.complete else ("log strength", "right")
    title = f"{what.capitalize()}s with their 95 % interval{', 1 the best' if answer.complete else ''}"
    if len(estimates) < len(answer.systems):
        title += f": the {len(estimates)} best, of {len(answer.systems):,}"
    axis = _fit_axis(ends)
    rows = tuple(
        Row(
            system.system,
            f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})",
            axis.interval(estimate.low, estimate.value, estimate.high),
            described=f"{what} {estimate.value:.2f} over {count(system.rankings, 'ranking')}",
        )
        for system, estimate in estimates
        if estimate is not None
    )
    ticks = axis.round_ticks(whole=answer.complete and axis.high - axis.low > 2)
    unit = f"{what}, to the {best} the better"
    return (RowFigure(title, rows, ticks, unit, note_head=f"{what} (95 % interval)", name="mean-ranks"),)


def _draw_differences(answer: RatingsAnswer) -> tuple[RowFigure, ...]:
    """Differences that have an interval; of very many those with the most ratings."""
    contrasts = [contrast for contrast in answer.contrasts if math.isfinite(contrast.difference.low)]
    if not contrasts:
        return ()
    title = "Differences of ratings with their 95 % interval"
    if len(contrasts) > MOST_ROWS:
        contrasts = sorted(contrasts, key=lambda contrast: -contrast.difference.n)[:MOST_ROWS]
        title += f": the {MOST_ROWS} with the most ratings, of {len(answer.contrasts):,}"
    gaps = [contrast.difference for contrast in contrasts]
    axis = _fit_axis([0.0, *(end for gap in gaps for end in (gap.low, gap.high))])
    rows = tuple(
        Row(
            f"{contrast.first} over {contrast.second}",
            f"{signed(gap.value, 2)} ({signed(gap.low, 2)} to {signed(gap.high, 2)})",
            axis.interval(gap.low, gap.value, gap.high),
            described=f"difference {signed(gap.value, 2)} from {count(gap.n, 'pair')} of ratings",
        )
        for contrast, gap in zip(contrasts, gaps, strict=True)
    )
    ticks, unit = axis.round_ticks(), "steps of the scale, first minus second"
    across = ((axis.at(0), "no difference"),)
    return (RowFigure(title, rows, ticks, unit, across, note_head="steps (95 % interval)", name="ratings"),)


def _fit_axis(ends: Sequence[float]) -> Axis:
    margin = 0.05 * (max(ends) - min(ends) or 1)
    return Axis(min(ends) - margin, max(ends) + margin)


def document(answer: Answer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    if isinstance(answer, RanksAnswer):
        keys = {
            "systems": answer.systems,
            "pairs": answer.contrasts,
            "unlinked": answer.unlinked,
            "rankings": answer.rankings,
            "complete": answer.complete,
            "tie": answer.tie,
            "concordance": answer.concordance,
        }
    else:
        rows = [asdict(contrast) for contrast in answer.contrasts]
        no_counts = dict.fromkeys(("higher", "lower", "equal", "net"))
        keys = {
            "scale": list(answer.scale),
            "steps": answer.steps,
            "differences": [row | (row.pop("pairs") or no_counts) for row in rows],
            "spreads": answer.spreads,
        }
    return dict(to_plain({**keys, "warnings": list(answer.warnings), "recipe": answer.signature}))


def section(answer: Answer) -> Section:
    """What the report shows."""
    return Section(
        answer.verb,
        f"Which is {answer.verb} higher",
        (name_basis(answer),),
        row_figures(answer),
        items=tuple(list_findings(answer)),
        tables=tuple(
            table
            for long_table in answer_tables(answer)
            for table in in_short(long_table, "comparisons", "with the smallest p")
        ),
        notes=answer.warnings,
    )


def ask_title(answer: Answer) -> str:
    """The question of the study, with the leader of two systems first."""
    contrast = answer.contrasts[0]
    if len(answer.contrasts) == 1:
        pair = (contrast.first, contrast.second) if contrast.lead >= 0 else (contrast.second, contrast.first)
        return f"Is {pair[0]} {answer.verb} higher than {pair[1]}?"
    systems = {name for contrast in answer.contrasts for name in (contrast.first, contrast.second)}
    return f"Which of {len(systems)} systems is {answer.verb} highest?"


def ratings(
    table: Any,
    *,
    systems: Sequence[str] = (),
    clusters: str = "auto",
    columns: Names = (),
    values: Names = (),
    wide: str | Path | None = None,
    question: str = "",
    mixed: bool = False,
) -> Result:
    """Which system is rated higher on a scale (`python -m analysis ratings`); `table` is a file or a DataFrame."""
    scores = ratings_of(table, systems, columns=columns, values=values, wide=wide, question=question)
    return _make_result(compare_ratings(scores, clusters=clusters, mixed=mixed), scores)


def ranks(
    table: Any, *, systems: Sequence[str] = (), clusters: str = "auto", columns: Names = (), question: str = ""
) -> Result:
    """Which system is ranked higher (`python -m analysis ranks`); `table` is a file or a DataFrame."""
    rankings = ranks_of(table, systems, columns=columns, question=question)
    return _make_result(compare_ranks(rankings, clusters=clusters), rankings)


def answer_study(study: Study, clusters: str) -> Answer | None:
    """The answer of `analysis ratings STUDY`, or of `ranks` where it holds these; None without either."""
    if study.ratings is None:
        return None
    compare = compare_ranks if study.ratings.ranks else compare_ratings
    return compare(study.ratings, clusters=clusters)


def _make_result(answer: Answer, table: RatingsTable) -> Result:
    return Result(with_reading(answer, table), parts(answer), lambda: row_figures(answer), table.told)


def with_reading(answer: Answer, table: RatingsTable) -> dict[str, Any]:
    """The keys of `--json`, with what was read and left out."""
    return {**document(answer), "reading": table.held}
