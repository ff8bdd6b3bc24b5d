"""Agreement where ties are few or many: does the interval of kappa hold it, or is there none?"""

from dataclasses import dataclass

import numpy as np

from seedvote.analysis.stats.between_raters.agreement import estimate_coefficients, two_raters
from tests.analysis.agreeing import VALUES, agreement_truth, coded, cohen_truth
from tests.analysis.claims.registry import Claim, each
from tests.analysis.claims.ties import LED, WORLDS
from tests.analysis.worlds import Crowd, grid

CELLS = {
    name: world for name, world in WORLDS.items() if "votes each 1" not in name
}  # one vote a pair agrees with none


def holds(crowd: Crowd, generator: np.random.Generator) -> float | None:
    votes = crowd.study(generator)
    shared = "dialogue" if crowd.pairs_each > 1 else "pair"
    by = {way: votes[way] for way in (shared, "rater")}
    kappa = estimate_coefficients(
        votes["pair"], coded(votes), ("b", "tie", "a"), values=VALUES, clusters=by
    ).fleiss_kappa
    truth = agreement_truth(crowd)[0]["fleiss_kappa"]
    return float(kappa.low <= truth <= kappa.high) if np.isfinite(kappa.low) else None


@dataclass(frozen=True)
class Couple(Crowd):
    """Studies by the same two raters, who judge every pair; one loves ties more and leans to the first system."""

    raters: int = 2
    votes_each: int = 2
    sd_dialogue: float = 1.0

    def leans(self, generator: np.random.Generator, raters: int) -> np.ndarray:
        return np.array([0.3, 0.0])

    def habits(self, generator: np.random.Generator, raters: int) -> np.ndarray:
        return np.array([0.3, 0.0])

    def truth_of_two(self) -> float:
        nobody = np.random.default_rng()
        return cohen_truth(self, self.leans(nobody, 2), self.habits(nobody, 2))


COUPLES = {
    f"{name} ties, {cell}": world
    for name, (threshold, centre) in LED.items()
    for cell, world in {
        **grid(Couple(200, threshold=threshold, centre=centre, sd_dialogue=0.0), "pairs", dialogues=(60, 200)),
        **grid(Couple(40, 5, threshold=threshold, centre=centre), dialogues=(10, 40), sizes=("even", "zipf")),
    }.items()
}


def holds_of_two(couple: Couple, generator: np.random.Generator) -> float | None:
    votes = couple.study(generator)
    answer = two_raters(votes["pair"], votes["rater"], coded(votes), 3, cluster=votes["dialogue"])
    return float(answer.low <= couple.truth_of_two() <= answer.high) if answer and np.isfinite(answer.low) else None


CLAIMS = (
    Claim(
        "agreement: Fleiss' kappa", "the 95 % interval holds it where up to 97 % of votes are ties, or there is none",
        {"stats.between_raters.agreement.Coefficient": "low high"}, CELLS, each(holds), 0.95, 0.93, studies=200,
    ),
    Claim(
        "agreement: Cohen's kappa", "the 95 % interval holds that of these two raters on other dialogues",
        {"stats.between_raters.agreement.Coefficient": "low high"}, COUPLES, each(holds_of_two), 0.95, 0.93,
        studies=1000,
    ),
)  # fmt: skip
