"""Simulated studies with a judge: unequal raters, two pairs a dialogue, ties, and a truth that is known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from seedvote.analysis.stats.powered import Sample
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance, Verdict, Vote

SHIFT, CUT = 0.25, 0.6  # of the latent preference, and where a tie ends
DIALOGUE, PAIR, RATER, NOISE = 0.45, 0.75, 0.35, 0.8  # standard deviations


@dataclass(frozen=True)
class Truth:
    """What all people would say of all pairs."""

    net: float
    tie: float


def truth():
    """By the normal law that the latent preference of a random person on a random pair has."""
    spread = np.sqrt(DIALOGUE**2 + PAIR**2 + RATER**2 + NOISE**2)
    first, second = ndtr((SHIFT - CUT) / spread), ndtr((-SHIFT - CUT) / spread)
    return Truth(float(first - second), float(1 - first - second))


def study(generator, *, pairs=60, raters=30, agreement=0.4, others=300, per_pair=3, tie=False):
    """A sample of votes on `pairs` pairs and a judge's verdicts in both orders on them and on `others` more."""
    every = pairs + others
    dialogue = generator.permutation(np.arange(every) // 2)
    latent = SHIFT + DIALOGUE * generator.standard_normal(every)[dialogue] + PAIR * generator.standard_normal(every)
    scale = np.hypot(DIALOGUE, PAIR)
    view = agreement * (latent - SHIFT) / scale + np.sqrt(1 - agreement**2) * generator.standard_normal(every)
    orders = [_cut(0.1 + view + 0.3 * generator.standard_normal(every), 0.1) for _ in "ab"]
    f = np.mean([one == 0 if tie else one for one in orders], axis=0).astype(float)
    if tie:
        f += 0.5 * (orders[0] * orders[1] < 0)
    habits, busy = RATER * generator.standard_normal(raters), generator.lognormal(0, 0.6, raters)
    # the highest of three exponential races: raters without replacement, the busy ones more often
    chosen = np.argsort(generator.exponential(1, (pairs, raters)) / busy, axis=1)[:, :per_pair]
    who, pair = chosen.ravel(), np.repeat(np.arange(pairs), per_pair)
    votes = _cut(latent[pair] + habits[who] + NOISE * generator.standard_normal(len(pair)), CUT)
    rater = np.unique(who, return_inverse=True)[1]
    packed = np.unique(dialogue[pair], return_inverse=True)[1]
    return Sample(
        (votes == 0).astype(float) if tie else votes.astype(float), f[pair], {"dialogue": packed, "rater": rater},
        pair, dialogue[pair], f[pairs:], dialogue[pairs:],
    )  # fmt: skip


def _cut(latent, at):
    return (latent > at).astype(int) - (latent < -at).astype(int)


def study_folder(folder, *, pairs=60, voted=30, raters=12, agreement=0.5, seed=0, flips=0.2, votes=True, door="local"):
    """A study on disk: pairs of x and y in dialogues of two, three votes on the first ones, a judge on all."""
    generator = np.random.default_rng(seed)
    latent = SHIFT + generator.standard_normal(pairs)
    made, said, given = [], [], []
    for n in range(pairs):
        swapped = bool(generator.random() < 0.5)
        x, y = Candidate("one " * int(generator.integers(2, 9)) + f"{n}", "x", 0), Candidate(f"other {n}", "y", 0)
        a, b = (y, x) if swapped else (x, y)
        made.append(Pair(f"p{n}", f"d{n // 2}:{n % 2}", [Utterance("user", "hello")], a, b, dialogue=f"d{n // 2}"))
        view = agreement * (latent[n] - SHIFT) + np.sqrt(1 - agreement**2) * generator.standard_normal()
        for order in ("ab", "ba"):
            noisy = view + flips * generator.standard_normal()
            said.append(Verdict(f"p{n}", "gpt-x", order, _letter(noisy, 0.1, swapped), prompt="3f1c"))
        if n < voted:
            for rank, rater in enumerate(generator.choice(raters, 3, replace=False), 1):
                choice = _letter(latent[n] + NOISE * generator.standard_normal(), CUT, swapped)
                given.append(Vote(f"p{n}", f"r{rater}", choice, rank, source=door, dialogue=f"d{n // 2}"))
    return _written(folder, made, said, given if votes else [])


def many_systems_folder(folder, *, systems=20, items=40, pairs_an_item=10, voted=0.25, raters=15, seed=0):
    """A study of many systems on disk, of which a random quarter of the pairs has votes: a few for each two systems."""
    generator = np.random.default_rng(seed)
    strength = np.linspace(-0.8, 0.8, systems)
    pairs, verdicts, votes = [], [], []
    for n in range(items * pairs_an_item):
        x, y = generator.choice(systems, 2, replace=False)
        name, item = f"p{n}", n // pairs_an_item
        a, b = (Candidate(f"text {k} to {item}", f"m{k:02d}", 0) for k in (x, y))
        pairs.append(Pair(name, f"d{item}:1", [Utterance("user", "hello")], a, b, dialogue=f"d{item}"))
        latent = strength[x] - strength[y] + 0.7 * generator.standard_normal()
        for order in ("ab", "ba"):
            choice = _letter(latent + 0.3 * generator.standard_normal(), 0.1, swapped=False)
            verdicts.append(Verdict(name, "gpt-x", order, choice, prompt="3f1c"))
        if generator.random() < voted:
            for rank, rater in enumerate(generator.choice(raters, 3, replace=False), 1):
                choice = _letter(latent + NOISE * generator.standard_normal(), 0.4, swapped=False)
                votes.append(Vote(name, f"r{rater}", choice, rank, source="local", dialogue=f"d{item}"))
    return _written(folder, pairs, verdicts, votes)


def _written(folder, pairs, verdicts, votes):
    folder.mkdir(parents=True, exist_ok=True)
    write_records(folder / "pairs.jsonl", pairs, signature="s", kind=Pair)
    write_records(folder / "verdicts.jsonl", verdicts, signature="s", kind=Verdict)
    if votes:
        write_records(folder / "votes.jsonl", votes, signature="s", kind=Vote)
    return folder


def _letter(value, cut, swapped):
    if abs(value) <= cut:
        return "tie"
    return "a" if (value > 0) != swapped else "b"
