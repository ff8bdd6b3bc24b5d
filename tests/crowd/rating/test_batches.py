"""Adaptive assignment at the desk: what comes up, how often, with which probability, and what a restart changes."""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import random
import threading

import pytest
import sqlalchemy as sa

from seedvote.crowd.commands.status import run as show_status
from seedvote.crowd.exchange import exporting
from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.hit.tables import AdaptiveRule
from seedvote.crowd.rating import batches, pool, standing
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.rating.study_tally import StudyTally, compare_systems
from seedvote.crowd.store.store import places_left, read_events, settings
from seedvote.crowd.store.tables import leases, pairs, votes
from seedvote.crowd.watching.progress import progress
from seedvote.crowd.web.app import ServerConfig, create_app, study_token
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.formulas.allocation import VoteSums, batch_places
from seedvote.dialogue.records import Candidate, Pair, Utterance, Verdict
from tests.crowd.study import SHORT, Clock, database, desk_of, press, seated

STRENGTHS = {"one": 1.5, "two": 0.6, "three": 0.5, "four": -1.0}
CONTEXT = [Utterance("user", "Hello.")]
ADAPTIVE = dataclasses.replace(
    SHORT, assignment="adaptive", adaptive=AdaptiveRule(votes=160, batch=20), pairs_per_sitting=40
)


@pytest.fixture(autouse=True)
def plans(monkeypatch):
    """The plans made; each is also that of a server that has just begun."""
    read, plan, made, anew = batches.read_plan_inputs, batches.plan_batch, [], {}

    def read_twice(connection, hit, tally):
        if inputs := read(connection, hit, tally):
            anew[id(inputs)] = read(connection, hit, StudyTally())
        return inputs

    def plan_twice(inputs, seed, tally):
        made.append(plan(inputs, seed, tally))
        assert made[-1] == plan(anew.pop(id(inputs)), seed, StudyTally())
        return made[-1]

    monkeypatch.setattr(batches, "read_plan_inputs", read_twice)
    monkeypatch.setattr(batches, "plan_batch", plan_twice)
    return made


def rated(contexts=20, controls=0, checks=0):
    """Every two of four systems on every context, sides by turns."""
    made = []
    for n, (k, both) in itertools.product(range(contexts), enumerate(itertools.combinations(STRENGTHS, 2))):
        a, b = (Candidate(f"{name} says {n}", name) for name in (both if (n + k) % 2 else both[::-1]))
        made.append(Pair(f"p{n}-{k}", f"i{n}", CONTEXT, a, b, dialogue=f"d{n}"))
    for n in range(controls):
        a, b = Candidate(f"control {n}", "one"), Candidate(f"random {n}", "random")
        made.append(Pair(f"k{n}", f"i{n}", CONTEXT, a, b, dialogue=f"d{n}", kind="control"))
    for n in range(checks):
        a, b = Candidate(f"check {n}", "one"), Candidate("wrong", "two")
        made.append(Pair(f"c{n}", f"i{n}", CONTEXT, a, b, dialogue=f"d{n}", kind="check", answer="a"))
    return made


def vote(desk, seat, step, generator):
    """The side that is better by the systems' strengths, with noise, or a tie."""
    shown = step.shown
    gap = STRENGTHS.get(shown.pair.a.model, 0) - STRENGTHS.get(shown.pair.b.model, 0) + generator.gauss(0, 1)
    choice = "tie" if abs(gap) < 0.3 else "a" if gap > 0 else "b"
    return desk.answer(seat, shown.token, press(step, choice), 3.0)[1]


def work(desk, raters, seed=0, most=10_000):
    """Raters take turns until nobody gets a pair; how many votes they gave."""
    generator, given = random.Random(seed), 0
    seats = [seated(desk, f"w{n}") for n in range(raters)]
    steps = {seat: desk.next_step(seat) for seat in seats}
    while given < most:
        if not (at_work := [seat for seat in seats if steps[seat].stage == "task"]):
            steps = {seat: desk.next_step(seat) for seat in seats}  # who had to wait looks again
            if not (at_work := [seat for seat in seats if steps[seat].stage == "task"]):
                break
        seat = generator.choice(at_work)
        steps[seat] = vote(desk, seat, steps[seat], generator)
        given += 1
        if steps[seat].stage in ("done", "handed_in") and steps[seat].more:
            seats[seats.index(seat)] = again = seated(desk, f"w{seats.index(seat)}", f"{given}")
            steps[again] = desk.next_step(again)
    return given


