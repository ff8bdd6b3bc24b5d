"""Live conversations: stored before they are shown, asked once, never above the budget, and nobody is stuck."""

import dataclasses
import random
import threading

import pytest
import sqlalchemy as sa

from seedvote.crowd.backups import restore_study, save_study
from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.marketplaces.settling import visits
from seedvote.crowd.rating import personal_data, talks
from seedvote.crowd.rating.change_control import refuse_changes, take_up
from seedvote.crowd.rating.moment import Refused
from seedvote.crowd.rating.talk_books import describe_money, held_conversations
from seedvote.crowd.rating.talk_money import talk_bound
from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.crowd.store.tables import leases, messages, replies, votes
from seedvote.dialogue.errors import InputError
from tests.crowd.arena import Guest, answer, hit_of, make_topics, money_of, rows_of, send, settle
from tests.crowd.study import check_books, database, desk_of, press

LONGEST = "\U0001f600" * 40  # of four bytes each


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as address:
        yield address


@pytest.fixture
def desk(url, tmp_path):
    with desk_of(url, tmp_path, hit_of(), make_topics(3)) as made:
        yield made


@pytest.fixture
def lite(tmp_path):
    """Where the database does not matter."""
    with desk_of(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, hit_of(), make_topics(3)) as made:
        yield made


def texts(lines):
    return [line.text for line in lines]


def test_message_is_stored_before_anybody_is_asked_and_answers_come_together(desk):
    ann = Guest(desk, "ann")
    first, second = ann.say("Where can I swim?")
    assert ann.page().stage == "wait"
    assert texts(ann.page().left) == texts(ann.page().right) == ["Where can I swim?"]
    answer(desk, first, "In the lake.")
    assert ann.page().stage == "wait"
    assert texts(ann.page().left) == texts(ann.page().right) == ["Where can I swim?"]  # the quick one waits
    answer(desk, second, "Nowhere.")
    page = ann.page()
    assert {*texts(page.left), *texts(page.right)} == {"Where can I swim?", "In the lake.", "Nowhere."}
    assert (page.stage, page.turn, page.may_say) == ("choose", 2, True)


def test_reveal_each_shows_an_answer_as_it_comes(tmp_path):
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit_of(live={"reveal": "each"}), make_topics(1)) as desk:
        ann = Guest(desk, "ann")
        first, _ = ann.say()
        answer(desk, first, "Quick.")
        assert sorted(map(len, (ann.page().left, ann.page().right))) == [1, 2]


def test_message_sent_twice_is_one_message_and_the_first_stands(desk):
    ann = Guest(desk, "ann")
    assert len(ann.say("one", 1)) == 2
    assert ann.say("another", 1) == []
    assert [row.text for row in rows_of(desk, messages)] == ["one"]
    with pytest.raises(Refused):
        ann.say("before the answers", 2)
    for row in rows_of(desk):
        answer(desk, talks.ReplyKey(row.lease, row.number, row.side))
    with pytest.raises(Refused):
        ann.say("skipped", 3)
    assert len(ann.say("two", 2)) == 2


