"""The mixed model for preference: a crossed mixed logit of the decisive votes, beside the default, never instead of it.

In Davidson's model the odds of two systems among decisive votes are exp(difference of strengths), whatever the ties do.
So each two systems get logit P(first, if decisive) = level + what rater, dialogue and pair add (stats/mixed.py). Net is
(1 - ties) (2 share - 1), with the ties and their clustered error as the default has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from analysis.stats.intervals import mean_interval
from analysis.stats.sign_tests import TIE
from analysis.votes.clusters import clusters_of, ways_within
from analysis.votes.systems import Contrast
from analysis.votes.votes import Votes
from dialogue.errors import InputError

if TYPE_CHECKING:
    from analysis.stats.mixed import CrossedLogit, Estimate

MOST_VOTES = 20_000
MOST_CONTRASTS = 30


@dataclass(frozen=True, slots=True)
class MixedContrast:
    """Two systems; `share` of the first among decisive votes. Where there is no model, only the reason."""

    first: str
    second: str
    decisive: int
    reason: str = ""
    share: Estimate | None = None  # over new raters, dialogues and pairs
    typical: Estimate | None = None  # of one typical rater and pair
    net: Estimate | None = None  # as the default has it, ties in the denominator
    spreads: Mapping[str, float] | None = None  # SD of the log odds by what votes share
    freedom: float | None = None
    converged: bool = True


def mixed_answer(found: Sequence[Contrast], clusters: str) -> tuple[MixedContrast, ...]:
    """One model for each two systems, in the order given."""
    votes = sum(len(one.votes) for one in found)
    if votes > MOST_VOTES or len(found) > MOST_CONTRASTS:
        raise InputError(
            f"--mixed takes up to {MOST_VOTES:,} votes on {MOST_CONTRASTS} comparisons, since it fits a model to each; "
            f"these are {votes:,} on {len(found):,}. Leave it out, or compare fewer systems."
        )
    return tuple(_fitted(one, clusters) for one in found)


def _fitted(contrast: Contrast, clusters: str) -> MixedContrast:
    from analysis.stats.mixed import crossed_logit  # slow to import, and seldom asked for

    votes = contrast.votes.select(contrast.votes.choice != TIE)
    named = contrast.first, contrast.second, len(votes)
    if (reason := _without_model(contrast, votes)) is not None:
        return MixedContrast(*named, reason)
    try:
        model = crossed_logit(votes.choice == 0, ways_within(votes, clusters))
    except InputError as error:
        return MixedContrast(*named, str(error))
    return MixedContrast(
        *named,
        share=model.average,
        typical=model.typical,
        net=_net(model, contrast.votes, clusters),
        spreads=model.spreads,
        freedom=model.freedom,
        converged=model.converged,
    )


def _without_model(contrast: Contrast, decisive: Votes) -> str | None:
    """Why these votes give no model, or None."""
    if len(decisive) < 2:
        return "fewer than two votes are decisive"
    chosen = np.unique(decisive.choice)
    if len(chosen) == 1:
        return f"all decisive votes prefer {(contrast.first, contrast.second)[int(chosen[0])]}"
    return None


def _net(model: CrossedLogit, votes: Votes, clusters: str) -> Estimate:
    """The net preference; the errors of share and ties are taken as independent and added by their squares."""
    from analysis.stats.mixed import Estimate

    share, ties = model.average, mean_interval(votes.tie, by=clusters_of(votes, clusters, part=True))
    lead, rest = 2 * share.value - 1, 1 - ties.value
    of_ties = lead * ties.se * float(stdtrit(ties.df, 0.975))
    low, high = (float(np.hypot(2 * rest * (end - share.value), of_ties)) for end in (share.low, share.high))
    return Estimate(rest * lead, max(rest * lead - low, -1.0), min(rest * lead + high, 1.0))
