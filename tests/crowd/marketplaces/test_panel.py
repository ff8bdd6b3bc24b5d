"""Any panel by the table [panel] of hit.toml: its people come with an id, go back by an address or a code, and count
once a list vouches for them."""

import csv
import re

import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.marketplaces.panel.entrance import PanelEntrance
from seedvote.crowd.marketplaces.settling import visits
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.study_folder import opened
from seedvote.crowd.watching.progress import progress, set_state
from seedvote.crowd.web.entrance import way_back
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.study import Person, make_study, served

BACK = "https://school.example/credit?token=t"
PANEL = {
    "name": "the pool",
    "person": "id",
    "visit": "visit",
    "complete": BACK + "&code={person}&visit={visit}",
    "screened_out": BACK + "&out={person}",
    "full": BACK + "&full={person}",
}


class PanelStudy:
    def __init__(self, folder, app, url):
        self.folder, self.app, self.url = folder, app, url

    def command(self, name, *arguments):
        return dispatch("crowd", "", COMMANDS, [name, str(self.folder), *map(str, arguments)])

    def open(self):
        self.command("launch", "--panel", "--public-url", self.url, "--yes")

    def person(self, name, visit="v1", prefers="a"):
        return Person(self.app, "panel", name, prefers, sitting=visit)

    def progress(self):
        with opened(self.folder, None) as store, store.read() as connection:
            return progress(connection, 3)

    def listed(self):
        with opened(self.folder, None) as store, store.read() as connection:
            return {visit.key: visit.listed for visit in visits(connection, "panel")}

    def list(self, *rows, header="id,visit"):
        path = self.folder / "list.csv"
        path.write_text("\n".join([header, *rows]) + "\n")
        return path


@pytest.fixture
def study(tmp_path):
    app = make_study(tmp_path, launched=False, invited=True, sites=(), panel=PANEL)
    with served(app) as url:
        yield PanelStudy(tmp_path, app, url)
    app.extensions["desk"].store.close()


def link(text):
    return re.search(r'<a class="go" href="([^"]+)"', text)[1].replace("&amp;", "&")


def test_the_door_is_shut_until_it_is_launched_and_a_dry_run_opens_nothing(study, capsys):
    assert study.person("p1").arrive().status_code == 403
    study.command("launch", "--panel", "--public-url", study.url)
    said = capsys.readouterr().out
    assert f"{study.url}/?id=ID&visit=ID, where the pool puts its ids" in said
    assert "found the way back" in said and "Nothing was created" in said
    assert study.person("p1").arrive().status_code == 403
    study.open()
    assert "Give the pool this address" in capsys.readouterr().out
    assert study.person("p1").arrive().status_code == 200


def test_a_list_makes_votes_count_and_whoever_made_an_id_up_never_does(study, capsys):
    study.open()
    ann, forger = study.person("ann", "v-7"), study.person("made-up", "v9")
    ann.work()
    assert link(ann.end()) == f"{BACK}&code=ann&visit=v-7"
    forger.work()
    assert study.progress().counted == 0 and study.progress().waiting == 12
    capsys.readouterr()
    study.command("verify", "--list", study.list("ann,v-7", " ann , v-7", "bob,v1", ",v3"))
    said = capsys.readouterr().out
    assert "2 listed, 1 visits newly confirmed" in said and "1 lines name nobody" in said
    assert "1 are listed and never came here: bob v1." in said and "1 visits with answers are on no list" in said
    assert (study.progress().counted, study.progress().waiting) == (6, 6)
    study.command("verify", "--list", study.list("ann,v-7"), "--final")
    assert (study.progress().counted, study.progress().waiting) == (6, 0)  # the forger's places are free again
    study.command("verify", "--list", study.list("bob,v1"), "--final")
    assert study.progress().counted == 6, "what was confirmed once is not un-counted by silence"


def test_panel_list_vouches_for_one_visit_alone(study):
    study.open()
    study.person("ann", "v1").work(5)
    study.person("ann", "v2").work(3)
    study.command("verify", "--list", study.list("ann,v2"))
    assert study.listed() == {"v1": False, "v2": True}
    study.command("verify", "--list", study.list("ann", header="Person"))
    assert study.listed() == {"v1": True, "v2": True}


