"""`analysis plan`: what is assumed or read from votes, in the ranges where a plan means anything."""

from __future__ import annotations

import math
from typing import Any

from seedvote.analysis.questions.planning.answer import answer
from seedvote.analysis.questions.planning.showing import document, figures, parts
from seedvote.analysis.showing.result import Result
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.votes.cautions import reading_of, told_of_reading
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.options import check_help, check_margin, check_ranges
from seedvote.analysis.votes.systems import contrasts

LEGAL = {
    "difference": (0.001, 1),
    "size": (1, math.inf),
    "power": (0.01, 1),
    "alpha": (1e-6, 0.5),
    "ties": (0, 1),
    "per_pair": (1, math.inf),
    "per_rater": (1, math.inf),
    "pair_icc": (0, 1),
    "rater_icc": (0, 1),
    "per_dialogue": (1, math.inf),
    "dialogue_icc": (0, 1),
    "rater_cv": (0, math.inf),
    "price": (0, math.inf),
    "fee": (0, math.inf),
    "seed_sd": (1e-9, math.inf),
    "judge_correlation": (-1, 1),
    "unlabelled": (1, math.inf),
    "rater_share": (0, 1),
    "verdict_price": (0, math.inf),
}


def plan(
    votes: Any = None,
    *,
    pairs: Any = None,
    difference: float = 0.16,
    margin: float | None = None,
    size: int = 200,
    power: float = 0.8,
    alpha: float = 0.05,
    ties: float = 0.35,
    per_pair: float = 3,
    per_rater: float = 12,
    pair_icc: float = 0.3,
    rater_icc: float = 0.1,
    per_dialogue: float = 1,
    dialogue_icc: float = 0.1,
    rater_cv: float = 0,
    price: float | None = None,
    fee: float = 0.2,
    seed_sd: float | None = None,
    judge_correlation: float | None = None,
    unlabelled: int | None = None,
    rater_share: float | None = None,
    verdict_price: float | None = None,
    clusters: str = "auto",
    seed: int = 0,
    **reading: Any,
) -> Result:
    """Votes, raters and seeds needed, and whether a running study may stop (`python -m analysis plan`)."""
    check_ranges(locals(), **LEGAL)
    check_margin(margin)
    check_help(judge_correlation, unlabelled, rater_share, price, verdict_price)
    matches, known = (None, True) if votes is None else matches_of(votes, pairs, **reading)
    numbers = answer(
        [] if matches is None else contrasts(matches),
        known=known,
        assumed=Assumptions(ties, per_pair, per_rater, pair_icc, rater_icc, per_dialogue, dialogue_icc, rater_cv),
        difference=difference,
        margin=margin,
        size=size,
        power=power,
        alpha=alpha,
        price=price,
        fee=fee,
        seed_sd=seed_sd,
        judge_correlation=judge_correlation,
        unlabelled=unlabelled,
        rater_share=rater_share,
        verdict_price=verdict_price,
        clusters=clusters,
        seed=seed,
    )
    source = None if matches is None else reading_of(matches.votes, matches.systems)
    lines = [] if matches is None else told_of_reading(matches.votes)
    return Result({**document(numbers), "reading": source}, parts(numbers), lambda: figures(numbers), lines)