def plan_anew(desk, hit):
    """The next batch by a server that has just begun."""
    tally = StudyTally()
    with desk.store.read() as connection:
        inputs = batches.read_plan_inputs(connection, hit, tally)
    return batches.plan_batch(inputs, 0, tally)


def rows_of(desk, table):
    with desk.store.read() as connection:
        return connection.execute(sa.select(table)).all()


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request, tmp_path):
    with database(request.param, tmp_path) as url, desk_of(url, tmp_path, ADAPTIVE, rated()) as desk:
        yield desk


def test_votes_are_given_out_to_the_last_and_no_pair_gets_more_than_it_was_drawn_for(desk):
    assert sum(row.open for row in rows_of(desk, pairs)) == 10  # the first batch: ten pairs, two votes each
    given = work(desk, 12)
    assert given == pytest.approx(160, abs=2)  # the last batch is as large as its pairs make it
    stored = rows_of(desk, pairs)
    assert all(row.votes == row.live == row.target for row in stored) and sum(row.target for row in stored) == given
    with desk.store.read() as connection:
        assert places_left(connection) == 0 and int(settings(connection)["batch"]) >= 8
        state = progress(connection, 3)
    assert (state.counted, state.wanted, state.complete) == (given, given, sum(row.target > 0 for row in stored))
    assert desk.over_for_all() == "complete"
    assert (state.condition, state.came_up) == ("complete", state.complete) and state.came_up < state.pairs


def test_what_is_close_gets_more_votes_than_what_is_clear(tmp_path):
    hit = dataclasses.replace(ADAPTIVE, adaptive=AdaptiveRule("better", ("three", "two"), votes=160, batch=20))
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, rated(60)) as desk:
        work(desk, 12)
        compared = compare_systems(rated(60))
        number = dict.fromkeys(compared.contrasts, 0)
        for row in rows_of(desk, votes):
            number[compared.contrasts[compared.of_pair[row.pair]]] += 1
        asked = compared.systems.index("three"), compared.systems.index("two")
        assert number[asked] == max(number.values()) and number[asked] > 160 / 6
        assert min(number.values()) > 0


def test_status_and_dashboard_say_when_every_vote_was_given_out(tmp_path, capsys):
    hit = dataclasses.replace(ADAPTIVE, adaptive=AdaptiveRule(votes=40, batch=20))
    text = 'assignment = "adaptive"\n[adaptive]\nvotes = 40\nbatch = 20\n'
    write_records(tmp_path / "pairs.jsonl", rated(), signature="test", kind=Pair)
    (tmp_path / "hit.toml").write_text(text)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, rated()) as desk:
        work(desk, 6, most=30)
        said = []
        for _ in range(2):
            show_status(argparse.Namespace(study=tmp_path, token=False, database=url))
            said.append(capsys.readouterr().out)
            work(desk, 6, seed=1)
        app = create_app(ServerConfig(database=url, hit=hit, source="simulated"))
        page = app.test_client().get("/study", query_string={"token": study_token(app)}, follow_redirects=True).text
    assert "Study:   running" in said[0] and "of 120 complete" in said[0]
    assert "Study:   complete" in said[1] and "20 of 20 complete, 0 being answered" in said[1]
    assert "the votes do not reach 100 others" in said[1]
    assert ">complete<" in page and "20 of 120 pairs came up" in page and "all votes are given out" in page


def test_every_vote_says_its_batch_and_its_probability(desk):
    work(desk, 12)
    with desk.store.read() as connection:
        exported = exporting.export(connection, votes_per_pair=3)
    assert all(0 < record.propensity <= 1 and record.batch >= 1 for record in exported.votes)
    # of 20 fresh pairs of each contrast, 10/6 were drawn on average into the first batch
    assert {round(record.propensity, 4) for record in exported.votes if record.batch == 1} == {round(10 / 6 / 20, 4)}


