"""The same of pages with several questions and of what is asked at the end: whole sheets, exactly k, nothing lost."""

import json
import random
import signal
import threading

import pytest
import sqlalchemy as sa

from seedvote.crowd import study_folder
from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.rating.answer_sheet import read_sheet, turned_back
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.simulation.browser import PageForm, SimulatedVisit
from seedvote.crowd.simulation.crowd import SimulatedCrowd
from seedvote.crowd.simulation.raters import Reader, draw_habits
from seedvote.crowd.store.store import open_store
from seedvote.crowd.store.tables import raters, votes
from seedvote.crowd.study_folder import hit_of
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.study import check_books, database, make_pairs
from tests.crowd.test_faults import Server
from tests.house.waiting import wait_for

RULES = """
examples = []
pairs_per_sitting = 5
first_checks = 1
later_checks = 1
max_failures = 2

[[questions]]
name = "better"
ask = "Which is better?"
strength = ["slightly", "much"]
tie = "split"

[[questions]]
name = "fluent"
ask = "How fluent?"
kind = "likert"

[[questions]]
name = "why"
ask = "Why?"
kind = "comment"

[[about]]
name = "hard"
ask = "Was it hard?"
answers = ["easy", "hard"]
when = "after"

[[about]]
name = "remarks"
ask = "Anything else?"
when = "after"
kind = "comment"
"""


def bombard_with_sheets(folder, url, monkeypatch, *, kills, people, concurrency, real):
    """Load with a killer at work; returns how many kills, sheets, and raters who told something at the end."""
    made = make_pairs(real, checks=12)
    write_records(folder / "pairs.jsonl", made, signature="test", kind=Pair)
    (folder / "hit.toml").write_text(RULES)
    hit = hit_of(folder, None)
    study_folder.prepare_study(folder, None, hit, url, seed=0, simulated=True)
    server, done, generator = Server(folder, url), threading.Event(), random.Random(0)
    sheets, told, filled = {}, set(), {}
    judge, tell, fill = SimulatedVisit._judge_pair, SimulatedVisit._tell_at_end, Reader.fill_sheet

    def spy_fill(self, rater, context, shown, radios, texts):
        filled[rater.number, min(shown)] = found = fill(self, rater, context, shown, radios, texts)
        return found

    def spy_judge(self, place):
        _, *shown = PageForm(place["html"]).shown_texts()
        reply, key = judge(self, place), (self.rater.number, min(shown))
        sheets[key] = read_sheet(hit.questions, filled[key])  # it was answered, so it is acknowledged
        return reply

    def spy_tell(self):
        tell(self)
        told.add(self.rater.number)

    def killer():
        wait_for(lambda: sheets or done.is_set())
        while server.kills < kills and not done.wait(generator.uniform(0.0, 0.5)):
            server.kill_and_restart()

    for owner, name, spy in ((Reader, "fill_sheet", spy_fill), (SimulatedVisit, "_judge_pair", spy_judge),
                             (SimulatedVisit, "_tell_at_end", spy_tell)):  # fmt: skip
        monkeypatch.setattr(owner, name, spy)
    thread = threading.Thread(target=killer)
    thread.start()
    try:
        crowd = [draw_habits(n, seed=1, clickers=0.05, leave=0.3) for n in range(people)]
        SimulatedCrowd(server.url, Reader(made, seed=1), crowd, concurrency).run_rounds()
    finally:
        done.set()
        thread.join()
        server.end(signal.SIGKILL)
    texts = {pair.pair: min(pair.a.text, pair.b.text) for pair in made}
    store = open_store(url)
    try:
        desk = Desk(store, hit)
        counted = check_books(desk)
        names = {desk.rater_id(f"simulated-{n}"): n for n in range(people)}
        with store.read() as connection:
            rows = connection.execute(sa.select(votes)).all()
            rows_out = export(connection, votes_per_pair=3).votes
            last = dict(connection.execute(sa.select(raters.c.rater, raters.c.told)).all())
    finally:
        store.close()
    found = {(names[row.rater], texts[row.pair]): (json.loads(row.answers), row.left) for row in rows}
    assert sheets.keys() <= found.keys()
    assert all(turned_back(sheet, found[key][1]) == found[key][0] for key, sheet in sheets.items())
    assert all({"better", "fluent"} <= set(answers) for answers, _ in found.values())
    assert all(row.choice == json.loads(row.answers)["better"]["choice"] for row in rows)
    assert {pair: n for pair, n in counted.items() if pair[0] == "p"} == {f"p{n}": 3 for n in range(real)}
    rounds = [(one.question, one.pair, one.round) for one in rows_out if one.counted]
    assert sorted(one for one in rounds if one[1][0] == "p") == sorted(
        (question, f"p{n}", k) for question in ("better", "fluent") for n in range(real) for k in (1, 2, 3)
    )
    assert told and all(json.loads(last[name])["answers"].keys() <= {"hard"} for name, n in names.items() if n in told)
    return server.kills, len(sheets), len(told)


def test_a_server_of_several_questions_killed_in_mid_load_loses_no_sheet(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    kills, *_ = bombard_with_sheets(tmp_path, url, monkeypatch, kills=1, people=10, concurrency=4, real=8)
    assert kills == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_twenty_kills_under_64_raters_of_several_questions_lose_no_sheet(tmp_path, monkeypatch, kind):
    with database(kind, tmp_path) as url:
        found = bombard_with_sheets(tmp_path, url, monkeypatch, kills=20, people=64, concurrency=16, real=200)
        print("kills, sheets, raters who told something at the end:", *found)
        assert found[0] == 20
