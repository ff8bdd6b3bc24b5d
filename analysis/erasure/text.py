"""What erasing found, as a table, sentences and the document of `--json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.erasure.answer import MEASURES, OPEN, UNUSED, USED, ErasedTask, ErasureAnswer, ErasureEffect
from analysis.showing.tables import Table
from analysis.showing.words import count, number, p_value, percent, plain, signed, told_of_few_seeds

SITES = {"state": "the first state", "memory": "the memory"}  # of the decoder
SAYS = {USED: "uses it", UNUSED: "does not use it", OPEN: "not known"}


def parts(answer: ErasureAnswer) -> list[Table | str]:
    """The table, what to know of it, and the recipe."""
    return [erasure_table(answer), "\n".join(erasure_notes(answer)), answer.signature]


def erasure_table(answer: ErasureAnswer) -> Table:
    """A line for every model, task and method."""
    measures = [name for name in MEASURES if name in answer.rows[0].effects]
    titles = [f"{MEASURES[name]}{' (95 %)' if name == 'nats' else ''}" for name in measures]
    probe = ["probe: before", "after", "constant"]
    head = ["model", "task", "method", "rank", *probe, *titles, "of the context", "p (Holm)", "the decoder"]
    rows = [_line(one, measures, answer.margin) for one in answer.rows]
    return Table(head, rows, "What erasing a task changes beyond a random eraser")


def _line(one: ErasedTask, measures: list[str], margin: float) -> list[str]:
    nats = one.effects["nats"]
    share = percent(nats.found.value / one.whole, 0) if one.whole > margin else "-"
    return [
        f"{one.model} {one.checkpoint}", one.task, one.method, one.ranks, *(f"{value:.1f}" for value in
        (one.before, one.after, one.constant)), *(_cell(name, one.effects[name]) for name in measures), share,
        p_value(one.p_holm), SAYS[one.verdict],
    ]  # fmt: skip


def _cell(name: str, one: ErasureEffect) -> str:
    return said_cost(one) if name == "nats" else f"{signed(one.found.value)} (of {number(one.task, 1)})"


def said_cost(one: ErasureEffect) -> str:
    """Nats a token with their interval."""
    return f"{signed(one.found.value, 3)} ({signed(one.found.low, 3)} to {signed(one.found.high, 3)})"


def said_verdicts(answer: ErasureAnswer) -> str:
    """How many lines of the table have which verdict."""
    of = {verdict: sum(one.verdict == verdict for one in answer.rows) for verdict in SAYS}
    models = len({(one.model, one.checkpoint) for one in answer.rows})
    return (
        f"Of {count(len(answer.rows), 'erasure')} in {count(models, 'model')}, the decoder is shown to use what was "
        f"erased in {of[USED]}, and not to use it in {of[UNUSED]}; in {of[OPEN]} that is not known."
    )


def erasure_notes(answer: ErasureAnswer) -> Iterator[str]:
    """What the reader of the table must know."""
    yield (
        f"Each number is the effect of erasing the task minus the mean effect of {answer.draws} random erasers of the "
        f"same rank, on {answer.contexts:,} contexts of {answer.dialogues:,} dialogues; in brackets its interval, "
        "or the effect of the task alone. Replies, unlikeness (100 minus BLEU-2 against the reply without erasure) and "
        "acts are in points."
    )
    yield (
        f"The decoder uses a task if p < .05 over all lines, and does not if the whole interval lies within "
        f"{answer.margin:g} nats. What is not linear, or stands in single positions only, is not erased: 'does not use "
        "it' is said of what a linear reader finds."
    )
    if said := said_flat(answer):
        yield said
    worth = {f"{one.model} {one.checkpoint}": one.whole for one in answer.rows}
    said = ", ".join(f"{model} {number(nats, 3)}" for model, nats in worth.items())
    yield f"Erasing the whole context costs, in nats a token: {said}. 'Of the context' is the share of that."
    if idle := [model for model, nats in worth.items() if nats <= answer.margin]:
        yield f"The context is worth next to nothing to {', '.join(idle)}: there nothing can be found to be used."
    if answer.lone:
        yield f"One seed alone: {', '.join(answer.lone)}. Their intervals know nothing of other seeds."
    yield from told_of_few_seeds(part.found.spread for one in answer.rows for part in one.effects.values())
    if answer.left_out:
        yield "Left out: " + "; ".join(answer.left_out) + "."


def said_flat(answer: ErasureAnswer) -> str:
    """How many directions of which model hardly vary; nothing where all vary."""
    of = {f"{one.model} {one.checkpoint}": one.flat for one in answer.rows}
    found = {
        name: [
            f"{low if low == high else f'{low} to {high}'} of {SITES[site]}"
            for site, (low, high) in flat.items()
            if high
        ]
        for name, flat in of.items()
    }
    said = "; ".join(f"{name} {' and '.join(many)}" for name, many in found.items() if many)
    return said and (
        "Directions that hardly vary (their SD is below a millionth of the largest) are set to the mean by every "
        f"eraser, random ones too, and are no part of its rank: {said}."
    )


def document(answer: ErasureAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    found = {
        "rows": [_row(one) for one in answer.rows],
        "left_out": answer.left_out, "margin": answer.margin, "draws": answer.draws, "dialogues": answer.dialogues,
        "contexts": answer.contexts, "one_seed": answer.lone, "signature": answer.signature,
    }  # fmt: skip
    return dict(plain(found))


def _row(one: ErasedTask) -> dict[str, Any]:
    effects = {
        name: {"task": part.task, "random": part.random, "beyond": part.found.value, "se": part.found.se,
               "low": part.found.low, "high": part.found.high, "p": part.found.p, "freedom": part.found.freedom,
               "range": part.found.spread and asdict(part.found.spread)}
        for name, part in one.effects.items()
    }  # fmt: skip
    return {**asdict(one), "effects": effects}