def test_pairs_on_which_raters_differ_get_more_votes_once_all_have_come_up(tmp_path):
    rule = AdaptiveRule(votes=400, batch=20, most=4)
    hit = dataclasses.replace(ADAPTIVE, adaptive=rule)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, rated(10)) as desk:
        assert work(desk, 30) == 240  # four on each of sixty, which is less than 400
        assert {row.target for row in rows_of(desk, pairs)} == {4}
    rule = AdaptiveRule(votes=170, batch=10, most=7)
    folder = tmp_path / "second"
    folder.mkdir()
    hit = dataclasses.replace(ADAPTIVE, adaptive=rule)
    with database("sqlite", folder) as url, desk_of(url, folder, hit, rated(10)) as desk:
        work(desk, 30)
        choices = {}
        for row in rows_of(desk, votes):
            choices.setdefault(row.pair, []).append(row.choice)
        differ = [len(given) for given in choices.values() if len(set(given[:2])) > 1]
        agree = [len(given) for given in choices.values() if len(set(given[:2])) == 1]
        assert sum(differ) / len(differ) > sum(agree) / len(agree)


def test_a_server_that_begins_again_draws_the_same(tmp_path):
    def drawn(folder, stops):
        folder.mkdir()
        with database("sqlite", folder) as url, desk_of(url, folder, ADAPTIVE, rated()) as desk:
            store, generator, log = desk.store, random.Random(1), []
            seats = [seated(desk, f"w{n}") for n in range(8)]
            for turn in range(120):
                if turn in stops:
                    take_up(store, ADAPTIVE, now=0.0)
                    desk = Desk(store, ADAPTIVE, Clock())
                seat = seats[turn % 8]
                step = desk.next_step(seat)
                if step.stage == "task":
                    log.append((step.shown.pair.pair, seat.sitting))
                    vote(desk, seat, step, generator)
            return log, [(row.pair, row.target, row.batch, row.propensity) for row in rows_of(desk, pairs)]

    assert drawn(tmp_path / "one", ()) == drawn(tmp_path / "two", (7, 40, 41, 99))


def test_a_blocked_rater_s_places_are_given_out_again(tmp_path):
    hit = dataclasses.replace(ADAPTIVE, first_checks=1, later_checks=0, max_failures=1)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, rated(checks=3)) as desk:
        work(desk, 8, most=60)
        with desk.store.write() as connection:
            rater = connection.scalar(sa.select(votes.c.rater).where(votes.c.counted == 1).limit(1))
            lost = connection.scalar(sa.select(sa.func.count()).where(votes.c.rater == rater, votes.c.counted == 1))
            connection.execute(sa.update(votes).where(votes.c.rater == rater, votes.c.failed == 0).values(failed=1))
            rules = desk.rules
            effect = standing.settle(connection, rules.assignment, rules.gate, 1e6, rater)
        assert effect.lost == lost > 0 and effect.opened > 0
        log = list(read_events(desk.store.engine.connect()))
        assert all(row.votes <= row.target for row in rows_of(desk, pairs) if row.kind != "check")
        assert sum(event.kind == "batch" for event in log) >= 1


def test_the_next_batch_is_drawn_ahead_of_raters_and_once_alone(desk):
    hit, store = ADAPTIVE, desk.store
    ahead = functools.partial(desk.drawer.draw, now=0.0, ahead=True)
    assert not ahead(SHORT) and not ahead(hit)
    work(desk, 6, most=12)  # of twenty places
    late = plan_anew(desk, hit)
    assert ahead(hit) and not ahead(hit)
    with store.write() as connection:
        assert late.number == 2 and not batches.write_batch(connection, hit, late, 0.0)
    assert {row.batch for row in rows_of(desk, pairs)} == {None, 1, 2}
    given = 12 + work(desk, 14)
    assert given == pytest.approx(160, abs=2) and not ahead(hit)


def test_who_draws_ahead_looks_at_the_pairs_only_where_something_has_happened(desk, monkeypatch):
    looks, count = [], batches.count_before_due
    monkeypatch.setattr(batches, "count_before_due", lambda connection: looks.append(1) or count(connection))
    ahead = functools.partial(desk.drawer.draw, ADAPTIVE, 0.0, ahead=True)
    assert not ahead() and not ahead() and len(looks) == 1
    work(desk, 6, most=12)
    assert ahead() and len(looks) == 2


