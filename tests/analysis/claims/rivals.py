"""A trained encoder beats everything untrained: how often it is said where it is false, and where it is true."""

import numpy as np

from seedvote.analysis.stats.rivals import surest_anew, surest_as_trained
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Rivalry, grid

LAWS = ("tame", "unequal", "collapsing", "log-normal")
NULLS = {
    **grid(Rivalry(architectures=12), "24 cells", seeds=(2, 3, 5, 10), law=LAWS),
    **grid(Rivalry(architectures=12, middle="mean"), "24 cells, means equal", seeds=(2, 3, 5), law=LAWS),
    **grid(Rivalry(architectures=1, checkpoints=1), "one cell", seeds=(2, 3, 5, 10), law=LAWS, dialogues=(20, 100)),
    **grid(Rivalry(sd=0.2), "seeds hardly differ", seeds=(5, 10), equal=(1, 3), dialogues=(20, 100)),
}
TRAINED = {
    **grid(Rivalry(middle="trained"), seeds=(1, 2, 3, 10), law=LAWS),
    **grid(Rivalry(architectures=12, middle="trained", dialogues=20), "24 cells, 20 dialogues", seeds=(3, 10)),
}


def is_claimed_anew(world: Rivalry, generator: np.random.Generator) -> bool:
    return surest_anew(*world.study(generator)).p < 0.05


def is_claimed_as_trained(world: Rivalry, generator: np.random.Generator) -> bool:
    return surest_as_trained(*world.study(generator)).p < 0.05


CLAIMS = (
    Claim(
        "beats everything untrained, new seeds",
        "more than half of all trainings of some encoder are said to beat every rival, and one rival is as good",
        {"stats.rivals.Margin": "low p"}, NULLS, each(is_claimed_anew), 0.05, 0.05, is_error=True, studies=200,
    ),
    Claim(
        "beats everything untrained, as trained",
        "an encoder as trained is said to beat every rival on other dialogues, and one rival is as good",
        {}, TRAINED, each(is_claimed_as_trained), 0.05, 0.05, is_error=True, studies=1000,
    ),
)  # fmt: skip
