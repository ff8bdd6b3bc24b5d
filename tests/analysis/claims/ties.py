"""Where ties are many: does the net preference hold its promises, and is equivalence claimed where it is false?"""

from collections.abc import Callable

import numpy as np

from seedvote.analysis.questions.preference.answer import over_raters
from seedvote.analysis.stats.equivalence import tost
from seedvote.analysis.stats.net_preference import NetEstimate, net_estimate
from seedvote.analysis.votes.systems import contrasts, fixed_sides
from tests.analysis.claims.registry import Claim
from tests.analysis.claims.votes import votes_of
from tests.analysis.worlds import Crowd, grid

LED = {"28 %": (0.6, 1.0), "86 %": (4.2, 1.5), "92 %": (6.0, 2.0), "97 %": (6.0, 0.2)}  # threshold and centre
WORLDS = {
    **{
        f"{name} ties, {cell}": world
        for name, (threshold, centre) in LED.items()
        for cell, world in {
            **grid(Crowd(200, threshold=threshold, centre=centre), raters=(3, 8, 30, 200), work=("even", "pareto")),
            **grid(Crowd(200, raters=30, threshold=threshold, centre=centre), votes_each=(1, 5)),
            "nested raters": Crowd(200, raters=60, nested=True, threshold=threshold, centre=centre),
            "40 Zipf dialogues": Crowd(40, 5, raters=60, sd_dialogue=1.0, sizes="zipf", threshold=threshold,
                                       centre=centre),
        }.items()
    }
}  # fmt: skip
UNEQUAL = {name: world for name, world in WORLDS.items() if "pareto" in name and "raters 3," not in name}


def estimated(of_study: Callable[[NetEstimate, float], float]) -> Callable[..., np.ndarray]:
    """A run whose studies are asked with the true net preference of their crowd."""

    def studies(crowd: Crowd, number: int, generator: np.random.Generator) -> np.ndarray:
        _, truth = crowd.truth()
        answers = []
        for _ in range(number):
            study = crowd.study(generator)
            shared = "dialogue" if crowd.pairs_each > 1 else "pair"
            by = {name: study[name] for name in (shared, "rater") if len(np.unique(study[name])) < len(study["score"])}
            answers.append(of_study(net_estimate(study["score"], by=by), truth))
        return np.array(answers, float)

    return studies


def holds(net: NetEstimate, truth: float) -> float:
    low, high = net.limits(0.025)
    return low <= truth <= high


def claims_equivalence(net: NetEstimate, truth: float) -> float:
    """A true net preference at the margin is not within it."""
    return tost(net, truth).equivalent


def holds_over_raters(crowd: Crowd, number: int, generator: np.random.Generator) -> np.ndarray:
    _, truth = crowd.truth()
    answers = []
    for _ in range(number):
        nets = over_raters(contrasts(fixed_sides(votes_of(crowd, generator))), "auto")
        answers.append(nets[0].low <= truth <= nets[0].high if nets else np.nan)
    return np.array(answers, float)


CLAIMS = (
    Claim(
        "net preference with many ties", "the 95 % interval holds it where up to 97 % of votes are ties",
        {}, WORLDS, estimated(holds), 0.95, 0.93,
    ),
    Claim(
        "equivalence", "two systems at the margin are called equivalent in 5 % of studies",
        {"stats.equivalence.Equivalence": "p low high"}, WORLDS, estimated(claims_equivalence), 0.05, 0.06,
        is_error=True, studies=2000,
    ),
    Claim(
        "mean over raters", "the 95 % interval of the mean over raters holds it, who gave unequal numbers of votes",
        {"questions.preference.answer.RaterNet": "low high p p_holm"},
        UNEQUAL, holds_over_raters, 0.95, 0.93, studies=200,
    ),
)  # fmt: skip
