"""Write examples/votes.csv: a small table of generated votes for the first screen of README and for trying things out.

400 pairs of 100 dialogues, three rounds, 60 raters who differ in how readily they say "tie". No person voted here.
"""

import csv
import sys

import numpy as np

from seedvote.dialogue.seeds import child_seed

PAIRS, ROUNDS, RATERS, SEED = 400, 3, 60, 0


def rows(generator: np.random.Generator) -> list[dict[str, object]]:
    """One row a vote: the better response is chosen when it is better by more than the rater's own threshold."""
    better = generator.normal(0.1, 0.6, PAIRS)  # > 0: a is better
    threshold = generator.uniform(0.1, 0.9, RATERS)
    votes = []
    for pair in range(PAIRS):
        for k, rater in enumerate(generator.choice(RATERS, ROUNDS, replace=False), 1):
            felt = better[pair] + generator.normal(0, 0.7)
            choice = "tie" if abs(felt) < threshold[rater] else "a" if felt > 0 else "b"
            side = generator.choice(["a", "b"])
            votes.append(
                {
                    "pair": f"p{pair:03}",
                    "dialogue": f"d{pair // 4:02}",
                    "rater": f"r{rater:02}",
                    "round": k,
                    "left": side,
                    "choice": choice,
                    "source": "simulated",
                }
            )
    return votes


if __name__ == "__main__":
    table = rows(np.random.default_rng(child_seed(SEED, "examples", "votes")))
    writer = csv.DictWriter(sys.stdout, fieldnames=list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