def test_panel_pay_table_has_its_own_ids(study, capsys):
    study.open()
    study.person("ann").work()
    study.person("bob").begin()
    study.command("verify", "--worked", study.folder / "worked.csv")
    with (study.folder / "worked.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["person"], row["visit"], row["finished"], row["verified"]) == ("ann", "v1", "yes", "no")
    assert int(row["answers"]) == 11 and (study.folder / "worked.csv").stat().st_mode & 0o777 == 0o600
    for command in ("pay", "extend", "expire"):
        with pytest.raises(InputError, match="pays its workers by itself"):
            study.command(command)
    for command in ("stop", "resume"):
        study.command(command)
    capsys.readouterr()


def test_late_arrival_is_sent_away_before_questions(study):
    study.open()
    for name in ("a", "b", "c"):
        study.person(name).work()
    late = study.person("late").arrive()
    assert link(late.text) == f"{BACK}&full=late" and "/consent" not in late.text
    with opened(study.folder, None) as store:
        set_state(store, "stopped")
    assert "has ended" in study.person("later").arrive().text
    assert link(study.person("later").arrive().text) == f"{BACK}&full=later"


def test_failed_and_refused_people_have_own_addresses(study):
    study.open()
    careless = study.person("careless", prefers="b")
    careless.work()
    assert link(careless.end()) == f"{BACK}&out=careless"
    assert f"{BACK}&full=shy".replace("&", "&amp;") in study.person("shy").arrive().text


def test_code_is_shown_where_there_is_no_address():
    panel = hit_from({"panel": {"complete": "DONE 7", "name": "the list"}}, "hit.toml").panel
    visit = {"source": "panel", "worker": "w", "sitting": "1"}
    done, none_left = (
        PanelEntrance(panel).find_way_out(visit, step) for step in (Step("done", 3, judged=1), Step("complete"))
    )
    assert (
        done.code == "DONE 7" and not done.url and (done.then, done.name) == ("Give this code to %(name)s.", "the list")
    )
    assert PanelEntrance(panel).find_way_out(visit, Step("no_more", done=2)).code == "DONE 7"
    assert not none_left.code and not none_left.url and "close this page" in none_left.then
    assert PanelEntrance(panel).find_refusal_way(visit) is None
    assert (
        PanelEntrance(panel).read_arrival({"person": "w"}).sitting == "1"
        and PanelEntrance(panel).read_arrival({"x": "1"}) is None
    )
    assert way_back([PanelEntrance(panel)], {**visit, "source": "prolific"}, Step("done", done=3)) is None


def test_a_code_stands_on_the_page(tmp_path):
    app = make_study(tmp_path, launched=False, invited=True, sites=(), panel={"person": "id", "complete": "DONE-7"})
    with served(app) as url:
        study = PanelStudy(tmp_path, app, url)
        study.open()
        ann = study.person("ann")
        ann.work()
        assert "<output>DONE-7</output>" in ann.end()
    app.extensions["desk"].store.close()


def test_connect_is_a_panel_whose_parameters_are_known():
    panel = hit_from({"panel": {"market": "connect", "complete": "https://connect.cloudresearch.com/x"}}, "x").panel
    arrival = PanelEntrance(panel).read_arrival({"participantId": "P", "assignmentId": "A", "projectId": "Q"})
    assert (arrival.source, arrival.worker, arrival.sitting) == ("panel", "P", "A")
    assert panel.name == "CloudResearch Connect"


def test_connect_people_are_not_taken_for_mturk(tmp_path, capsys):
    panel = {"market": "connect", "complete": "https://connect.example/complete"}
    app = make_study(tmp_path, launched=False, invited=True, sites=(), panel=panel)
    with served(app) as url:
        study = PanelStudy(tmp_path, app, url)
        study.open()
        ids = {"participantId": "P", "assignmentId": "A", "projectId": "Q"}
        reply = study.person("P").send("GET", "/", params=ids)
        assert reply.status_code == 200 and "/consent" in reply.text
        assert study.person("P").send("GET", "/", params={"assignmentId": "A", "workerId": "P"}).status_code == 400
    app.extensions["desk"].store.close()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"complete": "http://x.org"}, "panel.complete is 'http://x.org', which is not an https:// address"),
        ({"complete": "https://x.org/{worker}"}, "which is not an https:// address, with {person} and {visit}"),
        ({"complete": "https://x.org/{person!r}"}, "which is not an https:// address"),
        ({"complete": "https://x.org/{person.real}"}, "which is not an https:// address"),
        ({"complete": "https://{person}.org/"}, "which is not an https:// address"),
        ({"complete": "https://x.org/{"}, "which is not an https:// address"),
        ({"complete": "javascript://x"}, "which is not an https:// address"),
        ({"complete": "https://x.org/{visit}"}, "names no parameter for it"),
        ({"person": "seat"}, "panel.person is 'seat', which is not the name of a parameter of the address, and none"),
        ({"person": "PROLIFIC_PID"}, "which is not the name of a parameter of the address, and none of ours"),
        ({"visit": "person"}, "panel.visit and panel.person are the same parameter"),
        ({"market": "bazaar"}, "panel.market is 'bazaar', which is not one of connect"),
        ({"ful": "x"}, "which is not a table of market, name, person"),
    ],
)
def test_a_mistake_in_the_table_is_told_in_a_sentence(change, sentence):
    with pytest.raises(InputError) as error:
        hit_from({"panel": {"complete": "C", **change}}, "hit.toml")
    assert sentence in str(error.value)


def test_a_list_that_cannot_speak_of_this_study_is_refused(study):
    with pytest.raises(InputError, match="has no panel's door"):
        study.command("verify", "--list", study.list("ann,v1"))
    study.open()
    for words, sentence in [
        (("--list", study.list("ann", header="who")), "has no column id or person. It has: who."),
        (("--list", study.list("ann", header="who"), "--columns", "person=nobody"), "has no column nobody"),
        (("--list", study.list("ann", header="who"), "--columns", "who"), "'who' is not person=NAME"),
        (("--final",), "add --list FILE"),
    ]:
        with pytest.raises(InputError, match=re.escape(sentence)):
            study.command("verify", *words)


def test_a_server_without_the_table_does_not_pretend_to_have_the_door(tmp_path):
    from seedvote.crowd.hit.hit import Hit
    from seedvote.crowd.marketplaces.market import usual_entrances

    with pytest.raises(InputError, match=r"has no \[panel\]"):
        usual_entrances(Hit(), "", ["panel"])
    app = make_study(tmp_path, launched=False, invited=True, sites=())
    with served(app) as url, pytest.raises(InputError, match=r"has no \[panel\]"):
        PanelStudy(tmp_path, app, url).open()
    app.extensions["desk"].store.close()
