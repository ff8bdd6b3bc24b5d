"""What leaves a store: votes under the study's gate or another, forgotten persons, ties that nobody gave."""

import dataclasses
import json
from pathlib import Path

import pytest

from seedvote.crowd.exchange import exporting
from seedvote.crowd.rating.gate import GateRule
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.store.store import read_events
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Rater, Vote
from tests.crowd.study import SHORT, database, desk_of, make_pairs, press, seated, vote, work
from tests.house.typed import typed

ROOT = Path(__file__).resolve().parents[3]
GATED = dataclasses.replace(SHORT, first_checks=1, later_checks=2, max_failures=3)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def export(desk, **options):
    with desk.store.read() as connection:
        return exporting.export(connection, votes_per_pair=desk.rules.assignment.votes_per_pair, **options)


def rated(desk, worker, wrong=0):
    """A sitting in which the first `wrong` checks are failed."""
    seat = seated(desk, worker)
    while (place := desk.next_step(seat)).stage == "task":
        fail = place.shown.pair.kind == "check" and wrong > 0
        wrong -= fail
        vote(desk, seat, "b" if fail else "a")


def test_export_numbers_rounds_by_time(url, tmp_path):
    with desk_of(url, tmp_path, made=make_pairs(2)) as desk:
        for n in range(3):
            work(desk, seated(desk, f"r{n}"), choice="ab"[n % 2])
        found = export(desk)
        assert sorted((v.pair, v.round) for v in found.votes) == [(p, k) for p in ("p0", "p1") for k in (1, 2, 3)]
        assert [r.votes for r in found.raters] == [2, 2, 2]
        assert "votes:6|counted:6|" in found.recipe


def test_checks_are_in_no_vote_file(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(4, checks=5)) as desk:
        rated(desk, "r")
        found = export(desk)
        assert {v.kind for v in found.votes} == {"real"} and len(found.votes) == 4
        assert (found.raters[0].checks_seen, found.raters[0].checks_failed) == (3, 0)


def test_replayed_gate_blocks_more_only_if_stricter(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(8, checks=6)) as desk:
        for n, wrong in enumerate((0, 1, 2, 3)):
            rated(desk, f"r{n}", wrong)
        before, blocked = export(desk), {}
        for limit in (1, 2, 3, 4):
            with desk.store.read() as connection:
                told = replay(read_events(connection), GateRule(limit, "total", 1), votes_per_pair=3, late_votes="keep")
            after = export(desk, replayed=told)
            blocked[limit] = sum(rater.status == "blocked" for rater in after.raters)
            if limit == 3:
                assert after.votes == before.votes and after.raters == before.raters
        assert blocked == {1: 3, 2: 2, 3: 1, 4: 0}


def test_a_forgotten_person_is_in_no_byte_of_the_store_and_the_votes_stay(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of(url, tmp_path, made=make_pairs(2)) as desk:
        for worker in ("worker-to-forget", "other"):
            work(desk, seated(desk, worker))
        name = desk.rater_id("worker-to-forget")
        assert forget(desk.store, name, votes_per_pair=3, now=2_000_000.0) == 2
        assert forget(desk.store, name, votes_per_pair=3, now=2_000_000.0) is None
        found = export(desk)
    assert len(found.votes) == 4 and sum(v.rater.startswith("forgotten-") for v in found.votes) == 2
    assert all(v.seconds is None for v in found.votes if v.rater.startswith("forgotten-"))
    left = b"".join(path.read_bytes() for path in tmp_path.glob("crowd.sqlite*"))
    assert b"worker-to-forget" not in left and name.encode() not in left and b"other" in left


def test_forgetting_works_on_postgresql_and_gives_back_what_was_held(url, tmp_path):
    with desk_of(url, tmp_path, made=make_pairs(1)) as desk:
        seat = seated(desk, "r")
        desk.next_step(seat)
        assert forget(desk.store, seat.rater, votes_per_pair=3, now=desk.clock.now) == 0
        for n in range(3):
            assert desk.next_step(seated(desk, f"r{n}")).stage == "task"


def test_ties_that_the_study_asked_for_say_that_nobody_gave_them(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    hit = dataclasses.replace(SHORT, identical="tie")
    with desk_of(url, tmp_path, hit, make_pairs(1, identical=1)) as desk:
        work(desk, seated(desk, "r"))
        found = export(desk, auto_ties=True)
    auto = [v for v in found.votes if v.extra.get("auto")]
    assert [(v.pair, v.choice, v.round, v.identical) for v in auto] == [("i0", "tie", k, True) for k in (1, 2, 3)]
    assert {v.rater for v in auto}.isdisjoint(r.rater for r in found.raters)


def test_payment_and_answer_keys_are_in_no_export(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of(url, tmp_path, GATED, make_pairs(4, checks=5)) as desk:
        seat = desk.arrive("AMTWORKER", "ASSIGNMENT", "mturk")
        desk.consent(seat)
        place = desk.next_step(seat)
        desk.answer(seat, place.shown.token, press(place, "a"), 1.0)
        with desk.store.read() as connection:
            text = json.dumps(list(exporting.exported_events(connection)))
        found = export(desk)
        text += repr(found)
        assert not any(word in text for word in ("AMTWORKER", "ASSIGNMENT", place.shown.token, desk.secret))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "hit.toml").write_text("pairs_per_sitting = 4\nfirst_checks = 1\nlater_checks = 2\n")
    with desk_of(f"sqlite:///{folder / 'crowd.sqlite'}", folder, GATED, make_pairs(8, checks=6)) as desk:
        for n, wrong in enumerate((0, 1, 2, 3)):
            rated(desk, f"r{n}", wrong)
    return folder


def crowd(*arguments):
    return typed("crowd", *arguments)


def test_regate_writes_its_result_elsewhere(study, tmp_path):
    done = crowd("regate", study, "--max-failures", 1, "--out", tmp_path)
    assert "3 raters blocked, 4 votes counted" in done.stdout, done.stdout + done.stderr
    votes = read_records(tmp_path / "votes.jsonl", Vote)
    assert sum(v.counted for v in votes) == 4 and len(votes) > 12
    assert sorted(r.status for r in read_records(tmp_path / "raters.jsonl", Rater)) == ["blocked"] * 3 + ["passed"]
    assert crowd("regate", study, "--out", study).returncode == 2


def test_forget_finds_a_person_by_id_or_hash(study):
    assert "Forgotten. " in crowd("forget", study, "r3").stdout
    missing = crowd("forget", study, "r3")
    assert missing.returncode == 2 and "No rater of this study has that id" in missing.stderr


def test_the_command_plan_checks_prints_the_published_probabilities():
    lines = {line.split()[0]: line.split()[1:4] for line in crowd("plan-checks").stdout.splitlines()[2:-2]}
    assert [lines[n][0] for n in ("3", "5", "8")] == ["0.7037", "0.2099", "0.0197"]
    assert lines["3"][1] == "0.0000" and float(lines["8"][2]) > 0.99
    assert crowd("plan-checks", "--error", "2").returncode == 2


def test_pause_resume_and_stop_are_seen_by_status(study):
    for command, state in (("pause", "paused"), ("stop", "stopped"), ("resume", "running")):
        assert crowd(command, study).returncode == 0
        assert f"Study:   {state}" in crowd("status", study).stdout
    assert "/study?token=" in crowd("status", study, "--token").stdout
