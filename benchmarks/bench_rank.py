"""`generation rank` beside every option as a row of its own: processor time, and whether the numbers are the same.

Beside it stand two ways to do the same: rows in batches of like length, each with its own copy of the context, and one
row at a time. All compute in double precision with one thread; the least of three runs counts.
Run: python benchmarks/bench_rank.py
"""

import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.evaluators.choosing.drawing import DrawingRules, draw_questions, pool_of
from seedvote.generation.batches import stack_contexts
from seedvote.generation.models.architectures import ARCHITECTURES, build_model, sizes_of
from seedvote.generation.ranking import ROWS_AT_ONCE, SAYS_NOTHING, number_questions, rank_options, target_likelihood
from seedvote.generation.vocabulary import build_vocabulary

RUNS = 3
CPU = torch.device("cpu")


def prepared():
    """Numbered questions of invented dialogues, and their vocabulary's size."""
    with tempfile.TemporaryDirectory() as folder:
        write_toy(Path(folder) / "corpus", 300, seed=0)
        corpus = read_corpus(Path(folder) / "corpus")
    test = list(iterate_examples(corpus.split("test")))
    questions = draw_questions(pool_of(test, DrawingRules(n=200, checks=0, law="all"), "toy"))
    texts = (turn.text for dialogue in corpus.split("train") for turn in dialogue.turns)
    vocabulary = build_vocabulary(texts, largest=13_000, at_least=1)
    return number_questions(questions, vocabulary), len(vocabulary)


@torch.inference_mode()
def own_rows(model, questions, batch):
    """Every option with a context of its own, rows of like length together: (question, option) -> both numbers."""
    found = {}
    rows = [(q.name, k, q.context, option) for q in questions for k, option in enumerate(q.options)]
    rows.sort(key=lambda row: (len(row[2]), len(row[3])))
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        targets = [option for *_, option in part]
        values = target_likelihood(model, model.encode(stack_contexts([row[2] for row in part], CPU)), targets, CPU)
        nothing = model.encode(stack_contexts([SAYS_NOTHING] * len(part), CPU))
        alone = target_likelihood(model, nothing, targets, CPU)
        for (name, k, *_), value, other in zip(part, values.tolist(), alone.tolist(), strict=True):
            found[name, k] = value, other
    return found


def shared(model, questions):
    """What the command does."""
    return {(one.question, one.option): (one.logprob, one.alone) for one in rank_options(model, questions, CPU)}


def least(act):
    """The least processor time of several runs, and the result."""
    times = []
    for _ in range(RUNS):
        began = time.process_time()
        found = act()
        times.append(time.process_time() - began)
    return min(times), found


def main():
    """A line an architecture."""
    torch.set_num_threads(1)
    questions, words = prepared()
    few = questions[:40]
    print(f"{len(questions)} questions of 5 options, {words:,} words, preset small")
    print("architecture    own rows   one by one   largest difference")
    for name in ARCHITECTURES:
        torch.random.default_generator.manual_seed(0)
        model = build_model(name, words, sizes_of(name, "small")).double().eval()
        ours, found = least(lambda model=model: shared(model, questions))
        batched, same = least(lambda model=model: own_rows(model, questions, ROWS_AT_ONCE))
        single, _ = least(lambda model=model: own_rows(model, few, 1))
        apart = max(abs(a - b) for key in found for a, b in zip(found[key], same[key], strict=True))
        slow = single * len(questions) / len(few)
        print(f"{name:14}  {batched / ours:7.1f}x  {slow / ours:10.1f}x   {apart:.1e}")
        assert apart < 1e-9


if __name__ == "__main__":
    main()
