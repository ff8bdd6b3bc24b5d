"""Two models that say more than the default, and never take its place.

The careful answer, for few or unequal raters, is a Bayesian hierarchical Davidson. It runs where it is asked for, and
by itself where the votes are worth fewer than eight equally busy raters: there the default's interval rests on a
handful of clusters and may say nothing at all.

The mixed logit of the decisive votes has crossed effects. In Davidson's model the odds of two systems among decisive
votes are exp(difference of strengths), whatever the ties do. So each two systems get logit P(first, if decisive) =
level + what rater, dialogue and pair add (stats/mixed.py). Net is (1 - ties) (2 share - 1), with the ties and their
clustered error as the default has them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import chance, count, number, percent, plural, signed
from seedvote.analysis.stats.intervals import count_groups, kish, mean_interval
from seedvote.analysis.stats.paired.bayes_davidson import AGREED, LENGTHS, HierarchicalFit, hierarchical_davidson
from seedvote.analysis.stats.sign_tests import TIE
from seedvote.analysis.votes.clusters import clusters_of, ways_within
from seedvote.analysis.votes.ranking import Ranking
from seedvote.analysis.votes.systems import Contrast, Matches
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.jobs import keep_freed_memory
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.shell.progress import announce, step

if TYPE_CHECKING:
    from seedvote.analysis.stats.mixed import CrossedLogit, Estimate

Floats = NDArray[np.float64]

FEW_RATERS = 8  # below it t has fewer than seven degrees of freedom; at ten even raters both answers cover
MOST_UNASKED = 1_000  # votes: some seconds; beyond it the answer waits until it is asked for
MOST_SYSTEMS = 12  # likewise
MOST_VOTES = 20_000
MOST_MIXED = 20_000  # votes of a mixed logit
MOST_CONTRASTS = 30
MIXED_HEAD = (
    "first",
    "second",
    "decisive votes",
    "first preferred",
    "95 % interval",
    "net",
    "95 % interval",
    "by a typical rater",
    "SD of the log odds",
)
MOST_EFFECTS = 10_000  # all their draws stand in memory: half a gigabyte at most
MEASURED = 20  # one in so many rounds is timed before the time of the whole is said
MINUTE = 60.0
MOST_TIMES = sum(LENGTHS)  # as long as the first chains alone


@dataclass(frozen=True, slots=True)
class Credible:
    """Median and central 95 % of a posterior."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CarefulSystem:
    """One system; `strength` is for the average vote, as in the default, `typical` for one typical rater and pair."""

    system: str
    strength: Credible
    typical: Credible
    rank: int
    default_rank: int | None  # None: the default found no ranking
    ranks: tuple[float, ...]  # chance of being first, second, ...
    below_next: float | None  # chance of being in truth below the next; None for the last

    @property
    def best(self) -> float:
        """Chance of being the best of all."""
        return self.ranks[0]


@dataclass(frozen=True, slots=True)
class CarefulContrast:
    """Two systems before new raters and new pairs."""

    first: str
    second: str
    net: Credible
    ties: Credible
    better: float  # chance that the first is the stronger one


@dataclass(frozen=True, slots=True)
class Careful:
    """The systems from the best down, and how much raters, dialogues and pairs differ (SDs on the log scale)."""

    reason: str
    systems: tuple[CarefulSystem, ...]
    contrasts: tuple[CarefulContrast, ...]
    spreads: Mapping[str, Credible]
    draws: int
    r_hat: float

    @property
    def moved(self) -> tuple[CarefulSystem, ...]:
        """The systems that stand elsewhere than in the default's ranking."""
        return tuple(system for system in self.systems if system.default_rank not in (None, system.rank))


def careful_answer(
    matches: Matches, *, asked: bool | None, clusters: str, ranking: Ranking | None, seed: int
) -> Careful | None:
    """The careful answer, or None where nobody asked and raters are many; `asked` is None where nobody said."""
    votes, shared = matches.votes, ways_within(matches.votes, clusters)
    refusal = _why_too_large(matches, sum(count_groups(codes) for codes in shared.values()))
    reason = "it was asked for" if asked else _why_needed(matches)
    if asked is False or reason is None or (refusal and not asked):
        return None
    if refusal:
        raise InputError(refusal)
    keep_freed_memory()
    posterior = hierarchical_davidson(
        matches.systems,
        matches.a,
        matches.b,
        votes.choice,
        votes.left,
        shared,
        generator=np.random.default_rng(child_seed(seed, "careful")),
        after_round=Forecast(len(votes)),
    )
    return _summarize_posterior(
        posterior,
        reason,
        {} if ranking is None else {system.system: system.rank for system in ranking.systems},
        matches,
    )


