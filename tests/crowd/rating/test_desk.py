"""What the desk promises about leases, votes and raters, on SQLite and on PostgreSQL."""

import dataclasses
import random
import threading

import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.rating.moment import Refused, Seat
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import leases, pairs, votes
from seedvote.crowd.watching.progress import set_state
from tests.crowd.study import SHORT, check_books, database, desk_of, make_pairs, press, seated, vote, work

BACKENDS = ("sqlite", "postgresql")
GATED = dataclasses.replace(SHORT, first_checks=3, later_checks=2, max_failures=3)


@pytest.fixture(params=BACKENDS)
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def sqlite(tmp_path):
    with database("sqlite", tmp_path) as found:
        yield found


def votes_of(desk):
    with desk.store.read() as connection:
        return connection.execute(sa.select(votes).order_by(votes.c.vote)).all()


def test_every_pair_gets_exactly_its_votes_from_different_raters(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        for n in range(4):
            work(desk, seated(desk, f"r{n}"))
        assert set(check_books(desk).values()) == {3}
        assert len(votes_of(desk)) == 12
        assert desk.next_step(seated(desk, "late-comer")).stage == "complete"


def test_the_pair_with_the_fewest_live_votes_comes_first(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        first = [desk.next_step(seated(desk, f"r{n}")).shown.pair.pair for n in range(4)]
        assert sorted(first) == ["p0", "p1", "p2", "p3"]


def test_a_page_loaded_again_shows_the_same_pair_on_the_same_side(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "r")
        assert desk.next_step(seat) == desk.next_step(seat)


def test_an_answer_sent_twice_is_one_vote_and_the_first_one_stands(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "r")
        place = desk.next_step(seat)
        token = place.shown.token
        assert desk.answer(seat, token, press(place, "a"), 1.0)[0] == "saved"
        assert desk.answer(seat, token, press(place, "b"), 1.0)[0] == "again"
        assert [row.choice for row in votes_of(desk)] == ["a"]


def test_rater_waits_for_pairs_in_other_hands(url, tmp_path):
    with desk_of(url, tmp_path, made=make_pairs(1)) as desk:
        for n in range(3):
            assert desk.next_step(seated(desk, f"r{n}")).stage == "task"
        waiting = seated(desk, "waiting")
        assert desk.next_step(waiting).stage == "wait"
        desk.clock.now += 601
        assert desk.next_step(waiting).stage == "task"
        check_books(desk)


@pytest.mark.parametrize("policy, counted", [("keep", 0), ("count", 1)])
def test_a_late_answer_is_stored_and_counts_only_by_policy(url, tmp_path, policy, counted):
    with desk_of(url, tmp_path, dataclasses.replace(SHORT, late_votes=policy)) as desk:
        seat = seated(desk, "r")
        token = desk.next_step(seat).shown.token
        desk.clock.now += 601
        assert desk.answer(seat, token, "left", 700.0)[0] == "late"
        assert [(row.late, row.counted) for row in votes_of(desk)] == [(1, counted)]
        check_books(desk)


def test_late_answer_to_a_full_pair_does_not_count(url, tmp_path):
    hit = dataclasses.replace(SHORT, late_votes="count")
    with desk_of(url, tmp_path, hit, make_pairs(1)) as desk:
        late = seated(desk, "late")
        token = desk.next_step(late).shown.token
        desk.clock.now += 601
        for n in range(3):
            work(desk, seated(desk, f"r{n}"))
        assert desk.answer(late, token, "tie", 1.0)[0] == "late"
        assert check_books(desk) == {"p0": 3}
        assert len(votes_of(desk)) == 4


def test_late_rater_goes_on_at_the_same_pair(url, tmp_path):
    with desk_of(url, tmp_path, made=make_pairs(2)) as desk:
        seat = seated(desk, "r")
        before = desk.next_step(seat).shown
        desk.clock.now += 601
        after = desk.next_step(seat).shown
        assert (after.token, after.pair, after.layout) == (before.token, before.pair, before.layout)
        assert desk.answer(seat, after.token, "left", 1.0)[0] == "saved"


def test_filled_pair_keeps_its_extra_vote_uncounted(url, tmp_path):
    hit = dataclasses.replace(SHORT, votes_per_pair=1, pairs_per_sitting=2)
    with desk_of(url, tmp_path, hit, make_pairs(3)) as desk:
        seat = seated(desk, "slow")
        vote(desk, seat)
        before = desk.next_step(seat).shown
        desk.clock.now += 601
        assert work(desk, seated(desk, "quick")) == "done"
        assert desk.next_step(seat).shown.token == before.token
        assert vote(desk, seat)[0] == "saved"
        assert set(check_books(desk).values()) == {1} and [row.counted for row in votes_of(desk)] == [1, 1, 1, 0]
        assert desk.next_step(seat).stage == "done"


def test_a_clock_that_was_a_day_ahead_and_is_set_right_holds_no_pair_back(url, tmp_path):
    hit = dataclasses.replace(SHORT, votes_per_pair=1)
    with desk_of(url, tmp_path, hit, make_pairs(2)) as desk:
        one, other = seated(desk, "one"), seated(desk, "other")
        first = desk.next_step(one).shown
        desk.clock.now += 86_400
        again, second = desk.next_step(one).shown, desk.next_step(other).shown  # one renewed, one new
        assert again.token == first.token
        desk.clock.now -= 86_400
        assert desk.next_step(one).shown.seconds_left == 600  # the page says ten minutes, not a day
        desk.clock.now += 601
        third = seated(desk, "third")
        assert {vote(desk, third)[0], vote(desk, third)[0]} == {"saved"}
        assert desk.answer(other, second.token, "left", 1.0)[0] == "late"
        check_books(desk)


def test_servers_with_different_clocks_take_no_lease(url, tmp_path):
    hit = dataclasses.replace(SHORT, votes_per_pair=1)
    with desk_of(url, tmp_path, hit, make_pairs(1)) as desk:
        one = seated(desk, "one")
        token = desk.next_step(one).shown.token
        desk.clock.now -= 10
        assert desk.next_step(seated(desk, "other")).stage == "wait"
        assert desk.answer(one, token, "left", 1.0)[0] == "saved"


def test_undo_takes_back_the_last_answer_once_and_a_stale_click_is_refused(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "r")
        first = desk.next_step(seat).shown
        vote(desk, seat, "a")
        undone, place = desk.undo(seat, first.token)
        assert undone and place.shown.pair == first.pair and place.shown.layout == first.layout
        assert place.undo is None and desk.undo(seat, first.token)[0] is False
        with pytest.raises(Refused):
            desk.answer(seat, first.token, "left", 1.0)
        vote(desk, seat, "b")
        assert [row.choice for row in votes_of(desk)] == ["b"]
        check_books(desk)


def test_three_failed_checks_block_for_good(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(4, checks=6)) as desk:
        seat = seated(desk, "careless")
        while (place := desk.next_step(seat)).stage == "task":
            vote(desk, seat, "b" if place.shown.pair.kind == "check" and place.done else "a")
        assert place.stage == "no_more"
        assert desk.next_step(seated(desk, "careless", "another sitting")).stage == "no_more"
        assert desk.next_step(desk.arrive("careless", "assignment", "mturk")).stage == "no_more"
        rows = [row for row in votes_of(desk) if row.failed is None]
        assert rows and not any(row.counted for row in rows)
        assert set(check_books(desk).values()) <= {0}
        for n in range(3):
            assert work(desk, seated(desk, f"r{n}")) == "done"
        assert sum(row.counted for row in votes_of(desk)) == 12


def test_the_three_first_checks_come_first_and_only_once_in_a_rater_s_life(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(12, checks=12)) as desk:
        kinds, told = {}, {}
        for sitting in ("one", "two"):
            seat, kinds[sitting] = seated(desk, "r", sitting), []
            told[sitting] = desk.next_step(seat).of
            while (place := desk.next_step(seat)).stage == "task":
                kinds[sitting].append(place.shown.pair.kind)
                vote(desk, seat)
        assert kinds["one"][:4] == ["check"] * 3 + ["real"] and kinds["one"].count("check") == 5
        assert kinds["two"][0] == "real" and kinds["two"].count("check") == 2
        assert told == {"one": 9, "two": 6}  # with the first checks, and without


def test_leaving_a_sitting_before_its_checks_does_not_get_round_them(sqlite, tmp_path):
    with desk_of(sqlite, tmp_path, GATED, make_pairs(8, checks=9)) as desk:
        desk.next_step(seated(desk, "r", "one"))
        assert desk.next_step(seated(desk, "r", "two")).shown.pair.kind == "check"
        vote(desk, seated(desk, "r", "two"))
        slots = [desk.next_step(seated(desk, "r", "three")).shown.pair.kind]
        assert slots == ["check"]


def test_left_lease_is_shown_again_in_the_next_sitting(url, tmp_path):
    with desk_of(url, tmp_path, made=make_pairs(3)) as desk:
        before = desk.next_step(seated(desk, "r", "one")).shown
        seat = seated(desk, "r", "two")
        assert desk.next_step(seat).shown == before
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.sum(pairs.c.live))) == 1
        vote(desk, seat)
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(leases.c.sitting).where(leases.c.state == "answered")) == seat.sitting
        check_books(desk)


