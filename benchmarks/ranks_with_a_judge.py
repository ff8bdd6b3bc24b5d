"""What a judge is worth where all systems are ranked at once, on public votes: the numbers of docs/worth.md.

Run: python benchmarks/ranks_with_a_judge.py DATA [DRAWS]

DATA holds pandalm/ (votes and verdicts on five models) and marco_human_eval/ (three systems; the length in words stands
in for a judge). In each draw a random part of the pairs keeps its votes, and all pairs keep their verdicts. Printed are
the squared distance of the strengths to those by all votes, by the votes alone over that with the judge, and the gain
that one study is told, with the votes it saves.
"""

import csv
import gzip
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from seedvote.analysis.stats.paired.davidson import count_games, fit_model  # noqa: E402
from seedvote.analysis.stats.paired.powered_davidson import PredictedPairs, fit_with_predictor  # noqa: E402

PARTS = (0.15, 0.3)
SAYS = {"1": 1.0, "2": -1.0}


def main(data, draws):
    """Print a line for each judge and part."""
    for name, pairs, judges in (pandalm(data / "pandalm"), marco(data / "marco_human_eval")):
        for judge, value in judges.items():
            for part in PARTS:
                ratio, gains, voted = measure(pairs, value, part, draws)
                middle, least, most = np.median(gains), *np.quantile(gains, (0.05, 0.95))
                saved = voted * (1 - 1 / middle)
                print(f"{name}, {judge}, votes on {part:.0%} of pairs: squared error ratio {ratio:.2f}; "
                      f"gain {middle:.2f} ({least:.2f} to {most:.2f}), {saved:.0f} of {voted:.0f} votes")  # fmt: skip


def pandalm(folder):
    """The pairs as (a, b, cluster, votes), and the verdicts of both judges."""
    with (folder / "votes.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    with (folder / "verdicts.csv").open() as handle:
        verdicts = list(csv.DictReader(handle))
    pairs = {}
    for row in rows:
        pairs.setdefault(row["pair"], [row["model_a"], row["model_b"], row["task"] + row["pair"], []])[3].append(
            (row["rater"], {"a": 0, "b": 1}.get(row["choice"], 2))
        )
    judges = {}
    for row in verdicts:
        judges.setdefault(row["judge"], {})[row["pair"]] = SAYS.get(row["result"], 0.0)
    return (
        "PandaLM",
        list(pairs.values()),
        {name: np.array([its[pair] for pair in pairs]) for name, its in judges.items()},
    )


def marco(folder):
    """Both comparisons of MarCo; the difference of lengths by its signed rank."""
    with gzip.open(folder / "human_annotation.json.gz") as handle:
        dialogues = json.load(handle)
    pairs, longer = [], []
    for dialogue in dialogues:
        for turn in dialogue["info"]:
            for other in ("HDSA", "system"):
                choices = turn[f"MarCo vs. {other}"]["Completion"]
                codes = {"MarCo": 0, "Tie": 2}
                votes = [(f"position-{k}", codes.get(choice, 1)) for k, choice in enumerate(choices)]
                pairs.append(["MarCo", other, dialogue["file"], votes])
                longer.append(len(turn["MarCo"].split()) - len(turn[other].split()))
    size = np.abs(longer)
    ranks = np.searchsorted(np.sort(size), size, side="right") / len(size)
    return "MarCo", pairs, {"the longer response": np.sign(longer) * ranks}


def measure(pairs, value, part, draws):
    """The ratio of squared errors, every draw's gain, and the mean number of votes."""
    systems = sorted({name for pair in pairs for name in pair[:2]})
    sides = np.array([[systems.index(name) for name in pair[:2]] for pair in pairs])
    wide = np.unique([pair[2] for pair in pairs], return_inverse=True)[1]
    low, turn = sides.min(1), np.where(sides[:, 0] > sides[:, 1], -1.0, 1.0)
    predicted = low, sides.max(1), value * turn, wide
    truth = fit(pairs, sides, systems, np.arange(len(pairs)))[1].strengths
    errors, gains, number = np.zeros(2), [], []
    generator = np.random.default_rng(0)
    for _ in range(draws):
        chosen = np.flatnonzero(generator.random(len(pairs)) < part)
        played, alone, of_vote = fit(pairs, sides, systems, chosen)
        powered = fit_with_predictor(
            played, alone, {"wide": wide[of_vote]}, wide[of_vote], PredictedPairs(*predicted, of_vote)
        )
        errors += [((strengths - truth) ** 2).sum() for strengths in (alone.strengths, powered.fit.strengths)]
        gains.append(powered.gain.value)
        number.append(len(of_vote))
    return errors[0] / errors[1], gains, np.mean(number)


def fit(pairs, sides, systems, chosen):
    """Davidson's model of the votes on these pairs, and the pair of each vote."""
    of_vote = np.array([n for n in chosen for _ in pairs[n][3]])
    choice = np.array([vote[1] for n in chosen for vote in pairs[n][3]])
    played = count_games(systems, sides[of_vote, 0], sides[of_vote, 1], choice, None)
    return played, fit_model(played), of_vote


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200)