def test_no_batch_is_planned_while_the_write_lock_is_held_or_a_transaction_is_open(desk, monkeypatch):
    inside, plan, begin = [], batches.plan_batch, desk.store._begin
    planned = []

    @contextlib.contextmanager
    def watched(purpose):
        with begin(purpose) as connection:
            inside.append(True)
            try:
                yield connection
            finally:
                inside.pop()

    def watched_plan(*arguments):
        assert not inside
        planned.append(plan(*arguments))
        return planned[-1]

    monkeypatch.setattr(desk.store, "_begin", watched)
    monkeypatch.setattr(batches, "plan_batch", watched_plan)
    assert work(desk, 12) == pytest.approx(160, abs=2) and len([batch for batch in planned if batch]) >= 7


def test_who_waits_for_others_has_nothing_planned_anew(desk, monkeypatch):
    seats = [seated(desk, f"w{n}") for n in range(30)]
    steps = [desk.next_step(seat) for seat in seats]
    while any(step.stage == "task" for step in steps):  # until all places are in somebody's hands
        new = seated(desk, f"w{len(seats)}")
        seats, steps = [*seats, new], [desk.next_step(new)]
    planned, plan = [], batches.plan_batch
    monkeypatch.setattr(batches, "plan_batch", lambda *arguments: planned.append(1) or plan(*arguments))
    assert {desk.next_step(seats[-1]).stage for _ in range(5)} == {"wait"} and len(planned) <= 1


def test_a_rater_who_waits_while_a_batch_is_drawn_finds_it(desk):
    work(desk, 6, most=12)
    ready, results = threading.Barrier(4), []

    def draw():
        ready.wait()
        results.append(desk.drawer.draw(ADAPTIVE, 0.0))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with desk.store.read() as connection:
        assert results == [True] * 4 and int(settings(connection)["batch"]) <= 5


def test_the_log_alone_says_which_votes_count(desk):
    work(desk, 12)
    with desk.store.read() as connection:
        log = list(read_events(connection))
        again = replay(log, desk.rules.gate, votes_per_pair=3, late_votes="keep")
        stored = {row.lease: bool(row.counted) for row in connection.execute(sa.select(votes))}
    assert again.counted == stored


def test_controls_come_up_in_step_with_the_votes(tmp_path):
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, ADAPTIVE, rated(controls=8)) as desk:
        assert sum(row.open for row in rows_of(desk, pairs) if row.kind == "control") == 1
        assert work(desk, 12) == pytest.approx(160 + 8 * 3, abs=2)  # the last batch is as large as its pairs make it
        assert {row.votes for row in rows_of(desk, pairs) if row.kind == "control"} == {3}
        with desk.store.read() as connection:
            exported = exporting.export(connection, votes_per_pair=3)
        assert {record.propensity for record in exported.votes if record.kind == "control"} == {None}


def test_a_lone_rater_is_never_sent_away_while_there_is_a_pair_for_them(desk):
    assert work(desk, 1) == 80  # each of the pairs that two votes each of 160 make
    assert desk.over_for_all() is None
    assert not [row for row in rows_of(desk, leases) if row.state in ("held", "reserved")]


def test_a_rule_may_change_before_the_first_vote_and_its_votes_later(desk):
    other = dataclasses.replace(ADAPTIVE, adaptive=AdaptiveRule("ranking", votes=160, batch=20))
    assert "adaptive" in take_up(desk.store, other, now=0.0)[0]
    desk = Desk(desk.store, other, Clock())
    work(desk, 3, most=9)
    with pytest.raises(InputError, match="given out by the old rule"):
        take_up(desk.store, ADAPTIVE, now=0.0)
    with pytest.raises(InputError, match="given out by the old rule"):
        take_up(desk.store, SHORT, now=0.0)
    more = dataclasses.replace(other, adaptive=dataclasses.replace(other.adaptive, votes=200))
    take_up(desk.store, more, now=0.0)
    with desk.store.read() as connection:
        assert progress(connection, 3).wanted == 200


