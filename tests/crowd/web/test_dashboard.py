"""The researcher's page: its numbers against slow twins and published values, and its door."""

import io
import itertools
import json
import logging
import math
import os
import re
import sqlite3
import statistics
import sys
import zipfile
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from flask import g
from scipy import stats

from seedvote.crowd.commands.status import share_text
from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.marketplaces.caps import set_caps
from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.store import open_store
from seedvote.crowd.store.tables import payouts
from seedvote.crowd.study_folder import hit_of, prepare_study
from seedvote.crowd.watching import refreshing
from seedvote.crowd.watching.overview import overview
from seedvote.crowd.watching.refreshing import read_so_far
from seedvote.crowd.watching.share_interval import law_of_ties, set_size
from seedvote.crowd.watching.signals import PageEvents, Signals
from seedvote.crowd.web import dashboard
from seedvote.crowd.web.app import ServerConfig, create_app, study_token
from seedvote.crowd.web.dashboard import render_page
from seedvote.dialogue.files import read_json, write_records
from seedvote.dialogue.records import Vote
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.conversations import make_talks
from tests.crowd.questions import make_questions
from tests.crowd.sets import make_sets
from tests.crowd.study import SHORT, SO_FAR, database, desk_of, make_pairs, seated, work
from tests.house.forked import PIPE, Forked
from tests.house.typed import typed
from tests.house.waiting import wait_for
from tests.house.warm import SERVING, warm_python

ROOT = Path(__file__).resolve().parents[3]
HIT = Hit(pairs_per_sitting=8, later_checks=2, pay_per_sitting=1.5, currency="EUR")
START = 1_800_000_000.0
DRAWN = ("votes.jsonl", "raters.jsonl", "ties.json", "ties.png", "ties.pdf", "so_far.json")


@pytest.fixture(autouse=True)
def steps_are_forked(monkeypatch):
    """The commands behind buttons, which the product starts by its own Python."""
    assert ("nice", sys.executable, "-m", "seedvote") == refreshing.PYTHON
    monkeypatch.setattr(refreshing, "PYTHON", ("nice", warm_python(SERVING), "-m", "seedvote"))


class Clock:
    """Ten seconds a step."""

    def __init__(self):
        self.at = START

    def __call__(self):
        return self.at


def judge(desk, clock, worker, choose):
    """One sitting of one rater."""
    seat = desk.arrive(worker, "1", "simulated")
    desk.consent(seat)
    for number in range(1, 5):
        place = desk.instructed(seat, number, "tie")
    while place.stage == "task":
        clock.at += 10
        _, place = desk.answer(seat, place.shown.token, choose(place.shown), 10.0)


def careful(task, generator):
    """Right on checks; elsewhere a tie two times in five, else the left side more often than not."""
    if task.pair.kind == "check":
        return "left" if task.pair.answer == task.layout else "right"
    return generator.choices(["left", "right", "tie"], [4, 2, 4])[0]


def voted(folder, url=None):
    """Seven careful raters of 8 pairs each and one who fails three checks: the application, its desk, its clock."""
    url = prepare_study(folder, ROOT / "examples/pairs.jsonl", HIT, url, seed=0, simulated=True)
    app = create_app(ServerConfig(database=url, hit=HIT, folder=folder, rate=0, source="simulated"))
    clock = Clock()
    desk = Desk(app.extensions["desk"].store, HIT, clock)
    judge(desk, clock, "clicker", lambda task: "tie")
    for number in range(7):
        generator = child_random(0, "dashboard", number)
        judge(desk, clock, f"rater-{number}", lambda task, generator=generator: careful(task, generator))
    return app, desk, clock


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    app, desk, clock = voted(tmp_path_factory.mktemp("study"))
    yield app, desk, clock
    desk.store.close()


@pytest.fixture
def client(study):
    return study[0].test_client()


