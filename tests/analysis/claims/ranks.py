"""Rankings: are systems that stand equal left unordered, and do the ranks that are printed hold at once?"""

import numpy as np

from seedvote.analysis.questions.ratings.rankings import RanksAnswer, Sheets, compare_rankings
from seedvote.analysis.votes.votes import Votes
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Rankers, grid

CELLS = {
    **grid(Rankers(), "complete, five", raters=(3, 8, 30)),
    **grid(Rankers(nested=True), "complete, five", nested=(True,), raters=(8,)),
    **grid(Rankers(raters=8), "complete, five", grain=(3.5, 12.0)),
    **grid(Rankers(size=3), "three of five", raters=(3, 8, 30)),
    **grid(Rankers(size=3, nested=True), "three of five", nested=(True,), raters=(8,)),
    **grid(Rankers(size=3, raters=8), "three of five", grain=(3.5,)),
    **grid(Rankers(12, 12, raters=8), "complete", systems=(12,)),
    **grid(Rankers(12, 4, items=120), "four of twelve", raters=(8,)),
}
TWO = grid(Rankers(2, 2), raters=(3, 30))
SIXTY = grid(Rankers(60, 5, items=200), "five of sixty", raters=(30,))


def asked(world: Rankers, generator: np.random.Generator) -> RanksAnswer:
    """The answer to one study."""
    ranks, item, rater = world.study(generator)
    votes = Votes(
        pair=item, pairs=tuple(f"i{code}" for code in range(world.items)), choice=np.full(len(item), 2), item=item,
        rater=rater, raters=tuple(f"r{code}" for code in range(world.raters)),
    )  # fmt: skip
    return compare_rankings(Sheets(tuple(f"s{code:02}" for code in range(world.systems)), ranks, votes, "auto"))


def worth_of(world: Rankers) -> dict[str, float]:
    return {f"s{code:02}": worth for code, worth in enumerate(world.worth.tolist())}


def orders_two_equals(world: Rankers, generator: np.random.Generator) -> float:
    worth = worth_of(world)
    equals = [pair for pair in asked(world, generator).contrasts if worth[pair.first] == worth[pair.second]]
    return float(equals[generator.integers(len(equals))].p < 0.05)


def orders_any_falsely(world: Rankers, generator: np.random.Generator) -> float:
    worth, answer = worth_of(world), asked(world, generator)
    values = np.array([*worth.values()])
    false = any(
        pair.p_holm < 0.05 and np.sign(pair.lead) != np.sign(worth[pair.first] - worth[pair.second])
        for pair in answer.contrasts
    )  # fmt: skip
    missed = any(
        system.rank_low > 1 + (values > worth[system.system]).sum()
        or system.rank_high < world.systems - (values < worth[system.system]).sum()
        for system in answer.systems
    )  # fmt: skip
    return float(false or missed)


CLAIMS = (
    Claim(
        "rankings: two that stand equal",
        "p of two systems that stand equal is below .05 in 5 % of studies",
        {"questions.ratings.rankings.RankedPair": "p"},
        CELLS,
        each(orders_two_equals),
        0.05,
        0.06,
        is_error=True,
        studies=200,
    ),
    Claim(
        "rankings: all comparisons at once",
        "no comparison is shown falsely by Holm's p, and no true rank is left out",
        {
            "questions.ratings.rankings.RankedPair": "p_holm",
            "questions.ratings.rankings.SystemRank": "rank_low rank_high",
        },
        {**{f"two, {name}": world for name, world in TWO.items()}, **CELLS},
        each(orders_any_falsely),
        0.05,
        0.06,
        is_error=True,
        studies=200,
    ),
    Claim(
        "rankings: two systems alone",
        "p of two systems that stand equal is below .05 in 5 % of studies",
        {
            "questions.ratings.rankings.RankedPair": "p p_holm",
            "questions.ratings.rankings.SystemRank": "rank_low rank_high",
        },
        TWO,
        each(orders_any_falsely),
        0.05,
        0.06,
        is_error=True,
        studies=4000,
    ),
    Claim(
        "rankings: sixty systems at once",
        "no comparison is shown falsely by Holm's p, and no true rank is left out",
        {"questions.ratings.rankings.RankedPair": "p_holm"},
        SIXTY,
        each(orders_any_falsely),
        0.05,
        0.06,
        is_error=True,
        studies=50,
    ),
)
