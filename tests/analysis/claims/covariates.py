"""Rankings at equal length: do the intervals hold what all raters on all dialogues would give?"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from seedvote.analysis.questions.preference.covariates import adjusted_answer
from seedvote.analysis.stats.paired.davidson import count_games, expected_net, fit_model
from seedvote.analysis.votes.ranking import ranking_of
from seedvote.analysis.votes.systems import Matches
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.records import Candidate, Pair
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import grid


@dataclass(frozen=True)
class Lengths:
    """Systems of unlike length, judged by raters who love length to unlike degrees."""

    raters: int
    work: str = "even"  # even or pareto
    systems: int = 2
    dialogues: int = 60
    votes_each: int = 3
    pairs_each: int = 4
    tie: float = 0.0  # log nu: 0 gives a third of ties, 2.5 six in seven
    taste: float = 0.5  # mean effect on d of a response twice as long
    sd_taste: float = 0.5
    longer: float = 0.5  # by how many doublings the last system is longer than the first

    def draw(self, generator, size=0):
        """Sides, doublings of length of a less b, clusters and choices of one study, or of `size` lone votes."""
        each = self.pairs_each * self.votes_each
        dialogue = np.arange(size) if size else np.repeat(np.arange(self.dialogues), each)
        work = np.ones(self.raters) if self.work == "even" else generator.pareto(1.16, self.raters) + 1
        rater = np.arange(size) if size else generator.choice(self.raters, len(dialogue), p=work / work.sum())
        pairs = size or self.dialogues * self.pairs_each
        pair = np.repeat(np.arange(pairs), len(dialogue) // pairs)
        a = generator.integers(0, self.systems, pairs)
        b = (a + generator.integers(1, self.systems, pairs)) % self.systems
        place = np.linspace(0, self.longer, self.systems)
        words = [8 * 2 ** (place[side] + generator.normal(0, 0.7, pairs)) for side in (a, b)]
        words = [np.rint(np.clip(length, 1, 60)).astype(int) for length in words]
        longer = np.log2(1 + words[0]) - np.log2(1 + words[1])
        taste = self.taste + self.sd_taste * generator.normal(size=rater.max() + 1)
        favour = generator.normal(0, 0.5, (dialogue.max() + 1, self.systems))
        strength = np.linspace(0.3, 0.0, self.systems)
        d = strength[a][pair] - strength[b][pair] + taste[rater] * longer[pair]
        d = d + favour[dialogue, a[pair]] - favour[dialogue, b[pair]]
        weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.full(len(d), np.exp(self.tie))])
        choice = (generator.random(len(d)) > (weight / weight.sum(0)).cumsum(0)[:2]).sum(0)
        return a, b, words, longer, pair, dialogue, rater, choice


@cache
def truth_of(world: Lengths) -> tuple[np.ndarray, float, float]:
    """Strengths, log nu and effect of a doubling that the model converges to."""
    a, b, _, longer, pair, _, _, choice = world.draw(np.random.default_rng(99), 300_000)
    names = [str(k) for k in range(world.systems)]
    fit = fit_model(count_games(names, a[pair], b[pair], choice, None, longer[pair][:, None].round(1)))
    assert fit.tie is not None
    return fit.strengths, float(fit.parameters[fit.tie]), float(fit.parameters[-1])


def adjust(world: Lengths, generator: np.random.Generator):
    """The answer of one study, None where it has no ranking."""
    a, b, words, _, pair, dialogue, rater, choice = world.draw(generator)
    names = [f"p{k}" for k in range(len(a))]
    pairs = {
        name: Pair(name, name, [], *(Candidate("x " * length[k], str(side[k])) for side, length in
                                     zip((a, b), words, strict=True)))
        for k, name in enumerate(names)
    }  # fmt: skip
    votes = Votes(
        pair=pair, pairs=tuple(names), choice=choice, rater=rater, raters=tuple(map(str, range(world.raters))),
        dialogue=dialogue, dialogues=tuple(map(str, range(world.dialogues))),
    )  # fmt: skip
    matches = Matches(tuple(str(k) for k in range(world.systems)), votes, a[pair], b[pair], {})
    ranking = ranking_of(matches, "davidson", "auto", 10, generator)[0]
    if ranking is None or ranking.unranked:
        return None
    return adjusted_answer(matches, ranking, ["length"], Path("/nowhere"), pairs, "auto")


def effect_holds(world: Lengths, generator: np.random.Generator) -> bool | None:
    adjusted = adjust(world, generator)
    return (
        None if adjusted is None else adjusted.effects[0].low <= np.exp(truth_of(world)[2]) <= adjusted.effects[0].high
    )


def lead_holds(world: Lengths, generator: np.random.Generator) -> bool | None:
    """Of the first two systems by name, whichever leads."""
    adjusted = adjust(world, generator)
    if adjusted is None:
        return None
    lead, (strengths, tie, _) = adjusted.lead, truth_of(world)
    true = expected_net("davidson", strengths[int(lead.first)] - strengths[int(lead.second)], tie)
    return lead.low <= true <= lead.high


CELLS = {
    **grid(Lengths(30), "two", raters=(8, 30, 100), work=("even", "pareto")),
    **grid(Lengths(30), "two", tie=(2.5,), dialogues=(60, 200)),
    **grid(Lengths(30, systems=5, dialogues=100), "five", raters=(8, 30), sd_taste=(0.0, 1.0)),
    **grid(Lengths(30, dialogues=12, pairs_each=10), "few dialogues", longer=(0.0, 1.5)),
}
CLAIMS = (
    Claim(
        "effect of a covariate", "the odds ratio of a response twice as long is in its interval",
        {"questions.preference.covariates.Effect": "low high p"}, CELLS, each(effect_holds), 0.95, 0.93, studies=300,
    ),
    Claim(
        "lead at equal covariates", "the net preference of two systems at equal length is in its interval",
        {"questions.preference.covariates.AdjustedNet": "low high p"},
        {name: world for name, world in CELLS.items() if world.systems == 2}, each(lead_holds), 0.95, 0.93,
        studies=300,
    ),
)  # fmt: skip