def test_two_tabs_that_speak_at_once_say_one_thing(desk):
    ann, outcomes = Guest(desk, "ann"), []
    token, barrier = ann.token, threading.Barrier(8)

    def speak(n):
        barrier.wait()
        outcomes.append(len(desk.change(lambda moment: talks.say(moment, ann.seat, token, 1, f"text {n}"))))

    threads = [threading.Thread(target=speak, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [0] * 7 + [2]
    assert len(rows_of(desk, messages)) == 1


def test_a_call_is_taken_by_one_server_alone(desk):
    key, _ = Guest(desk, "ann").say()
    calls, barrier = [], threading.Barrier(8)

    def take(n):
        barrier.wait()
        calls.append(send(desk, key, f"host:{n}:x"))

    threads = [threading.Thread(target=take, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(call is not None for call in calls) == 1


def test_vote_waits_for_the_fewest_messages_and_ends_at_the_most(desk):
    live = dataclasses.replace(desk.rules.hit.live, turns=(2, 3))
    take_up(desk.store, dataclasses.replace(desk.rules.hit, live=live), 1.0)
    ann = Guest(desk, "ann")
    ann.talk(1)
    assert ann.page().stage == "say"
    with pytest.raises(Refused):
        ann.vote()
    ann.talk(2)
    assert (ann.page().stage, ann.page().may_say) == ("choose", False)
    with pytest.raises(Refused):
        ann.say("too much", 4)
    assert ann.vote()[0] == "saved"


def test_every_pair_gets_exactly_its_votes_each_on_a_talk_of_its_own(desk):
    for name in ("ann", "bob", "eve"):
        guest = Guest(desk, name)
        while desk.next_step(guest.seat).stage == "task":
            guest.talk()
            assert guest.vote()[0] == "saved"
    assert check_books(desk) == {"p0": 2, "p1": 2, "p2": 2}
    assert len({row.lease for row in rows_of(desk)}) == 6


def test_what_the_rater_wrote_and_heard_is_sent_in_order(lite):
    ann = Guest(lite, "ann")
    for key in ann.say("one"):
        answer(lite, key, "reply one")
    call = send(lite, ann.say("two")[0])
    said = [(message["role"], message["content"]) for message in call.messages]
    assert said == [("user", "one"), ("assistant", "reply one"), ("user", "two")]


def test_prompt_and_opening_come_first_and_the_opening_is_answered_once(tmp_path):
    opening = (("system", "Welcome."), ("user", "A table for two, please."))
    hit = hit_of(live={"prompt": "You talk about {topic}."})
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit, make_topics(1, opening=opening)) as desk:
        ann = Guest(desk, "ann")
        assert ann.page().stage == "wait"
        token = ann.token
        opens = lambda: desk.change(lambda moment: talks.open_talk(moment, ann.seat, token))  # noqa: E731
        keys = opens()
        assert len(keys) == 2
        assert opens() == []
        call = send(desk, keys[0])
        roles = [message["role"] for message in call.messages]
        assert roles == ["system", "assistant", "user"]
        assert call.messages[0]["content"] == "You talk about On p0."
        settle(desk, call, text="For when?", tokens_in=5, tokens_out=3)
        answer(desk, keys[1])
        assert (ann.page().stage, ann.page().turn) == ("say", 1)


def test_failed_call_is_asked_again_then_handed_back_without_a_vote(desk):
    ann = Guest(desk, "ann")
    pair = desk.next_step(ann.seat).shown.pair.pair
    key, other = ann.say()
    answer(desk, other)
    settle(desk, send(desk, key), why="401")
    assert (ann.page().stage, ann.page().may_return) == ("failed", False)
    with pytest.raises(Refused):
        ann.hand_back()  # whoever likes could be rid of any pair
    assert ann.ask_again() == [key]  # the other one is there
    settle(desk, send(desk, key), why="401")
    assert ann.page().may_return
    assert ann.hand_back()
    step = desk.next_step(ann.seat)
    assert (step.stage, step.done, step.judged) == ("task", 1, 1)
    assert step.shown.pair.pair != pair
    assert rows_of(desk, votes) == []
    assert check_books(desk) == {}
    seen = set()
    for name in ("bob", "eve"):
        guest = Guest(desk, name)
        while desk.next_step(guest.seat).stage == "task":
            seen.add(desk.next_step(guest.seat).shown.pair.pair)
            guest.talk()
            guest.vote()
    assert pair in seen
    while (step := desk.next_step(ann.seat)).stage == "task":
        assert step.shown.pair.pair != pair
        ann.talk()
        ann.vote()
    assert step.is_paid


def test_an_answer_is_asked_for_again_a_few_times_alone(lite):
    ann = Guest(lite, "ann")
    keys = ann.say()
    asked = 0
    while keys:
        asked += 1
        for key in keys:
            settle(lite, send(lite, key), is_charged=True, is_lost=True)
        keys = ann.ask_again()
    assert asked == 1 + talks.MOST_AGAIN
    assert (ann.page().may_ask, ann.page().may_return) == (False, True)


def test_who_had_nothing_but_a_broken_talk_is_paid(tmp_path):
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit_of(), make_topics(1)) as desk:
        ann = Guest(desk, "ann")
        ann.seat = desk.arrive("w", "s1", "prolific")
        desk.consent(ann.seat)
        for key in ann.say():
            settle(desk, send(desk, key), why="500")
        for key in ann.ask_again():
            settle(desk, send(desk, key), why="500")
        assert ann.hand_back()
        step = desk.next_step(ann.seat)
        assert step.is_paid
        with desk.store.read() as connection:
            (visited,) = visits(connection, "prolific")
        assert visited.is_paid
        assert visited.finished
        assert step.stage in ("none_left", "handed_in")


def test_returned_check_is_no_check_passed(tmp_path):
    hit = hit_of(first_checks=1, max_failures=1)
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit, make_topics(2, checks=2)) as desk:
        ann = Guest(desk, "ann")
        keys = ann.say()
        desk.clock.now += 60  # what is played takes its time
        for _ in range(2):
            for key in keys:
                settle(desk, send(desk, key), why="500")
            keys = ann.ask_again()
        first = desk.next_step(ann.seat).shown.pair
        for key in keys:
            settle(desk, send(desk, key), why="500")
        assert ann.hand_back()
        assert desk.next_step(ann.seat).shown.pair.pair != first.pair
        assert desk.next_step(ann.seat).shown.pair.kind == "check"  # another one


def test_check_is_played_on_one_side_and_judges_the_rater(tmp_path):
    hit = hit_of(first_checks=1, max_failures=1)
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit, make_topics(1, checks=1)) as desk:
        ann = Guest(desk, "ann")
        keys = ann.say()
        assert len(keys) == 1  # the other side costs nothing
        assert len(ann.page().left) == len(ann.page().right) == 1  # and does not betray itself by being there at once
        answer(desk, keys[0], "Good.", seconds=2.0)
        assert ann.page().stage == "wait"  # as if somebody still thought about it
        desk.clock.now += 60
        page, layout = ann.page(), desk.next_step(ann.seat).shown.layout
        wrong = "right" if layout == "a" else "left"
        assert texts(getattr(page, wrong))[-1] == "wrong 0"
        ann.vote(wrong)
        assert desk.next_step(ann.seat).stage == "no_more"