@pytest.fixture
def researcher(study):
    client = study[0].test_client()
    assert client.get(f"/study?token={study_token(study[0])}").status_code == 303
    return client


def now(study):
    _, desk, clock = study
    with desk.store.read() as connection:
        return overview(connection, HIT, clock()), export(connection, votes_per_pair=3)


def test_counts_ties_and_rounds_are_those_of_the_exported_votes(study):
    found, exported = now(study)
    counted = [vote for vote in exported.votes if vote.counted and vote.kind == "real"]
    assert found.real == len(counted) == found.progress.counted == 56
    assert found.ties == sum(vote.choice == "tie" for vote in counted)
    for k, (number, ties) in enumerate(found.rounds, 1):
        mine = [vote for vote in counted if vote.round == k]
        assert (number, ties) == (len(mine), sum(vote.choice == "tie" for vote in mine))


def test_the_raters_table_is_that_of_a_slow_twin(study):
    found, exported = now(study)
    assert [line.rater for line in found.raters] == [rater.rater for rater in exported.raters]
    for line, rater in zip(found.raters, exported.raters, strict=True):
        mine = [vote for vote in exported.votes if vote.rater == line.rater]
        assert (line.status, line.votes) == (rater.status, len(mine))
        assert (line.checks_seen, line.checks_failed) == (rater.checks_seen, rater.checks_failed)
        if not mine:
            assert line.tie_rate is line.left_rate is line.agreement is line.median_seconds is None
            continue
        decided = [vote for vote in mine if vote.choice != "tie"]
        assert line.tie_rate == 1 - len(decided) / len(mine)
        assert line.left_rate == sum(vote.choice == vote.left for vote in decided) / len(decided)
        assert line.median_seconds == statistics.median(vote.seconds for vote in mine)
        measures = [vote for vote in exported.votes if vote.rater_status not in ("blocked", "excluded")]
        met = [(a, b) for a, b in itertools.product(mine, measures) if a.pair == b.pair and a is not b]
        assert line.agreement == sum(a.choice == b.choice for a, b in met) / len(met)


def test_who_is_excluded_is_no_measure_for_others(tmp_path):
    app, desk, clock = voted(tmp_path)
    before, exported = now((app, desk, clock))
    out = [line.rater for line in before.raters if line.votes][1]  # whose pairs one other rater has judged
    rule_on(desk.store, out, "exclude", "a test", clock())
    after, _ = now((app, desk, clock))
    measures = [vote for vote in exported.votes if vote.rater != out]
    agreed = {line.rater: line.agreement for line in before.raters}
    for line in after.raters:
        mine = [vote for vote in exported.votes if vote.rater == line.rater]
        met = [(a, b) for a, b in itertools.product(mine, measures) if a.pair == b.pair and a is not b]
        assert line.agreement == (sum(a.choice == b.choice for a, b in met) / len(met) if met else None)
    assert any(line.agreement != agreed[line.rater] for line in after.raters if line.rater != out)
    desk.store.close()


def test_pace_time_and_money_follow_from_the_clock_and_the_hit(study):
    found, _ = now(study)
    hours = (study[2]() - START - 10) / 3600
    assert found.per_hour == pytest.approx(56 / hours, rel=0.01)
    assert found.hours_to_go == pytest.approx((72 - 56) / found.per_hour)
    assert (found.sittings, found.sittings_to_go) == (8, 2)
    assert sum(missing * number for missing, number in found.short) == 72 - 56
    assert all(have < 3 for _, have, _ in found.shortest)


def test_postgresql_says_the_same(study, tmp_path):
    with database("postgresql", tmp_path) as url:
        other = voted(tmp_path, url)
        assert now(other)[0] == now(study)[0]
        other[1].store.close()


