"""Drops: clean minus perturbed, on the same dialogues and seeds, for every task, model, kind and dose.

A drop's interval is for new dialogues and new training seeds at once; pairing takes out what both sides share. A drop
is positive where the model got worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from analysis.stats.mean_over_seeds import SeedMean, mean_over_seeds, replicates_by_dialogue
from analysis.stats.sign_tests import holm
from analysis.votes.scores.conditions import PairedScale, paired_scales
from analysis.votes.scores.files import Unused
from analysis.votes.study import Study
from dialogue.cards import BY
from dialogue.errors import InputError
from dialogue.signature import signature

NOTICED = 0.05
MEANT, SURFACE = "jga", "bleu"  # what a surface metric is asked about


@dataclass(frozen=True, slots=True)
class Drop:
    """One task, model, kind and dose."""

    scale: PairedScale
    clean: float
    value: float
    found: SeedMean  # clean minus perturbed, or the other way round where lower is better
    p_holm: float  # over all drops of this task

    @property
    def relative(self) -> float:
        """The drop as a share of the clean value; NaN where that is zero."""
        return self.found.value / abs(self.clean) if self.clean else math.nan


@dataclass(frozen=True, slots=True)
class DoseStep:
    """What the highest dose costs beyond the lowest, for one task, model and kind."""

    evaluator: str
    task: str
    model: str
    kind: str
    seed: int
    low: float
    high: float
    found: SeedMean


@dataclass(frozen=True, slots=True)
class Notices:
    """Of the drops that one task shows (its interval above zero), how many another one shows too."""

    meant: str
    surface: str
    shown: int
    noticed: int
    only: int  # drops that the second task alone shows
    compared: int


@dataclass(frozen=True, slots=True)
class RobustnessAnswer:
    """Every drop of a study."""

    drops: tuple[Drop, ...]
    steps: tuple[DoseStep, ...]
    notices: Notices | None
    left_out: tuple[Unused, ...]
    dialogues: tuple[int, int]  # the fewest and the most that a drop rests on
    lone: tuple[str, ...]  # models of one seed
    unmatched: int  # the most dialogues that a drop leaves out, since one side lacks them
    signature: str

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks by title, in order."""
        return tuple(dict.fromkeys(one.scale.task.title for one in self.drops))


def answer(
    study: Study, *, kinds: Sequence[str] = (), tasks: Sequence[str] = (), models: Sequence[str] = (), by: str = ""
) -> RobustnessAnswer:
    """Every drop that the study's score tables tell, or those of some kinds, tasks and models; `by`: "" or domain."""
    if by not in ("", "domain"):
        raise InputError(f"--by is {by!r}; it may be domain.")
    scales, left = paired_scales(study.scores, by_domain=bool(by)) if study.scores else ([], [])
    if not scales:
        why = f" ({left[0].what}: {left[0].why})" if left else ""
        raise InputError(
            f"{study.folder} has no scores of one model both on the clean corpus and under a condition{why}. Score the "
            "answers to both, e.g. python -m evaluators task, with --out STUDY and --out STUDY/conditions/NAME "
            "(docs/robustness.md)."
        )
    chosen = [
        one for one in scales
        if _in(one.kind, kinds) and _in(one.name.partition(BY)[0], tasks) and _in(one.model, models)
    ]  # fmt: skip
    if not chosen:
        raise InputError(
            f"Nothing is left of {len(scales):,} comparisons. There are the kinds "
            f"{_names(one.kind for one in scales)}; the tasks {_names(one.name.partition(BY)[0] for one in scales)}; "
            "the models "
            f"{_names(one.model for one in scales)}."
        )
    drops = _adjusted(chosen)
    sizes = [one.parts.shape[1] for one in chosen]
    return RobustnessAnswer(
        tuple(drops), tuple(_steps(chosen)), _notices(drops), tuple(left), (min(sizes), max(sizes)),
        tuple(dict.fromkeys(one.model for one in chosen if len(one.seeds) == 1)), max(one.left_out for one in chosen),
        signature(
            drops=len(drops), conditions=len({(one.kind, one.dose, one.seed) for one in chosen}), paired="dialogue",
            unit="dialogue+seed", interval="t by dialogue and by seed", p="Holm by task", level=0.95,
            **({"by": by} if by else {}),
        ),
    )  # fmt: skip


def _in(name: str, wanted: Sequence[str]) -> bool:
    return not wanted or name in wanted


def _names(found: Iterable[str]) -> str:
    return ", ".join(sorted(set(found)))


def _adjusted(scales: Sequence[PairedScale]) -> list[Drop]:
    made = [(one, drop_of(one)) for one in scales]
    p: dict[int, float] = {}
    for task in dict.fromkeys((one.evaluator, one.name) for one in scales):
        of = [
            n
            for n, (one, found) in enumerate(made)
            if (one.evaluator, one.name) == task and found.p == found.p and one.dose > 0
        ]
        p.update(zip(of, holm(np.array([made[n][1].p for n in of])).tolist(), strict=True))
    return [
        Drop(one, float(one.clean.mean()), float(one.value.mean()), found, p.get(n, math.nan))
        for n, (one, found) in enumerate(made)
    ]


def drop_of(one: PairedScale) -> SeedMean:
    """Clean minus perturbed, paired by dialogue and seed."""
    sign = -1.0 if one.task.better == "lower" else 1.0
    parts = sign * (one.clean_parts - one.parts)
    return mean_over_seeds(replicates_by_dialogue(sign * (one.clean - one.value), parts))


def _steps(scales: Sequence[PairedScale]) -> list[DoseStep]:
    """The highest dose against the lowest one above zero, where there are two."""
    found = []

    def place(one: PairedScale) -> tuple[str, str, str, str, int]:
        return one.evaluator, one.name, one.model, one.kind, one.seed

    for (evaluator, name, model, kind, seed), group in groupby(sorted(scales, key=place), key=place):
        doses = sorted((one for one in group if one.dose > 0), key=lambda one: one.dose)
        if len(doses) > 1 and doses[0].seeds == doses[-1].seeds and doses[0].dialogues == doses[-1].dialogues:
            low, high = doses[0], doses[-1]
            sign = -1.0 if low.task.better == "lower" else 1.0
            made = replicates_by_dialogue(sign * (low.value - high.value), sign * (low.parts - high.parts))
            found.append(DoseStep(evaluator, name, model, kind, seed, low.dose, high.dose, mean_over_seeds(made)))
    return found


def _notices(drops: Sequence[Drop]) -> Notices | None:
    """Where both are there: in how many of the drops of the one the other drops too."""
    by = {(one.scale.name, *_place(one)): one for one in drops if one.scale.dose > 0}
    both = [(by[name, *rest], by[SURFACE, *rest]) for name, *rest in by if name == MEANT and (SURFACE, *rest) in by]
    if not both:
        return None
    shown = [(meant.found.low > 0, surface.found.low > 0) for meant, surface in both]
    return Notices(
        both[0][0].scale.task.title, both[0][1].scale.task.title, sum(one for one, _ in shown),
        sum(one and other for one, other in shown), sum(other and not one for one, other in shown), len(shown),
    )  # fmt: skip


def _place(one: Drop) -> tuple[object, ...]:
    scale = one.scale
    return scale.evaluator, scale.model, scale.kind, scale.dose, scale.seed
