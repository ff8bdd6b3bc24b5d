"""How much faster a judge on this machine rules on many questions together than one by one, in processor time.

Run: python benchmarks/bench_local_judge.py [PAIRS]. Needs smollm2 (docs/judge.md); without it nothing is measured.
Fails if the answers differ by more than 1e-4, or if together is slower.
"""

import importlib.util
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from seedvote.dialogue.files import read_records  # noqa: E402
from seedvote.dialogue.records import Pair  # noqa: E402
from seedvote.dialogue.weights import PACKAGES, RUNS, SMOL  # noqa: E402
from seedvote.evaluators.judging.asking import prompt_of, questions_on  # noqa: E402
from seedvote.evaluators.judging.local import LocalModel, weights_of  # noqa: E402


def main(pairs):
    """Rule on the example's pairs in both ways and print the ratio."""
    model = LocalModel(weights_of(SMOL), "cpu")
    found = list(read_records(ROOT / "examples" / "pairs.jsonl", Pair))[:pairs]
    questions = [model.spelt(one.text) for one in questions_on(found, prompt_of(ROOT / "examples", None))]
    ways = {
        "one by one": lambda: [model.shares([one])[0] for one in questions],
        "in batches": lambda: together(model, questions, None),
        "in batches, what all begin with once": lambda: together(model, questions, model.shared(questions)),
    }
    seconds, answers = {}, {}
    for name, way in ways.items():
        began = time.process_time()
        answers[name] = way()
        seconds[name] = time.process_time() - began
    alone, apart = seconds["one by one"], 0.0
    tokens = sum(map(len, questions)) / len(questions)
    print(f"{len(questions)} questions of {tokens:.0f} tokens on {model.device}:")
    for name, took in seconds.items():
        rows = zip(answers["one by one"], answers[name], strict=True)
        far = max(abs(x - y) for one, other in rows for x, y in zip(one, other, strict=True))
        apart = max(apart, far)
        each = took / len(questions)
        print(f"  {name}: {each:.2f} s each, {alone / took:.2f} times as fast, log-probabilities within {far:.0e}")
    return apart < 1e-4 and seconds["in batches, what all begin with once"] <= alone


def together(model, questions, before):
    """The same answers by batches."""
    found = [None] * len(questions)
    for batch in model.batches(questions):
        rows = model.shares([questions[n] for n in batch], before)
        for n, row in zip(batch, rows, strict=True):
            found[n] = row
    return found


if __name__ == "__main__":
    if any(importlib.util.find_spec(name) is None for name in (*RUNS, PACKAGES[SMOL][0])):
        sys.exit(print(f"Nothing measured: {SMOL} is not installed (docs/judge.md)."))
    sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 8))
