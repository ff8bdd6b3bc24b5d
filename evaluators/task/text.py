"""Task success as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seedvote.evaluators.task.claims import Claim
from seedvote.evaluators.task.comparing import RankedSystem
from seedvote.evaluators.task.evaluation import VENUE_DRAWS, Evaluation, TaskSystem
from seedvote.evaluators.task.rates import DRAWS, TITLES, Rate

SHOWN = ("inform", "success", "bleu", "combined", "jga", "slot_f1")
JGA_VARIANTS = {
    "jga_fuzzy": "with values alike it is",
    "jga_dontcare_as_none": "with dontcare as none",
    "jga_without_booking": "without booking slots",
}
NOTEWORTHY = 0.5  # points by which a variant must differ to be named
DIFFERENT = 0.05


def rates_table(evaluation: Evaluation, claims: Mapping[str, Claim]) -> str:
    """One line a system, the best first where they are ranked."""
    ranks = {place.system: place for place in evaluation.places}
    systems = sorted(evaluation.systems, key=lambda system: ranks[system.name].rank if ranks else 0)
    names = [name for name in SHOWN if any(name in system.rates for system in systems)]
    heads = ["system", "n", *(TITLES[name] for name in names)]
    if claims:
        heads.append("printed")
    if ranks:
        heads += ["rank", "differs from the next"]
    rows = [heads, *(_row(system, names, claims, ranks) for system in systems)]
    return _aligned(rows)


def _row(
    system: TaskSystem, names: list[str], claims: Mapping[str, Claim], ranks: Mapping[str, RankedSystem]
) -> list[str]:
    cells = [system.name, f"{len(system.outcomes):,}", *(_cell(system.rates.get(name)) for name in names)]
    if claims:
        cells.append(_printed(claims.get(system.name.lower())))
    if ranks:
        place = ranks[system.name]
        span = str(place.best) if place.best == place.worst else f"{place.best}-{place.worst}"
        cells += [span, "-" if place.p is None else "yes" if place.p < DIFFERENT else "no"]
    return cells


def _cell(rate: Rate | None) -> str:
    return "-" if rate is None else f"{rate.value:.1f} ({rate.low:.1f}-{rate.high:.1f})"


def _printed(claim: Claim | None) -> str:
    if claim is None or claim.combined is None:
        return "-"
    return f"{claim.combined:.1f}{' !' if claim.contradicts_itself else ''}"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def task_notes(evaluation: Evaluation, claims: Mapping[str, Claim], references: str) -> Iterator[str]:
    """What the reader of the table must know."""
    for system in evaluation.systems:
        yield from _system_notes(system, claims.get(system.name.lower()))
    if evaluation.places:
        yield (
            f"Ranks and differences are by {TITLES[evaluation.ranked_by]}, on the {evaluation.common:,} dialogues "
            f"that all systems answered, drawn anew {DRAWS:,} times; differences are paired by "
            "dialogue, with Holm's correction."
        )
    if any("bleu" in system.rates for system in evaluation.systems):
        yield f"BLEU is against {references}."
    yield "Combined is (Inform + Success) / 2 + BLEU, always computed from its parts."
    if not any("inform" in system.rates for system in evaluation.systems):
        yield "No Inform, no Success: they need goals and databases in the corpus, and a state in every turn."


def _system_notes(system: TaskSystem, claim: Claim | None) -> Iterator[str]:
    name, rates = system.name, system.rates
    if system.states == "annotated":
        yield f"{name}: no predicted states, so the annotated ones stand in for them."
    for rule, (inform, success) in system.otherwise.items():
        yield (f"{name}: domains by {system.rule}; by {rule} Inform would be {inform:.1f} and Success {success:.1f}.")
    if system.missing:
        failed = system.if_missing_fail
        tail = f" If they count as failed: Inform {failed[0]:.1f}, Success {failed[1]:.1f}." if failed else ""
        yield f"{name}: {_counted(len(system.missing), 'dialogue')} missing, e.g. {system.missing[0]}.{tail}"
    if system.strange:
        strange = _counted(len(system.strange), "dialogue")
        yield f"{name}: {strange} not in the split and not counted, e.g. {system.strange[0]}."
    if system.unequal:
        yield (
            f"{name}: {_counted(len(system.unequal), 'dialogue')} with more or fewer answers than the corpus has, e.g. "
            f"{system.unequal[0]}; only turns that both have count."
        )
    if system.unknown:
        listed = ", ".join(f"[{slot}] {count:,}" for slot, count in sorted(system.unknown.items())[:8])
        yield f"{name}: {_counted(sum(system.unknown.values()), 'placeholder')} of no known kind: {listed}."
    if system.sampled:
        sampled = system.sampled
        yield (
            f"{name}: with one venue drawn for each offer, Inform {sampled.inform:.1f} (SD {sampled.inform_sd:.2f}) "
            f"and Success {sampled.success:.1f} (SD {sampled.success_sd:.2f}) over {VENUE_DRAWS} draws."
        )
    yield from _jga_notes(system)
    if claim and claim.contradicts_itself:
        yield f"{name}: printed Combined {claim.combined:.1f}, but its own parts give {claim.follows:.2f}."
    for key in ("inform", "success"):
        printed = getattr(claim, key, None)
        if printed is not None and key in rates and abs(printed - rates[key].value) > DIFFERENT + 1e-9:
            yield f"{name}: printed {TITLES[key]} {printed:.1f}, computed {rates[key].value:.1f}."


def _jga_notes(system: TaskSystem) -> Iterator[str]:
    """The variants of joint goal accuracy that are far from it."""
    rates = system.rates
    far = [key for key in JGA_VARIANTS if key in rates and abs(rates[key].value - rates["jga"].value) > NOTEWORTHY]
    if far:
        listed = ", ".join(f"{JGA_VARIANTS[key]} {rates[key].value:.1f}" for key in far)
        yield f"{system.name}: joint goal accuracy {rates['jga'].value:.1f} is exact; {listed}."


def _counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def document(evaluation: Evaluation, claims: Mapping[str, Claim]) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "signature": evaluation.signature,
        "ranked_by": evaluation.ranked_by,
        "common": evaluation.common,
        "systems": [_document(system, claims.get(system.name.lower())) for system in evaluation.systems],
        "places": [
            {
                "system": place.system,
                "score": place.score,
                "rank": place.rank,
                "ranks": [place.best, place.worst],
                "step": place.step,
                "step_95": [place.step_low, place.step_high],
                "p_holm": place.p,
            }
            for place in evaluation.places
        ],
    }


def _document(system: TaskSystem, claim: Claim | None) -> dict[str, Any]:
    return {
        "system": system.name,
        "dialogues": len(system.outcomes),
        "rates": {
            name: {"value": rate.value, "interval": [rate.low, rate.high]} for name, rate in system.rates.items()
        },
        "states": system.states,
        "domains": system.rule,
        "by_other_domains": {
            rule: {"inform": values[0], "success": values[1]} for rule, values in system.otherwise.items()
        },
        "missing": list(system.missing),
        "if_missing_fail": system.if_missing_fail,
        "not_in_split": list(system.strange),
        "unequal_turns": list(system.unequal),
        "unknown_placeholders": dict(system.unknown),
        "sampled": None if system.sampled is None else vars(system.sampled),
        "printed": None
        if claim is None
        else {
            "inform": claim.inform,
            "success": claim.success,
            "bleu": claim.bleu,
            "combined": claim.combined,
            "combined_from_parts": claim.follows,
            "contradicts_itself": claim.contradicts_itself,
        },
    }
