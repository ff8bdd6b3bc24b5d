"""Asking people to return a submission: each is asked once, whatever fails, and nobody else is."""

import pytest

from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.prolific_study import prolific_study

PATH = "/submissions/ID/request-return/"
WHY = "Our server was down."


@pytest.fixture
def study(tmp_path, monkeypatch):
    with prolific_study(tmp_path, monkeypatch) as found:
        found.open()
        yield found


def ask(study, *names, reason=WHY, yes=True):
    named = [word for name in names for word in ("--submission", name)]
    return study.command("request-return", *named, "--reason", reason, *(["--yes"] if yes else []))


def test_it_is_shown_first_then_sent_once_and_kept_in_the_ledger(study, capsys):
    worked, idle = study.work("p0"), study.prolific.join(study.study, "p1")
    ask(study, worked, idle, yes=False)
    said = capsys.readouterr().out
    assert "answers here: pay --compensate pays for them" in said
    assert "no answer here" in said and "Nothing was sent" in said and said.endswith("--yes\n")
    assert study.prolific.messages == []
    for _ in range(3):
        ask(study, worked, idle, idle)
    assert study.prolific.messages == [(worked, WHY), (idle, WHY)]
    rows = {row.submission: (row.purpose, row.state, row.cost) for row in study.ledger() if row.purpose == "return"}
    assert rows == {worked: ("return", "confirmed", 0), idle: ("return", "confirmed", 0)}
    capsys.readouterr()


@pytest.mark.parametrize("upset", ["cut", "stumbles late"])
def test_a_lost_reply_is_looked_up_and_never_sent_again(study, upset, capsys):
    name = study.prolific.join(study.study, "p0")
    study.prolific.upset = lambda method, path: upset if path == PATH else None
    ask(study, name)
    assert "asked" in capsys.readouterr().out  # Prolific shows that it was
    ask(study, name)
    assert study.prolific.messages == [(name, WHY)]


def test_what_was_not_sent_is_uncertain_until_somebody_has_looked(study, capsys, an_hour_later):
    name = study.prolific.join(study.study, "p0")
    study.prolific.upset = lambda method, path: "stumbles" if path == PATH else None
    for _ in range(2):
        ask(study, name)
    study.prolific.upset = None
    ask(study, name)
    assert study.prolific.messages == [] and "uncertain" in capsys.readouterr().out
    an_hour_later()
    study.command("pay", "--not-paid", name)
    ask(study, name)
    assert study.prolific.messages == [(name, WHY)]
    capsys.readouterr()


def test_who_was_asked_on_prolifics_own_page_is_not_asked_again(study, capsys):
    name = study.prolific.join(study.study, "p0")
    study.prolific.submissions[name]["return_requested"] = "2025-01-01T00:00:00Z"
    ask(study, name)
    assert study.prolific.messages == [] and "refused" in capsys.readouterr().out


def test_one_that_fails_stops_no_other(study, capsys):
    names = [study.prolific.join(study.study, f"p{n}") for n in range(2)]
    first = iter(["busy"] * 5)  # as often as a call is tried
    study.prolific.upset = lambda method, path: next(first, None) if path == PATH else None
    ask(study, *names)
    assert study.prolific.messages == [(names[1], WHY)] and "refused" in capsys.readouterr().out
    ask(study, *names)
    assert sorted(study.prolific.messages) == sorted((name, WHY) for name in names)
    capsys.readouterr()


def test_nobody_else_is_asked(study):
    paid = study.work("p0")
    study.prolific.submissions[paid]["status"] = "APPROVED"
    for name, what in ((paid, "is approved, so it cannot be returned"), ("0" * 24, "is no submission of this study")):
        with pytest.raises(InputError, match=what):
            ask(study, name)
    with pytest.raises(InputError, match="must be told why"):
        ask(study, paid, reason="  ")
    assert study.prolific.messages == []
