"""Says what every evaluator is worth: the document of `--json`, a table for each outcome, and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.showing.tables import Table
from analysis.showing.words import count, number, order_said, plain
from analysis.votes.verdicts import NET, TIE
from analysis.votes.voters import marked_parts, not_people
from analysis.worth.answer import TOGETHER, Worth, WorthAnswer

OF = {NET: "preference", TIE: "ties"}
HEAD = ("evaluator", "pairs", "without votes", "corr.", "same side", "votes saved now (95 %)",
        "gain, pairs without end (95 %)", "worth of the votes (95 %)")  # fmt: skip


def document(found: WorthAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    shown: dict[str, Any] = plain(
        {
            "evaluators": [_row(one) for one in found.rows],
            "together": [_row(one) for one in found.together],
            "votes": found.votes,
            "clusters": found.clusters,
            "voters": asdict(found.voters),
            "warnings": [*not_people(found.voters), *found.warnings],
            "signature": found.signature,
        }
    )
    return shown


def _row(one: Worth) -> dict[str, Any]:
    ends = ("value", "low", "high")
    return {
        **asdict(one),
        "worth": dict(zip(ends, one.endless.saved(1), strict=True)),
        "votes_saved": dict(zip(ends, one.now.saved(one.votes), strict=True)),
        "shown": one.endless.shown,
    }


def parts(found: WorthAnswer) -> list[Table | str]:
    """A table for preference and one for ties, what they mean, the cautions, and the recipe last."""
    shown: list[Table | str] = [*worth_tables(found), *worth_sentences(found)]
    return [*marked_parts(shown, found.voters), *not_people(found.voters), *found.warnings, found.signature]


def worth_tables(found: WorthAnswer) -> list[Table]:
    """One table for each outcome."""
    made = []
    for outcome, name in OF.items():
        rows = [_cells(one) for one in (*found.rows, *found.together) if one.outcome == outcome]
        made.append(Table(HEAD, rows, f"What each evaluator is worth in votes on {name} (errors by {found.clusters})"))
    return made


def _cells(one: Worth) -> tuple[str, ...]:
    same, both = one.signs
    leaning = f"{same:,} of {both:,}" if both else "-"
    value, low, high = one.now.saved(one.votes)
    now = f"{value:,.0f} ({low:,.0f} to {high:,.0f})" if one.others > 1 and one.varied else "-"
    gain = f"{one.endless.value:.2f} ({one.endless.low:.2f} to {one.endless.high:.2f})" if one.varied else "-"
    return (one.name, f"{one.pairs:,}", f"{one.others:,}", number(one.correlation, 2), leaning, now, gain,
            percent_worth(one))  # fmt: skip


def worth_sentences(found: WorthAnswer) -> Iterator[str]:
    """One sentence for each evaluator, and how to read it."""
    every = (*found.rows, *found.together)
    for net, tie in zip(every[::2], every[1::2], strict=True):
        who = "all of them together are" if net.name == TOGETHER else f"{net.name} is"
        yield (
            f"By these {count(net.votes, 'vote')} {who} worth {percent_worth(net)} of the votes on preference and "
            f"{percent_worth(tie)} of those on ties."
        )
    yield from (order_said(one.order, one.name) for one in every if one.order is not None)
    yield from shown_worth(found)
    yield (
        "Worth is the part of the votes that could be spared for the same error if the evaluator scored pairs without "
        "end; where its range begins at 0, none is shown. Each comparison of systems is taken about its own means, and "
        "differences of scores by their ranks."
        + (" Together means a fit that predicts each pair from other clusters." if found.together else "")
    )


def shown_worth(found: WorthAnswer) -> Iterator[str]:
    """Which evaluators the votes show to be worth any, one sentence for each outcome."""
    every = (*found.rows, *found.together)
    for outcome, name in OF.items():
        if not any(one.varied for one in every if one.outcome == outcome):
            yield f"The votes on {name} do not differ within comparisons, so no evaluator can be held against them."
            continue
        shown = [one.name for one in every if one.outcome == outcome and one.endless.shown]
        yield f"Shown to be worth votes on {name}: {', '.join(shown) if shown else 'none'}."


def percent_worth(one: Worth) -> str:
    """The worth with its range, in per cent."""
    if not one.varied:
        return "an unknown part"
    value, low, high = (100 * max(part, 0.0) for part in one.endless.saved(1))
    begins = f"{low:.1g}" if one.endless.shown and low < 0.5 else f"{low:.0f}"  # what is shown does not begin at 0
    return f"{value:.0f} % ({begins} to {high:.0f})"