@pytest.mark.parametrize("identical, shown", [("show", 3), ("skip", 2), ("tie", 2)])
def test_identical_responses_are_shown_or_left_out_by_option(sqlite, tmp_path, identical, shown):
    hit = dataclasses.replace(SHORT, identical=identical)
    with desk_of(sqlite, tmp_path, hit, make_pairs(2, identical=1)) as desk:
        work(desk, seated(desk, "r"))
        assert len(votes_of(desk)) == shown


def test_a_new_sitting_takes_nothing_back_of_the_one_before(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "r", "one")
        token = desk.next_step(seat).shown.token
        vote(desk, seat)
        assert desk.next_step(seat).undo
        again = desk.arrive("r", "two", "local")
        assert not desk.next_step(again).undo and not desk.undo(again, token)[0]
        assert len(votes_of(desk)) == 1


def test_a_rater_at_the_cap_is_done(url, tmp_path):
    with desk_of(url, tmp_path, dataclasses.replace(SHORT, max_votes_per_rater=2)) as desk:
        assert work(desk, seated(desk, "r")) == "cap"
        assert len(votes_of(desk)) == 2
        assert desk.next_step(seated(desk, "r", "again")).stage == "cap"


def test_pause_and_stop_give_nothing_new_and_still_save_what_was_in_hand(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "r")
        token = desk.next_step(seat).shown.token
        for state, stage in (("paused", "paused"), ("stopped", "stopped")):
            set_state(desk.store, state)
            assert desk.next_step(seat).stage == stage
        assert desk.answer(seat, token, "left", 1.0)[0] == "saved"
        set_state(desk.store, "running")
        assert desk.next_step(seat).stage == "task"