def test_the_law_of_ties_is_the_papers():
    law = law_of_ties(2000, 700, 200)
    assert law == pytest.approx(stats.hypergeom(2000, 700, 200).pmf(np.arange(201)), rel=1e-8)
    share = np.arange(201) / 200
    sd = math.sqrt(np.dot(law, share**2) - np.dot(law, share) ** 2)
    assert round(sd, 4) == 0.0320
    assert sum(law[101:]) == pytest.approx(1.5e-6, rel=0.05)
    assert set_size(2000) == 200


def test_the_law_stays_within_what_there_is():
    assert law_of_ties(12, 2, 10) == pytest.approx(stats.hypergeom(12, 2, 10).pmf(np.arange(11)))


@pytest.mark.parametrize("path", ["/study", "/study?token=guess", "/study?token=%00é", "/study/file/ties.json"])
def test_without_the_token_the_page_does_not_exist(client, path):
    reply = client.get(path)
    unknown = client.get("/no-such-page")
    assert reply.status_code == unknown.status_code == 404
    assert "Set-Cookie" not in reply.headers
    assert b"HumanExp" not in reply.data and len(reply.data) == len(unknown.data)
    assert client.post("/study/state", data={"state": "stopped"}).status_code == 404


def test_the_token_becomes_a_cookie_that_only_this_page_gets(study, client):
    reply = client.get(f"/study?token={study_token(study[0])}")
    assert reply.status_code == 303 and reply.headers["Location"] == "/study"
    cookie = reply.headers["Set-Cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/study"))
    assert study_token(study[0]) not in cookie
    assert client.get("/study").status_code == 200


def test_the_page_shows_progress_ties_curves_raters_short_pairs_and_money(researcher):
    text = researcher.get("/study").get_data(as_text=True)
    for part in ("56 of 72", "chance 33.3", "HumanExp-3", "<polyline", "blocked", "12.00 EUR", "3.00 EUR", "short of"):
        assert part in text, part
    assert "kind:real|unit:pair,rater" in text and "|set:10|replace:no" in text


@pytest.mark.parametrize("key", ["rater", "status", "votes", "ties", "left", "checks", "seconds", "agreement"])
def test_the_table_is_sorted_by_every_column_both_ways(researcher, key):
    up, down = (researcher.get(f"/study?sort={key}&order={way}").get_data(as_text=True) for way in ("up", "down"))
    tables = [text.split("<h2>Raters (")[1].split("</section>")[0] for text in (up, down)]
    rows = [[row.split("</tr>")[0] for row in text.split("<tr><th scope")[1:]] for text in tables]
    assert len(rows[0]) == 8 and sorted(rows[0]) == sorted(rows[1])
    assert 'aria-sort="ascending"' in up and 'aria-sort="descending"' in down


def test_an_unknown_column_is_no_error(researcher):
    assert researcher.get("/study?sort=<b>&order=x").status_code == 200


def csrf_of(client):
    return client.get("/study").get_data(as_text=True).split('name="csrf" value="')[1].split('"')[0]


def test_pause_resume_and_stop_reach_the_raters(study, researcher):
    rater = study[0].test_client()
    rater.post("/consent", data=PageForm(rater.get("/?rater=someone&source=simulated").text).fields)
    for number in range(1, 5):
        fields = PageForm(rater.get(f"/instructions/{number}").text).fields
        rater.post(f"/instructions/{number}", data=fields | {"choice": "tie"})
    assert "Pair 1" in rater.get("/task").get_data(as_text=True)
    for state, word in (("paused", "The study is paused"), ("stopped", "This study has ended"), ("running", "Pair 1")):
        reply = researcher.post("/study/state", data={"state": state, "csrf": csrf_of(researcher)})
        assert reply.status_code == 303
        assert f'class="state {state}"' in researcher.get("/study").get_data(as_text=True)
        assert word in rater.get("/task").get_data(as_text=True)


@pytest.mark.parametrize("form", [{"state": "paused"}, {"state": "paused", "csrf": "é"}, {"state": "gone"}])
def test_a_switch_without_the_pages_own_form_is_refused(researcher, form):
    if form["state"] == "gone":
        form = {**form, "csrf": csrf_of(researcher)}
    assert researcher.post("/study/state", data=form).status_code == 400
    assert 'class="state running"' in researcher.get("/study").get_data(as_text=True)