def test_a_fixed_study_may_become_adaptive_and_fixed_again_before_its_first_vote(tmp_path):
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, SHORT, rated(2)) as desk:
        assert {row.open for row in rows_of(desk, pairs)} == {1}
        take_up(desk.store, ADAPTIVE, now=0.0)
        assert {row.target for row in rows_of(desk, pairs)} == {0, 2}
        take_up(desk.store, SHORT, now=0.0)
        assert {(row.open, row.target, row.batch) for row in rows_of(desk, pairs)} == {(1, None, None)}


def write_verdicts(folder, turn, made):
    """Both orders of a judge that prefers the system with the later name, or with the earlier one (turn -1)."""
    ruled = [Verdict(pair.pair, "j", order, "a" if (pair.a.model > pair.b.model) == (turn > 0) else "b")
             for pair in made for order in ("ab", "ba")]  # fmt: skip
    write_records(folder / "verdicts.jsonl", ruled, signature="test", kind=Verdict)


def test_what_a_judge_says_is_kept_from_the_first_vote_on(tmp_path):
    hit = dataclasses.replace(ADAPTIVE, adaptive=AdaptiveRule(votes=160, batch=20, judge="verdicts.jsonl"))
    made = rated(20, checks=2)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, made) as desk:
        with pytest.raises(InputError, match="is not there"):
            batches.keep_judge(desk.store, hit, tmp_path)
        for turn in (1, -1):
            write_verdicts(tmp_path, turn, made)
            batches.keep_judge(desk.store, hit, tmp_path)
            with desk.store.read() as connection:
                judge = json.loads(settings(connection)[batches.JUDGE])
            assert sorted(judge, key=judge.get)[::turn] == ["four", "one", "three", "two"]
        work(desk, 3, most=9)
        write_verdicts(tmp_path, 1, made)
        batches.keep_judge(desk.store, hit, tmp_path)
        with desk.store.read() as connection:
            assert json.loads(settings(connection)[batches.JUDGE]) == judge
        assert 9 + work(desk, 6) == 160  # of the same votes as without a judge
        with pytest.raises(InputError, match="given out by the old rule"):
            take_up(desk.store, ADAPTIVE, now=0.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pair": "elsewhere"}, r"verdicts.jsonl:2: pair 'elsewhere', as all others .* Ask a judge"),
        ({"choice": "unusable"}, r"verdicts.jsonl: every verdict .* is unusable. Ask a judge"),
        (None, "verdicts.jsonl holds no verdict. Ask a judge"),
    ],
)
def test_a_judge_that_says_nothing_of_the_systems_is_refused(tmp_path, change, says):
    ruled = (
        [] if change is None else [Verdict(**{"pair": "p0-0", "judge": "j", "order": "ab", "choice": "a", **change})]
    )
    write_records(tmp_path / "verdicts.jsonl", ruled, signature="test", kind=Verdict)
    with pytest.raises(InputError, match=says):
        batches.read_judge(tmp_path / "verdicts.jsonl", compare_systems(rated(2)))


