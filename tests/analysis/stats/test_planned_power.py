"""Whether a plan keeps its promise: crowds with pairs, dialogues and raters, of the planned size, and the real test."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit, stdtrit
from scipy.stats import norm

from seedvote.analysis.stats import power as planning
from seedvote.analysis.stats.net_preference import MOST, gap_of, net_estimate, put_together
from seedvote.analysis.stats.power import Assumptions
from tests.analysis.growing_study import Crowd, grown, path, ruled_out, shares

POINTS, MASS = np.polynomial.hermite_e.hermegauss(40)
MASS = MASS / MASS.sum()
STUDIES, NOISE = 10_000, 0.004  # of a cell, and their Monte-Carlo error
AT_ONCE = 100


def crowd_of(crowd, net):
    """The assumptions that are true of a simulated crowd, and its lean, at a net preference of `net`."""
    sds = crowd.pair_sd, crowd.rater_sd, crowd.dialogue_sd
    lean = brentq(lambda one: moments(crowd, one)[0] - net, 0, 4) if net else 0.0
    mean, second, ties = moments(crowd, lean)
    total = second - mean**2

    def alike(shared):
        """The correlation of two votes that share effects with this SD."""
        rest = np.sqrt(sum(sd**2 for sd in sds) - shared**2)
        given = np.array([moments(crowd, lean + shared * x, rest)[0] for x in POINTS])
        return float((MASS @ given**2 - (MASS @ given) ** 2) / total)

    dialogue, pair = alike(crowd.dialogue_sd), alike(np.hypot(crowd.dialogue_sd, crowd.pair_sd))
    share = shares(crowd, np.random.default_rng(0))
    return crowd._replace(lean=lean), Assumptions(
        ties,
        per_pair=crowd.per_pair,
        per_rater=crowd.votes / crowd.raters,
        pair_icc=pair,
        rater_icc=alike(crowd.rater_sd),
        per_dialogue=crowd.per_dialogue,
        dialogue_icc=dialogue,
        rater_cv=float(share.std() / share.mean()),
    )


def moments(crowd, lean, sd=None):
    """Mean, mean square and share of ties of a score whose latent preference is normal about `lean`."""
    whole = np.sqrt(crowd.pair_sd**2 + crowd.rater_sd**2 + crowd.dialogue_sd**2)
    edge = norm.ppf(0.5 + crowd.ties / 2) * np.sqrt(np.pi**2 / 3 + whole**2)
    latent = lean + (whole if sd is None else sd) * POINTS
    up, down = MASS @ expit(latent - edge), MASS @ expit(-latent - edge)
    return float(up - down), float(up + down), float(1 - up - down)


def planned(crowd, net, votes_for):
    """The crowd with as many raters as the planned votes take, the votes, and what was assumed.

    Raters' work by a heavy law is the more unequal the more raters there are, so what is assumed is that of as many.
    """
    for _ in range(8):
        leaning, assumed = crowd_of(crowd, net)
        raters = int(np.ceil(votes_for(assumed) / assumed.per_rater))
        known = raters == crowd.raters
        crowd = crowd._replace(votes=round(raters * assumed.per_rater), raters=raters)
        if known or crowd.work != "stated pareto":
            break
    return crowd._replace(lean=leaning.lean), assumed


CROWDS = (
    Crowd(50, 600, rater_sd=0.5),  # 12 votes a rater
    Crowd(10, 600, rater_sd=0.5),  # 60
    Crowd(50, 600, rater_sd=0.5, dialogue_sd=0.7, per_dialogue=10),
    Crowd(10, 600, rater_sd=0.5, dialogue_sd=0.7, per_dialogue=10),
    Crowd(50, 600, rater_sd=0.3, per_pair=1),
    Crowd(15, 600, rater_sd=0.6),
    Crowd(50, 600, rater_sd=0.5, work="stated"),
    Crowd(15, 600, rater_sd=0.6, work="stated", dialogue_sd=0.7, per_dialogue=5),
    Crowd(50, 600, rater_sd=0.5, work="stated pareto"),
    Crowd(15, 600, rater_sd=0.5, work="stated pareto"),
    Crowd(50, 600, rater_sd=0.3, work="stated pareto"),
    Crowd(50, 600, rater_sd=0.5, work="stated pareto", dialogue_sd=0.7, per_dialogue=10),
    Crowd(30, 600, rater_sd=0.5, work="stated pareto", per_pair=1),
)


def studies_of(crowd, number, generator):
    """So many studies at once, as `grown` makes them one by one: scores (studies, votes), dialogues and raters."""
    pair = np.arange(crowd.votes) % -(-crowd.votes // crowd.per_pair)
    counts = np.diff(np.round(shares(crowd, generator).cumsum() * crowd.votes).astype(int), prepend=0)
    rater = generator.permuted(np.tile(np.repeat(np.arange(crowd.raters), counts), (number, 1)), axis=1)
    dialogue = np.broadcast_to(pair // crowd.per_dialogue, rater.shape)
    seen = crowd.lean + generator.logistic(size=rater.shape)
    sds = crowd.pair_sd, crowd.dialogue_sd, crowd.rater_sd
    for sd, codes in zip(sds, (np.broadcast_to(pair, rater.shape), dialogue, rater), strict=True):
        effects = sd * generator.standard_normal((number, codes.max() + 1))
        seen = seen + np.take_along_axis(effects, codes, axis=1)
    edge = norm.ppf(0.5 + crowd.ties / 2) * np.sqrt(np.pi**2 / 3 + sum(sd**2 for sd in sds))
    return np.where(seen > edge, 1.0, np.where(seen < -edge, -1.0, 0.0)), dialogue, rater


def limits_at_once(score, dialogue, rater, tail):
    """The limits (2, studies) of `net_estimate` for studies with votes for both systems."""
    number, votes = score.shape
    columns = np.stack([score > 0, score < 0, np.ones_like(score)]).astype(float)
    means = columns[:2].mean(2)
    residuals = np.concatenate([columns[:2] - means[:, :, None], columns[2:]])
    total, single, freedoms = 0.0, [], []
    for sign, codes in ((1, dialogue), (1, rater), (-1, dialogue * (rater.max() + 1) + rater)):
        groups = int(codes.max()) + 1
        flat = (codes + groups * np.arange(number)[:, None]).ravel()
        cells = np.arange(number * groups)
        if groups > votes:  # most of them are empty
            cells, flat = np.unique(flat, return_inverse=True)
        sums = np.stack([np.bincount(flat, column.ravel(), len(cells)) for column in residuals])
        moved, study = sums / (votes - sums[2]), cells // groups

        def per_study(values, study=study):
            return np.bincount(study, values, number)

        products = [[per_study(one * other) for other in moved] for one in moved]
        part = np.array(products) * (1 - 1 / per_study(sums[2] > 0))
        total = total + sign * part
        if sign > 0:
            decisive = np.bincount(flat, (score != 0).ravel(), len(cells))
            kish = [per_study(counts) ** 2 / per_study(counts**2) for counts in (decisive, sums[2])]
            single.append(part)
            freedoms.append(np.maximum(np.minimum(*kish) - 1, 1.0))

    def error(first, second):
        way = np.array([first, second, 0.0])
        by_all, *by_way = (np.einsum("i,ijs,j->s", way, part, way) for part in (total, *single))
        variance = np.maximum(by_all, np.maximum(*by_way))
        spread = sum(one**2 / free for one, free in zip(by_way, freedoms, strict=True))
        return np.sqrt(variance), np.maximum(np.minimum(*freedoms), variance**2 / spread)

    (se, df), (se_first, _), (se_second, _) = error(1, -1), error(1, 0), error(0, 1)
    correlation = np.clip((se_first**2 + se_second**2 - se**2) / (2 * se_first * se_second), -1, MOST)
    slope, reach, room = (total[0, 2] - total[1, 2]) / se**2, stdtrit(df, 1 - tail), means * (1 - means)
    ends = [expit(logit(means) + side * reach * np.stack([se_first, se_second]) / room) for side in (-1, 1)]
    down = put_together(means[0] - ends[0][0], ends[1][1] - means[1], correlation)
    up = put_together(ends[1][0] - means[0], means[1] - ends[0][1], correlation)
    net = means[0] - means[1]
    return np.stack([net - gap_of(down, slope), net + gap_of(up, -slope)])


def power_in_studies(crowd, shown, tail, studies, seed=0):
    """The share of studies whose limits, lower and upper, `shown` tells to show the statement."""
    generator = np.random.default_rng(seed)
    parts = [limits_at_once(*studies_of(crowd, AT_ONCE, generator), tail) for _ in range(-(-studies // AT_ONCE))]
    return float(shown(*np.concatenate(parts, axis=1)).mean())


def difference_shown(low, high):
    """Whether the interval leaves out zero."""
    return (low > 0) | (high < 0)


@pytest.mark.parametrize("crowd", [CROWDS[3], CROWDS[12]])
@pytest.mark.parametrize("tail", [0.025, 0.05])
def test_limits_at_once_are_those_of_the_real_interval(crowd, tail):
    score, dialogue, rater = studies_of(crowd._replace(votes=300), 20, np.random.default_rng(0))
    nets = [
        net_estimate(one, by={"dialogue": places, "rater": people})
        for one, places, people in zip(score, dialogue, rater, strict=True)
    ]
    assert pytest.approx(np.array([net.limits(tail) for net in nets])) == limits_at_once(score, dialogue, rater, tail).T
    grown_score = [grown(crowd, np.random.default_rng(seed)).score for seed in range(100)]
    at_once = studies_of(crowd, 100, np.random.default_rng(0))[0]
    assert at_once.var() == pytest.approx(np.var(grown_score), rel=0.05)


@pytest.mark.slow
def test_a_crowd_of_the_planned_size_has_the_planned_power():
    crowd, assumed = planned(CROWDS[0], 0.2, lambda assumed: planning.votes_for_difference(0.2, assumed))
    power = power_in_studies(crowd, difference_shown, 0.025, 3000)
    assert power == pytest.approx(planning.power_for_difference(0.2, crowd.votes, assumed), abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("net", [0.16, 0.25])
@pytest.mark.parametrize("crowd", CROWDS)
def test_planned_crowds_show_differences_with_power(crowd, net):
    made, assumed = planned(crowd, net, lambda one: planning.votes_for_difference(net, one))
    power = power_in_studies(made, difference_shown, 0.025, STUDIES)
    meant = planning.power_for_difference(net, made.votes, assumed)
    print(net, made.votes, made.raters, round(assumed.design_effect, 2), meant, power)
    assert power == pytest.approx(meant, abs=0.02 + 2.6 * NOISE)


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.167, 0.25])
@pytest.mark.parametrize("crowd", CROWDS)
def test_planned_crowds_show_equivalence_with_power(crowd, margin):
    made, assumed = planned(crowd, 0.0, lambda one: planning.votes_for_margin(margin, one))

    def equivalence_shown(low, high):
        return (low > -margin) & (high < margin)

    power = power_in_studies(made, equivalence_shown, 0.05, STUDIES)
    meant = planning.power_for_margin(margin, made.votes, assumed)
    print(margin, made.votes, made.raters, round(assumed.design_effect, 2), meant, power)
    assert power == pytest.approx(meant, abs=0.02 + 2.6 * NOISE)


@pytest.mark.slow
@pytest.mark.parametrize("crowd", CROWDS[:8])
def test_planned_crowds_stop_with_power(crowd):
    net, ends = 0.2, []

    def most(assumed):
        ends.append(planning.plan_anytime(net, assumed, generator=np.random.default_rng(0)))
        return ends[0].most

    made, assumed = planned(crowd, net, most)
    made, generator = made._replace(arrival="sittings"), np.random.default_rng(1)
    stops = [ruled_out(path(grown(made, generator)), scale=net) for _ in range(1000)]
    power = np.mean([stop.any() for stop in stops])
    mean = np.mean([stop.argmax() + 1 if stop.any() else made.votes for stop in stops])
    print(made.votes, made.raters, round(assumed.design_effect, 2), power, ends[0].mean, mean)
    assert mean <= 1.1 * ends[0].mean  # less where all dialogues are met early on
    assert 0.75 <= power <= 0.87  # .77 to .85 in docs: more where dialogues of ten votes are all met early on
