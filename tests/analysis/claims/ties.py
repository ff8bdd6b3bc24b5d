"""Where ties are many: does the net preference hold its promises, and is equivalence claimed where it is false?"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit

from seedvote.analysis.questions.preference.answer import over_raters
from seedvote.analysis.stats.disparity import share_ratio
from seedvote.analysis.stats.net_preference import NetEstimate, net_estimate, tost
from seedvote.analysis.votes.systems import contrasts, fixed_sides
from tests.analysis.claims.registry import Claim, each
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


@dataclass(frozen=True)
class Traits:
    """Ties of pairs whose trait is high or low; raters react to it in their own ways."""

    raters: int = 30
    work: str = "even"  # even or pareto
    dialogues: int = 60
    pairs_each: int = 4
    by_dialogue: bool = False  # whether all pairs of a dialogue share the trait
    centre: float = -0.8  # logit of a tie
    effect: float = 0.6

    def ties(self, latent: np.ndarray, high: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return generator.random(len(high)) < expit(self.centre + self.effect * high + latent)

    def ratio_holds(self, generator: np.random.Generator) -> bool | None:
        pairs = self.dialogues * self.pairs_each
        pair = np.repeat(np.arange(pairs), 3)
        dialogue = pair // self.pairs_each
        work = generator.pareto(1.16, self.raters) + 1 if self.work == "pareto" else np.ones(self.raters)
        rater = generator.choice(self.raters, len(pair), p=work / work.sum())
        high = (generator.random(self.dialogues) < 0.5)[dialogue] if self.by_dialogue else (
            generator.random(pairs) < 0.5)[pair]  # fmt: skip
        latent = generator.normal(0, 0.5, self.dialogues)[dialogue] + generator.normal(0, 0.5, self.raters)[rater]
        latent = latent + generator.normal(0, 0.3, self.raters)[rater] * high
        ratio = share_ratio(self.ties(latent, high, generator), high, {"dialogue": dialogue, "rater": rater})
        return None if ratio is None else ratio.low <= true_ratio(self) <= ratio.high


@cache
def true_ratio(world: Traits) -> float:
    """Of all raters on all dialogues."""
    high = np.array([[0.0], [1.0]])
    latent = np.sqrt(2 * 0.5**2 + 0.3**2 * high) * np.random.default_rng(0).normal(size=400_000)
    shares = expit(world.centre + world.effect * high + latent).mean(axis=1)
    return float(shares[1] / shares[0])


CLAIMS = (
    Claim(
        "ratio of tie shares", "the 95 % interval holds how many times as frequent ties are where a trait is high",
        {"stats.disparity.ShareRatio": "low high p"},
        {
            **grid(Traits(), raters=(8, 30, 100), work=("even", "pareto"), by_dialogue=(False, True)),
            **grid(Traits(dialogues=12), "few dialogues", by_dialogue=(False, True)),
            **grid(Traits(), centre=(-3.0, 2.5), effect=(0.0, 1.0)),
        },
        each(Traits.ratio_holds), 0.95, 0.93, studies=600,
    ),
    Claim(
        "net preference with many ties", "the 95 % interval holds it where up to 97 % of votes are ties",
        {}, WORLDS, estimated(holds), 0.95, 0.93,
    ),
    Claim(
        "equivalence", "two systems at the margin are called equivalent in 5 % of studies",
        {"stats.net_preference.Equivalence": "p low high"}, WORLDS, estimated(claims_equivalence), 0.05, 0.06,
        is_error=True, studies=2000,
    ),
    Claim(
        "mean over raters", "the 95 % interval of the mean over raters holds it, who gave unequal numbers of votes",
        {"questions.preference.answer.RaterNet": "low high p p_holm"},
        UNEQUAL, holds_over_raters, 0.95, 0.93, studies=200,
    ),
)  # fmt: skip
