"""Ranks by the model of strengths: do the sets of all systems hold the true ranks at once?"""

import numpy as np

from analysis.preference.ranking import ranking_of
from analysis.votes.systems import Matches
from analysis.votes.votes import Votes
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Arenas, grid

CELLS = {
    **grid(Arenas(2, 1, 200), "two", raters=(3, 30)),
    **grid(Arenas(), "five", raters=(3, 8, 30), spread=(0.0, 1.5)),
    **grid(Arenas(raters=100, work="pareto"), "five, pareto", spread=(0.0, 1.5)),
    **grid(Arenas(12, 5, 10, dialogues=100), "twelve", raters=(8, 30), spread=(0.0, 2.0)),
    **grid(Arenas(60, 8, 10, dialogues=200, raters=40), "sixty", spread=(0.0, 4.0)),
}


def ranks_hold(world: Arenas, generator: np.random.Generator) -> float | None:
    study = world.study(generator)
    names = {name: tuple(f"{name}{code:03}" for code in range(study[name].max() + 1)) for name in ("rater", "dialogue")}
    pair = np.unique(study["dialogue"] * world.systems**2 + study["a"] * world.systems + study["b"],
                     return_inverse=True)[1]  # fmt: skip
    votes = Votes(
        pair=pair, pairs=tuple(f"p{code}" for code in range(pair.max() + 1)), choice=study["choice"],
        rater=study["rater"], raters=names["rater"], dialogue=study["dialogue"], dialogues=names["dialogue"],
    )  # fmt: skip
    systems = tuple(f"s{code:02}" for code in range(world.systems))
    matches = Matches(systems, votes, study["a"], study["b"], {})
    ranking, _ = ranking_of(matches, "davidson", "auto", 1000, generator)
    if ranking is None or ranking.unranked:
        return None
    strengths = dict(zip(systems, world.strengths, strict=True))
    return float(all(
        one.all_low <= 1 + (world.strengths > strengths[one.system]).sum()
        and one.all_high >= world.systems - (world.strengths < strengths[one.system]).sum()
        for one in ranking.systems
    ))  # fmt: skip


CLAIMS = (
    Claim(
        "ranks by strengths, all at once", "every system's true rank is in its set, for all systems at once",
        {"stats.paired.rank_sets.RankSets": "low high all_low all_high"}, CELLS, each(ranks_hold), 0.95, 0.93,
        studies=100,
    ),
)  # fmt: skip
