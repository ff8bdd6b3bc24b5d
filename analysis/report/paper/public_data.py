"""data/: the votes and pairs as they may be published, with no person in them, and a dictionary of every column.

Nothing of a rater goes out but their votes: their ids are drawn anew at random, and so are those of pairs and
dialogues, which may come from a marketplace; times are left out, answering times are coarse, and the rows stand in an
order that tells nothing of who came when. Only named fields are copied, so that no further field of a file slips in.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from seedvote.analysis.showing.tables import Table, write_markdown
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.records import Candidate, Pair, Utterance

BOUNDS = (0, 2, 5, 10, 20, 60)  # seconds: the answering time is given as the last of these that it reached
SIDES = ("a", "b")
COLUMNS: Mapping[str, str] = {
    "pair": "the pair, as in pairs.jsonl of this folder; drawn anew for publication",
    "rater": "whoever voted; drawn anew for publication, so that it leads to no other file",
    "choice": "the answer: a or b as in pairs.jsonl, whichever side it was shown on, or tie",
    "round": "1, 2, ...: which of the pair's votes it is (HumanExp-k)",
    "left": "which response stood on the left; empty where unknown",
    "seconds": f"answering time, rounded down to one of {', '.join(map(str, BOUNDS))}; empty where unknown",
    "kind": "real, or control: a pair whose answer is known beforehand",
    "identical": "1 where both responses are the same text",
    "auto": "1 where a tie was recorded for two identical texts and nobody voted; empty where unknown",
    "dialogue": "the dialogue that the pair comes from: such pairs hang together; empty where unknown",
    "system_a": "the system that a is, where the table of votes named it; empty where pairs.jsonl does",
    "system_b": "the system that b is, likewise",
}
FIELDS: Mapping[str, str] = {
    "pair": "as in votes.csv",
    "item": "the context, as in the corpus",
    "context": "the conversation so far",
    "a, b": "the two responses: text, model, seed, checkpoint; of whole conversations turns and speaker",
    "kind": "as in votes.csv",
    "identical": "both texts are the same",
    "dialogue": "as in votes.csv",
    "contrast": "what is compared",
}


def public_data(study: Study, *, rng: random.Random) -> tuple[str, tuple[Pair, ...]]:
    """votes.csv and the pairs of pairs.jsonl, with ids drawn by `rng`, which nobody must be able to repeat."""
    parts = [part for part in (study.votes, study.controls) if part is not None]
    pairs = _draw_names("p", (name for part in parts for name in _pick_present_names(part.pair, part.pairs)), rng)
    raters = _draw_names("r", (name for part in parts for name in _pick_present_names(part.rater, part.raters)), rng)
    places = _draw_names(
        "d", (name for part in parts for name in _pick_present_names(part.dialogue, part.dialogues)), rng
    )
    rows = sorted(row for part in parts for row in _strip_rows(part, pairs, raters, places))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([tuple(COLUMNS), *rows])
    public_pairs = [_strip_pair(pair, pairs[pair.pair], places) for pair in study.pairs if pair.pair in pairs]
    return file.getvalue(), tuple(sorted(public_pairs, key=lambda pair: pair.pair))


def write_dictionary(study: Study) -> str:
    """README.md of the folder."""
    tables = [Table(("column", "meaning"), tuple(COLUMNS.items()), "votes.csv, one row a vote")]
    if study.pairs:
        tables.append(Table(("field", "meaning"), tuple(FIELDS.items()), "pairs.jsonl, one line a pair"))
    text = [
        "# The votes of this study",
        "Only votes that counted. No person is in these files. Raters, pairs and dialogues have names that were drawn "
        "for publication. There are no times of day, and the order of the rows tells nothing.",
        "Before you publish: whether the corpus and the models allow it, and which licence this folder gets, only you "
        "can say. Each run of the report draws new names, so publish one run.",
        *map(write_markdown, tables),
        "Numbers from these files: `seedvote preference votes.csv`, `seedvote agreement votes.csv`.",
    ]
    return "\n\n".join(text) + "\n"


def _pick_present_names(codes: np.ndarray | None, names: Sequence[str]) -> Iterable[str]:
    return () if codes is None else [names[code] for code in np.unique(codes[codes >= 0]).tolist()]


def _draw_names(letter: str, names: Iterable[str], rng: random.Random) -> dict[str, str]:
    """New names for old ones, in an order that follows nothing."""
    old = sorted(set(names))
    rng.shuffle(old)
    width = len(str(len(old)))
    return {name: f"{letter}{number:0{width}}" for number, name in enumerate(old, 1)}


def _strip_rows(
    votes: Votes, pairs: Mapping[str, str], raters: Mapping[str, str], places: Mapping[str, str]
) -> Iterable[tuple[str, ...]]:
    kind = votes.kind[0] if len(votes.kind) == 1 else ""
    for k in range(len(votes)):
        yield (
            pairs[votes.pairs[votes.pair[k]]],
            "" if votes.rater is None else raters[votes.raters[votes.rater[k]]],
            votes.labels[votes.choice[k]],
            "" if votes.round is None else str(votes.round[k]),
            "" if votes.left is None or votes.left[k] < 0 else SIDES[votes.left[k]],
            "" if votes.seconds is None else _coarsen_time(float(votes.seconds[k])),
            kind,
            "" if votes.identical is None else str(int(votes.identical[k])),
            "" if votes.auto is None else str(int(votes.auto[k])),
            "" if votes.dialogue is None or votes.dialogue[k] < 0 else places[votes.dialogues[votes.dialogue[k]]],
            "" if votes.system_a is None else votes.systems[votes.system_a[k]],
            "" if votes.system_b is None else votes.systems[votes.system_b[k]],
        )


def _coarsen_time(seconds: float) -> str:
    """An answering time as the bound that it reached; empty where it is not known.

    >>> _coarsen_time(6.02), _coarsen_time(0.4), _coarsen_time(4000.0), _coarsen_time(float("nan"))
    ('5', '0', '60', '')
    """
    return "" if not seconds >= 0 else str(max(bound for bound in BOUNDS if bound <= seconds))


def _strip_pair(pair: Pair, name: str, places: Mapping[str, str]) -> Pair:
    """A new record of the named fields alone; the answer of a check never leaves the study."""
    sides = [_strip_side(side) for side in (pair.a, pair.b)]
    context = tuple(Utterance(turn.speaker, turn.text) for turn in pair.context)
    place = None if pair.dialogue is None else places.get(pair.dialogue)
    return replace(pair, pair=name, context=context, a=sides[0], b=sides[1], dialogue=place, answer=None, extra={})


def _strip_side(side: Candidate) -> Candidate:
    turns = None if side.turns is None else tuple(Utterance(turn.speaker, turn.text) for turn in side.turns)
    return Candidate(side.text, side.model, side.seed, side.checkpoint, turns, side.speaker)
