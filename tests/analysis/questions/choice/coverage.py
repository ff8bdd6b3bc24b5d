"""Simulated studies of known truth: how often intervals hold it. Dialogues, unequal raters, seeds that share questions.

python -m tests.analysis.questions.choice.coverage prints the table.
"""

import numpy as np
from scipy.special import expit

from seedvote.analysis.questions.choice.answer import ALL, answer
from seedvote.analysis.votes.choices import FIRST, SECOND, Choices, ModelChoices
from tests.analysis.questions.choice.made import made_questions

OF_DIALOGUE, OF_QUESTION, OF_RATER, OF_MODEL, OF_SEED = 0.6, 0.8, 0.7, 0.5, 0.25
EACH, SEEDS = 3, 3


def truth():
    """The shares of people and of the model over everything that is drawn."""
    rng = np.random.default_rng(9)
    hard = rng.normal(size=2_000_000) * OF_QUESTION + rng.normal(size=2_000_000) * OF_DIALOGUE
    people = expit(0.8 + hard + rng.normal(size=len(hard)) * OF_RATER).mean()
    model = expit(-0.2 + 0.7 * hard + rng.normal(size=len(hard)) * np.hypot(OF_MODEL, OF_SEED)).mean()
    return float(people), float(model)


def drawn_study(rng, raters, asked):
    """One study's answers and model."""
    number = len(asked)
    hard = rng.normal(size=number) * OF_QUESTION + np.repeat(rng.normal(size=number // 4) * OF_DIALOGUE, 4)
    pair = np.repeat(np.arange(number), EACH)
    rater = np.concatenate([rng.choice(raters, EACH, replace=False) for _ in range(number)])
    skill = rng.normal(size=raters) * OF_RATER
    hits = (rng.random(len(pair)) < expit(0.8 + hard[pair] + skill[rater])).astype(float)
    own = -0.2 + 0.7 * hard + rng.normal(size=number) * OF_MODEL + rng.normal(size=(SEEDS, 1)) * OF_SEED
    got = (rng.random((SEEDS, number)) < expit(own)).astype(float)
    people = Choices(asked, pair, rater, tuple(f"r{k}" for k in range(raters)), {FIRST: hits, SECOND: hits},
                     np.full(len(pair), np.nan), ("simulated",), ())  # fmt: skip
    return people, ModelChoices("m", "log p", tuple(range(SEEDS)), False, {FIRST: got, SECOND: got})


def rates(raters, questions, studies):
    """How often each interval holds the truth, and how often strata that do not differ are told apart."""
    asked, (people, model) = tuple(made_questions(questions)), truth()
    rng, groups = np.random.default_rng(1), {f"r{k}": str(k % 2) for k in range(raters)}
    names = ("people", "wilson", "paper", "people - model", "model", "strata")
    told = dict.fromkeys(names, 0.0)
    for _ in range(studies):
        given, one = drawn_study(rng, raters, asked)
        found = answer(asked, given, [one], groups=groups, by="group")
        rows = {row.name: row for row in found.rows}
        cell, own, apart = rows[ALL].cells[0], rows["m, log p"].cells[0], found.against[0].difference
        told["people"] += cell.low <= people <= cell.high
        told["wilson"] += cell.wilson[0] <= people <= cell.wilson[1]
        told["paper"] += abs(cell.value - people) <= cell.half
        told["model"] += own.low <= model <= own.high
        told["people - model"] += apart.low <= people - model <= apart.high
        told["strata"] += min(p for row in found.rows for p in row.p_holm.values()) < 0.05
    return {name: number / studies for name, number in told.items()}


def main():
    """A line a size of study."""
    for raters, questions in ((60, 200), (20, 200), (12, 100)):
        found = rates(raters, questions, 1000)
        print(raters, questions, " ".join(f"{name} {value:.3f}" for name, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
