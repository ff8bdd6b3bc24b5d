"""50,000 sets of 200 of 2,000 votes: the law written down and the law drawn, against the plain choice loop.

Then the whole of analyze_ties.py, with its pictures, on 6,000 votes, and what its imports alone take.
"""

import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.analysis.questions.ties.answer import Recipe, vote_law  # noqa: E402
from seedvote.analysis.stats import laws  # noqa: E402

VOTES, TIES, SIZE, SETS = 2_000, 700, 200, 50_000


def seconds(act, times):
    """Best of some runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        found.append(time.perf_counter() - start)
    return min(found)


def choice_loop():
    votes = np.arange(VOTES) < TIES
    generator = np.random.default_rng(0)
    return [generator.choice(votes, SIZE, replace=False).mean() for _ in range(SETS)]


def sampled():
    return vote_law(VOTES, TIES, Recipe(SETS, SIZE, 0, "vote", False, "sample"), np.random.default_rng(0))


def write_votes(path):
    generator = np.random.default_rng(0)
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["pair", "dialogue", "rater", "round", "choice"])
        for pair in range(2_000):
            for k, rater in enumerate(generator.choice(508, 3, replace=False), 1):
                writer.writerow([f"p{pair}", f"d{pair // 6}", f"r{rater}", k, generator.choice(["a", "b", "tie"])])


def program(folder):
    subprocess.run([sys.executable, "analyze_ties.py", folder / "votes.csv"], cwd=ROOT, check=True, capture_output=True)


def imports():
    ours = "seedvote.analysis.votes.votes, analysis.questions.ties.showing, analysis.showing.plots"
    subprocess.run([sys.executable, "-c", f"import {ours}, matplotlib.backends.backend_pdf"], cwd=ROOT, check=True)


if __name__ == "__main__":
    loop = seconds(choice_loop, 2)
    exact = seconds(lambda: laws.hypergeometric_law(VOTES, TIES, SIZE), 200)
    drawn = seconds(sampled, 5)
    print(f"{SETS:,} sets of {SIZE} of {VOTES:,} votes")
    print(f"  plain choice loop {loop:8.3f} s")
    print(f"  exact law         {exact:8.6f} s   {loop / exact:9,.0f} times faster (wanted: 1,000)")
    print(f"  sampled law       {drawn:8.4f} s   {loop / drawn:9,.0f} times faster (wanted: 50)")
    with tempfile.TemporaryDirectory() as name:
        write_votes(Path(name) / "votes.csv")
        whole, loading = seconds(lambda: program(Path(name)), 3), seconds(imports, 3)
    print(
        f"analyze_ties.py on 6,000 votes, three files written: {whole:.2f} s (wanted: 3), imports {loading:.2f} s of it"
    )
