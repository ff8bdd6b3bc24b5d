"""The report's section on which system is ranked higher: the answer's numbers, none of its own."""

from __future__ import annotations

from analysis.ranks.answer import RankedPair, RanksAnswer, SystemRank
from analysis.ranks.text import comparison_table, rank_sentences, system_table, together
from analysis.showing.page import Axis, Row, RowFigure, Section, round_steps
from analysis.showing.tables import MOST_ROWS, in_short
from analysis.showing.words import among_comparisons, count, p_equals, signed


def section(answer: RanksAnswer | None) -> Section | None:
    """Mean ranks or strengths in one figure; both tables of the command."""
    if answer is None:
        return None
    return Section(
        "ranked", "Which is ranked higher", (together(answer),), tuple(_figures(answer)),
        items=tuple(rank_sentences(answer)), notes=answer.warnings,
        tables=(system_table(answer), *in_short(comparison_table(answer), "comparisons", "with the smallest p")),
    )  # fmt: skip


def ranked_findings(answer: RanksAnswer) -> list[str]:
    """What was found, the largest difference that was shown first."""
    shown = [pair for pair in answer.pairs if pair.p_holm < 0.05]
    largest = max(shown or answer.pairs, key=lambda pair: abs(pair.lead))
    return [among_comparisons("ranks", len(shown), len(answer.pairs), _finding(largest, bool(shown)))]


def ranked_title(answer: RanksAnswer) -> str:
    """The question that the ranks answer, with the leader of two systems first."""
    best, *others = (system.system for system in answer.systems)
    if len(others) == 1:
        return f"Is {best} ranked higher than {others[0]}?"
    return f"Which of {len(answer.systems)} systems is ranked highest?"


def _finding(pair: RankedPair, shown: bool) -> str:
    if not pair.lead:
        same = "the same mean rank" if pair.difference else "the same strength"
        return f"No difference between {pair.first} and {pair.second} was shown: they have {same}."
    higher, lower = (pair.first, pair.second) if pair.lead > 0 else (pair.second, pair.first)
    verb = "is ranked higher than" if shown else "is not shown to be ranked higher than"
    return f"{higher} {verb} {lower} ({_size(pair)}; {p_equals(pair.p_holm)})."


def _size(pair: RankedPair) -> str:
    estimate = pair.difference or pair.strength
    if estimate is None:
        return f"above in {max(pair.above, pair.below)} of the {count(pair.rankings, 'ranking')} with both"
    ends = (estimate.low, estimate.high) if pair.lead > 0 else (-estimate.high, -estimate.low)
    unit = "ranks in the same ranking" if pair.difference else "in log strength"
    return f"by {abs(estimate.value):.2f} {unit}, 95 % interval {signed(ends[0], 2)} to {signed(ends[1], 2)}"


def _figures(answer: RanksAnswer) -> list[RowFigure]:
    """One line for every system that has an estimate."""
    estimates = [(system, system.mean or system.strength) for system in answer.systems][:MOST_ROWS]
    ends = [end for _, estimate in estimates if estimate for end in (estimate.low, estimate.high)]
    if not ends:
        return []
    margin = 0.05 * (max(ends) - min(ends) or 1)
    axis = Axis(min(ends) - margin, max(ends) + margin)
    what = "Mean ranks" if answer.complete else "Log strengths"
    title = f"{what} with their 95 % interval{', 1 the best' if answer.complete else ''}"
    if len(estimates) < len(answer.systems):
        title += f": the {len(estimates)} best, of {len(answer.systems):,}"
    rows = tuple(
        Row(system.system, f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})",
            axis.interval(estimate.low, estimate.value, estimate.high), described=_described(system, estimate.value))
        for system, estimate in estimates if estimate is not None
    )  # fmt: skip
    unit = "mean rank, to the left the better" if answer.complete else "log strength, to the right the better"
    return [RowFigure(title, rows, axis.ticks(round_steps(axis.low, axis.high)), unit, (),
                      note_head=f"{what[:-1].lower()} (95 % interval)", name="mean-ranks")]  # fmt: skip


def _described(system: SystemRank, value: float) -> str:
    what = "mean rank" if system.mean else "log strength"
    return f"{what} {value:.2f} over {count(system.rankings, 'ranking')}"
