"""Who sits there: invited people and nobody else, whatever the clocks say, and nobody in another's name."""

import csv
import re

import pytest
import sqlalchemy as sa

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.identity import invited_id
from seedvote.crowd.store.launches import open_door
from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.crowd.store.tables import raters, votes
from seedvote.crowd.study_folder import hit_of, opened, prepare_study
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.crowd.web.invitations import invitation_link
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.real_server import Browser, make_study, serving

RULES = "pairs_per_sitting = 3\nfirst_checks = 0\nlater_checks = 0\n"
HOUR = 3600.0


def found(study, query):
    store = open_store(sqlite_url(study))
    try:
        with store.read() as connection:
            return connection.execute(query).all()
    finally:
        store.close()


def invited(study, capsys, url, *words):
    """The links that the command prints."""
    assert dispatch("crowd", "", COMMANDS, ["invite", str(study), *words, "--url", url]) == 0
    return re.findall(r"^(\S+)  (http\S+)$", capsys.readouterr().out, re.M)


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path / "study", RULES, real=9)


def test_seat_survives_clocks_that_differ(study):
    (study / "hit.toml").write_text(RULES.replace("= 3", "= 9"))
    with Browser() as ann, serving(study, "--walk-in") as url:
        assert "Pair 2" in ann.answer(ann.arrive(f"{url}/?rater=ann")).text
        for number, later in enumerate((-HOUR, -10.0, 10.0, HOUR), start=2):
            with serving(study, "--walk-in", clock=later) as other:  # on the same store; the cookie goes to both
                page = ann.get(f"{other}/task")
                assert f"Pair {number}" in page.text and "I have read this" not in page.text, later
                assert f"Pair {number + 1}" in ann.answer(page).text, later
            assert f"Pair {number + 1}" in ann.get(f"{url}/").text, later
    assert len(found(study, sa.select(raters))) == 1
    cast = found(study, sa.select(votes))
    assert all(row.seconds >= 0 for row in cast)
    assert max(row.submitted for row in cast) - min(row.submitted for row in cast) < HOUR  # all by the database's clock


def test_invitation_is_one_person_in_every_browser(study, capsys):
    with Browser() as phone, Browser() as desktop, Browser() as bob, serving(study) as url:
        (_, link), (_, other) = invited(study, capsys, url, "2")
        phone.answer(phone.arrive(link))
        assert "Pair 2" in desktop.arrive(link).text
        assert "Pair 1" in bob.arrive(other).text
        assert "Pair 2" in phone.get(f"{url}/").text  # the cookie is enough from then on
    assert len(found(study, sa.select(raters))) == 2


def test_a_guessed_id_or_an_altered_link_gives_nothing(study, capsys):
    with Browser() as ann, Browser() as guesser, serving(study) as url:
        ((name, link),) = invited(study, capsys, url, "--name", "ann")
        page = ann.arrive(link)
        proof = link.rpartition(".")[2]
        claims = ["", "rater=ann", "rater=somebody", f"rater={name}&sitting=s1", "rater=ann&source=simulated"]
        claims += [f"invite={text}" for text in (f"bob.{proof}", f"ann.{proof[:-1]}", "ann.", "ann", "", ".")]
        claims += ["PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=x"]  # a door that this study has not opened
        for query in claims:
            reply = guesser.get(f"{url}/?{query}")
            assert reply.status_code == 403 and "You need an invitation" in reply.text
        assert guesser.get(f"{url}/task").status_code == 403
        assert ann.get(f"{url}/?rater=bob").status_code == 403  # an invited person is not somebody else either
        assert "Pair 1" in ann.get(str(page.url)).text
    assert len(found(study, sa.select(raters))) == 1


def launched_on_prolific(study):
    """What a launch keeps in the store."""
    with opened(study, None) as store, store.write() as connection:
        open_door(connection, "prolific", ["s"])


def test_people_from_prolific_are_admitted_where_the_door_is_opened(study):
    with Browser() as participant, serving(study, "--prolific") as url:
        assert participant.get(f"{url}/?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=x").status_code == 403
        launched_on_prolific(study)
        assert "Pair 1" in participant.arrive(f"{url}/?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=x").text


def test_a_name_sent_through_a_marketplaces_door_is_not_the_invited_person(study, capsys):
    """Prolific's address can be made up, and names like `alice` can be guessed."""
    with Browser() as alice, Browser() as stranger, serving(study, "--prolific") as url:
        ((_, link),) = invited(study, capsys, url, "--name", "alice")
        launched_on_prolific(study)
        alice.answer(alice.arrive(link))
        for name in ("alice", link.partition("=")[2].rpartition(".")[0]):
            page = stranger.arrive(f"{url}/?PROLIFIC_PID={name}&STUDY_ID=s&SESSION_ID=1")
            assert "Pair 1" in page.text and "/undo" not in page.text
        assert "Pair 2" in alice.get(f"{url}/task").text
    assert len(found(study, sa.select(raters))) == 2
    assert dispatch("crowd", "", COMMANDS, ["forget", str(study), "alice"]) == 0
    assert "Forgotten. 0 answers" in capsys.readouterr().out  # the stranger's, who used that id
    assert dispatch("crowd", "", COMMANDS, ["forget", str(study), "alice"]) == 0
    assert "Forgotten. 1 answers" in capsys.readouterr().out


