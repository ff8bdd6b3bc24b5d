"""A metric of your own as a table: one row a response, a column for each metric.

    python examples/own_metric.py runs/demo > own.csv

Three stand-ins for what you would compute: `f1`, the words that a response shares with the reference (as BERTScore, a
share); `reward`, how many different words it has (as a reward model, a bare number); `perplexity`, how far its words
surprise a model of single words (lower is better).
"""

import csv
import math
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Response


def main(study: Path) -> None:
    """Print the table."""
    references = {
        example.item: example.target.text.lower().split()
        for example in iterate_examples(read_corpus(study / "corpus").dialogues)
    }
    frequency = Counter(word for words in references.values() for word in words)
    total = sum(frequency.values()) + len(frequency)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["model", "seed", "checkpoint", "item", "condition", "f1", "reward", "perplexity"])
    for response in read_records(study / "responses.jsonl", Response):
        if response.extra.get("draw", 0):
            continue  # the first response to each context
        words, wanted = response.text.lower().split(), references[response.item]
        shared = (Counter(words) & Counter(wanted)).total()
        f1 = 2 * shared / max(len(words) + len(wanted), 1)
        nats = -sum(math.log((frequency[word] + 1) / total) for word in words)
        surprise = f"{math.exp(nats / len(words)):.3f}" if words else "NaN"  # nothing was said: no score
        place = [response.model, response.seed, response.checkpoint, response.item, response.decoding]
        table.writerow([*place, f"{f1:.4f}", len(set(words)), surprise])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
