"""User turns told otherwise a second, against protecting values in the plainest code.

The plain code looks for every value of the corpus in every turn by a regular expression of its own, as a first draft
would; the change itself (typos) is the same. What is protected is found anew in every run that says so. Reading, and
what is learnt once from the training split, are not counted.
Processor time, the least of several runs (one of the plain code, on every tenth turn).
Run: python benchmarks/bench_perturb.py [CORPUS]
"""

import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.dialogue.corpora.reading import read_corpus  # noqa: E402
from seedvote.dialogue.corpora.toy.write import write_toy  # noqa: E402
from seedvote.dialogue.seeds import child_random  # noqa: E402
from seedvote.evaluators.perturbing.entities import invented_names, with_unseen  # noqa: E402
from seedvote.evaluators.perturbing.kinds import Means, choose_rewrite  # noqa: E402
from seedvote.evaluators.perturbing.material import DIGITS, Span, UserTurns, known_values  # noqa: E402
from seedvote.evaluators.perturbing.speech import Confusions, Recogniser, at_rate  # noqa: E402
from seedvote.evaluators.perturbing.typos import mistype_turn  # noqa: E402

RUNS, EVERY = 5, 10


def seconds(act):
    """Processor seconds of one run."""
    began = time.process_time()
    act()
    return time.process_time() - began


def plain_pieces(text, values):
    """The turn cut at its protected values, each value looked for by itself."""
    held = [match.span() for match in DIGITS.finditer(text.lower())]
    for value in values:
        held += [match.span() for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text.lower())]
    marks = ["1" if any(start <= n < end for start, end in held) else "0" for n in range(len(text))]
    pieces, at = [], 0
    for match in re.finditer(r"0+|1+", "".join(marks)):
        pieces.append(Span(text[at : match.end()], match[0][0] == "1"))
        at = match.end()
    return pieces


def speech(material, recogniser):
    """All turns at a word error rate of .2, the rounds that find the rate counted."""
    turns = [recogniser.listen(one.pieces, rng=child_random(0, one.item)) for one in material.turns]
    return at_rate(turns, [one.turn.text for one in material.turns], 0.2)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "toy"
        if len(sys.argv) < 2:
            write_toy(path, dialogues=3000, seed=0)
        corpus = read_corpus(path)
    material = UserTurns(corpus, "test", 0)
    turns = [one.turn.text for one in material.turns]  # made here: what is protected is found once
    known = sorted(known_values(corpus.dialogues, corpus.databases))
    print(f"{len(turns):,} user turns, {len(known):,} values")

    def whole():
        UserTurns.turns.func(material)
        return [mistype_turn(one.pieces, rng=child_random(0, one.item)) for one in material.turns]

    def plain():
        return [mistype_turn(plain_pieces(text, known), rng=child_random(0, text)) for text in turns[::EVERY]]

    ours = min(seconds(whole) for _ in range(RUNS)) / len(turns)
    theirs = seconds(plain) / len(turns[::EVERY])
    print(
        f"typos with protection: {1 / ours:,.0f} turns a second, every value looked for by itself: {1 / theirs:,.0f}; "
        f"{theirs / ours:.0f} times as fast (bar: 10,000 a second)"
    )
    for kind in ("verbose", "simple", "paraphrase"):
        how = choose_rewrite(material, kind, Means())

        def protected(how=how):
            UserTurns.turns.func(material)
            return [how(one) for one in material.turns]

        alone = min(seconds(lambda how=how: [how(one) for one in material.turns]) for _ in range(RUNS))
        both = min(seconds(protected) for _ in range(RUNS))
        print(f"{kind}: {len(turns) / both:,.0f} turns a second with protection, {len(turns) / alone:,.0f} without")
    recogniser = Recogniser(Confusions(material.words, material.protector.words))
    spent = min(seconds(lambda: speech(material, recogniser)) for _ in range(RUNS))
    print(f"speech: {len(turns) / spent:,.0f} turns a second")
    names = invented_names(corpus.databases, turns, seed=0)
    spent = min(seconds(lambda: [with_unseen(one, names) for one in material.dialogues]) for _ in range(RUNS))
    print(f"entities: {len(turns) / spent:,.0f} turns a second")


if __name__ == "__main__":
    main()
