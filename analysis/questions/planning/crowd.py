"""What the votes of a study show about its crowd: how many share a dialogue or a rater, and how alike these are.

What a plan goes by is measured where the interval is computed: its design effect and its effective clusters. The
correlations by variance components say where that comes from, so that other studies can be planned from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.components import RESIDUAL, estimate_components
from seedvote.analysis.stats.intervals import Interval, count_groups, cross_codes, kish, mean_interval
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.systems import Contrast
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def measure_crowd(contrasts: Sequence[Contrast], clusters: str = "auto") -> Assumptions:
    """Ties, cluster sizes, correlations and the design effect of these votes, averaged over their comparisons."""
    several = [contrast for contrast in contrasts if len(contrast.votes) > 1]
    ties = float(np.mean(np.concatenate([contrast.votes.tie for contrast in contrasts])))
    if ties == 1:
        raise InputError("All votes are ties, so they show no spread to plan with; give --ties and no VOTES.")
    if not several:
        raise InputError("One vote shows no spread to plan with; give --ties and no VOTES.")
    by = [clusters_of(contrast.votes, clusters, part=True) for contrast in several]
    scores = [net_scores(contrast.votes.choice) for contrast in several]
    nets = [mean_interval(score, by=ways) for score, ways in zip(scores, by, strict=True)]
    weights = np.array([net.n for net in nets], dtype=float)

    def mean(values: Sequence[float]) -> float:
        return float(np.average(values, weights=weights))

    shared = [_shared_codes(contrast, ways) for contrast, ways in zip(several, by, strict=True)]
    sizes = {name: mean([_cluster_size(codes[name]) for codes in shared]) for name in shared[0]}
    per_rater = mean([len(codes["rater"]) / count_groups(codes["rater"]) for codes in shared])
    icc = _estimate_correlations(scores, shared)
    return Assumptions(
        ties,
        per_pair=sizes["pair"],
        per_rater=per_rater,
        pair_icc=icc["dialogue"] + icc["pair"],
        rater_icc=icc["rater"],
        per_dialogue=max(sizes["dialogue"] / sizes["pair"], 1.0),
        dialogue_icc=icc["dialogue"],
        rater_cv=float(np.sqrt(max(sizes["rater"] / per_rater - 1, 0.0))),
        effect=mean([net.n / net.effective_n for net in nets]),
        largest=mean([_largest_cluster(net, ways) for net, ways in zip(nets, by, strict=True)]),
    )


def _largest_cluster(net: Interval, by: Mapping[str, Ints]) -> float:
    """Votes in the cluster of a vote, by the way of clustering that leaves the fewest clusters."""
    return net.n / min((kish(codes) for codes in by.values()), default=float(net.n))


def _shared_codes(contrast: Contrast, by: Mapping[str, Ints]) -> dict[str, Ints]:
    """The codes of pair, dialogue (or item) and rater; where these are no clusters, every vote stands alone."""
    votes = contrast.votes
    wider = next((codes for name, codes in by.items() if name in ("dialogue", "item")), votes.pair)
    return {"pair": votes.pair, "dialogue": wider, "rater": by.get("rater", np.arange(len(votes)))}


def _cluster_size(codes: Ints) -> float:
    """Votes in the cluster of a vote, on average: sum n^2 / sum n, which is what a design effect goes by."""
    return len(codes) / kish(codes)


def _estimate_correlations(scores: Sequence[Floats], shared: Sequence[Mapping[str, Ints]]) -> dict[str, float]:
    """Shares of the variance that votes on a dialogue, on a pair beyond that, and of a rater have in common."""
    # Each comparison about its own mean: a difference between systems is no likeness of votes on a pair.
    centred = np.concatenate([score - score.mean() for score in scores])
    contrast = np.repeat(np.arange(len(scores)), [len(score) for score in scores])
    joined = {name: np.concatenate([codes[name] for codes in shared]) for name in ("dialogue", "pair", "rater")}
    factors = {name: np.unique((contrast, codes), axis=1, return_inverse=True)[1] for name, codes in joined.items()}
    terms: list[tuple[str, ...]] = []
    for name in ("rater", "pair", "dialogue"):  # the finer of two equal groupings: a dialogue of one pair is a pair
        is_new = all(
            count_groups(cross_codes([factors[name], factors[term]])) > count_groups(factors[term]) for (term,) in terms
        )
        if is_new and 1 < count_groups(factors[name]) < len(centred):
            terms.append((name,))
    shares = dict.fromkeys(joined, 0.0)
    if not terms or not centred.any():
        return shares
    try:  # the point estimates draw nothing (sets=0), so the seed of this generator is never used
        parts = estimate_components(centred, factors, terms, generator=np.random.default_rng(0), sets=0).parts
    except InputError:  # too few votes to tell the terms apart; the design effect does not need them
        return dict.fromkeys(joined, float("nan"))
    total = sum(max(part.value, 0.0) for part in parts)
    return shares | {part.name: max(part.value, 0.0) / total for part in parts if part.name != RESIDUAL}
