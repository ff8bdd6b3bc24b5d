"""Forged visits under a known id: they take a few pairs from the worker, and none from whoever has begun to answer."""

import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.leasing import MOST_IDLE
from seedvote.crowd.store.tables import leases
from tests.crowd.study import check_books, database, desk_of, make_pairs, vote

HIT = Hit(pairs_per_sitting=6, votes_per_pair=2, first_checks=0, later_checks=0, examples=(), lease_minutes=1440)
PAIRS = 20


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request, tmp_path):
    with database(request.param, tmp_path) as url, desk_of(url, tmp_path, HIT, make_pairs(PAIRS)) as desk:
        yield desk


def visit(desk, session, worker="p1"):
    """A visit through a marketplace's address, of somebody who has consented before."""
    desk.clock.now += 1
    seat = desk.arrive(worker, session, "prolific")
    desk.consent(seat)
    return seat


def held(desk, worker="p1"):
    with desk.store.read() as connection:
        mine = sa.and_(leases.c.rater == desk.rater_id(worker), leases.c.state == "held")
        return connection.scalar(sa.select(sa.func.count()).where(mine))


def test_a_hundred_forged_visits_leave_the_worker_all_pairs_but_a_few(desk):
    """Each of them would hold a pair for a day: with 20 pairs there would be nothing left for the worker."""
    visit(desk, "first")
    for n in range(100):
        desk.next_step(visit(desk, f"forged-{n}"))
        assert held(desk) <= MOST_IDLE
    seat, seen = visit(desk, "own"), set()
    while (place := desk.next_step(seat)).stage == "task":
        seen.add(place.shown.pair.pair)
        vote(desk, seat)
    assert len(seen) == HIT.pairs_per_sitting and place.stage == "done"
    check_waiting(desk)


def test_a_visit_with_an_answer_keeps_its_pair_whatever_is_forged(desk):
    own = visit(desk, "own")
    vote(desk, own)
    place = desk.next_step(own)
    for n in range(20):
        desk.next_step(visit(desk, f"forged-{n}"))
    assert desk.next_step(own).shown.token == place.shown.token
    assert vote(desk, own)[0] == "saved"


def test_a_worker_with_a_few_tasks_open_in_tabs_loses_none(desk):
    seats = [visit(desk, f"tab-{n}") for n in range(MOST_IDLE)]
    for seat in seats:
        desk.next_step(seat)
    assert held(desk) == MOST_IDLE
    for seat in seats:
        assert vote(desk, seat)[0] == "saved"


def test_forged_visits_of_one_worker_take_nothing_from_another(desk):
    other = visit(desk, "other", worker="p2")
    place = desk.next_step(other)
    for n in range(20):
        desk.next_step(visit(desk, f"forged-{n}"))
    assert desk.next_step(other).shown.token == place.shown.token and held(desk, "p2") == 1


def check_waiting(desk):
    """The counters agree with what is held and what waits for the marketplace."""
    with desk.store.write() as connection:
        connection.exec_driver_sql("UPDATE votes SET counted = waits")  # as the marketplace would confirm them
    check_books(desk)
