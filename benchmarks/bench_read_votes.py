"""Time of reading 300,000 votes of a CSV, beside pandas.read_csv with the same checks.

Ours finds the columns by their names and cells, and the meaning of every word; the naive way is told both. Both leave
out what nobody chose and later votes of a rater on a pair, refuse rows without a pair or a system, and count who won.
CPU seconds of one thread, the least of three runs, after the imports.
Run: python benchmarks/bench_read_votes.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pandas as pd  # noqa: E402 (the checkout is not installed)

from seedvote.dialogue.importing.reading import Stated  # noqa: E402
from seedvote.dialogue.importing.votes import read_judgements  # noqa: E402
from seedvote.dialogue.tables.reading import read_table  # noqa: E402

ROWS, SYSTEMS, RUNS = 300_000, [f"system-{k}" for k in range(8)], 3
COLUMNS = ["pair", "rater", "model_a", "model_b", "choice"]


def write_votes(path: Path) -> None:
    """Three votes a pair, of 3,000 raters; 2 % are blank, and some raters answer twice."""
    random = Random(1)
    rows = []
    for number in range(ROWS):
        systems = random.sample(SYSTEMS, 2)
        word = random.choices(["A", "B", "tie", ""], [45, 33, 20, 2])[0]
        rows.append([f"p{number // 3}", f"r{random.randrange(3_000)}", *systems, word])
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)


def ours(path: Path) -> Counter[str]:
    """Wins of every system, by the reading that is taken."""
    votes = read_judgements(read_table(path), Stated())
    sides = zip(votes.choice, votes.a, votes.b, strict=True)
    return Counter({"a": a, "b": b, "tie": "tie"}[choice] for choice, a, b in sides)


def naive(path: Path) -> Counter[str]:
    """The same, where somebody has said what the columns and words mean."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False).apply(lambda cells: cells.str.strip())
    assert not ((table["pair"] == "") | (table["model_a"] == "") | (table["model_b"] == "")).any()
    table = table[(table["choice"] != "") & (table["model_a"] != table["model_b"])]
    first = table["model_a"].where(table["model_a"] < table["model_b"], table["model_b"])
    second = table["model_b"].where(table["model_a"] < table["model_b"], table["model_a"])
    table = table.assign(first=first, second=second)
    table = table.drop_duplicates(["rater", "pair", "first", "second"])
    assert table["choice"].isin(["A", "B", "tie"]).all()
    won = table["choice"].where(
        table["choice"] == "tie", table["model_a"].where(table["choice"] == "A", table["model_b"])
    )
    return Counter(won.value_counts().to_dict())


def least_seconds(read: Callable[[Path], Counter[str]], path: Path) -> float:
    """CPU seconds of the fastest run."""
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        read(path)
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    """Print both times and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        write_votes(path)
        assert ours(path) == naive(path)
        mine, pandas = least_seconds(ours, path), least_seconds(naive, path)
    print(f"{ROWS:,} votes: {mine:.2f} s, pandas with the same checks {pandas:.2f} s, ratio {mine / pandas:.1f}")


if __name__ == "__main__":
    main()