def test_lease_lasts_while_they_talk(lite):
    ann = Guest(lite, "ann")
    for _ in range(3):
        lite.clock.now += 500  # of 600
        ann.talk()
    lite.clock.now += 500
    assert ann.vote()[0] == "saved"


def test_late_message_is_kept_and_its_pair_held_again(desk):
    ann, bob = Guest(desk, "ann"), Guest(desk, "bob")
    token = ann.token
    desk.clock.now += 700
    desk.next_step(Guest(desk, "eve").seat)  # what has run out is given back
    keys = desk.change(lambda moment: talks.say(moment, ann.seat, token, 1, "still here"))
    assert len(keys) == 2
    assert ann.token == token
    assert bob.token
    check_books(desk)


def test_paused_study_asks_nobody(lite):
    from seedvote.crowd.watching.progress import set_state

    ann = Guest(lite, "ann")
    token = ann.token
    set_state(lite.store, "paused")
    assert lite.change(lambda moment: talks.say(moment, ann.seat, token, 1, "Hello.")) == []


def test_foreign_and_invented_talks_are_refused(desk):
    ann, bob = Guest(desk, "ann"), Guest(desk, "bob")
    for token in (ann.token, "0" * 32, "a;b", ""):
        for act in (
            lambda moment, token=token: talks.say(moment, bob.seat, token, 1, "x"),
            lambda moment, token=token: talks.ask_again(moment, bob.seat, token, 1),
            lambda moment, token=token: talks.hand_back(moment, bob.seat, token),
        ):
            with pytest.raises(Refused):
                desk.change(act)
    assert rows_of(desk, messages) == []


# Money


