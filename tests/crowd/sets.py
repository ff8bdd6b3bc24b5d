"""Small studies of response sets for the tests of crowd, and people who rank and rate what they see."""

from collections import Counter

import sqlalchemy as sa

from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.rating.answer_sheet import read_sheet
from seedvote.crowd.store.tables import votes
from seedvote.dialogue.records import Candidate, ResponseSet, Utterance
from seedvote.dialogue.validity import option_order
from tests.crowd.study import desk_of

ASKED = [
    {"name": "order", "ask": "Which order?", "kind": "ranking"},
    {"name": "fluency", "ask": "How fluent?", "kind": "likert", "points": 5},
    {"name": "why", "ask": "Why?", "kind": "comment"},
]
RULES = {"form": "responses", "pairs_per_sitting": 4, "first_checks": 0, "later_checks": 0}
SETS = hit_from({**RULES, "questions": ASKED}, "test")
ALONE = hit_from(RULES, "test")


def make_sets(real=4, checks=0, size=4, asks="best:0"):
    """Sets whose texts name them, `s0 text 0`, ..., with models that nobody may see."""

    def one(name, kind, answer=None):
        wrote = tuple(Candidate(f"{name} text {n}", f"secretmodel{n}", n, "last") for n in range(size))
        context = (Utterance("user", "Hello."), Utterance("system", f"How may I help with {name}?"))
        return ResponseSet(name, "secretitem:1", context, wrote, kind, False, f"secretdialogue-{name}", answer)

    return [one(f"s{n}", "real") for n in range(real)] + [one(f"c{n}", "check", asks) for n in range(checks)]


def desk_of_sets(url, folder, hit=SETS, made=None):
    """As `desk_of`, with these sets."""
    return desk_of(url, folder, hit, make_sets() if made is None else made)


def fields(hit, order, ranks, scores, why="Because."):
    """What a page sends of these ranks and ratings by response; `order` has the indices from the first place on."""
    sent = {"q-why": why}
    for one in hit.questions:
        given = {"ranking": ranks, "likert": scores}.get(one.kind)
        sent |= {f"q-{one.name}-{place}": str(given[int(index)]) for place, index in enumerate(order) if given}
    return sent


def judge(desk, seat, ranks=(1, 2, 3, 4), scores=(5, 4, 3, 2), why="Because."):
    """Answer what is due by response, wherever it stands; what happened and the next place."""
    place = desk.next_step(seat)
    sent = fields(desk.rules.hit, option_order(place.shown.layout), ranks, scores, why)
    return desk.answer(seat, place.shown.token, read_sheet(desk.rules.hit.questions, sent, of_sets=True), 2.0)


def stood(desk):
    """(set or None for all, place, index) -> how often it stood there, among the answers that count."""
    with desk.store.read() as connection:
        rows = connection.execute(sa.select(votes.c.pair, votes.c.left).where(votes.c.counted == 1)).all()
    found = Counter()
    for row in rows:
        for place, index in enumerate(option_order(row.left)):
            found.update([(row.pair, place, int(index)), (None, place, int(index))])
    return found


def spread(found, name, size):
    """How much more often one response stood in some place than another one in some other."""
    each = [found[name, place, index] for place in range(size) for index in range(size)]
    return max(each) - min(each)
