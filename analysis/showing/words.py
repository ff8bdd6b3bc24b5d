"""Numbers as words: one spelling of a count, a share, a chance, a p value and a signed number in the whole analysis.

What is not finite becomes a dash where people read it and null where JSON holds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seedvote.analysis.stats.spread import SeedRange, unseen_collapse

if TYPE_CHECKING:
    from seedvote.analysis.stats.paired.order_agreement import OrderAgreement

MINUS = "\N{MINUS SIGN}"
ENOUGH_SEEDS = 30  # so many rule out that one training in ten collapses


def to_plain(value: Any) -> Any:
    """Plain values, however deep: dataclasses become mappings, numpy's values Python's, NaN and infinity None.

    >>> to_plain({"low": np.float64("nan"), "ranks": np.array([1, 2])})
    {'low': None, 'ranks': [1, 2]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): to_plain(part) for name, part in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [to_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def count(number: int, thing: str) -> str:
    """A number with its noun.

    >>> count(1, "vote"), count(2000, "vote"), count(2, "quality")
    ('1 vote', '2,000 votes', '2 qualities')
    """
    return f"{number:,} {thing if number == 1 else plural(thing)}"


def part_of(number: int, total: int, thing: str) -> str:
    """So many of all of them.

    >>> part_of(3, 2000, "vote"), part_of(90, 90, "vote"), part_of(2, 2, "order"), part_of(1, 1, "order")
    ('3 of 2,000 votes', 'all 90 votes', 'both orders', 'the one order')
    """
    if number < total:
        return f"{number:,} of {count(total, thing)}"
    return {1: f"the one {thing}", 2: f"both {plural(thing)}"}.get(total, f"all {count(total, thing)}")


def plural(thing: str) -> str:
    """A noun for several; one that ends in s is taken for a plural already, for it may name a user's own column.

    >>> plural("rater"), plural("quality"), plural("day"), plural("class"), plural("box"), plural("scores")
    ('raters', 'qualities', 'days', 'classes', 'boxes', 'scores')
    """
    if thing.endswith("y") and thing[-2:-1] not in ("", *"aeiou"):
        return f"{thing[:-1]}ies"
    if thing.endswith(("ss", "x", "z", "ch", "sh")):
        return f"{thing}es"
    return thing if thing.endswith("s") else f"{thing}s"


def heading(title: str) -> str:
    """A title, written as within a sentence, at the beginning of a line.

    >>> heading("token metrics"), heading("BERTScore")
    ('Token metrics', 'BERTScore')
    """
    return title[:1].upper() + title[1:]


def number(value: float | None, digits: int = 3) -> str:
    """A number of a table; what is not defined is a dash.

    >>> number(0.12345), number(12.3456, 2), number(-0.0001), number(None), number(float("nan"))
    ('0.123', '12.35', '0.000', '-', '-')
    """
    return "-" if value is None or not math.isfinite(value) else f"{value:z.{digits}f}"


def describe_order(agreement: OrderAgreement, who: str) -> str:
    """How far a judge or metric and people put systems in the same order."""
    return (
        f"Of {agreement.systems} systems {who} puts {agreement.alike:,} of {agreement.compared:,} pairs of systems in "
        f"the same order as people (Kendall's tau {number(agreement.tau, 2)})."
    )


def signed(value: float, digits: int = 1) -> str:
    """A number with its sign, as print sets it.

    >>> signed(-3.25), signed(2), signed(0.01)
    ('−3.2', '+2.0', '0.0')
    """
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def percent(share: float, digits: int = 1) -> str:
    """A share as people read it.

    >>> percent(0.3451), percent(0.5, 0)
    ('34.5 %', '50 %')
    """
    return f"{share * 100:.{digits}f} %"


def chance(share: float) -> str:
    """A probability in whole per cent, never as a bare zero.

    >>> chance(0.314), chance(0.0004)
    ('31 %', 'under 1 %')
    """
    return "-" if math.isnan(share) else "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def p_equals(value: float) -> str:
    """A p value within a sentence.

    >>> p_equals(0.0213), p_equals(0.0)
    ('p = 0.0213', 'p < .0001')
    """
    return "p < .0001" if value < 0.0001 else f"p = {value:.4f}"


def p_value(value: float | None) -> str:
    """A p value as a table shows it, never as zero; what is not defined is a dash.

    >>> p_value(0.0213), p_value(0), p_value(None)
    ('0.0213', '<.0001', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    return "<.0001" if value < 0.0001 else f"{value:.4f}"


def warn_of_few_seeds(spreads: Iterable[SeedRange | None]) -> Iterator[str]:
    """What no t interval over the fewest of these seeds knows, and what holds under any law; from 30 on nothing."""
    known = [spread for spread in spreads if spread is not None]
    fewest = min(known, key=lambda spread: spread.seeds, default=None)
    if fewest is None or fewest.seeds >= ENOUGH_SEEDS:
        return
    yield (
        f"{fewest.seeds} seeds cannot rule out that {percent(unseen_collapse(fewest.seeds), 0)} of trainings collapse. "
        "If one in ten does, 95 % intervals over 3 to 20 seeds hold the truth in .71 to .88 of studies."
    )
    share = f"in {percent(fewest.level, 0)} of studies"
    yield f"Under any law, the range of {fewest.seeds} seeds holds the median training {share}."