def test_call_whose_server_died_counts_at_its_bound_and_is_asked_again_on_request(desk):
    ann = Guest(desk, "ann")
    key, other = ann.say()
    answer(desk, other)
    before = money_of(desk)
    call = send(desk, key)
    bound = next(row.bound for row in rows_of(desk) if row.side == key.side)
    desk.change(lambda moment: talks.give_up(moment, key, "gone", calls=call.calls))
    desk.change(lambda moment: talks.give_up(moment, key, "gone", calls=call.calls))  # by two tabs
    assert money_of(desk).spent == pytest.approx(before.spent + bound)
    assert ann.page().stage == "failed"
    assert settle(desk, call, text="too late", tokens_in=1, tokens_out=1) is False
    assert ann.ask_again() == [key]
    again = send(desk, key)
    assert again.heard == call.heard  # so that who knows such names answers it without charging twice
    settle(desk, again, text="There.", tokens_in=5, tokens_out=3)
    assert ann.page().stage == "choose"
    (line,) = [line for line in desk.look(describe_money) if "lost" in line]
    assert line.split()[0] == "1"


def test_queued_call_is_not_sent_once_nobody_waits(lite):
    ann = Guest(lite, "ann")
    ann.talk()
    keys = ann.say("and more")
    ann.vote()
    assert [send(lite, key) for key in keys] == [None, None]
    assert money_of(lite).under_way == 0


@pytest.mark.parametrize(
    ("usage", "counts_at_bound"),
    [((5, 3), False), ((None, None), True), ((0, 0), True), ((5, 0), True), ((None, 3), True), ((5, None), True)],
)
def test_usage_that_cannot_be_true_counts_at_the_bound(lite, usage, counts_at_bound):
    key, _ = Guest(lite, "ann").say()
    bound = next(row.bound for row in rows_of(lite) if row.side == key.side)
    answer(lite, key, "A reply of some length that no single token holds.", *usage)
    row = next(row for row in rows_of(lite) if row.side == key.side)
    assert row.spent == pytest.approx(bound if counts_at_bound else (5 * 1000 + 3 * 2000) / 1e6)
    assert row.doubted == counts_at_bound


def test_budget_is_never_exceeded_whatever_becomes_of_calls(tmp_path):
    """Many raters, random outcomes; a usage is at most the bound, as an endpoint that obeys max_tokens has it."""
    rng = random.Random(7)
    budget = 2.5
    hit = hit_of(live={"budget": budget}, votes_per_pair=3, pairs_per_sitting=30)
    asked = ended = 0
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit, make_topics(12)) as desk:
        guests, open_calls = [Guest(desk, f"r{n}") for n in range(4)], []
        for _ in range(250):
            if open_calls and rng.random() < 0.6:
                call = open_calls.pop(rng.randrange(len(open_calls)))
                kind = rng.choice(["text", "text", "text", "lost", "empty", "refused", "nousage"])
                usage = {"tokens_in": rng.randint(1, 40), "tokens_out": rng.randint(1, 10)}
                what = {
                    "text": {"text": "ok", **usage},
                    "nousage": {"text": "ok"},
                    "empty": {"is_charged": True, "why": "empty", **usage},
                    "lost": {"is_charged": True, "is_lost": True, "why": "cut"},
                    "refused": {"why": "429"},
                }[kind]
                if settle(desk, call, asks_again=rng.random() < 0.5, **what):
                    open_calls.append(send(desk, call.key))
            else:
                guest = rng.choice(guests)
                if desk.next_step(guest.seat).stage != "task":
                    continue
                page, keys = guest.page(), []
                if page.stage == "failed":
                    guest.hand_back() if page.may_return else keys.extend(guest.ask_again())
                elif page.stage == "choose" and (not page.may_say or rng.random() < 0.6):
                    guest.vote()
                    ended += 1
                elif page.may_say:
                    keys = guest.say("x" * rng.randint(1, 40))
                asked += len(keys)
                open_calls += [call for key in keys if (call := send(desk, key)) is not None]
            money = money_of(desk)
            assert money.spent + money.under_way <= budget + 1e-9
        assert asked > 25
        assert ended > 4
        assert money_of(desk).spent > budget / 2
        check_books(desk)