def test_a_second_browser_that_knows_an_id_takes_no_answer_back(study):
    with Browser() as ann, Browser() as other, serving(study, "--walk-in") as url:
        ann.answer(ann.arrive(f"{url}/?rater=ann"))
        page = other.arrive(f"{url}/?rater=ann")
        assert "/undo" not in page.text
        assert "Undone" not in other.post(f"{url}/undo", data=PageForm(page.text).fields).text
        assert len(found(study, sa.select(votes))) == 1
        own = ann.get(f"{url}/task")
        assert "/undo" in own.text
        assert "Undone" in ann.post(f"{url}/undo", data=PageForm(own.text).fields).text
        assert found(study, sa.select(votes)) == []


def test_links_are_written_as_a_table_and_a_name_has_the_same_link_again(study, capsys, tmp_path):
    prepare_study(study, None, hit_of(study, None), None, seed=0, simulated=False)
    url = "http://127.0.0.1:8765"
    table = tmp_path / "links.csv"
    words = ["invite", str(study), "3", "--name", "ann b.c@example.org", "--url", f"{url}/x/", "--out", str(table)]
    assert dispatch("crowd", "", COMMANDS, words) == 0
    with table.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["name", "link"] and len(rows) == 5 and len({link for _, link in rows}) == 5
    assert rows[1][1].startswith(f"{url}/x/?invite=ann%20b.c%40example.org.")
    again = dispatch("crowd", "", COMMANDS, [*words[:2], *words[3:7]])
    assert again == 0 and rows[1][1] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "Say how many"),
        (["0"], "N is 0"),
        (["--name", ""], "--name is ''"),
        (["--name", "a\nb"], "printable"),
        (["1", "--url", "study.example.org"], "--url is"),
    ],
)
def test_what_cannot_be_invited_is_one_sentence(study, words, told):
    prepare_study(study, None, hit_of(study, None), None, seed=0, simulated=False)
    with pytest.raises(InputError, match=told):
        dispatch("crowd", "", COMMANDS, ["invite", str(study), *words])


def test_walk_in_names_and_links_are_apart(tmp_path):
    """What docs/crowd.md says: who types another's name works in it, learns nothing of them and locks nobody out."""
    hit = Hit(pairs_per_sitting=3, first_checks=0, later_checks=0, max_failures=1, examples=(), page_events=True)
    url = prepare_study(make_study(tmp_path / "study", RULES, real=9), None, hit, None, seed=0, simulated=False)
    app = create_app(ServerConfig(url, hit, rate=0))
    desk = app.extensions["desk"]
    ann, thief, invited_ann, other = (app.test_client() for _ in range(4))

    def begin(client, address):
        page = client.get(address)
        return client.post("/consent", data=PageForm(page.text).fields) if page.status_code == 200 else page

    def answer(client):
        return client.post("/answer", data=PageForm(client.get("/task").text).fields | {"choice": "tie"})

    begin(ann, "/?rater=ann")
    answer(ann)
    assert begin(thief, "/?rater=ann").status_code == 303  # no consent is asked: ann has given it
    assert PageForm(thief.get("/task").text).fields["lease"] == PageForm(ann.get("/task").text).fields["lease"]
    assert PageForm(thief.get("/task").text).fields["last"] == ""  # nothing of hers to take back
    assert PageForm(ann.get("/task").text).fields["last"]
    assert "Nothing is stored about you before" in thief.get("/stored").text
    assert desk.rater_id("ann") not in thief.get("/stored").text and desk.rater_id("ann") in ann.get("/stored").text
    assert answer(thief).status_code == 303 and "Pair 3" in ann.get("/task").text  # in her name
    assert (
        begin(ann, "/?rater=ann").status_code == 303
        and "Pair 3" in app.test_client().get("/?rater=ann", follow_redirects=True).text
    )
    begin(invited_ann, invitation_link(desk.secret, "", "ann"))
    assert "Pair 1" in invited_ann.get("/task").text  # another person than the one who was typed
    begin(other, f"/?rater={invited_id(desk.secret, 'ann').partition('.')[0]}.{'0' * 32}")
    assert "Pair 1" in other.get("/task").text
    with desk.store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(raters)) == 3
    desk.store.close()
