"""Ranks by the model of strengths: do the sets of all systems hold the true ranks at once?"""

from itertools import pairwise

import numpy as np

from seedvote.analysis.stats.net_preference import net_estimate
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.ranking import Ranking, ranking_of, ranks_of_two
from seedvote.analysis.votes.systems import Matches
from seedvote.analysis.votes.votes import Votes, net_scores
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Arenas, Drawn, grid

TWO = grid(Arenas(2, 1, 200), raters=(3, 30))
CELLS = {
    **grid(Arenas(), "five", raters=(3, 8, 30), spread=(0.0, 1.5)),
    **grid(Arenas(raters=100, work="pareto"), "five, pareto", spread=(0.0, 1.5)),
    **grid(Arenas(12, 5, 10, dialogues=100), "twelve", raters=(8, 30), spread=(0.0, 2.0)),
}
SIXTY = grid(Arenas(60, 8, 10, dialogues=200, raters=40), spread=(0.0, 4.0))

ANNOTATORS = Arenas(votes_each=90, raters=3, panel=True, dialogues=400, sd_dialogue=1.5)
SHOWN = {
    **grid(Arenas(2, 1, 200), "two", raters=(3, 30)),
    **grid(Arenas(), "five", raters=(3, 8, 30), sizes=("even", "zipf")),
    **grid(Arenas(ties=4.0), "five, most votes ties", raters=(3,)),
    **grid(Arenas(12, 5, 10, dialogues=100), "twelve", raters=(3,)),
    **grid(ANNOTATORS, "five, panel of 3", sd_rater=(0.0, 0.5, 1.5)),
    **grid(ANNOTATORS, "five, panel of 3, divided on one", divided=(1,), sd_rater=(0.5, 2.0)),
}
DRAWN = {
    **grid(Drawn(2, 1, 200, 10, spread=0.8), "two", work=("even", "pareto")),
    **grid(Drawn(spread=2.0), "five", raters=(10,)),
}
SAID = 0.05, 0.115  # chances around .08


def ranked(world: Arenas, generator: np.random.Generator) -> Ranking | None:
    """The ranking of one study; systems are named by their place in `world.strengths`."""
    study = world.study(generator)
    names = {name: tuple(f"{name}{code:03}" for code in range(study[name].max() + 1)) for name in ("rater", "dialogue")}
    pair = np.unique(study["dialogue"] * world.systems**2 + study["a"] * world.systems + study["b"],
                     return_inverse=True)[1]  # fmt: skip
    votes = Votes(
        pair=pair, pairs=tuple(f"p{code}" for code in range(pair.max() + 1)), choice=study["choice"],
        rater=study["rater"], raters=names["rater"], dialogue=study["dialogue"], dialogues=names["dialogue"],
    )  # fmt: skip
    systems = tuple(f"s{code:02}" for code in range(world.systems))
    ranking = ranking_of(Matches(systems, votes, study["a"], study["b"], {}), "davidson", "auto", 1000, generator)[0]
    if ranking is None or world.systems > 2:
        return ranking
    return ranks_of_two(ranking, net_estimate(net_scores(votes.choice), by=clusters_of(votes)).p)


def ranks_hold(world: Arenas, generator: np.random.Generator) -> float | None:
    ranking = ranked(world, generator)
    if ranking is None or ranking.unranked:
        return None
    ranks = true_ranks(world)
    return float(all(
        system.all_low <= ranks[system.system][0] and ranks[system.system][1] <= system.all_high
        for system in ranking.systems
    ))  # fmt: skip


def rank_of_one_holds(world: Arenas, generator: np.random.Generator) -> float | None:
    ranking = ranked(world, generator)
    if ranking is None or ranking.unranked:
        return None
    system = ranking.systems[generator.integers(world.systems)]
    best, worst = true_ranks(world)[system.system]
    return float(system.rank_low <= best and worst <= system.rank_high)


def orders_falsely(world: Arenas, generator: np.random.Generator) -> float | None:
    """Whether any two systems are shown to differ that are equal, or stand the other way round."""
    if (ranking := ranked(world, generator)) is None:
        return None
    strength = dict(zip((f"s{code:02}" for code in range(world.systems)), world.strengths.tolist(), strict=True))
    return float(any(strength[above] <= strength[below] for above, below in ranking.above))


def true_ranks(world: Arenas) -> dict[str, tuple[int, int]]:
    """System -> its best and its worst true rank, which differ where systems are equal."""
    strengths = world.strengths
    return {
        f"s{code:02}": (1 + int((strengths > strength).sum()), int((strengths >= strength).sum()))
        for code, strength in enumerate(strengths)
    }


def order_is_wrong(world: Drawn, generator: np.random.Generator) -> float:
    """Whether two neighbours in a ranking, said to be in the wrong order with a chance of some .08, are so."""
    while True:
        study = world.drawn(generator)
        ranking = ranked(study, generator)
        pairs = [] if ranking is None else [*pairwise(ranking.systems)]
        near = [(int(one.system[1:]), int(other.system[1:])) for one, other in pairs
                if one.below_next is not None and SAID[0] < one.below_next <= SAID[1]]  # fmt: skip
        if near:
            above, below = near[generator.integers(len(near))]
            return float(study.strengths[above] < study.strengths[below])


CLAIMS = (
    Claim(
        "ranks by strengths, all at once", "every system's true rank is in its set, for all systems at once",
        {"stats.paired.rank_sets.RankSets": "all_low all_high"}, CELLS, each(ranks_hold), 0.95, 0.93,
        studies=500,
    ),
    Claim(
        "ranks by strengths, sixty systems", "every system's true rank is in its set, for all systems at once",
        {"stats.paired.rank_sets.RankSets": "all_low all_high"}, SIXTY, each(ranks_hold), 0.95, 0.93, studies=100,
    ),
    Claim(
        "ranks of two systems", "two equal systems have both ranks, and are not shown to differ",
        {"stats.paired.rank_sets.RankSets": "low high all_low all_high"}, TWO, each(ranks_hold), 0.95, 0.93,
        studies=4000,
    ),
    Claim(
        "ranks by strengths, one system", "the true rank of a system is in its own set",
        {"stats.paired.rank_sets.RankSets": "low high"},
        CELLS, each(rank_of_one_holds), 0.95, 0.93, studies=200,
    ),
    Claim(
        "preferences: all comparisons at once", "no two systems are shown to differ that are equal or stand otherwise",
        {}, SHOWN, each(orders_falsely), 0.05, 0.06, is_error=True, studies=100,
    ),
    Claim(
        "chance of a wrong order", "of orders said to be wrong with a chance of some .08 (.05 to .115), as many are",
        {}, DRAWN, each(order_is_wrong), 0.08, 0.1, is_error=True, studies=200,
    ),
)  # fmt: skip
