"""Small studies of questions for the tests of crowd, and people who answer what they see."""

import contextlib
import dataclasses
from collections import Counter

import sqlalchemy as sa

from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.rating import pool
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.store.store import open_store
from seedvote.crowd.store.tables import votes
from seedvote.dialogue.questions import write_questions
from seedvote.dialogue.records import Option, Question, Utterance
from seedvote.dialogue.validity import option_order
from tests.crowd.study import Clock

PLAIN = dataclasses.replace(
    hit_from({"form": "choice", "pairs_per_sitting": 4, "first_checks": 0, "later_checks": 0}, "test"),
    examples=(),
    about=(),
    sitting_minutes=0,
)


def make_questions(real=4, checks=0, versions=1, options=5):
    """Questions whose options name them, `q0 option 0`, ...; of question n, option n modulo 5 is the true one."""

    def question(name, number, kind):
        texts = [Option(f"{name} option {n}", f"secretitem{n}:1") for n in range(options)]
        context = [Utterance("user", "Hello."), Utterance("system", f"How may I help with {name}?")]
        hidden = {"speaker": "secretspeaker", "draw": 987654}
        where = {"dialogue": f"secretdialogue{number // 2}", "corpus": "secretcorpus", "version": number % versions + 1}
        return Question(name, "secretitem:1", context, texts, number % options, kind=kind, extra=hidden, **where)

    made = [question(f"q{number}", number, "real") for number in range(real)]
    return made + [question(f"c{number}", number, "check") for number in range(checks)]


@contextlib.contextmanager
def desk_of_questions(url, folder, hit=PLAIN, made=None, seed=0):
    """A desk over a fresh store with these questions."""
    path = folder / "questions.jsonl"
    write_questions(path, make_questions() if made is None else made)
    store = open_store(url, seed=seed, simulated=True)
    try:
        pool.load(store, path, hit, now=0.0)
        take_up(store, hit, now=0.0)
        yield Desk(store, hit, Clock())
    finally:
        store.close()


def choose(desk, seat, right=True, place=None):
    """Answer what is due: the true option first or another one; returns what happened and the next place."""
    place = place or desk.next_step(seat)
    shown = place.shown
    order, truth = option_order(shown.layout), str(shown.pair.answer)
    wrong = [index for index in order if index != truth]
    first, second = (truth, wrong[0]) if right else wrong[:2]
    return desk.answer(seat, shown.token, f"{order.index(first)},{order.index(second)}", 5.0)


def placed(desk):
    """Question -> (place, option) -> how often it stood there, among the answers that count."""
    with desk.store.read() as connection:
        query = sa.select(votes.c.pair, votes.c.left).where(votes.c.counted == 1)
        rows = connection.execute(query).all()
    found = {}
    for row in rows:
        found.setdefault(row.pair, Counter()).update(enumerate(option_order(row.left)))
    return found


def check_places(desk, options=5):
    """Each option stands in each place equally often, give or take one."""
    for pair, stood in placed(desk).items():
        each = [stood[place, str(index)] for place in range(options) for index in range(options)]
        assert max(each) - min(each) <= 1, pair
