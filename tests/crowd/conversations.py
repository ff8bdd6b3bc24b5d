"""Small studies of whole conversations for the tests of crowd: the pairs of study.py, each side told in turns."""

import dataclasses

from seedvote.crowd.hit.hit import hit_from
from seedvote.dialogue.records import Candidate, Utterance
from seedvote.dialogue.validity import written_out
from tests.crowd.study import SHORT, desk_of, make_pairs

RULES = {"form": "conversations", "pairs_per_sitting": 4, "first_checks": 0, "later_checks": 0, "lease_minutes": 10}
WHOLE = dataclasses.replace(hit_from(RULES, "test"), examples=())


def told(side, turns=3):
    """A conversation in which the judged speaker says the text first; no page may show who they are in the file."""
    lines = [
        Utterance(("secretspeaker", "secretpartner")[n % 2], f"{side.text} {n}" if n else side.text)
        for n in range(turns)
    ]
    return dataclasses.replace(side, text=written_out(lines), turns=tuple(lines), speaker="secretspeaker")


def as_talk(pair, turns=3):
    """The pair with whole conversations on both sides."""
    return dataclasses.replace(pair, context=(), a=told(pair.a, turns), b=told(pair.b, turns))


def make_talks(real=4, checks=0, identical=0, turns=3):
    """As `make_pairs`."""
    return [as_talk(pair, turns) for pair in make_pairs(real, checks, identical)]


def desk_of_talks(url, folder, hit=SHORT, made=None, seed=0):
    """As `desk_of`, with each pair told in turns."""
    pairs = [as_talk(pair) for pair in (make_pairs() if made is None else made)]
    return desk_of(url, folder, dataclasses.replace(hit, form="conversations"), pairs, seed)


def candidate(*texts, speaker="system"):
    """A side of which the user says the first text."""
    lines = tuple(Utterance(("user", "system")[n % 2], text) for n, text in enumerate(texts))
    return Candidate(written_out(lines), "m", None, "last", lines, speaker)
