"""Agreement where ties are few or many: does the interval of kappa hold it, or is there none?"""

import numpy as np

from seedvote.analysis.stats.between_raters.agreement import estimate_coefficients
from tests.analysis.agreeing import VALUES, agreement_truth, coded
from tests.analysis.claims.registry import Claim, each
from tests.analysis.claims.ties import WORLDS
from tests.analysis.worlds import Crowd

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


CLAIMS = (
    Claim(
        "agreement: Fleiss' kappa", "the 95 % interval holds it where up to 97 % of votes are ties, or there is none",
        {"stats.between_raters.agreement.Coefficient": "low high"}, CELLS, each(holds), 0.95, 0.93, studies=200,
    ),
)  # fmt: skip