def test_fewer_votes_go_to_systems_that_judge_and_people_find_worse():
    compared = compare_systems(rated(8))
    strengths = {"one": 0.5, "two": 0.45, "three": -0.2, "four": -0.5}
    sums = VoteSums(len(compared.contrasts), 2)
    for number, (pair, contrast) in enumerate(compared.of_pair.items()):  # people's net preference is that difference
        first, second = (strengths[compared.systems[k]] for k in compared.contrasts[contrast])
        is_a = (number % 48 // 6 + 0.5) / 8 < (1 + first - second) / 2
        sums.add(contrast, 1 if is_a else -1, (pair, compared.dialogues[pair]))
    alone, helped, contradicted = (
        batches._share(AdaptiveRule(), compared, sums, judge)
        for judge in ({}, strengths, {**strengths, "one": -0.5, "four": 0.5})
    )
    worse = [k for k, both in enumerate(compared.contrasts) if compared.systems.index("one") not in both]
    assert sum(helped[k] for k in worse) < 0.8 * sum(alone[k] for k in worse)
    assert min(helped) > 0.2 / 6 - 1e-9
    assert contradicted == pytest.approx(alone, abs=0.02)  # whom the votes contradict is not believed


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"assignment": "adaptive", "adaptive": {"judge": "../verdicts.jsonl"}}, "the name of a file"),
        ({"adaptive": {"question": "best"}}, 'set assignment = "adaptive" too'),
        ({"assignment": "adaptive", "adaptive": {"question": "better"}}, "names two systems for better and alike"),
        ({"assignment": "adaptive", "adaptive": {"systems": ["a", "b"]}}, "and for no other question"),
        ({"assignment": "adaptive", "adaptive": {"fewest": 3, "most": 2}}, "less than adaptive.fewest"),
        ({"assignment": "adaptive", "adaptive": {"floor": 0}}, "a part above 0 and at most 1"),
        ({"assignment": "adaptive", "form": "choice"}, "the form choice has none"),
        ({"assignment": "adaptive", "adaptive": {"vote": 3}}, "not a table of question"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(values, says):
    with pytest.raises(InputError, match=says):
        hit_from(values, "hit.toml")


def test_the_systems_of_the_question_must_be_there(tmp_path):
    hit = dataclasses.replace(ADAPTIVE, adaptive=AdaptiveRule("better", ("one", "nobody"), votes=10))
    refusal = pytest.raises(InputError, match="names nobody, which is not one of four")
    with database("sqlite", tmp_path) as url, refusal, desk_of(url, tmp_path, hit, rated(2)):
        pass


@pytest.mark.parametrize(
    ("rule", "contexts", "raters", "votes_given"),
    [
        (AdaptiveRule(votes=15, batch=1), 5, 4, 14),  # a batch smaller than the votes of one pair
        (AdaptiveRule(votes=5, fewest=7), 5, 8, 0),  # fewer votes than one pair takes
        (AdaptiveRule(votes=60, fewest=7, batch=3), 4, 8, 56),
        (AdaptiveRule(votes=40, batch=500), 2, 6, 40),  # every pair comes up in the first batch
        (AdaptiveRule(votes=9_999, most=4), 2, 5, 48),
    ],
)
def test_a_study_gives_out_its_votes_and_not_one_more(tmp_path, rule, contexts, raters, votes_given):
    hit = dataclasses.replace(ADAPTIVE, adaptive=rule)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, rated(contexts)) as desk:
        assert work(desk, raters) == votes_given
        assert desk.over_for_all() == "complete"


def test_a_vote_too_many_takes_a_place_that_a_later_batch_gives_its_pair(tmp_path):
    rule = AdaptiveRule(votes=60, batch=12)
    hit = dataclasses.replace(ADAPTIVE, adaptive=rule, late_votes="count")
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, rated(2)) as desk:
        late = [(seat := seated(desk, f"l{n}"), desk.next_step(seat)) for n in range(6)]
        desk.clock.now += 3600
        work(desk, 2)
        for seat, step in late:
            desk.answer(seat, step.shown.token, press(step, "a"), 3.0)
        work(desk, 9)
        with desk.store.read() as connection:
            again = replay(read_events(connection), desk.rules.gate, votes_per_pair=3, late_votes="count")
            assert again.counted == {row.lease: bool(row.counted) for row in connection.execute(sa.select(votes))}
        assert all(row.votes <= row.target for row in rows_of(desk, pairs))


def test_who_has_judged_every_pair_is_promised_no_further_sitting(desk):
    work(desk, 1)
    seat = seated(desk, "w0", "last")
    step = desk.next_step(seat)
    assert (step.stage, step.more, step.done) == ("none_left", False, 0)


@pytest.mark.parametrize("change", ["votes", "pairs", "floor"])
def test_a_batch_that_was_drawn_before_the_study_changed_is_not_written(desk, tmp_path, change):
    early = plan_anew(desk, ADAPTIVE)
    hit, values = ADAPTIVE, {"votes": {"votes": 200}, "floor": {"floor": 0.5}, "pairs": {}}[change]
    if change == "pairs":
        reload(desk.store, tmp_path, hit, rated(21))
    hit = dataclasses.replace(hit, adaptive=dataclasses.replace(hit.adaptive, **values))
    take_up(desk.store, hit, now=0.0)
    with desk.store.write() as connection:
        assert not batches.write_batch(connection, hit, early, 0.0)
        assert places_left(connection) == values.get("votes", 160) - 20
    assert work(Desk(desk.store, hit, Clock()), 14) == pytest.approx(values.get("votes", 160), abs=2)


