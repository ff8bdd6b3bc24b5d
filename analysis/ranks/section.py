"""The report's section on which system is ranked higher: the answer's numbers, none of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.ranks.answer import RankedPair, RanksAnswer, SystemRank
from analysis.ranks.text import comparison_table, mean_ranks_table, rank_sentences, together
from analysis.showing.page import Axis, Row, RowFigure, Section, round_steps
from analysis.showing.tables import MOST_ROWS
from analysis.showing.words import among_comparisons, count, p_equals, signed


def section(answer: RanksAnswer | None) -> Section | None:
    """Mean ranks in one figure; both tables of the command."""
    if answer is None:
        return None
    return Section(
        "ranked", "Which is ranked higher", (together(answer),), tuple(_figures(answer.systems)),
        items=tuple(rank_sentences(answer)), tables=(mean_ranks_table(answer), comparison_table(answer)),
        notes=answer.warnings,
    )  # fmt: skip


def ranked_findings(answer: RanksAnswer) -> list[str]:
    """What was found, the largest difference that was shown first."""
    shown = [one for one in answer.pairs if one.p_holm < 0.05]
    largest = max(shown or answer.pairs, key=lambda one: abs(one.difference.value))
    return [among_comparisons("ranks", len(shown), len(answer.pairs), _found(largest, bool(shown)))]


def ranked_title(answer: RanksAnswer) -> str:
    """The question that the ranks answer, with the leader of two systems first."""
    best, *others = (one.system for one in answer.systems)
    if len(others) == 1:
        return f"Is {best} ranked higher than {others[0]}?"
    return f"Which of {len(answer.systems)} systems is ranked highest?"


def _found(one: RankedPair, shown: bool) -> str:
    if not one.difference.value:
        return f"No difference between {one.first} and {one.second} was shown: they have the same mean rank."
    ahead = one.difference.value >= 0
    led, other = (one.first, one.second) if ahead else (one.second, one.first)
    sizes = f"by {abs(one.difference.value):.2f} ranks in the same ranking"
    if math.isfinite(one.difference.low):
        ends = (one.difference.low, one.difference.high) if ahead else (-one.difference.high, -one.difference.low)
        sizes += f", 95 % interval {signed(ends[0], 2)} to {signed(ends[1], 2)}"
    if math.isfinite(one.p_holm):
        sizes += f"; {p_equals(one.p_holm)}"
    verb = "is ranked higher than" if shown else "is not shown to be ranked higher than"
    return f"{led} {verb} {other} ({sizes})."


def _figures(found: Sequence[SystemRank]) -> list[RowFigure]:
    """One line for every system whose mean rank has an interval."""
    drawn = [one for one in found if math.isfinite(one.mean.low)][:MOST_ROWS]
    if not drawn:
        return []
    ends = [end for one in drawn for end in (one.mean.low, one.mean.high)]
    margin = 0.05 * (max(ends) - min(ends) or 1)
    axis = Axis(min(ends) - margin, max(ends) + margin)
    title = "Mean ranks with their 95 % interval, 1 the best"
    if len(drawn) < len(found):
        title += f": the {len(drawn)} best, of {len(found):,}"
    rows = tuple(
        Row(one.system, f"{one.mean.value:.2f} ({one.mean.low:.2f} to {one.mean.high:.2f})",
            axis.interval(one.mean.low, one.mean.value, one.mean.high),
            described=f"mean rank {one.mean.value:.2f} over {count(one.mean.n, 'ranking')}")
        for one in drawn
    )  # fmt: skip
    return [RowFigure(title, rows, axis.ticks(round_steps(axis.low, axis.high)), "mean rank, to the left the better",
                      (), note_head="mean rank (95 % interval)")]  # fmt: skip
