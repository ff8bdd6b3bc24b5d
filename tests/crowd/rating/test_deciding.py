"""Wrong checks are seen and mended, raters blocked and let in again, by commands on a study that is being served."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import read_hit
from seedvote.crowd.rating.pool import _explain_change, key_in
from seedvote.crowd.store.tables import events, pairs, payments, raters, votes
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.watching.checks import check_lines
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.study import database, make_pairs
from tests.crowd.visitor import Visitor, careful, live

RULES = "votes_per_pair = 3\npairs_per_sitting = 4\nfirst_checks = 3\nlater_checks = 4\nmax_failures = 3\n"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def crowd(*words):
    return dispatch("crowd", "", COMMANDS, [str(word) for word in words])


def write_pairs(folder, wrong=()):
    """Twelve pairs and seven checks whose right answer is a; the key of those in `wrong` says b."""
    made = [dataclasses.replace(one, answer="b") if one.pair in wrong else one for one in make_pairs(12, checks=7)]
    write_records(folder / "pairs.jsonl", made, signature="test", kind=Pair)


class Study:
    """A study folder with its application."""

    def __init__(self, folder, url, app):
        self.folder, self.url, self.app = folder, url, app

    def run(self, command, *words):
        options = [str(self.folder), *map(str, words), "--database", self.url]
        first = [options.pop(1)] if command == "check" else []  # the action comes before the study
        return crowd(command, *first, *options)

    def rows(self, query):
        with self.app.extensions["desk"].store.read() as connection:
            return connection.execute(query).all()

    def status(self):
        return sorted(row.status for row in self.rows(sa.select(raters.c.status)))

    def counted(self):
        return sum(row.counted for row in self.rows(sa.select(votes.c.counted)))

    def sit(self, name, choice=careful):
        visitor = Visitor(self.app)
        visitor.arrive(name)
        return visitor.work(choice)


@pytest.fixture
def study(url, tmp_path):
    """Served; three of the seven keys are wrong."""
    write_pairs(tmp_path, wrong=("c1", "c3", "c5"))
    hit = study_hit(tmp_path)
    prepare_study(tmp_path, None, hit, url, seed=0, simulated=False)
    with live(url, hit) as app:
        yield Study(tmp_path, url, app)


def test_mending_wrong_keys_unblocks_careful_raters(study, capsys):
    for n in range(4):
        assert study.sit(f"r{n}")[1]["status"] == "no_more"
    assert study.status() == ["blocked"] * 4 and study.counted() == 0
    paid = study.rows(sa.select(payments))
    study.run("status")
    told = capsys.readouterr().out
    assert all(f"Check {name} looks wrong: " in told for name in ("c1", "c3", "c5"))
    assert told.count("looks wrong") == 3
    assert f"python -m crowd check void {study.folder} c1 --database" in told
    assert f"python -m crowd check fix {study.folder} c3 --answer a --database" in told
    study.run("check", "void", "c1")
    assert "Check c1 was b, is void. 6 checks are left." in capsys.readouterr().out
    assert study.status() == ["passed"] * 4
    study.run("check", "fix", "c3", "--answer", "a")
    study.run("check", "fix", "c5", "--answer", "a")
    given = study.rows(sa.select(votes.c.pair, sa.func.count()).where(votes.c.failed.is_(None)).group_by(votes.c.pair))
    assert study.counted() == sum(min(3, number) for _, number in given) > 0  # each pair was offered to all four
    assert study.rows(sa.select(sa.func.sum(votes.c.failed))) == [(0,)]
    assert study.rows(sa.select(payments)) == paid
    kinds = [row.kind for row in study.rows(sa.select(events.c.kind))]
    assert kinds.count("mended") == 3 and kinds.count("settled") >= 1
    seen, place = study.sit("r0")  # the same person, let in again, goes on at once
    assert place["status"] != "no_more" and "c1" not in seen
    assert study.sit("new")[1]["status"] == "done"
    study.run("status")
    assert "looks wrong" not in capsys.readouterr().out


def test_corrected_file_is_taken_after_mending(study, tmp_path, capsys):
    study.sit("r0")
    write_pairs(tmp_path)
    hit = study.app.extensions["desk"].rules.hit
    with pytest.raises(InputError, match="python -m crowd check fix STUDY c1 --answer a"):
        prepare(study, hit)
    for name in ("c1", "c3", "c5"):
        study.run("check", "fix", name, "--answer", "a")
    prepare(study, hit)
    write_pairs(tmp_path, wrong=("c1", "c3", "c5"))  # the file that raters saw is as good
    prepare(study, hit)


def prepare(study, hit):
    prepare_study(study.folder, None, hit, study.url, seed=0, simulated=False)


def test_a_rater_is_blocked_let_in_again_and_excluded_by_hand(study):
    for name in ("c1", "c3", "c5"):
        study.run("check", "fix", name, "--answer", "a")
    study.sit("ann")
    before = study.counted()
    assert before == 4
    study.run("block", "ann", "--why", "wrote to us")
    assert study.counted() == 0 and study.sit("ann")[1]["status"] == "no_more"
    study.run("unblock", "ann")
    assert study.counted() == before and study.status() == ["passed"]
    study.run("exclude", "ann", "--why", "knew the systems")
    assert study.counted() == 0 and study.status() == ["excluded"]
    visitor = Visitor(study.app)
    visitor.arrive("ann", "2")
    assert visitor.look()["status"] == "task"  # and is not told
    assert study.rows(sa.select(sa.func.sum(pairs.c.votes))) == [(0,)]
    study.run("unblock", "ann")
    assert study.counted() == before
    with pytest.raises(InputError, match="No rater of this study has that id"):
        study.run("block", "nobody")


def test_unblocked_rater_starts_anew(study):
    assert study.sit("r0")[1]["status"] == "no_more"
    study.run("unblock", "r0")
    assert study.status() == ["passed"]
    visitor = Visitor(study.app)
    for n in range(5):
        visitor.arrive("r0", f"s{n}")
        visitor.work(lambda name: "tie")
    failed = study.rows(sa.select(votes.c.forgiven, votes.c.failed).where(votes.c.failed.is_not(None)))
    later = [row.failed for row in failed if not row.forgiven]
    assert sum(later) == min(3, len(later)) and study.status() == (["blocked"] if len(later) >= 3 else ["passed"])


def test_a_good_check_that_clickers_fail_does_not_look_wrong(url, tmp_path):
    write_pairs(tmp_path)
    hit = dataclasses.replace(study_hit(tmp_path), max_failures=9)
    prepare_study(tmp_path, None, hit, url, seed=0, simulated=False)
    with live(url, hit) as app:
        for n in range(9):
            visitor = Visitor(app)
            visitor.arrive(f"r{n}")
            visitor.work(lambda name, n=n: "aaaaabb"[n] if n < 7 else "tie")
        with app.extensions["desk"].store.read() as connection:
            lines = check_lines(connection)
    met = [line for line in lines if line.failed >= 3]
    assert met and min(line.likely for line in met) < 0.001
    assert not [line for line in lines if line.looks_wrong]


def study_hit(folder):
    (folder / "hit.toml").write_text(RULES, encoding="utf-8")
    return dataclasses.replace(read_hit(folder / "hit.toml"), examples=())


def test_only_another_answer_of_a_check_has_a_way_out():
    def body(answer, context="hello"):
        sides = {"a": {"text": "x", "model": "m"}, "b": {"text": "y", "model": "n"}}
        said = [{"speaker": "user", "text": context}]
        return json.dumps({"pair": "c1", "item": "i", "context": said, "kind": "check", **sides, "answer": answer})

    form = FORMS["pairs"]

    def told(kind, before, now):
        before, now = (None if text is None else form.with_key(text, key_in(text)) for text in (before, now))
        return _explain_change(Path("pairs.jsonl"), form, SimpleNamespace(pair="c1", kind=kind, body=before), now)

    assert "has another answer than when raters answered it" in told("check", body("a"), body("b"))
    assert "crowd check fix STUDY c1 --answer b. Otherwise" in told("check", body("a"), body("b"))
    for kind, now in (("real", body("b")), ("check", body("b", "bye")), ("check", None), ("real", None)):
        assert "pair c1 was shown to raters and is now different or missing" in told(kind, body("a"), now)
