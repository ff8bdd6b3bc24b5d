"""Says which system is rated higher: the document of `--json`, tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.ratings.answer import RatingDifference, RatingsAnswer
from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import count, p_equals, p_value, plain
from analysis.stats.ordinal import MOST_STEPS

MOST_NAMED = 6
MIXED = (
    "A linear mixed model compares all ratings, with or without a partner: systems are fixed, and what ratings share "
    "is random."
)
ORDINAL = "The odds ratios are those of an ordinal mixed model (cumulative logit) with the same random effects."


def document(answer: RatingsAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    keys: dict[str, Any] = plain(
        {
            "scale": list(answer.scale),
            "steps": answer.steps,
            "differences": [_row(pair) for pair in answer.differences],
            "spreads": [asdict(spread) for spread in answer.spreads],
            "warnings": list(answer.warnings),
            "recipe": answer.signature,
        }
    )
    return keys


def _row(pair: RatingDifference) -> dict[str, Any]:
    row = asdict(pair)
    counts = row.pop("pairs") or dict.fromkeys(("higher", "lower", "equal", "net"))
    return row | counts


def parts(answer: RatingsAnswer) -> list[Table | str]:
    """The tables, the sentences, the recipe."""
    tables = [in_short(table, "comparisons", "with the smallest p")[0] for table in rating_tables(answer)]
    return [*tables, *_sentences(answer), *on_the_scale(answer), *answer.warnings, answer.signature]


def rating_tables(answer: RatingsAnswer) -> list[Table]:
    """One row for every two systems; of a mixed model also what ratings share."""
    if not answer.mixed:
        return [_paired_table(answer)]
    rows = [(spread.name, f"{spread.levels:,}", f"{spread.sd:.3f}") for spread in answer.spreads]
    return [_mixed_table(answer), Table(("ratings share", "number", "SD"), rows, "What ratings share adds to a rating")]


def _paired_table(answer: RatingsAnswer) -> Table:
    head = ("systems", "pairs", "means", "difference (95 %)", "p", "p (Holm)", "odds ratio (95 %)",
            "higher / equal / lower", "net")  # fmt: skip
    rows = [
        (*_compared(pair), _odds(pair), f"{pairs.higher} / {pairs.equal} / {pairs.lower}", f"{pairs.net.value:+z.3f}")
        for pair in _smallest_p_first(answer)
        if (pairs := pair.pairs)
    ]
    return Table(head, rows, "Differences of paired ratings")


def _mixed_table(answer: RatingsAnswer) -> Table:
    head = ("systems", "ratings", "means", "difference (95 %)", "p", "p (Holm)", "odds ratio (95 %)")
    rows = [(*_compared(pair), _odds(pair)) for pair in _smallest_p_first(answer)]
    return Table(head, rows, "Differences by a linear mixed model")


def _smallest_p_first(answer: RatingsAnswer) -> list[RatingDifference]:
    """All comparisons; very many are ordered by p, since only the first ones are shown."""
    pairs = list(answer.differences)
    return pairs if len(pairs) <= MOST_ROWS else sorted(pairs, key=lambda pair: pair.p)


def _compared(pair: RatingDifference) -> tuple[str, ...]:
    gap = pair.difference
    return (
        f"{pair.first} - {pair.second}", f"{gap.n:,}", f"{pair.means[0]:.2f}, {pair.means[1]:.2f}",
        f"{gap.value:+z.3f} ({gap.low:+z.3f} to {gap.high:+z.3f})", p_value(pair.p), p_value(pair.p_holm),
    )  # fmt: skip


def _odds(pair: RatingDifference) -> str:
    return "-" if pair.odds is None else f"{pair.odds.ratio:.2f} ({pair.odds.low:.2f} to {pair.odds.high:.2f})"


def _sentences(answer: RatingsAnswer) -> Iterator[str]:
    if len(answer.differences) > MOST_ROWS:
        shown = sum(pair.p_holm < 0.05 for pair in answer.differences)
        yield f"Of {len(answer.differences):,} comparisons {shown:,} are shown (p < 0.05 after Holm's correction)."
        return
    for pair in answer.differences:
        higher, lower = (pair.first, pair.second) if pair.difference.value >= 0 else (pair.second, pair.first)
        verb = "is rated higher than" if pair.p_holm < 0.05 else "is not shown to be rated higher than"
        yield f"{higher} {verb} {lower} ({p_equals(pair.p_holm)} after Holm's correction)."


def on_the_scale(answer: RatingsAnswer) -> Iterator[str]:
    """What the numbers take for granted, and why one may be missing."""
    low, high = answer.scale
    ends = f"The ratings run from {low:g} to {high:g}"
    if answer.mixed:
        yield MIXED
    if answer.mixed and all(pair.odds is None for pair in answer.differences):
        yield f"{ends}. The model takes these steps as equal."
    elif answer.steps > MOST_STEPS:
        yield f"{ends} in {answer.steps} steps, so they are compared as numbers: there are no odds ratios."
    else:
        yield f"{ends}. A mean takes these steps as equal; the odds ratio does not."
        yield from [ORDINAL] if answer.mixed else []
        yield from _without_odds(answer)


def _without_odds(answer: RatingsAnswer) -> Iterator[str]:
    if without := [f"{pair.first} and {pair.second}" for pair in answer.differences if pair.odds is None]:
        names = ", ".join(without) if len(without) <= MOST_NAMED else count(len(without), "comparison")
        yield (
            f"No odds ratio for {names}: no rating of one system is below any of the other, or all are the same, so "
            "the odds have no finite estimate."
        )