def test_money_used_up_begins_nothing_and_lets_who_is_talking_vote(tmp_path):
    """Room for two shortest conversations: a third rater is told the truth, the first two end with a vote."""
    topics = make_topics(3)
    rule = hit_of().live
    hit = hit_of(live={"budget": 2.2 * talk_bound(rule, topics[0])})
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit, topics) as desk:
        ann, bob = Guest(desk, "ann"), Guest(desk, "bob")
        assert ann.token
        assert bob.token
        assert desk.closed_to_newcomers() is None  # what they leave over may do for another one
        eve = Guest(desk, "eve")
        assert desk.next_step(eve.seat).stage == "wait"
        for guest in (ann, bob):
            for key in guest.say(LONGEST):
                answer(desk, key, "y", tokens_in=None, tokens_out=None)  # counts at its bound
        assert ann.page().stage == "choose"
        assert ann.page().is_spent
        assert ann.say(LONGEST, 2) == []
        assert ann.vote()[0] == "saved"
        step = desk.next_step(ann.seat)
        assert (step.stage, step.is_paid) == ("spent", True)
        assert bob.vote()[0] == "saved"
        assert desk.next_step(eve.seat).stage == "spent"
        assert desk.closed_to_newcomers() == "spent"
        assert money_of(desk).spent <= desk.rules.hit.live.budget


def tight(tmp_path, factor, **live):
    """A study whose budget is so many times the bound of a shortest conversation."""
    topics = make_topics(3)
    budget = factor * talk_bound(hit_of(live=live).live, topics[0])
    return desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit_of(live={**live, "budget": budget}), topics)


def test_who_comes_back_late_waits_for_the_money_that_went_to_others(tmp_path):
    with tight(tmp_path, 1.3) as desk:
        ann, bob = Guest(desk, "ann"), Guest(desk, "bob")
        token = ann.token
        desk.clock.now += 700
        assert bob.token
        assert desk.next_step(ann.seat).stage == "wait"
        assert desk.change(lambda moment: talks.say(moment, ann.seat, token, 1, "Hello.")) == []
        assert not bob.page().is_spent
        bob.talk()
        assert bob.vote()[0] == "saved"
        desk.clock.now += 700  # what bob was given next is given back
        assert ann.token == token
        ann.talk()
        assert ann.vote()[0] == "saved"


def test_who_may_vote_holds_back_no_money_also_after_an_undo(tmp_path):
    with tight(tmp_path, 1.3) as desk:
        ann = Guest(desk, "ann")
        token = ann.token
        ann.talk()
        assert money_of(desk).promised == 0
        ann.vote()
        promised = money_of(desk).promised
        assert promised > 0
        assert desk.undo(ann.seat, token)[0]
        assert money_of(desk).promised == promised
        assert money_of(desk).committed <= desk.rules.hit.live.budget


def test_promise_holds_for_replies_of_long_words(tmp_path):
    with tight(tmp_path, 1.0, turns=[3, 3], characters=10, reply_tokens=100) as desk:
        ann = Guest(desk, "ann")
        for _ in range(3):
            assert not ann.page().is_spent
            for key in ann.say("\U0001f600" * 10):
                answer(desk, key, "eight by" * 100, tokens_in=None, tokens_out=None)  # counts at its bound
        assert ann.vote()[0] == "saved"
        assert money_of(desk).spent <= desk.rules.hit.live.budget


def test_talk_that_lost_its_money_to_lost_calls_is_handed_back(tmp_path):
    topics = make_topics(1)
    hit = hit_of(live={"budget": 1.2 * talk_bound(hit_of().live, topics[0])})
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit, topics) as desk:
        ann = Guest(desk, "ann")
        for key in ann.say(LONGEST):
            settle(desk, send(desk, key), is_charged=True, is_lost=True, asks_again=True)
        assert ann.page().stage == "failed"
        assert ann.ask_again() == []
        assert ann.page().may_return
        assert ann.hand_back()
        assert money_of(desk).spent <= desk.rules.hit.live.budget


