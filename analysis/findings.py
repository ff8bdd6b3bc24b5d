"""What a study found and what it cannot tell, in plain sentences made from its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import chi2

from analysis.compare import Key, Method, by_seed
from analysis.spread import FEW
from analysis.study import Study

CHANCE = 1 / 3
UNITS = {"pair+rater": "pairs and raters", "pair": "pairs", "dialogue": "dialogues"}
UNSEEN = "untrained"
MANY_RATERS = 60


def found(study: Study, methods: Sequence[Method]) -> list[str]:
    """The findings, most important first."""
    parts = [_ties(study.ties), _chance(study.ties), _seeds(methods), _probes(study)]
    return [part for part in parts if part]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _ties(ties: Mapping[str, Any] | None) -> str:
    if ties is None:
        return ""
    pooled, wide, narrow = ties["pooled"], _widest(ties), _unit(ties, "vote")
    text = f"{pooled['ties']} of {pooled['votes']} votes were ties ({_percent(pooled['share'])}"
    if wide and narrow:
        text += f"; 95 % interval {_span(wide)} with {UNITS[wide['unit']]} drawn anew"
        text += f", {_span(narrow)} if every vote stood alone"
    return text + ")."


def _widest(ties: Mapping[str, Any] | None) -> Any:
    """The interval by pair and rater, or the nearest to it that the votes allow."""
    return next((found for unit in UNITS if (found := _unit(ties, unit))), None)


def _unit(ties: Mapping[str, Any] | None, name: str) -> Any:
    return None if ties is None else next((u["interval"] for u in ties["units"] if u["unit"] == name), None)


def _span(interval: Mapping[str, Any]) -> str:
    return f"{_percent(interval['low'])} to {_percent(interval['high'])}"


def _chance(ties: Mapping[str, Any] | None) -> str:
    wide = _widest(ties)
    if wide is None:
        return ""
    if wide["low"] <= CHANCE <= wide["high"]:
        return (
            "Uniform clicking would give 33.3 % ties, which lies inside that interval: "
            "the tie share alone does not tell judging from clicking."
        )
    return "Uniform clicking would give 33.3 % ties, which lies outside that interval."


def _seeds(methods: Sequence[Method]) -> str:
    people = [m for m in methods if m.kind == "people"]
    probes = [m for m in methods if m.kind == "probe" and m.checkpoint == "last"]
    if not people or not probes:
        return ""
    person, mine = people[0], [m for m in probes if m.model == people[0].model] or probes
    over, median = person.over_seeds, float(np.median([m.over_seeds.sd for m in mine]))
    text = (
        f"Between training seeds of {person.model}, people's net preference moves by an SD of {over.sd:.1f} points "
        f"(95 % interval {over.low:.1f} to {over.high:.1f}; the items alone would give {person.noise:.1f}), "
        f"the probes' micro-F1 by a median of {median:.1f} points over {len(mine)} tasks"
    )
    return text + (f": {len(person.seeds)} seeds are too few to rank the two." if over.few else ".")


def _probes(study: Study) -> str:
    table = None if study.scores is None else probe_table(study.scores)
    if table is None or not table.trained or not table.plain:
        return ""
    beaten = [t for t in table.tasks if table.best(t, table.plain) >= table.best(t, table.trained)]
    if not beaten:
        return f"On all {len(table.tasks)} probe tasks a trained encoder does better than every baseline."
    return (
        f"On {len(beaten)} of {len(table.tasks)} probe tasks ({', '.join(beaten)}) a baseline that needs no trained "
        "model does as well as the best trained encoder."
    )


@dataclass(frozen=True, slots=True)
class ProbeTable:
    """Mean micro-F1 over seeds in points: trained encoders first, then what needs no training."""

    tasks: tuple[str, ...]
    trained: tuple[str, ...]
    plain: tuple[str, ...]
    value: Mapping[tuple[str, str], float]

    @property
    def columns(self) -> tuple[str, ...]:
        """Trained encoders, then baselines and controls."""
        return (*self.trained, *self.plain)

    def best(self, task: str, columns: Sequence[str]) -> float:
        """The highest value of the task among the columns."""
        return max((self.value[task, name] for name in columns if (task, name) in self.value), default=-math.inf)


def probe_table(scores: pa.Table) -> ProbeTable:
    """Every probe task with its baselines; the first classifier of each."""
    value: dict[tuple[str, str], float] = {}
    trained: list[str] = []
    plain: list[str] = []
    for key, found in sorted(by_seed(scores).items()):
        name = _column(key)
        if name and (key.task, name) not in value:
            value[key.task, name] = 100 * float(np.mean([part[0] for part in found.values()]))
            column = trained if key.evaluator == "probe" and key.checkpoint != UNSEEN else plain
            if name not in column:
                column.append(name)
    return ProbeTable(tuple(dict.fromkeys(task for task, _ in value)), tuple(trained), tuple(plain), value)


def _column(key: Key) -> str:
    if key.evaluator == "probe":
        return f"{key.model} {key.checkpoint}"
    return key.model.replace("_", " ") if key.evaluator == "baseline" else ""


def limitations(study: Study, methods: Sequence[Method]) -> list[str]:
    """What the design cannot tell, from its own numbers."""
    votes, said = study.votes, []
    if study.simulated and votes is not None:
        said.append(f"{study.simulated} of {len(votes)} votes were cast by programs: they say nothing of the models.")
    if votes is not None and len(votes.rounds) > 1:
        said.append(f"The {len(votes.rounds)} experiments judge the same pairs: they are rounds, not replications.")
    seeds = max((len(m.seeds) for m in methods), default=0)
    if 0 < seeds < FEW:
        low, high = (math.sqrt((seeds - 1) / chi2.ppf(q, seeds - 1)) for q in (0.975, 0.025))
        said.append(f"An SD over {seeds} seeds is known to within a factor of {low:.1f} to {high:.1f} only.")
    if votes is not None and votes.rater is not None and len(votes.raters) < MANY_RATERS:
        said.append(f"{len(votes.raters)} raters: the spread between raters is itself uncertain.")
    if study.scores is not None and "fit=valid" in " ".join(pc.unique(study.scores.column("condition")).to_pylist()):
        said.append("The probes were fit on the validation split, which is not the official protocol.")
    if study.votes is None:
        said.append("There are no votes here: only what classifiers and metrics say.")
    return said
