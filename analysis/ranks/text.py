"""Says which system is ranked higher: the document of `--json`, tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.ranks.answer import RankedPair, RanksAnswer, SystemRank
from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import count, p_equals, p_value, plain
from analysis.stats.intervals import Interval
from analysis.stats.paired.davidson import Parameter

TOGETHER = (
    "The comparisons that one ranking implies are one answer, and never count as independent votes: the intervals "
    "allow for {ways}."
)
INCOMPLETE = (
    "Some rankings leave systems out, so a mean rank would depend on the opponents. Systems are compared by their "
    "strengths instead (Plackett-Luce; with equal ranks, Davidson-Luce)."
)


def document(answer: RanksAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    keys: dict[str, Any] = plain(
        {
            "systems": [asdict(system) for system in answer.systems],
            "pairs": [asdict(pair) for pair in answer.pairs],
            "unlinked": answer.unlinked,
            "rankings": answer.rankings,
            "complete": answer.complete,
            "tie": answer.tie and asdict(answer.tie),
            "concordance": answer.concordance and asdict(answer.concordance),
            "warnings": list(answer.warnings),
            "recipe": answer.signature,
        }
    )
    return keys


def parts(answer: RanksAnswer) -> list[Table | str]:
    """The tables, the sentences, the recipe."""
    tables = [system_table(answer), *in_short(comparison_table(answer), "comparisons", "with the smallest p")[:1]]
    return [*tables, *rank_sentences(answer), together(answer), *answer.warnings, answer.signature]


def new_of_ranks(answer: RanksAnswer) -> str:
    """What the intervals draw anew, in words: `items and raters`; empty where every row stands alone."""
    return " and ".join("items" if way == "pair" else f"{way}s" for way in answer.clusters)


def together(answer: RanksAnswer) -> str:
    """What the intervals allow for."""
    ways = new_of_ranks(answer)
    return TOGETHER.format(ways=f"new {ways}") if ways else "Neither items nor raters repeat: every row stands alone."


def system_table(answer: RanksAnswer) -> Table:
    """A line for every system, the best first."""
    several = len({system.group for system in answer.systems}) > 1
    head = ["system", "rankings", *(["mean rank (95 %)"] if answer.complete else []), "log strength (95 %)",
            *(["group"] if several else []), "95 % ranks, all at once"]  # fmt: skip
    rows = [
        [system.system, f"{system.rankings:,}", *([_mean(system)] if answer.complete else []),
         strength_with_ends(system.strength), *([f"{system.group}"] if several else []), open_ranks(system)]
        for system in answer.systems
    ]  # fmt: skip
    what, order = ("Mean ranks", "1 the best") if answer.complete else ("Strengths", "the best first")
    return Table(head, rows, f"{what} over {answer.rankings:,} rankings, {order}")


def comparison_table(answer: RanksAnswer) -> Table:
    """A line for every two systems; of very many, the smallest p first."""
    estimate = "ranks higher by (95 %)" if answer.complete else "log strength apart (95 %)"
    head = ("systems", "rankings", estimate, "p", "p (Holm)", "above / equal / below", "net (95 %)")
    pairs = answer.pairs if len(answer.pairs) <= MOST_ROWS else sorted(answer.pairs, key=lambda pair: pair.p)
    rows = [
        (
            f"{pair.first} - {pair.second}", f"{pair.rankings:,}", _apart(pair), p_value(pair.p),
            p_value(pair.p_holm), f"{pair.above} / {pair.equal} / {pair.below}", _signed(pair.net),
        )
        for pair in pairs
    ]  # fmt: skip
    caption = "Differences of ranks in the same ranking" if answer.complete else "Differences of strengths"
    return Table(head, rows, caption)


def open_ranks(system: SystemRank) -> str:
    """The ranks that the comparisons leave open to a system."""
    low, high = system.rank_low, system.rank_high
    return f"{low}" if low == high else f"{low}-{high}"


def strength_with_ends(strength: Parameter | None) -> str:
    """A log strength and its interval, or a dash."""
    return "-" if strength is None else f"{strength.value:+z.2f} ({strength.low:+z.2f} to {strength.high:+z.2f})"


def _mean(system: SystemRank) -> str:
    return "-" if system.mean is None else f"{system.mean.value:.3f} ({system.mean.low:.3f} to {system.mean.high:.3f})"


def _apart(pair: RankedPair) -> str:
    return _signed(pair.difference) if pair.difference else strength_with_ends(pair.strength)


def _signed(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{interval.value:+z.3f} ({interval.low:+z.3f} to {interval.high:+z.3f})"


def rank_sentences(answer: RanksAnswer) -> Iterator[str]:
    """What is shown, and what is not."""
    if len(answer.pairs) <= MOST_ROWS:
        yield from map(_verdict, answer.pairs)
    else:
        shown = sum(pair.p_holm < 0.05 for pair in answer.pairs)
        yield f"Of {len(answer.pairs):,} comparisons {shown:,} are shown (p < 0.05 after Holm's correction)."
    if not answer.complete:
        yield INCOMPLETE
    yield from _about_groups(answer)
    if answer.unlinked:
        yield f"{count(answer.unlinked, 'comparison')} left out: no chain of rankings links the two systems."
    if answer.concordance:
        yield _agreement(answer)


def _verdict(pair: RankedPair) -> str:
    higher, lower = (pair.first, pair.second) if pair.lead >= 0 else (pair.second, pair.first)
    shown = "is ranked higher than" if pair.p_holm < 0.05 else "is not shown to be ranked higher than"
    return f"{higher} {shown} {lower} ({p_equals(pair.p_holm)} after Holm's correction)."


def _about_groups(answer: RanksAnswer) -> Iterator[str]:
    """Which systems no ranking puts below others."""
    groups: dict[int, list[str]] = {}
    for system in answer.systems:
        groups.setdefault(system.group, []).append(system.system)
    if len(groups) < 2:
        return
    names = "" if len(answer.systems) > MOST_ROWS else f" ({'; '.join(map(' and '.join, groups.values()))})"
    yield (
        f"Every ranking that compares two of the {count(len(groups), 'group')} puts the earlier one higher{names}, so "
        "log strengths are comparable within one group only."
    )
    if not answer.complete:
        yield "Between groups the difference of strengths has no finite estimate; its p is that of a score test."


def _agreement(answer: RanksAnswer) -> str:
    concordance = answer.concordance
    if concordance is None:
        return ""
    told = f"Kendall's W is {concordance.w:.2f} (0 no agreement between rankings, 1 the same order in all)."
    if concordance.p is None:
        return f"{told} Friedman's test has no p here, since rankings share raters or items."
    test = f"chi-square {concordance.statistic:.2f} on {count(concordance.freedom, 'degree')} of freedom"
    return f"{told} Friedman's test: {test}, {p_equals(concordance.p)}."
