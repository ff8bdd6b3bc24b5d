"""Studies that grow vote by vote, with a known truth: pairs, dialogues and raters have effects, and raters are unequal.

`path` computes what a look after every single vote would see, all looks at once; tests hold it equal to the analysis.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from seedvote.analysis.stats.sequential import FEWEST_CLUSTERS, mixture_reach, trusted_error
from seedvote.analysis.votes.systems import Contrast
from seedvote.analysis.votes.votes import Votes


class Crowd(NamedTuple):
    """How a study is laid out and how far its parts differ; SDs are on the logistic scale of the latent preference."""

    raters: int
    votes: int
    per_pair: int = 3
    per_dialogue: int = 1
    work: str = "even"  # or pareto, lognormal: how unequally many votes the raters give; or stated, see `shares`
    arrival: str = "mixed"  # or sittings: one rater after the other
    pair_sd: float = 0.8
    rater_sd: float = 0.7
    dialogue_sd: float = 0.0
    ties: float = 0.35
    lean: float = 0.0  # of the latent preference for the first system
    devoted: float = 0.0  # share of raters who nearly always prefer one system; the others mildly prefer the other


class Grown(NamedTuple):
    """The votes of one study in their order."""

    pair: np.ndarray
    dialogue: np.ndarray
    rater: np.ndarray
    score: np.ndarray


def grown(crowd, generator):
    """One study; without a lean and with symmetric effects its true net preference is 0."""
    pairs = -(-crowd.votes // crowd.per_pair)
    pair = np.concatenate([generator.permutation(pairs) for _ in range(crowd.per_pair)])[: crowd.votes]
    share = shares(crowd, generator)
    exact = np.diff(np.round(share.cumsum() * crowd.votes).astype(int), prepend=0)
    number = generator.multinomial(crowd.votes, share) if crowd.work in ("pareto", "lognormal") else exact
    rater = np.repeat(np.arange(crowd.raters), number)
    if crowd.arrival == "mixed":
        generator.shuffle(rater)
    study = pair, pair // crowd.per_dialogue, rater
    return Grown(*study, (_devoted if crowd.devoted else _latent)(crowd, *study, generator))


def shares(crowd, generator):
    """Every rater's share of the votes; the same ones in every study but for their order where the law is stated.

    `stated` is the exponential law, whose SD is its mean; `stated pareto` gives a fifth four fifths of the work.
    """
    rest = 1 - (generator.permutation(crowd.raters) + 0.5) / crowd.raters
    weights = {
        "even": np.ones(crowd.raters),
        "pareto": generator.pareto(1.2, crowd.raters) + 1,
        "lognormal": np.exp(generator.normal(0, 1, crowd.raters)),
        "stated": -np.log(rest),
        "stated pareto": rest ** (-1 / 1.16),
    }[crowd.work]
    return weights / weights.sum()


def _latent(crowd, pair, dialogue, rater, generator):
    parts = ((pair, crowd.pair_sd), (dialogue, crowd.dialogue_sd), (rater, crowd.rater_sd))
    leans = crowd.lean + sum(sd * generator.standard_normal(codes.max() + 1)[codes] for codes, sd in parts)
    seen = leans + generator.logistic(size=len(pair))
    edge = norm.ppf(0.5 + crowd.ties / 2) * np.sqrt(np.pi**2 / 3 + sum(sd**2 for _, sd in parts))
    return np.where(seen > edge, 1.0, np.where(seen < -edge, -1.0, 0.0))


def _devoted(crowd, pair, dialogue, rater, generator):
    against = -0.9 * crowd.devoted / (1 - crowd.devoted)  # so that the mean over raters is 0
    net = np.where(generator.random(crowd.raters) < crowd.devoted, 0.9, against)[rater]
    tie = generator.random(len(pair)) < 0.1
    return np.where(tie, 0.0, np.where(generator.random(len(pair)) < 0.5 + net / 1.8, 1.0, -1.0))


class Seen(NamedTuple):
    """What a look after each vote would see."""

    net: np.ndarray
    se: np.ndarray
    clusters: np.ndarray


def path(study):
    """Net preference, its error by dialogue and rater, and the effective clusters, after every vote."""
    n, score = np.arange(1.0, len(study.score) + 1), study.score
    net = np.cumsum(score) / n
    both = study.dialogue * (study.rater.max() + 1) + study.rater
    ways = [_one_way(codes, score, net, n) for codes in (study.dialogue, study.rater, both)]
    (by_dialogue, dialogues), (by_rater, raters), (by_both, _) = ways
    variance = np.maximum(np.maximum(by_dialogue + by_rater - by_both, by_dialogue), by_rater)
    return Seen(net, np.sqrt(np.maximum(variance, 0)), np.minimum(dialogues, raters))


def _one_way(codes, score, net, n):
    """The jackknife's variance by one way of clustering and Kish's number of clusters, after every vote.

    With S the sum and k the number of a cluster's votes it is (1 - 1/G) sum of ((S - k net) / (n - k))^2. The sum goes
    over the clusters; where these are many and small, over their sizes k, since it needs only G, S and S^2 of each k.
    """
    total, count = _before(codes, score)
    groups, kish = np.cumsum(count == 0), n**2 / np.cumsum(2 * count + 1)
    if codes.max() < count.max():
        ks, sums = (_running(codes, one, codes.max() + 1) for one in (np.ones(len(codes)), score))
        moved = (sums - ks * net) ** 2
    else:
        ks, now = np.arange(count.max() + 2)[:, None], count.astype(int)
        here, there = ((1, total, total**2), (1, total + score, (total + score) ** 2))
        held, sums, squares = (
            _running(now + 1, new * np.ones(len(codes)), len(ks)) - _running(now, old * np.ones(len(codes)), len(ks))
            for old, new in zip(here, there, strict=True)
        )
        moved = (squares - 2 * ks * net * sums + held * (ks * net) ** 2) * (ks > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # With no other cluster yet there is nothing to leave out; no look is taken so early.
        return np.where(n > ks, moved / (n - ks) ** 2, 0).sum(0) * (1 - 1 / groups), kish


def _running(rows, values, number):
    """Row r, column n: the sum of `values` of the first n votes in row r."""
    made = np.zeros((number, len(rows)))
    made[rows, np.arange(len(rows))] = values
    return made.cumsum(1)


def _before(codes, score):
    """Sum and number of the earlier votes in the cluster of every vote."""
    order = np.argsort(codes, kind="stable")
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes = np.diff(first, append=len(codes))
    running = np.cumsum(score[order]) - score[order]
    total, count = np.empty(len(codes)), np.empty(len(codes))
    total[order] = running - np.repeat(running[first], sizes)
    count[order] = np.arange(len(codes)) - np.repeat(first, sizes)
    return total, count


def ruled_out(seen, *, scale=0.16, alpha=0.05, truth=0.0):
    """After which votes the always-valid interval leaves out `truth`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error = trusted_error(np.nan_to_num(seen.se), seen.clusters)
        reach = mixture_reach((scale / error) ** 2, np.maximum(seen.clusters - 1, 1), alpha)
    return (np.abs(seen.net - truth) > reach * error) & (seen.clusters >= FEWEST_CLUSTERS)


def contrast(study, n):
    """The first n votes as the analysis reads them."""
    choice = np.select([study.score == 1, study.score == -1], [0, 1], 2)
    named = {"pair": study.pair, "dialogue": study.dialogue, "rater": study.rater, "choice": choice}
    columns = {name: codes[:n].astype(np.int64) for name, codes in named.items()}
    return Contrast("a", "b", Votes(pairs=tuple(f"p{k}" for k in range(study.pair.max() + 1)), **columns))