def reload(store, folder, hit, made):
    """The pairs file is another one now, and the server begins again."""
    write_records(folder / "pairs.jsonl", made, signature="test", kind=Pair)
    pool.load(store, folder / "pairs.jsonl", hit, now=0.0)
    take_up(store, hit, now=0.0)


def counted_as_logged(desk):
    """Which votes count in the store, after a look whether the event log alone says the same."""
    with desk.store.read() as connection:
        log = read_events(connection)
        again = replay(log, desk.rules.gate, votes_per_pair=3, late_votes=desk.rules.hit.late_votes)
        stored = {row.lease: bool(row.counted) for row in connection.execute(sa.select(votes))}
    assert again.counted == stored
    return stored


@pytest.mark.parametrize("change", ["fixed and back", "another text"])
def test_what_was_drawn_before_a_change_is_no_place_by_the_log(tmp_path, change):
    hit = dataclasses.replace(ADAPTIVE, adaptive=AdaptiveRule(votes=12, batch=12, fewest=1), late_votes="count")
    made = rated(2)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, made) as desk:
        if change == "fixed and back":
            take_up(desk.store, dataclasses.replace(SHORT, late_votes="count"), now=0.0)
            take_up(desk.store, hit, now=0.0)
        else:
            other = [dataclasses.replace(pair, a=dataclasses.replace(pair.a, text="another text")) for pair in made]
            reload(desk.store, tmp_path, hit, other)
        desk = Desk(desk.store, hit, Clock())
        seat = seated(desk, "late")
        step = desk.next_step(seat)
        desk.clock.now += 3600
        assert work(desk, 3) == 12
        desk.answer(seat, step.shown.token, press(step, "a"), 3.0)
        assert sorted(counted_as_logged(desk).values()) == [False, *[True] * 12]


def test_a_pair_that_was_in_hand_when_a_study_became_adaptive_counts_once_it_is_drawn(tmp_path):
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, SHORT, rated(8)) as desk:
        seats = [seated(desk, f"early{n}") for n in range(10)]
        steps = [desk.next_step(seat) for seat in seats]
        take_up(desk.store, ADAPTIVE, now=0.0)
        desk = Desk(desk.store, ADAPTIVE, Clock())
        for seat, step in zip(seats, steps, strict=True):
            desk.answer(seat, step.shown.token, press(step, "a"), 3.0)
        assert set(counted_as_logged(desk).values()) == {False, True}
        work(desk, 12)
        assert sum(counted_as_logged(desk).values()) == 160 - 10  # ten pairs are still in hand


def test_a_full_pair_with_few_votes_does_not_hide_one_with_room(desk):
    with desk.store.write() as connection:
        is_open = sa.update(pairs).where(pairs.c.open == 1)
        connection.execute(is_open.values(target=3, live=3))
        one = connection.scalar(sa.select(pairs.c.pair).where(pairs.c.open == 1).order_by(pairs.c.position.desc()))
        connection.execute(is_open.where(pairs.c.pair == one).values(target=5, live=4))
    step = desk.next_step(seated(desk, "w"))
    assert step.stage == "task" and step.shown.pair.pair == one


def test_no_batch_is_so_large_that_others_wait_for_it():
    assert batch_places(60_000) == batch_places(9_000_000) == 200 and batch_places(1_500) == 75


def test_a_server_that_has_not_read_the_new_votes_draws_ahead_by_them_all_the_same(desk):
    more = dataclasses.replace(ADAPTIVE, adaptive=dataclasses.replace(ADAPTIVE.adaptive, votes=200))
    work(desk, 6, most=12)
    take_up(desk.store, more, now=0.0)
    assert desk.drawer.draw(ADAPTIVE, 0.0, ahead=True)
    with desk.store.read() as connection:
        assert places_left(connection) == 160
