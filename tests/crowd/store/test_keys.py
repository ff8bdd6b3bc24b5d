"""Links that end, are taken back, or are replaced after a leak; and a link that many people use."""

import dataclasses
import re
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import raters
from seedvote.crowd.study_folder import opened
from seedvote.crowd.web.app import create_app
from seedvote.crowd.web.invitations import invitation_link
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.study import make_study

DAY = 86_400.0


@pytest.fixture
def study(tmp_path):
    """An application whose keys are looked up at every request, and the folder of its study."""
    first = make_study(tmp_path, invited=True)
    app = create_app(dataclasses.replace(first.extensions["config"], folder=tmp_path))
    first.extensions["desk"].store.close()
    desk = app.extensions["desk"]
    refresh = desk.refresh_keys

    def always():
        desk._keys_until = 0.0
        refresh()

    desk.refresh_keys = always
    yield app, tmp_path
    desk.store.close()


def command(name, folder, *words):
    return dispatch("crowd", "", COMMANDS, [name, str(folder), *words])


def linked(folder, capsys, *words):
    """The path of the link that the command prints."""
    assert command("invite", folder, *words) == 0
    return re.search(r"^\S+  http://127.0.0.1:8765(\S+)$", capsys.readouterr().out, re.M)[1]


def opens(app, link):
    """Whether the link lets a browser in that has never been here."""
    page = app.test_client().get(link, follow_redirects=True)
    assert page.status_code in (200, 403)
    assert page.status_code == 200 or "This invitation has ended" in page.text or "need an invitation" in page.text
    return page.status_code == 200


def joined(app, link):
    """A browser whose person has agreed."""
    browser = app.test_client()
    browser.post("/consent", data=PageForm(browser.get(link).text).fields)
    return browser


def people(app):
    with app.extensions["desk"].store.read() as connection:
        return set(connection.scalars(sa.select(raters.c.rater)))


def test_invitation_expires_and_says_so(study, capsys):
    app, folder = study
    desk = app.extensions["desk"]
    link, now = linked(folder, capsys, "--name", "ann", "--expires", "2"), desk.clock()
    for days, lets_in in ((0, True), (1.9, True), (2.1, False), (300, False)):
        desk.clock = lambda at=now + days * DAY: at
        assert opens(app, link) is lets_in, days
    assert "This invitation has ended" in app.test_client().get(link).text


def test_nobody_takes_the_end_off_a_link_or_moves_it(study, capsys):
    app, folder = study
    link = linked(folder, capsys, "--name", "ann.b", "--expires", "1")
    name, end, proof = re.fullmatch(r"/\?invite=(.*)\.(\d+)\.(\w+)", link).groups()
    assert opens(app, link)
    for other in (f"{name}.{proof}", f"{name}.{int(end) + 1}.{proof}", f"{name}..{proof}", f"{name}.1e99.{proof}"):
        reply = app.test_client().get(f"/?invite={other}")
        assert reply.status_code == 403 and "need an invitation" in reply.text


def test_the_same_name_is_the_same_rater_by_every_link(study, capsys):
    app, folder = study
    links = [linked(folder, capsys, "--name", "ann", *words) for words in ((), ("--expires", "3"))]
    for link in links:
        joined(app, link)
    assert len(set(links)) == 2 and len(people(app)) == 1


def test_the_last_day_is_the_whole_day(study, capsys):
    _, folder = study
    link = linked(folder, capsys, "--name", "ann", "--expires", "2099-12-31")
    end = int(link.rsplit(".", 2)[1])
    assert datetime.fromtimestamp(end, UTC).isoformat() == "2100-01-01T00:00:00+00:00"


@pytest.mark.parametrize("expires", ["0", "soon", "2020-01-01", "-1", "1.5", "2026-02-30", ""])
def test_an_end_that_is_none_is_one_sentence(study, expires):
    _, folder = study
    with pytest.raises(InputError, match="--expires is"):
        command("invite", folder, "1", f"--expires={expires}")


def test_an_invitation_is_taken_back_before_anybody_has_opened_it(study, capsys):
    app, folder = study
    links = [linked(folder, capsys, "--name", "ann", *words) for words in ((), ("--expires", "3"))]
    other = linked(folder, capsys, "--name", "bob")
    assert command("block", folder, "ann", "--invitation") == 0
    assert "Nobody has come by it" in capsys.readouterr().out
    assert [opens(app, link) for link in links] == [False, False] and opens(app, other)
    assert command("unblock", folder, "ann") == 0
    assert [opens(app, link) for link in links] == [True, True]


def test_open_page_gives_no_consent_after_withdrawal(study, capsys):
    app, folder = study
    browser, link = app.test_client(), linked(folder, capsys, "--name", "ann")
    fields = PageForm(browser.get(link).text).fields
    command("block", folder, "ann", "--invitation")
    app.extensions["desk"].refresh_keys = lambda: None  # a server that has not looked yet: the store itself refuses
    assert browser.post("/consent", data=fields).status_code == 400
    assert people(app) == set()