def test_dashboard_shows_its_figures_and_no_other_file(study, researcher):
    folder = study[0].extensions["config"].folder
    assert "--dashboard" in researcher.get("/study").get_data(as_text=True)
    (folder / "ties.json").write_text("{}", encoding="utf-8")
    (folder / "ties.png").write_bytes(b"png")
    try:
        assert "/study/file/ties.png" in researcher.get("/study").get_data(as_text=True)
        with researcher.get("/study/file/ties.json") as reply:
            assert reply.status_code == 200 and reply.get_json() == {}
        for name in ("crowd.sqlite", "..%2fcrowd.sqlite", "ties.pdf"):
            assert researcher.get(f"/study/file/{name}").status_code == 404
    finally:
        (folder / "ties.json").unlink()
        (folder / "ties.png").unlink()


def test_the_strongest_disagreement_comes_first_as_a_slow_twin_finds_it(study):
    found, exported = now(study)
    mine = {}
    for one in exported.votes:
        if one.counted and one.kind == "real":
            mine.setdefault(one.pair, []).append(one.choice)
    slow = {
        pair: statistics.fmean(one != other for one, other in itertools.combinations(choices, 2))
        for pair, choices in mine.items()
        if len(choices) > 1
    }
    first = sorted(((share, len(mine[pair]), pair) for pair, share in slow.items() if share),
                   key=lambda row: (-row[0], -row[1], row[2]))  # fmt: skip
    assert first
    assert [(one.disagreement, one.votes, one.pair) for one in found.disputed] == [
        (pytest.approx(share), number, pair) for share, number, pair in first[:10]
    ]
    assert all(sum(one.counts) == one.votes for one in found.disputed)


def test_who_does_not_count_is_told_by_rule(study):
    found, _ = now(study)
    assert found.by_rule == (
        ("blocked by hidden checks", 1, next(r.votes for r in found.raters if r.status == "blocked")),
    )
    store = study[1].store
    first = next(line.rater for line in found.raters if line.status == "passed")
    try:
        rule_on(store, first, "exclude", "copied", START)
        assert ("excluded by hand", 1) in [row[:2] for row in now(study)[0].by_rule]
    finally:
        rule_on(store, first, None, None, START)


def test_what_the_analysis_found_is_shown_with_its_age_and_never_as_markup(study, researcher):
    path = study[0].extensions["config"].folder / "so_far.json"
    shown = {}
    try:
        for name, value in {"whole": SO_FAR, "none of ours": {"rule": 3}, "cut off": None}.items():
            path.write_text('{"rule": {' if value is None else json.dumps(value), encoding="utf-8")
            shown[name] = researcher.get("/study").get_data(as_text=True)
    finally:
        path.unlink()
    whole = shown.pop("whole")
    for part in ("from 50 votes; 6 have come since", "+40.0 (+10.0 to +70.0)", "stop: &lt;b&gt;one is preferred",
                 "Fleiss&#39; kappa 0.25.", "Stated when 40 votes were known, so it was not planned"):  # fmt: skip
        assert part in whole, part
    assert "<b>one" not in whole
    assert all("analysis watch STUDY</code> runs beside it" in text for text in shown.values())


def test_the_analysis_writes_what_this_page_reads(study, tmp_path):
    from seedvote.analysis.notebook import agreement, preference

    _, exported = now(study)
    write_records(tmp_path / "votes.jsonl", exported.votes, signature="v", kind=Vote)
    (tmp_path / "pairs.jsonl").write_bytes((ROOT / "examples/pairs.jsonl").read_bytes())
    assert not typed("analysis", "watch", tmp_path, "--once", "--size", 12, "--margin", 0.1).returncode
    found = read_so_far(tmp_path)
    rows = preference(tmp_path).document["contrasts"]
    assert [(one.first, one.net, one.low, one.high) for one in found.nets] == [
        (row["first"], *((row["net"] or {}).get(key) for key in ("value", "low", "high"))) for row in rows
    ]
    assert found.agreement["Fleiss' kappa"]["value"] == agreement(tmp_path).document["fleiss_kappa"]["value"]
    assert (found.votes, found.margin, found.stated_at) == (56, 0.1, 56) and found.running


