"""Many people on one link are named on the researcher's page and by `status`; one person never is."""

import random

import pytest

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.watching.signals import find_shared_links
from tests.crowd.study import database, desk_of, make_pairs, press, seated

HIT = Hit(pairs_per_sitting=12, votes_per_pair=3, first_checks=0, later_checks=0, examples=())
CHOICES = ("a", "b", "tie")


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request, tmp_path):
    with database(request.param, tmp_path) as url, desk_of(url, tmp_path, HIT, make_pairs(40)) as desk:
        yield desk


def told(desk):
    with desk.store.read() as connection:
        return {link.rater: (link.differing, link.dropped) for link in find_shared_links(connection)}


def work_together(desk, people, generator):
    """So many people at one seat, each of whom answers what their own page shows; answers that were dropped."""
    seat, dropped = seated(desk, "link"), 0
    while (place := desk.next_step(seat)).stage == "task":
        for _ in range(people):  # they all look at the same pair
            saved, _ = desk.answer(seat, place.shown.token, press(place, generator.choice(CHOICES)), 1.0)
            dropped += saved == "again"
    return seat.rater, dropped


@pytest.mark.parametrize("people", [2, 5, 20])
def test_people_who_share_a_link_are_named_with_what_was_dropped(desk, people):
    rater, dropped = work_together(desk, people, random.Random(people))
    differing, counted = told(desk)[rater]
    assert counted == dropped == 12 * (people - 1) and 0 < differing <= counted


def test_double_clicks_and_old_tabs_are_no_shared_link(desk):
    generator = random.Random(0)
    for n in range(8):
        seat = seated(desk, f"rater-{n}")
        stale = 2
        while (place := desk.next_step(seat)).stage == "task":
            choice = generator.choice(CHOICES)
            desk.answer(seat, place.shown.token, press(place, choice), 1.0)
            for _ in range(3):  # a line that loses every reply
                desk.answer(seat, place.shown.token, press(place, choice), 1.0)
            if stale:  # two pairs that stood open in another tab
                stale -= 1
                other = CHOICES[(CHOICES.index(choice) + 1) % 3]
                desk.answer(seat, place.shown.token, press(place, other), 1.0)
    assert told(desk) == {}
