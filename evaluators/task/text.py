"""Task success as people and programs read it: printed, checked against claims, and as a score table."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import BY, PER_SLOT, Card, TaskCard, metadata
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, write_json
from seedvote.evaluators.task.accuracy import Tracked
from seedvote.evaluators.task.evaluation import VENUE_DRAWS, Evaluation, TaskSystem
from seedvote.evaluators.task.rates import BLEU_COUNTS, DRAWS, TITLES, DialogueOutcome, RankedSystem, Rate, bleu4

# Printed numbers beside computed ones: a claim that does not follow from its own parts is marked.

NAMES = ("inform", "success", "bleu", "combined")
ROUNDING = 0.15  # Combined of three numbers printed to .1, itself printed to .1


@dataclass(frozen=True, slots=True)
class Claim:
    """What was printed for one system; nothing where a cell is empty."""

    inform: float | None
    success: float | None
    bleu: float | None
    combined: float | None

    @property
    def follows(self) -> float | None:
        """Combined from the printed parts, where all are printed."""
        if self.inform is None or self.success is None or self.bleu is None:
            return None
        return (self.inform + self.success) / 2 + self.bleu

    @property
    def contradicts_itself(self) -> bool:
        """Whether the printed Combined cannot come from the printed parts."""
        return self.follows is not None and self.combined is not None and abs(self.follows - self.combined) > ROUNDING


def read_claims(path: Path) -> Mapping[str, Claim]:
    """System -> its claim, from CSV with the columns system, inform, success, bleu, combined (any may be missing)."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as claims ({error}). Expected CSV with a column system.") from None
    if not rows or "system" not in rows[0]:
        raise InputError(f"{path} has no column system. Expected: system,{','.join(NAMES)}.")
    return {
        row["system"].strip().lower(): Claim(*(_parse_number(row.get(name), f"{path}:{n}: {name}") for name in NAMES))
        for n, row in enumerate(rows, start=2)
    }


def _parse_number(text: str | None, where: str) -> float | None:
    if text is None or not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where} is {text!r}. Expected a number, or nothing.") from None


# Task success as people and programs read it.

SHOWN = ("inform", "success", "bleu", "combined", "jga", "slot_f1", "intent_accuracy", "act_accuracy")
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
    rows = [heads, *(_table_row(system, names, claims, ranks) for system in systems)]
    return _align_columns(rows)


def _table_row(
    system: TaskSystem, names: list[str], claims: Mapping[str, Claim], ranks: Mapping[str, RankedSystem]
) -> list[str]:
    cells = [system.name, f"{len(system.outcomes):,}", *(_format_rate(system.rates.get(name)) for name in names)]
    if claims:
        cells.append(_format_claim(claims.get(system.name.lower())))
    if ranks:
        place = ranks[system.name]
        span = str(place.best) if place.best == place.worst else f"{place.best}-{place.worst}"
        cells += [span, "-" if place.p is None else "yes" if place.p < DIFFERENT else "no"]
    return cells


def slots_table(evaluation: Evaluation) -> str:
    """A line for each slot that the corpus fills: in how many turns, and how often each system has its value."""
    systems = [system for system in evaluation.systems if system.slots]
    turns: dict[str, int] = {}
    for system in systems:
        turns |= {name: max(rate.turns, turns.get(name, 0)) for name, rate in system.slots.items() if rate.turns}
    rows = [["slot", "turns", *(system.name for system in systems)]]
    for name, n in sorted(turns.items()):
        rates = [system.slots.get(name) for system in systems]
        rows.append([name, f"{n:,}", *(_format_rate(rate.filled if rate and rate.turns else None) for rate in rates)])
    return _align_columns(rows)


def slots_notes(evaluation: Evaluation) -> Iterator[str]:
    """What the reader of the slots must know."""
    systems = [system for system in evaluation.systems if system.slots]
    if not systems:
        yield "No slots: they need states in the corpus and in the predictions."
        return
    yield "A slot counts in the turns where the corpus fills it."
    for system in systems:
        accuracy = system.rates["slot_accuracy"].value
        yield (
            f"{system.name}: over all {evaluation.slots} slots and all turns, empty ones too, slot accuracy is "
            f"{accuracy:.1f}."
        )


def _format_rate(rate: Rate | None) -> str:
    return "-" if rate is None else f"{rate.value:.1f} ({rate.low:.1f}-{rate.high:.1f})"