# What is stored, exported and forgotten


def test_export_has_every_word_and_no_name_of_a_system_or_check(tmp_path):
    hit = hit_of(first_checks=1)
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, hit, make_topics(2, checks=1)) as desk:
        ann = Guest(desk, "ann")
        while desk.next_step(ann.seat).stage == "task":
            for _ in range(2):
                ann.talk()
                desk.clock.now += 60
            ann.vote(press(desk.next_step(ann.seat), "a"))
        held = desk.look(held_conversations)
        assert [(talk.outcome, talk.turns, len(talk.a), len(talk.b)) for talk in held] == [("voted", 2, 4, 4)] * 2
        assert all(talk.pair.startswith("p") and talk.topic == f"On {talk.pair}" for talk in held)
        assert "secret" not in repr(held)
        with desk.store.read() as connection:
            assert len(export(connection, votes_per_pair=2).votes) == 2


def test_forgotten_rater_leaves_no_word_and_the_books_stand(desk):
    ann = Guest(desk, "ann")
    ann.talk(2, "my name is Ann")
    ann.vote()
    ann.talk(1, "Ann again")
    spent = money_of(desk).spent
    known = desk.known_of(ann.seat.rater)
    assert known.messages == 3
    personal_data.forget(desk.store, ann.seat.rater, votes_per_pair=2, now=desk.clock())
    assert {row.text for row in rows_of(desk, messages)} == {None}
    assert {row.text for row in rows_of(desk)} == {None}
    assert money_of(desk).spent == spent
    assert desk.look(held_conversations) == []
    with desk.store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(leases).where(leases.c.rater == "ann")) == 0


def test_backup_brings_conversations_and_their_cost_back(tmp_path):
    with desk_of(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, hit_of(), make_topics(2)) as desk:
        Guest(desk, "ann").talk(2)
        said, answered = rows_of(desk, messages), rows_of(desk)
    (tmp_path / "hit.toml").write_text("", encoding="utf-8")
    save_study(tmp_path, None, tmp_path / "study.zip")
    restore_study(tmp_path / "again", None, tmp_path / "study.zip")
    store = open_store(sqlite_url(tmp_path / "again"))
    try:
        with store.read() as connection:
            assert connection.execute(sa.select(messages)).all() == said
            assert connection.execute(sa.select(replies)).all() == answered
    finally:
        store.close()


def test_status_names_what_failed_and_who_named_itself(lite):
    ann = Guest(lite, "ann")
    for key in ann.say():
        answer(lite, key, "I am secretours, and I help." if key.side == "a" else "Hello.")
    for key in ann.say("more"):
        settle(lite, send(lite, key), why="answered 401")
    told = "\n".join(lite.look(describe_money))
    assert "failed last with: answered 401" in told
    assert "1 conversation names its own system" in told


def test_systems_stay_what_they_are_once_somebody_talked(lite):
    hit = lite.rules.hit

    def change(**live):
        return dataclasses.replace(hit, live=dataclasses.replace(hit.live, **live))

    take_up(lite.store, change(turns=(1, 2)), 1.0)
    take_up(lite.store, hit, 2.0)
    lite.read_rules()
    Guest(lite, "ann").say()
    first, second = hit.live.systems
    for allowed in (
        change(budget=9.0, timeout=5),
        change(systems=(dataclasses.replace(first, url="http://elsewhere/v1", key="K", price_in=1.0), second)),
        change(systems=(first, second, dataclasses.replace(first, name="third"))),
    ):
        refuse_changes(lite.store, allowed)
    for refused in (
        change(turns=(1, 2)),
        change(prompt="Be nice."),
        change(systems=(dataclasses.replace(first, model="other"), second)),
        change(systems=(second, dataclasses.replace(first, name="third"))),
    ):
        with pytest.raises(InputError, match="raters have talked"):
            refuse_changes(lite.store, refused)
