"""Shares of ties and net preferences: do their intervals hold what all raters would say of all dialogues?"""

from collections.abc import Callable

import numpy as np

from seedvote.analysis.questions.preference.answer import prefer
from seedvote.analysis.stats.intervals import mean_interval, share_test
from seedvote.analysis.votes.clusters import clusters_of, without_interval
from seedvote.analysis.votes.systems import contrasts, fixed_sides
from seedvote.analysis.votes.votes import Votes, votes_from_columns
from tests.analysis.claims.registry import Claim
from tests.analysis.worlds import Crowd, grid

CELLS = {
    **grid(Crowd(200), raters=(3, 8, 30, 200), work=("even", "pareto")),
    **{f"{share} of ties, {work}": Crowd(200, raters=30, threshold=threshold, work=work)
       for share, threshold in (("10 %", 0.07), ("60 %", 1.3), ("90 %", 2.2), ("95 %", 2.9))
       for work in ("even", "pareto")},
    **grid(Crowd(200, raters=30), votes_each=(1, 2, 5)),
    **grid(Crowd(40, 5, raters=60, sd_dialogue=1.0), "40 dialogues", sizes=("even", "zipf"), work=("even", "pareto")),
    **grid(Crowd(8, 25, raters=60, sd_dialogue=1.0), "8 dialogues", sizes=("even", "zipf")),
    **grid(Crowd(200, raters=60, nested=True), "nested raters", votes_each=(2, 3, 5)),
}  # fmt: skip


def votes_of(crowd: Crowd, generator: np.random.Generator) -> Votes:
    """One study's votes, as the commands read them."""
    study = crowd.study(generator)
    names = {name: [f"{name}{code}" for code in study[name]] for name in ("pair", "dialogue", "rater")}
    return votes_from_columns(
        {**names, "choice": np.select([study["score"] > 0, study["score"] < 0], ["a", "b"], "tie")}
    )


def run(of_study: Callable[[Votes, float, float], float | None]) -> Callable[..., np.ndarray]:
    """A run whose studies are asked with the true tie share and net preference of their crowd."""

    def studies(crowd: Crowd, number: int, generator: np.random.Generator) -> np.ndarray:
        truth = crowd.truth()
        answers = [of_study(votes_of(crowd, generator), *truth) for _ in range(number)]
        return np.array([np.nan if answer is None else answer for answer in answers], float)

    return studies


def holds_ties(votes: Votes, ties: float, _: float) -> float | None:
    if without_interval(votes, list(ways := clusters_of(votes))):
        return None
    share = mean_interval(votes.tie, by=ways, share=True)
    return share.low <= ties <= share.high


def holds_net(votes: Votes, _: float, net: float) -> float | None:
    (contrast,) = contrasts(fixed_sides(votes))
    found = prefer(contrast, margin=None).net
    return found.low <= net <= found.high


def rejects_ties(crowd: Crowd, studies: int, generator: np.random.Generator) -> np.ndarray:
    """The same p without the way through `Votes`, in a tenth of the time, so that studies can be many."""
    ties, _ = crowd.truth()
    shared = "dialogue" if crowd.pairs_each > 1 else "pair"
    answers = []
    for _ in range(studies):
        study = crowd.study(generator)
        ways = {name: study[name] for name in (shared, "rater")}
        answers.append(share_test(mean_interval(study["score"] == 0, by=ways, share=True), ties)[1] < 0.05)
    return np.array(answers, float)


CLAIMS = (
    Claim(
        "tie share", "the 95 % interval of a share of ties holds the share over all raters and dialogues",
        {"stats.intervals.Interval": "low high"}, CELLS, run(holds_ties), 0.95, 0.92,
    ),
    Claim(
        "net preference", "the 95 % interval of a net preference holds it; p is below .05 where it leaves out 0",
        {"questions.preference.answer.Preference": "p", "questions.preference.answer.Position": "p"},
        CELLS, run(holds_net), 0.95, 0.92,
    ),
    Claim(
        "tie share against a value", "p of a tie share against its true value is below .05 in 5 % of studies",
        {"questions.ties.answer.Chance": "p"}, CELLS, rejects_ties, 0.05, 0.065, is_error=True,
        studies=3000,
    ),
)  # fmt: skip