class Forecast:
    """Says how long the careful answer takes, from the first rounds of its chains; `clock` gives seconds."""

    def __init__(
        self,
        votes: int,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] = step,
        announce: Callable[[str], None] = announce,
    ):
        self.what, self.shortest = f"careful answer of {count(votes, 'vote')}", 0
        self.clock, self.say, self.announce, self.begun = clock, say, announce, clock()
        say(f"{self.what}: timing its first rounds")

    def __call__(self, done: int, rounds: int) -> None:
        """`done` of so many rounds are over; chains that disagree are drawn again, in more rounds."""
        self.shortest = self.shortest or rounds
        if done == max(rounds // MEASURED, 1):
            seconds = (self.clock() - self.begun) / done * rounds
            say = self.announce if seconds > MINUTE else self.say
            say(f"{self.what}: {time_needed(seconds, is_again=rounds > self.shortest)}")
        if done == rounds:
            self.begun = self.clock()


def time_needed(seconds: float, *, is_again: bool = False) -> str:
    """How long it takes, and what to do if that is too long."""
    again = ", as its chains disagree and are drawn again" if is_again else ""
    if seconds <= MINUTE:
        return f"about {count(max(round(seconds), 1), 'second')}{again}"
    most = "" if is_again else f", or up to {MOST_TIMES} times that if its chains disagree"
    return f"about {count(round(seconds / MINUTE + 0.5), 'minute')}{again}{most}; --no-careful leaves it out"


def disagreeing(careful: Careful | None) -> list[str]:
    """The caution that the draws are not to be trusted, where that is so."""
    if careful is None or careful.r_hat < AGREED:
        return []
    return [
        f"The chains of the careful answer disagree (R-hat {number(careful.r_hat, 2)}), so do not rely on it; another "
        "--seed or more votes may help."
    ]


def _why_too_large(matches: Matches, levels: int) -> str:
    """Why the model takes no votes like these, or nothing."""
    votes, systems = len(matches.votes), len(matches.systems)
    effects = levels * (1 + (1 if systems == 2 else systems))
    if votes > MOST_VOTES:
        return (
            f"--careful takes up to {MOST_VOTES:,} votes, and these are {votes:,}. It is made for few votes or few "
            "raters; leave it out, or give it a part of the votes."
        )
    if effects > MOST_EFFECTS:
        return (
            f"--careful would ask these votes for {effects:,} effects of raters, dialogues and pairs on {systems} "
            f"systems, and takes up to {MOST_EFFECTS:,}; leave it out, or compare fewer systems."
        )
    return ""


def _why_needed(matches: Matches) -> str | None:
    """Why the careful answer is needed, or None where it is not, or would take long."""
    votes = matches.votes
    people = votes.given().rater
    if people is None or count_groups(people) < 2:
        return None  # nothing can be said about people other than this one, by any model
    worth = kish(people)
    if worth >= FEW_RATERS or len(votes) > MOST_UNASKED or len(matches.systems) > MOST_SYSTEMS:
        return None
    return f"the votes of {count(count_groups(people), 'rater')} are worth {number(worth, 1)} equally busy ones"


def _summarize_posterior(
    posterior: HierarchicalFit, reason: str, before: Mapping[str, int], matches: Matches
) -> Careful:
    averaged = posterior.averaged
    order = np.argsort(-np.median(averaged, axis=0), kind="stable")
    shares = np.stack([(posterior.ranks == place).mean(0) for place in range(1, len(order) + 1)], axis=1)
    below = [float((averaged[:, i] < averaged[:, j]).mean()) for i, j in pairwise(order)]
    systems = tuple(
        CarefulSystem(
            posterior.systems[k],
            _summarize_draws(averaged[:, k]),
            _summarize_draws(posterior.strengths[:, k]),
            place,
            before.get(posterior.systems[k]),
            tuple(shares[k].tolist()),
            p,
        )
        for place, (k, p) in enumerate(zip(order, [*below, None], strict=True), 1)
    )
    met = np.unique(np.sort(np.stack([matches.a, matches.b]), axis=0), axis=1).T
    contrasts = tuple(_careful_contrast(posterior, int(first), int(second)) for first, second in met)
    spreads = {name: _summarize_draws(part) for name, part in posterior.spreads.items()}
    return Careful(reason, systems, contrasts, spreads, len(averaged), posterior.r_hat)


def _careful_contrast(posterior: HierarchicalFit, first: int, second: int) -> CarefulContrast:
    chances = posterior.outcome(first, second)
    net, better = chances[:, 0] - chances[:, 1], float((chances[:, 0] > chances[:, 1]).mean())
    return CarefulContrast(
        posterior.systems[first],
        posterior.systems[second],
        _summarize_draws(net),
        _summarize_draws(chances[:, 2]),
        better,
    )


def _summarize_draws(draws: Floats) -> Credible:
    low, value, high = np.quantile(draws, [0.025, 0.5, 0.975])
    return Credible(float(value), float(low), float(high))


def careful_document(careful: Careful) -> dict[str, Any]:
    """Its keys in `--json`."""
    return {
        "reason": careful.reason,
        "systems": {
            system.system: {
                "strength": system.strength,
                "typical": system.typical,
                "rank": system.rank,
                "default_rank": system.default_rank,
                "p_best": system.best,
                "p_ranks": system.ranks,
                "below_next": system.below_next,
            }
            for system in careful.systems
        },
        "contrasts": [
            {
                "first": contrast.first,
                "second": contrast.second,
                "net": contrast.net,
                "ties": contrast.ties,
                "p_first": contrast.better,
            }
            for contrast in careful.contrasts
        ],
        "spreads": careful.spreads,
        "draws": careful.draws,
        "r_hat": careful.r_hat,
    }


def careful_tables(careful: Careful) -> tuple[Table, Table]:
    """Strengths with the chances of their ranks, and what new raters would say of each two systems."""
    strengths = [
        [
            system.rank,
            system.system,
            number(system.strength.value),
            spell_span(system.strength),
            chance(system.best),
            "" if system.below_next is None else chance(system.below_next),
            "-" if system.default_rank is None else system.default_rank,
        ]
        for system in careful.systems
    ]
    head = ["rank", "system", "log strength", "95 % interval", "P(best)", "P(in truth below the next)", "default rank"]
    nets = [
        [
            contrast.first,
            contrast.second,
            f"{contrast.net.value:+z.3f}",
            spell_span(contrast.net),
            chance(contrast.better),
            number(contrast.ties.value),
            spell_span(contrast.ties),
        ]
        for contrast in careful.contrasts
    ]
    net_head = ["first", "second", "net", "95 % interval", "P(first is better)", "ties", "95 % interval"]
    return (
        Table(head, strengths, "Careful answer: Bayesian hierarchical Davidson"),
        Table(net_head, nets, "Careful answer: two systems at a time"),
    )


def careful_points(careful: Careful) -> str:
    """Net preferences in points, the leader first."""
    leads = []
    for contrast in careful.contrasts:
        sign = 1 if contrast.net.value >= 0 else -1
        names = " over ".join((contrast.first, contrast.second)[::sign])
        low, high = (signed(100 * end) for end in sorted((sign * contrast.net.low, sign * contrast.net.high)))
        leads.append(f"{names} {signed(100 * abs(contrast.net.value))} ({low} to {high})")
    return f"By the careful answer, in points with 95 % intervals: {'; '.join(leads)}."


def careful_sentences(careful: Careful) -> list[str]:
    """Why it is shown, what it says of, whether it moves a rank, and how much people and pairs differ."""
    moved = ", ".join(f"{system.system} (from {system.default_rank} to {system.rank})" for system in careful.moved)
    ranks = "It leaves every system at its rank."
    if moved:
        ranks = f"It moves {moved}; where the chance of being below the next is near 50 %, neither order is known."
    if all(system.default_rank is None for system in careful.systems):
        ranks = "There is no default ranking to compare it with."
    spread = "; ".join(f"{name} {number(sd.value, 2)} ({spell_span(sd, 2)})" for name, sd in careful.spreads.items())
    sentences = [
        f"The careful answer is given because {careful.reason}. Like the default it speaks of new raters and new "
        f"pairs, but it also learns from the votes how much raters and pairs differ. {ranks}",
        careful_points(careful),
    ]
    if spread:
        scale = "SD on the log scale (95 % interval), of tastes for a system and of readiness to tie"
        sentences.append(f"{scale}: {spread}.")
    return sentences


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


def mixed_answer(contrasts: Sequence[Contrast], clusters: str) -> tuple[MixedContrast, ...]:
    """One model for each two systems, in the order given."""
    votes = sum(len(contrast.votes) for contrast in contrasts)
    if votes > MOST_MIXED or len(contrasts) > MOST_CONTRASTS:
        raise InputError(
            f"--mixed takes up to {MOST_MIXED:,} votes on {MOST_CONTRASTS} comparisons, since it fits a model to each; "
            f"these are {votes:,} on {len(contrasts):,}. Leave it out, or compare fewer systems."
        )
    return tuple(_fit_mixed(contrast, clusters) for contrast in contrasts)


def _fit_mixed(contrast: Contrast, clusters: str) -> MixedContrast:
    from seedvote.analysis.stats.mixed import crossed_logit  # slow to import, and seldom asked for

    votes = contrast.votes.select(contrast.votes.choice != TIE)
    names = contrast.first, contrast.second, len(votes)
    if (reason := _without_model(contrast, votes)) is not None:
        return MixedContrast(*names, reason)
    try:
        model = crossed_logit(votes.choice == 0, ways_within(votes, clusters))
    except InputError as error:
        return MixedContrast(*names, str(error))
    return MixedContrast(
        *names,
        share=model.average,
        typical=model.typical,
        net=_mixed_net(model, contrast.votes, clusters),
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


def _mixed_net(model: CrossedLogit, votes: Votes, clusters: str) -> Estimate:
    """The net preference; the errors of share and ties are taken as independent and added by their squares."""
    from seedvote.analysis.stats.mixed import Estimate

    share, ties = model.average, mean_interval(votes.tie, by=clusters_of(votes, clusters, part=True))
    lead, decisive_share = 2 * share.value - 1, 1 - ties.value
    of_ties = lead * ties.se * float(stdtrit(ties.df, 0.975))
    low, high = (float(np.hypot(2 * decisive_share * (end - share.value), of_ties)) for end in (share.low, share.high))
    return Estimate(
        decisive_share * lead, max(decisive_share * lead - low, -1.0), min(decisive_share * lead + high, 1.0)
    )


def mixed_document(models: Sequence[MixedContrast]) -> list[dict[str, Any]]:
    """The key `mixed` of `--json`: one row for each two systems."""
    return [{**asdict(model), "reason": model.reason or None} for model in models]


def mixed_parts(models: Sequence[MixedContrast]) -> list[Table | str]:
    """The table, what its columns say, and who has a dash for which reason."""
    table = Table(MIXED_HEAD, [_mixed_row(model) for model in models], "Mixed logit of the decisive votes")
    without: dict[str, list[str]] = {}
    for model in models:
        if model.reason:
            without.setdefault(model.reason, []).append(f"{model.first} and {model.second}")
    doubtful = [f"{model.first} and {model.second}" for model in models if not model.converged]
    doubt = f"The search of the mixed logit did not end well, so do not rely on it ({', '.join(doubtful)})."
    return [
        table,
        *_explain_mixed(models),
        *(f"No mixed logit of {', '.join(names)}: {reason.rstrip('.')}." for reason, names in without.items()),
        *([doubt] if doubtful else []),
    ]


def _mixed_row(model: MixedContrast) -> list[str]:
    cells = [model.first, model.second, f"{model.decisive:,}"]
    if model.share is None or model.net is None or model.typical is None or model.spreads is None:
        return [*cells, *["-"] * (len(MIXED_HEAD) - len(cells))]
    spreads = ", ".join(f"{name} {sd:.2f}" for name, sd in model.spreads.items())
    return [
        *cells,
        percent(model.share.value),
        f"{percent(model.share.low)} to {percent(model.share.high)}",
        f"{model.net.value:+z.3f}",
        spell_span(model.net),
        percent(model.typical.value),
        spreads,
    ]


def _explain_mixed(models: Sequence[MixedContrast]) -> list[str]:
    """What is drawn anew, and how the columns relate to the default; nothing where there is no model at all."""
    ways = next((list(model.spreads) for model in models if model.spreads), None)
    if ways is None:
        return []
    *first_ways, last = map(plural, ways)
    anew = f"{', '.join(first_ways)} and {last}" if first_ways else last
    return [
        f"First preferred: of the decisive votes, the share for the first, over new {anew}. Net counts ties as the "
        "default does, and estimates the same. By a typical rater, on a typical pair, the share is further from 50 % "
        "wherever people or pairs differ."
    ]


class Bounded(Protocol):
    """Anything with the ends of an interval."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def spell_span(interval: Bounded, digits: int = 3) -> str:
    """The ends of an interval; where one is not defined, that there is none."""
    low, high = number(interval.low, digits), number(interval.high, digits)
    return "no bound" if "-" in (low, high) else f"{low} to {high}"
