"""What `python -m analysis plan` says: tables of votes and money, what a study of this size can tell, stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.reading.systems import Contrast
from analysis.reading.votes import Votes, net_scores, ways
from analysis.showing.tables import Table
from analysis.showing.words import number
from analysis.stats import power as planning
from analysis.stats.components import RESIDUAL, components
from analysis.stats.intervals import mean_interval
from analysis.stats.power import Assumptions
from analysis.stats.sequential import betting, mixture
from dialogue.errors import InputError

FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)  # the table's differences and margins, as multiples of those asked for
LOOKS = 20  # clusters before the first look at an always-valid interval of clustered votes


@dataclass(frozen=True, slots=True)
class Question:
    """What the study is to say, at which error rates, and what a vote costs (None: no money)."""

    difference: float
    margin: float
    size: int
    power: float
    alpha: float
    price: float | None
    fee: float

    def money(self, votes: float) -> float | None:
        """Pay and fee for so many votes."""
        return None if self.price is None else votes * self.price * (1 + self.fee)


def measured(contrasts: Sequence[Contrast]) -> Assumptions:
    """Ties, votes a pair and a rater, and how alike their votes are, from the votes of a study."""
    votes = [contrast.votes for contrast in contrasts]
    ties = float(np.mean(np.concatenate([v.tie for v in votes])))
    if ties == 1:
        raise InputError("All votes are ties, so they show no spread to plan with; give --ties and no VOTES.")
    if sum(map(len, votes)) < 2:
        raise InputError("One vote shows no spread to plan with; give --ties and no VOTES.")
    scores = np.concatenate([net_scores(v.choice) - net_scores(v.choice).mean() for v in votes])
    columns = {"pair": [v.pair for v in votes], "rater": [v.rater for v in votes if v.rater is not None]}
    factors = {name: np.unique(np.concatenate(c), return_inverse=True)[1] for name, c in columns.items() if c}
    per = {name: _met(codes) for name, codes in factors.items()}
    terms = [(name,) for name, codes in factors.items() if per[name] > 1 and codes.any()]
    icc = {}
    if terms and scores.any():
        found = components(scores, factors, terms, generator=np.random.default_rng(0), sets=0)
        total = sum(max(part.value, 0.0) for part in found.parts)
        icc = {part.name: max(part.value, 0.0) / total for part in found.parts if part.name != RESIDUAL}
    return Assumptions(ties, per["pair"], per.get("rater", 1.0), icc.get("pair", 0.0), icc.get("rater", 0.0))


def unmeasured(votes: Votes) -> str:
    """What the votes cannot show of their raters, as the source of the crowd says it."""
    if votes.rater is None:
        return ", raters not named: taken as one vote each"
    if not votes.rater.any():
        return ", all of one rater: how alike a rater's votes are is not known and taken as 0"
    return ""


def _met(codes: np.ndarray[Any, Any]) -> float:
    """Votes in the cluster of a vote, on average: sum n^2 / sum n, which is what a design effect goes by."""
    sizes = np.bincount(codes).astype(float)
    return float((sizes**2).sum() / sizes.sum())


def running(contrast: Contrast, question: Question, *, stated: bool) -> dict[str, Any]:
    """Whether the study may stop: the always-valid interval at this look, and the exact bet on means of pairs.

    Two systems are called alike only where the margin was `stated`.
    """
    votes = contrast.votes
    scores = net_scores(votes.choice)
    clusters = min((len(np.unique(codes)) for codes in ways(votes).values()), default=len(votes))
    _, first, pair = np.unique(votes.pair, return_index=True, return_inverse=True)
    means = (np.bincount(pair, scores) / np.bincount(pair))[np.argsort(first)]
    path = betting(means, alpha=question.alpha)
    said: dict[str, Any] = {
        "first": contrast.first,
        "second": contrast.second,
        "votes": len(votes),
        "betting": {
            "pairs": len(means),
            "e": path.e[-1],
            "low": path.low[-1],
            "high": path.high[-1],
            "stop": path.stop,
        },
    }
    if clusters < LOOKS:
        return {**said, "decision": "go on", "reason": f"{clusters} clusters so far; the first look comes at {LOOKS}"}
    net = mean_interval(scores, by=ways(votes))
    if net.se == 0:
        return {**said, "decision": "go on", "reason": "all votes of this contrast are alike"}
    now = mixture(net.value, net.se, scale=question.difference, alpha=question.alpha)
    decision, reason = "go on", "neither a difference nor equivalence is shown yet" if stated else "no difference yet"
    if now.low > 0 or now.high < 0:
        decision, reason = "stop", f"{contrast.first if now.low > 0 else contrast.second} is preferred"
    elif stated and -question.margin < now.low and now.high < question.margin:
        decision, reason = "stop", f"the two are alike within {question.margin:g}"
    return {**said, **asdict(now), "decision": decision, "reason": reason}


def document(
    question: Question,
    crowd: Assumptions,
    source: str,
    status: Sequence[Mapping[str, Any]],
    seed_sd: float | None,
    generator: np.random.Generator,
    recipe: str,
) -> dict[str, Any]:
    """The stable keys of `--json`."""
    return {
        "assumptions": {**asdict(crowd), "design_effect": crowd.design_effect, "source": source, **asdict(question)},
        "study": _study(question, crowd),
        "difference": [_difference(question.difference * f, question, crowd, generator) for f in FACTORS],
        "equivalence": [_equivalence(question.margin * f, question, crowd) for f in FACTORS],
        "seeds": [] if seed_sd is None else _seeds(seed_sd, question),
        "running": list(status),
        "signature": recipe,
    }


def _study(question: Question, crowd: Assumptions) -> dict[str, Any]:
    """What the study of `size` votes can tell, for independent votes and for those of the crowd."""
    alone, rates = Assumptions(crowd.ties), {"alpha": question.alpha, "power": question.power}
    return {
        "votes": question.size,
        "effective_votes": question.size / crowd.design_effect,
        "difference": planning.smallest_difference(question.size, alone, **rates),
        "difference_clustered": planning.smallest_difference(question.size, crowd, **rates),
        "margin": planning.smallest_margin(question.size, alone, **rates),
        "margin_clustered": planning.smallest_margin(question.size, crowd, **rates),
        "chance_power": planning.power_of_share(crowd.ties, question.size, alpha=question.alpha),
    }


def _difference(net: float, question: Question, crowd: Assumptions, generator: np.random.Generator) -> dict[str, Any]:
    alpha, power = question.alpha, question.power
    votes = planning.votes_for_difference(net, crowd, alpha=alpha, power=power)
    peek = planning.anytime(net, crowd, generator=generator, alpha=alpha, power=power)
    return {
        "difference": net,
        "votes": planning.votes_for_difference(net, Assumptions(crowd.ties), alpha=alpha, power=power),
        **_cost(votes, question, crowd),
        "anytime_most": peek.most,
        "anytime_mean": peek.mean,
    }


def _equivalence(margin: float, question: Question, crowd: Assumptions) -> dict[str, Any]:
    rates = {"alpha": question.alpha, "power": question.power}
    alone = planning.votes_for_margin(margin, Assumptions(crowd.ties), **rates)
    return {
        "margin": margin,
        "votes": alone,
        **_cost(planning.votes_for_margin(margin, crowd, **rates), question, crowd),
    }


def _cost(votes: int, question: Question, crowd: Assumptions) -> dict[str, Any]:
    return {
        "votes_clustered": votes,
        "pairs": int(np.ceil(votes / crowd.per_pair)),
        "raters": int(np.ceil(votes / crowd.per_rater)),
        "money": question.money(votes),
    }


def _seeds(sd: float, question: Question) -> list[dict[str, Any]]:
    return [
        {
            "difference": factor * sd,
            "in_sd": factor,
            "seeds": planning.seeds_for_difference(factor * sd, sd, alpha=question.alpha, power=question.power),
        }
        for factor in (0.5, 1.0, 2.0, 3.0)
    ]


def plan_parts(said: Mapping[str, Any]) -> list[Table | str]:
    """Tables and sentences for people."""
    given, study = said["assumptions"], said["study"]
    parts: list[Table | str] = [
        f"Assumptions ({given['source']}): {given['ties']:.1%} ties, {given['per_pair']:.3g} votes a pair (ICC "
        f"{given['pair_icc']:.3f}), {given['per_rater']:.3g} votes a rater (ICC {given['rater_icc']:.3f}): design "
        f"effect {given['design_effect']:.2f}.",
        f"{study['votes']} votes are worth {study['effective_votes']:.0f} independent ones. With power "
        f"{given['power']:g} they show a net preference of {number(study['difference_clustered'])} or more "
        f"({number(study['difference'])} if independent) and call two equal systems alike within "
        f"{number(study['margin_clustered'])} ({number(study['margin'])}). That {given['ties']:.1%} of ties are not "
        f"the 1/3 of uniform clicking they show with power {number(study['chance_power'], 2)}.",
        *_tables(said),
    ]
    for now in said["running"]:
        look = (
            f"; e = {now['e']:.3g}, always-valid interval {number(now['low'])} to {number(now['high'])}"
            if "e" in now
            else ""
        )
        bet = now["betting"]
        parts.append(
            f"{now['first']} and {now['second']}, {now['votes']} votes: {now['decision']} ({now['reason']}{look}). "
            f"Bet on {bet['pairs']} pairs, raters set aside: e = {bet['e']:.3g}, {number(bet['low'])} to "
            f"{number(bet['high'])}."
        )
    return [*parts, said["signature"]]


def _tables(said: Mapping[str, Any]) -> list[Table]:
    paid = said["assumptions"]["price"] is not None
    tail = ["pairs", "raters", *(["dollars"] if paid else [])]

    def cost(row: Mapping[str, Any]) -> list[str]:
        money = [f"{row['money']:,.0f}"] if paid else []
        return [f"{row['votes']:,}", f"{row['votes_clustered']:,}", f"{row['pairs']:,}", f"{row['raters']:,}", *money]

    shown = [
        [number(row["difference"]), *cost(row), f"{row['anytime_most']:,}", f"{row['anytime_mean']:,.0f}"]
        for row in said["difference"]
    ]
    head = ["net preference", "independent votes", "votes of the crowd", *tail, "peeking: at most", "on average"]
    tables = [Table(head, shown, "To show a difference")]
    shown = [[number(row["margin"]), *cost(row)] for row in said["equivalence"]]
    head = ["margin", "independent votes", "votes of the crowd", *tail]
    tables.append(Table(head, shown, "To show that two are alike"))
    if said["seeds"]:
        shown = [[f"{row['difference']:.4g}", f"{row['in_sd']:g}", str(row["seeds"])] for row in said["seeds"]]
        tables.append(Table(["difference", "in SDs over seeds", "seeds"], shown, "Seeds for each architecture"))
    return tables
