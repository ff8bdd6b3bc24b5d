"""How long it takes to write 10,000 generated dialogues, beside a plain JSON round trip of the same dialogues.

The round trip (json.loads, then json.dumps, of every line) is what any generator that ends in such a file must about
pay; the ratio says how much the inventing costs on top. Run: python benchmarks/bench_toy.py
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.dialogue.corpora.toy.write import write_toy

DIALOGUES = 10_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_toy(folder, DIALOGUES, seed=0)
        writing = time.perf_counter() - start
        path = Path(folder) / "data.json"
        lines = [line.strip().rstrip(",").split(": ", 1)[1] for line in path.open() if ": " in line]
        size = path.stat().st_size / 1e6
    assert len(lines) == DIALOGUES
    start = time.perf_counter()
    for line in lines:
        json.dumps(json.loads(line))
    trip = time.perf_counter() - start
    print(f"toy: {DIALOGUES:,} dialogues ({size:.0f} MB) written in {writing:.1f} s")
    print(f"json round trip of the same dialogues: {trip:.1f} s; ratio {writing / trip:.2f}")


if __name__ == "__main__":
    main()