def test_votes_are_exported_by_a_button_and_only_by_this_page(study, researcher):
    folder = study[0].extensions["config"].folder
    csrf = re.search(r'name="csrf" value="(\w+)"', researcher.get("/study").get_data(as_text=True)).group(1)
    assert researcher.post("/study/export", data={"csrf": "forged", "form": "csv"}).status_code == 400
    assert researcher.post("/study/export", data={"csrf": csrf, "form": "../x"}).status_code == 400
    assert study[0].test_client().post("/study/export", data={"csrf": csrf, "form": "csv"}).status_code == 404
    assert not (folder / "votes.csv").exists()
    assert researcher.post("/study/export", data={"csrf": csrf, "form": "csv"}).status_code == 303
    assert "votes.csv</a>, written 20" in researcher.get("/study").get_data(as_text=True)
    with researcher.get("/study/file/votes.csv") as reply:
        assert reply.headers["Content-Disposition"].startswith("attachment")
        assert len(reply.get_data(as_text=True).splitlines()) == 1 + len(now(study)[1].votes)


def test_read_only_study_sends_its_export(study, researcher, monkeypatch):
    """As compose.yaml mounts it."""
    folder = study[0].extensions["config"].folder
    before = sorted(folder.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    csrf = re.search(r'name="csrf" value="(\w+)"', researcher.get("/study").text)[1]
    with researcher.post("/study/export", data={"csrf": csrf, "form": "jsonl"}) as reply:
        assert reply.status_code == 200 and reply.headers["Content-Disposition"].startswith("attachment")
        with zipfile.ZipFile(io.BytesIO(reply.data)) as archive:
            assert {"votes.jsonl", "raters.jsonl"} <= set(archive.namelist())
            assert len(archive.read("votes.jsonl").splitlines()) == 1 + len(now(study)[1].votes)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("readable", [True, False])
def test_failed_export_says_why(study, researcher, monkeypatch, readable):
    monkeypatch.setattr(os, "access", lambda path, mode: readable)
    monkeypatch.setattr(dashboard, "export_anew", lambda *_: "crowd: no space left on device.")
    csrf = re.search(r'name="csrf" value="(\w+)"', researcher.get("/study").text)[1]
    reply = researcher.post("/study/export", data={"csrf": csrf, "form": "jsonl"})
    assert reply.status_code == 503 and "no space left on device" in reply.text
    assert "No vote is lost" in reply.text and "answer was not saved" not in reply.text


def test_other_failures_of_the_page_are_told_to_the_researcher_too(study, researcher, monkeypatch):
    stale = researcher.post("/study/state", data={"csrf": "old", "state": "paused"})
    assert stale.status_code == 400 and "out of date" in stale.text and "Nothing was changed" in stale.text
    monkeypatch.setattr(dashboard, "read_so_far", lambda folder: 1 / 0)
    logging.disable(logging.CRITICAL)
    try:
        failed = researcher.get("/study")
    finally:
        logging.disable(logging.NOTSET)
    assert failed.status_code == 500 and "The page failed" in failed.text
    assert not any("answer was not saved" in reply.text for reply in (stale, failed))


def test_what_was_paid_stands_there_with_what_is_uncertain_and_the_cap(tmp_path):
    url = prepare_study(tmp_path, ROOT / "examples/pairs.jsonl", HIT, None, seed=0, simulated=True)
    store = open_store(url)
    rows = [("confirmed", "1.50", "1.80"), ("uncertain", "0.20", "0.24"), ("refused", "9.00", "9.90")]
    with store.write() as connection:
        for number, (state, amount, cost) in enumerate(rows):
            connection.execute(sa.insert(payouts).values(
                market="prolific", submission=str(number), purpose="reward", state=state, amount=amount, cost=cost,
                currency="USD", handle="", why="", at=0.0,
            ))  # fmt: skip
    set_caps(store, Decimal("25"))
    with store.read() as connection:
        found = overview(connection, HIT, START)
    store.close()
    told = page_of(found, HIT, tmp_path)
    assert "1.80 USD" in told and "0.24 promised or on its way; 1 uncertain, see crowd pay" in told
    assert "the study may cost 25.00" in told


def test_page_events_have_columns_where_the_study_counts_them(study):
    found, _ = now(study)
    first = found.raters[0].rater
    counted = Signals(1.0, None, 1.5, None, None, page=PageEvents(7, 3, 0))
    for signals, shown in ((counted, True), (replace(counted, page=None), False)):
        told = page_of(replace(found, signals={first: signals}), HIT, study[0].extensions["config"].folder)
        assert ("<td>7</td><td>3</td><td>0</td>" in told) is ("Left the page" in told) is shown


def test_an_empty_study_is_shown_without_numbers_it_does_not_have(tmp_path):
    url = prepare_study(tmp_path, ROOT / "examples/pairs.jsonl", HIT, None, seed=0, simulated=True)
    app = create_app(ServerConfig(database=url, hit=replace(HIT, title="Empty"), rate=0))
    client = app.test_client()
    client.get(f"/study?token={study_token(app)}")
    text = client.get("/study").get_data(as_text=True)
    for part in ("0 of 72", "unknown", "no counted vote yet", "No raters yet", "24 pairs short of 3"):
        assert part in text, part
    app.extensions["desk"].store.close()


def test_figures_are_drawn_for_new_votes_or_after_failure(study, monkeypatch):
    outcomes = iter([False, True])
    monkeypatch.setattr(refreshing, "refresh", lambda folder, database, question: next(outcomes))
    seen = [(None, 0)]
    for _ in range(3):
        seen.append(refreshing.refresh_if_new(study[1].store, study[0].extensions["config"].folder, None, seen[-1]))
    assert seen[1] == seen[0] != seen[2] == seen[3]
    assert next(outcomes, "no third time") == "no third time"


def test_serve_with_dashboard_draws_the_figures(study, tmp_path):
    folder = study[0].extensions["config"].folder
    (tmp_path / "pairs.jsonl").write_bytes((ROOT / "examples/pairs.jsonl").read_bytes())
    (tmp_path / "crowd.sqlite").write_bytes(snapshot(folder / "crowd.sqlite"))
    command = ["-c", WITH_FIGURES, warm_python(), "serve", str(tmp_path), "--port", "0", "--dashboard"]
    environment = os.environ | {"SKETCHED": "1"}  # to render them takes longer than all the rest
    with Forked([*command, "--stop-with-stdin"], cwd=ROOT, env=environment, stdin=PIPE, stdout=PIPE) as server:
        assert "http://" in server.stdout.readline()
        wait_for(lambda: all((tmp_path / name).exists() for name in DRAWN))
        assert read_json(tmp_path / "ties.json")["pooled"]["votes"] == 56


# `crowd serve` that types the commands of its figures at a warm Python.
WITH_FIGURES = """
import sys
from seedvote.crowd.watching import refreshing
refreshing.PYTHON = ("nice", sys.argv.pop(1), "-m", "seedvote")
from seedvote.crowd.__main__ import COMMANDS
from seedvote.dialogue.shell.command_line import dispatch
dispatch("crowd", "", COMMANDS, sys.argv[1:])
"""


def snapshot(path):
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        return copy.serialize()


def test_a_step_that_fails_is_told_in_the_log(tmp_path, caplog):
    assert not refreshing.refresh(tmp_path, None)
    assert caplog.records[-1].message == "figures"


@pytest.mark.parametrize("raters", [0, 1, 4])
def test_ties_recorded_for_identical_responses_count_as_in_the_analysis(tmp_path, raters):
    from seedvote.analysis.notebook import ties

    hit = replace(SHORT, identical="tie", pairs_per_sitting=6)
    with desk_of(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, hit, make_pairs(real=6, identical=2)) as desk:
        for number in range(raters):
            work(desk, seated(desk, f"w{number}"), choice=("a", "tie", "b", "b")[number])
        with desk.store.read() as connection:
            found = overview(connection, hit, desk.clock())
            votes = export(connection, votes_per_pair=hit.votes_per_pair, auto_ties=True).votes
    pooled = ties([vote for vote in votes if vote.counted], size=1, replace=True).document
    assert found.automatic == 6 == pooled["pooled"]["automatic_ties"]
    assert (found.real, found.ties) == (pooled["pooled"]["votes"], pooled["pooled"]["ties"])
    assert found.rounds == tuple((one["votes"], one["ties"]) for one in pooled["experiments"])
    ours, theirs = found.interval, pooled["pooled"]["interval"]
    assert (ours.low, ours.high) == pytest.approx((theirs["low"], theirs["high"]), abs=1e-9)
    page = page_of(found, hit, tmp_path)
    assert "counted in the share of ties" in page
    assert "<title>rooms &amp; seeds</title>" in page and f'Raters read: <q dir="auto">{hit.title}</q>' in page
    assert f"{found.real} votes (6 of them recorded for identical responses)" in share_text(found, FORMS["pairs"])


def page_of(found, hit, folder):
    """The researcher's page of a standing."""
    app = create_app(ServerConfig(f"sqlite:///{folder / 'crowd.sqlite'}", hit, rate=0))
    with app.test_request_context("/study"):
        g.nonce = "n"
        written = render_page(found, hit, "", "votes", "down", {}, study="rooms & seeds")
    app.extensions["desk"].store.close()
    return written


@pytest.mark.parametrize(
    ("form", "made", "tile", "columns"),
    [("pairs", make_pairs, "<dt>Ties</dt>", 8), ("conversations", make_talks, "<dt>Ties</dt>", 8),
     ("choice", make_questions, "<dt>Right answers</dt>", 7), ("responses", make_sets, "", 6)],
)  # fmt: skip
def test_the_page_and_status_speak_of_ties_where_an_answer_can_be_one(tmp_path, capsys, form, made, tile, columns):
    records = made(3)
    write_records(tmp_path / FORMS[form].file, records, signature="t", kind=type(records[0]))
    (tmp_path / "hit.toml").write_text(f'form = "{form}"\nfirst_checks = 0\nlater_checks = 0\n')
    hit = hit_of(tmp_path, None)
    url = prepare_study(tmp_path, None, hit, None, seed=0, simulated=True)
    app = create_app(ServerConfig(database=url, hit=hit))
    client = app.test_client()
    client.get(f"/study?token={study_token(app)}")
    seen = client.get("/study").get_data(as_text=True)
    app.extensions["desk"].store.close()
    assert tile in seen and seen.count("<dt>Ties</dt>") + seen.count("Right answers</dt>") == (tile != "")
    assert f'colspan="{columns}"' in seen and ("Ties" in seen) == (form in ("pairs", "conversations"))
    assert ("<h2>Preference, agreement and when to stop</h2>" in seen) == (form in ("pairs", "conversations"))
    assert ("3 sets short of 3" in seen) == (form == "responses") != ("3 pairs short of 3" in seen)
    dispatch("crowd", "", {"status": ""}, ["status", str(tmp_path)])
    told = capsys.readouterr().out
    assert ("Ties:" in told) == (form in ("pairs", "conversations")) and ("Sets:" in told) == (form == "responses")