def _format_claim(claim: Claim | None) -> str:
    if claim is None or claim.combined is None:
        return "-"
    return f"{claim.combined:.1f}{' !' if claim.contradicts_itself else ''}"


def _align_columns(rows: list[list[str]]) -> str:
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
    if system.is_filled:
        counts = "nothing that it offers counts" if system.rule else "it has neither Inform nor Success"
        yield f"{name}: no reply has a placeholder such as [hotel_name], so {counts}, and its BLEU is low."
    if system.states == "annotated" and system.rule:
        yield f"{name}: no predicted states, so the annotated ones stand in for them."
    for rule, (inform, success) in system.otherwise.items():
        yield (f"{name}: domains by {system.rule}; by {rule} Inform would be {inform:.1f} and Success {success:.1f}.")
    if system.missing:
        failed = system.if_missing_fail
        tail = f" If they count as failed: Inform {failed[0]:.1f}, Success {failed[1]:.1f}." if failed else ""
        yield f"{name}: {_count_things(len(system.missing), 'dialogue')} missing, e.g. {system.missing[0]}.{tail}"
    if system.strange:
        strange = _count_things(len(system.strange), "dialogue")
        yield f"{name}: {strange} not in the split and not counted, e.g. {system.strange[0]}."
    if system.unequal:
        yield (
            f"{name}: {_count_things(len(system.unequal), 'dialogue')} with more or fewer answers than the corpus has, "
            f"e.g. {system.unequal[0]}; only turns that both have count."
        )
    if system.unknown:
        listed = ", ".join(f"[{slot}] {count:,}" for slot, count in sorted(system.unknown.items())[:8])
        yield f"{name}: {_count_things(sum(system.unknown.values()), 'placeholder')} of no known kind: {listed}."
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


def _count_things(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def evaluation_document(evaluation: Evaluation, claims: Mapping[str, Claim]) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "signature": evaluation.signature,
        "ranked_by": evaluation.ranked_by,
        "common": evaluation.common,
        "systems": [_system_document(system, claims.get(system.name.lower())) for system in evaluation.systems],
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


def _system_document(system: TaskSystem, claim: Claim | None) -> dict[str, Any]:
    return {
        "system": system.name,
        "dialogues": len(system.outcomes),
        "rates": {
            name: {"value": rate.value, "interval": [rate.low, rate.high]} for name, rate in system.rates.items()
        },
        "slots": {
            name: {
                "turns": rate.turns,
                "accuracy": _finite(rate.filled.value),
                "interval": [_finite(rate.filled.low), _finite(rate.filled.high)],
                "all_turns": rate.everywhere.value,
            }
            for name, rate in system.slots.items()
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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# The score table of task success: a row for every dialogue (Inform, Success) and turn (states, BLEU).

STATS = ("tp", "fp", "fn", "inform", "success", *BLEU_COUNTS)
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("evaluator", "task", "model")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("checkpoint", "item", "rater")),
        ("score", pa.float64()),
        ("stats", pa.struct([(name, pa.float64()) for name in STATS])),
        ("cluster", pa.string()),
        ("condition", pa.string()),
    ]
)
# Tasks that are asked by domain, or by slot, too.
PARTED = {"inform": "Inform", "success": "Success", "jga": "joint goal accuracy", "slot": "slot"}
CARD = Card(
    "task success",
    5,
    {
        "inform": TaskCard("Inform", "share", 100.0, better="higher", level="dialogue"),
        "success": TaskCard("Success", "share", 100.0, better="higher", level="dialogue"),
        "jga": TaskCard("joint goal accuracy", "share", 100.0, better="higher"),
        "slot_f1": TaskCard("slot F1", "share", 100.0, better="higher", aggregate="micro_f1"),
        "bleu": TaskCard("BLEU", "points", better="higher", aggregate="bleu", main=False),
        "combined": TaskCard("Combined", "points", better="higher", level="dialogue", aggregate="combined", main=False),
    },
)
NAMED = {  # only in the card where the predictions name them
    "intent": TaskCard("intent accuracy", "share", 100.0, better="higher"),
    "act": TaskCard("act accuracy", "share", 100.0, better="higher"),
}
SLOT = TaskCard("slot", "share", 100.0, better="higher")  # of turns where the corpus fills it, by slot alone
Row = dict[str, Any]