def test_forged_foreign_and_impossible_requests_are_refused(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat, other = seated(desk, "r"), seated(desk, "other")
        token = desk.next_step(other).shown.token
        for forged in (token, "0" * 32, "", "' OR 1=1 --"):
            with pytest.raises(Refused):
                desk.answer(seat, forged, "left", 1.0)
        with pytest.raises(Refused):
            desk.next_step(Seat("nobody", 1))
        for worker in ("", "x" * 129, "a\x00b", "a\nb"):
            with pytest.raises(Refused):
                desk.arrive(worker, "1", "local")
        assert votes_of(desk) == []


def test_sixteen_raters_at_once_give_no_vote_too_many_and_none_too_few(url, tmp_path):
    with desk_of(url, tmp_path, made=make_pairs(12)) as desk:
        failures = []

        def rate(n):
            try:
                for sitting in range(9):
                    seat = seated(desk, f"r{n}", str(sitting))
                    while (place := desk.next_step(seat)).stage == "task":
                        for _ in range(2):  # every click is a double click
                            desk.answer(seat, place.shown.token, "left", 1.0)
            except Exception as error:  # noqa: BLE001 (told to the main thread)
                failures.append(error)

        threads = [threading.Thread(target=rate, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert set(check_books(desk).values()) == {3}
        assert len(votes_of(desk)) == 36


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_event_log_alone_gives_the_same_votes(sqlite, tmp_path, seed):
    hit = dataclasses.replace(GATED, late_votes="count" if seed % 2 else "keep", lease_minutes=1, votes_per_pair=2)
    generator = random.Random(seed)
    with desk_of(sqlite, tmp_path, hit, make_pairs(9, checks=8), seed=seed) as desk:
        tokens = {}
        for step in range(200):
            worker = f"r{generator.randrange(7)}"
            seat = seated(desk, worker, str(generator.randrange(3)))
            place = desk.next_step(seat)
            act = generator.random()
            if place.stage == "task":
                tokens.setdefault(worker, []).append(place.shown.token)
            if act < 0.15:
                desk.clock.now += generator.choice([20, 61])
            elif act < 0.25:
                desk.undo(seat, place.undo or "")
            elif worker in tokens:
                with_token = generator.choice(tokens[worker][-3:])
                try:
                    desk.answer(seat, with_token, generator.choice(["left", "right", "tie"]), 1.0)
                except Refused:
                    assert act  # a token that an undo made stale
            if step % 10 == 0:
                check_books(desk)
        check_books(desk)
        with desk.store.read() as connection:
            told = replay(
                read_events(connection),
                desk.rules.gate,
                votes_per_pair=hit.votes_per_pair,
                late_votes=hit.late_votes,
            )
        assert told.counted == {row.lease: bool(row.counted) for row in votes_of(desk) if row.failed is None}


def test_sides_are_balanced_in_each_pair_over_a_whole_study(sqlite, tmp_path):
    with desk_of(sqlite, tmp_path, dataclasses.replace(SHORT, votes_per_pair=4), make_pairs(8)) as desk:
        for n in range(10):
            work(desk, seated(desk, f"r{n}"))
        with desk.store.read() as connection:
            lefts = connection.execute(
                sa.select(leases.c.pair, leases.c.left, sa.func.count()).group_by(leases.c.pair, leases.c.left)
            ).all()
        assert sorted(lefts) == [(f"p{n}", side, 2) for n in range(8) for side in "ab"]


@pytest.mark.parametrize("reals, checks", [(20, 5), (17, 8), (24, 8), (20, 0)])
def test_a_sitting_says_no_more_pairs_than_there_are(sqlite, tmp_path, reals, checks):
    hit = Hit(examples=(), first_checks=min(3, checks))
    with desk_of(sqlite, tmp_path, hit, make_pairs(reals, checks=checks)) as desk:
        for sitting in ("one", "two"):
            seat = seated(desk, "r", sitting)
            if (place := desk.next_step(seat)).stage == "task":
                said = place.of
                work(desk, seat)
                assert desk.next_step(seat).done == said
        assert desk.first_sitting <= reals + checks


def test_a_sitting_that_began_with_few_pairs_goes_on_when_more_come_back(sqlite, tmp_path):
    hit = dataclasses.replace(SHORT, votes_per_pair=1)
    with desk_of(sqlite, tmp_path, hit, make_pairs(3)) as desk:
        other = seated(desk, "other")
        for _ in range(2):
            vote(desk, other)
        seat = seated(desk, "r")
        assert desk.next_step(seat).of == 1
        rule_on(desk.store, other.rater, "block", "a reason", 1.0)
        vote(desk, seat)
        assert desk.next_step(seat).of == 4 and work(desk, seat) == "complete"