def test_a_rater_is_blocked_by_the_name_on_the_invitation_and_let_in_again(study, capsys):
    app, folder = study
    joined(app, linked(folder, capsys, "--name", "ann"))
    for name, told in (("block", "is blocked"), ("unblock", "is incomplete")):
        assert command(name, folder, "ann") == 0
        assert told in capsys.readouterr().out


@pytest.mark.parametrize("how", ["block", "exclude"])
def test_a_blocked_person_who_is_forgotten_does_not_come_back_by_the_link(study, capsys, how):
    app, folder = study
    links = [linked(folder, capsys, "--name", "ann", *words) for words in ((), ("--expires", "3"))]
    browser = joined(app, links[0])
    seat = PageForm(browser.get("/", follow_redirects=True).text).fields["seat"]
    command(how, folder, "ann", "--why", "programs")
    command("forget", folder, "ann")
    assert [opens(app, link) for link in links] == [False, False]
    for client in (browser, app.test_client()):
        assert client.get("/", query_string={"seat": seat}, follow_redirects=True).status_code in (400, 403)
    assert {name.partition("-")[0] for name in people(app)} == {"forgotten"}


def test_a_person_in_good_standing_who_is_forgotten_may_come_again(study, capsys):
    app, folder = study
    link = linked(folder, capsys, "--name", "ann")
    joined(app, link)
    command("forget", folder, "ann")
    assert opens(app, link)


def test_rotation_ends_seats_and_keeps_people(study, capsys):
    app, folder = study
    link = linked(folder, capsys, "--name", "ann")
    browser = joined(app, link)
    shown = PageForm(browser.get("/", follow_redirects=True).text).fields
    before = people(app)
    assert command("rotate", folder, "links") == 0
    assert opens(app, link), "without --yes nothing is done"
    assert command("rotate", folder, "links", "--yes") == 0
    assert not opens(app, link)
    assert browser.get("/").status_code == 403, "the cookie"
    assert app.test_client().get("/task", query_string={"seat": shown["seat"]}).status_code == 400
    assert app.test_client().post("/consent", data=shown).status_code == 400
    capsys.readouterr()
    joined(app, linked(folder, capsys, "--name", "ann"))
    assert people(app) == before
    assert "is blocked" not in capsys.readouterr().out and command("block", folder, "ann") == 0


def study_page(app, token):
    browser = app.test_client()
    browser.get("/study", query_string={"token": token})
    return browser, browser.get("/study")


def tokens(folder, capsys):
    assert command("status", folder, "--token") == 0
    return re.findall(r"token=(\w+)", capsys.readouterr().out)


def test_each_address_of_the_researchers_page_is_replaced_alone(study, capsys):
    app, folder = study
    for what, place in (("dashboard", 0), ("reading", 1)):
        before = tokens(folder, capsys)
        open_window, _ = study_page(app, before[place])
        assert command("rotate", folder, what, "--yes") == 0
        after = tokens(folder, capsys)
        assert after[place] != before[place] and after[1 - place] == before[1 - place]
        assert study_page(app, before[place])[1].status_code == 404
        assert open_window.get("/study").status_code == 404, "a window that was open"
        assert study_page(app, after[place])[1].status_code == 200
    before = tokens(folder, capsys)
    command("rotate", folder, "links", "--yes")
    assert tokens(folder, capsys) == before, "links and the researcher's page are apart"


def test_coauthors_read_the_page_and_change_nothing(study, capsys):
    app, folder = study
    full, reading = tokens(folder, capsys)
    (owner, whole), (coauthor, page) = study_page(app, full), study_page(app, reading)
    csrf = PageForm(whole.text).fields["csrf"]
    assert whole.status_code == page.status_code == 200 and "Votes" in page.text
    assert "<form" not in page.text and csrf not in page.text and 'value="stopped"' not in page.text
    for path, data in (("/study/state", {"state": "stopped"}), ("/study/export", {"form": "jsonl"})):
        assert coauthor.post(path, data=data | {"csrf": csrf}).status_code == 404
    (folder / "votes.jsonl").write_text("votes")
    for browser, status in ((owner, 200), (coauthor, 404)):
        with browser.get("/study/file/votes.jsonl") as reply:
            assert reply.status_code == status
    with opened(folder, None) as store, store.read() as connection:
        assert connection.exec_driver_sql("SELECT value FROM study WHERE key = 'state'").scalar() == "running"


def test_links_of_a_program_before_links_could_end_still_let_in(study):
    app, _ = study
    assert opens(app, invitation_link(app.extensions["desk"].secret, "", "ann"))