def write_task_scores(folder: Path, evaluation: Evaluation, document: Mapping[str, Any], condition: str = "") -> Path:
    """Write task.parquet and task.json into a folder; the path of the table. `condition`: of the corpus answered."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = SCHEMA.with_metadata(metadata(evaluation.signature, {"task": _task_card(evaluation)}))
    path = folder / "task.parquet"
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for system in evaluation.systems:
            writer.write_table(pa.Table.from_pylist(list(_score_rows(system, condition)), schema=schema))
    write_json(folder / "task.json", document)
    return path


def _task_card(evaluation: Evaluation) -> Card:
    """The card, with intents and acts where they are named, and a task for each domain and slot that occurs."""
    outcomes = [outcome for system in evaluation.systems for outcome in system.outcomes]
    names = {name for outcome in outcomes for name, *_ in _by_domain(outcome)}
    parted = {
        name: replace(CARD.tasks.get(task, SLOT), title=f"{PARTED[task]}, {domain}", main=False)
        for name in sorted(names)
        for task, _, domain in [name.partition(BY)]
    }
    named = {"intent": any(one.intents for one in outcomes), "act": any(one.acts for one in outcomes)}
    extra = {name: card for name, card in NAMED.items() if named[name]}
    return replace(CARD, tasks={**CARD.tasks, **extra, **parted})


def _score_rows(system: TaskSystem, condition: str) -> Iterator[Row]:
    for outcome in system.outcomes:
        same = {
            "evaluator": "task",
            "model": system.key.model,
            "seed": system.key.seed,
            "checkpoint": system.key.checkpoint,
            "rater": f"domains by {system.rule or 'none'}",
            "cluster": outcome.dialogue,
            "condition": condition,
        }
        for task, item, score, stats in (*_outcome_scores(outcome), *_by_domain(outcome)):
            yield {**same, "task": task, "item": item, "score": score, "stats": stats}


def _outcome_scores(outcome: DialogueOutcome) -> Iterator[tuple[str, str, float, dict[str, float] | None]]:
    name = outcome.dialogue
    if outcome.reached is not None:
        yield "inform", name, float(outcome.reached.inform), None
        yield "success", name, float(outcome.reached.success), None
    if outcome.reached is not None and len(outcome.bleu):
        yield "combined", name, *_combined_counts(outcome)
    for n, turn in enumerate(outcome.tracked):
        counts = {"tp": float(turn.tp), "fp": float(turn.fp), "fn": float(turn.fn)}
        yield "jga", _context_item(name, n), float(turn.joint), None
        yield "slot_f1", _context_item(name, n), _turn_f1(turn), counts
    for task, matches in (("intent", outcome.intents), ("act", outcome.acts)):
        for n, match in matches.items():
            yield task, _context_item(name, n), float(match.is_right), None
    for n, row in enumerate(outcome.bleu):
        yield "bleu", _context_item(name, n), float(bleu4(row)), dict(zip(BLEU_COUNTS, map(float, row), strict=True))


def _by_domain(outcome: DialogueOutcome) -> Iterator[tuple[str, str, float, None]]:
    """Domain by domain: what its part of the goal reached, and its part of each annotated state; and slot by slot."""
    name = outcome.dialogue
    if outcome.reached is not None:
        for domain, informed in outcome.reached.informed.items():
            yield f"inform{BY}{domain}", name, float(informed), None
            yield f"success{BY}{domain}", name, float(informed and outcome.reached.succeeded[domain]), None
    for n, turn in enumerate(outcome.tracked):
        for domain, right in turn.by_domain.items():
            yield f"jga{BY}{domain}", _context_item(name, n), float(right), None
        for slot, right in turn.by_slot.items():
            yield f"{PER_SLOT}{slot}", _context_item(name, n), float(right), None


def _combined_counts(outcome: DialogueOutcome) -> tuple[float, dict[str, float]]:
    """Combined of one dialogue, and the counts from which that of many is made."""
    met, sums = outcome.reached, outcome.bleu.sum(0)
    counts_met = {"inform": float(met is not None and met.inform), "success": float(met is not None and met.success)}
    return 50 * sum(counts_met.values()) + float(bleu4(sums)), {
        **counts_met,
        **dict(zip(BLEU_COUNTS, map(float, sums), strict=True)),
    }


def _context_item(dialogue: str, answer: int) -> str:
    """The context's id: answers stand at 1, 3, 5, ... in a dialogue."""
    return f"{dialogue}:{2 * answer + 1}"


def _turn_f1(turn: Tracked) -> float:
    """F1 of one turn; 1 where neither has a slot."""
    all_slots = 2 * turn.tp + turn.fp + turn.fn
    return 2 * turn.tp / all_slots if all_slots else 1.0
