"""Questions at the end, on every marketplace: asked before the way back, and nobody's pay hangs on them."""

import json
import re

import sqlalchemy as sa

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import raters
from seedvote.crowd.study_folder import opened
from tests.crowd.marketplaces.mturk_study import mturk_study
from tests.crowd.marketplaces.prolific_study import prolific_study
from tests.crowd.marketplaces.study import Person, make_study, served
from tests.crowd.marketplaces.test_mephisto import in_mephisto, launched
from tests.crowd.marketplaces.test_panel import PANEL, PanelStudy, link
from tests.house.waiting import wait_for

HARD = {"name": "hard", "ask": "Was it hard?", "answers": ["easy", "hard"], "when": "after"}
SAY = {"name": "remarks", "ask": "Anything else?", "when": "after", "kind": "comment"}
AFTER = {"about": [HARD, SAY]}
WROTE = "Pair 2 was odd."


def tell(person, **more):
    """Send the last questions as the page does."""
    told = {"about-hard": "easy", "about-remarks": WROTE} | more
    return person.send("POST", "/last-questions", data=PageForm(person.end()).fields | told)


def told(folder):
    """What the export holds: profiles and comments."""
    with opened(folder, None) as store, store.read() as connection:
        found = export(connection, votes_per_pair=3)
    return [one.profile for one in found.raters if one.profile], [one.text for one in found.comments]


def test_prolific_asks_last_questions_before_the_way_back(tmp_path, monkeypatch, capsys):
    with prolific_study(tmp_path, monkeypatch, **AFTER) as study:
        study.open()
        person = study.come("p0")
        page = person.end()
        assert page.index('action="/last-questions"') < page.index("submissions/complete?cc=CDONE")
        again = Person(study.app, "prolific", "p0", sitting=person.sitting, task=study.study)
        again.arrive()  # the tab was closed, and Prolific's button opens the study once more: no consent, no pair
        assert again.end().count("submissions/complete?cc=CDONE") == 1 and 'action="/last-questions"' in again.end()
        assert tell(again).status_code == 303 and "submissions/complete?cc=CDONE" in again.end()
        tell(again, **{"about-hard": "hard"})  # Back, and sent once more
        study.prolific.complete(person.sitting, "CDONE")
        study.command("pay", "--yes")
        assert study.prolific.submissions[person.sitting]["status"] == "APPROVED"
        assert told(tmp_path) == ([{"hard": "easy"}], [WROTE])
    capsys.readouterr()


def test_leaving_prolific_unsent_keeps_the_last_answers(tmp_path, monkeypatch, capsys):
    """As templates/static/last.js does: what is lacking is not said, and nothing is said where nothing was."""
    with prolific_study(tmp_path, monkeypatch, **AFTER) as study:
        study.open()
        silent, hasty = (study.come(name) for name in ("p0", "p1"))
        form = PageForm(silent.end()).fields | {"leaving": "yes", "about-remarks": " "}
        assert silent.send("POST", "/last-questions", data=form).status_code == 204
        assert 'action="/last-questions"' in silent.end() and told(tmp_path) == ([], [])
        form = PageForm(hasty.end()).fields | {"leaving": "yes", "about-remarks": WROTE, "about-hard": "a thousand"}
        assert hasty.send("POST", "/last-questions", data=form).status_code == 204
        assert told(tmp_path) == ([], [WROTE]) and "Thank you for your answers" in hasty.end()
        assert hasty.send("POST", "/last-questions", data=form | {"seat": "forged"}).status_code == 400
    capsys.readouterr()


def test_who_closes_the_tab_after_the_last_pair_is_done_and_can_be_paid(tmp_path, monkeypatch, capsys):
    with prolific_study(tmp_path, monkeypatch, **AFTER) as study:
        study.open()
        here, gone = study.come("p0"), study.come("p1")  # neither opens the page that asks
        study.command("verify")
        assert study.progress().counted == 12
        study.prolific.submissions[here.sitting]["status"] = "AWAITING REVIEW"  # handed in there without any code
        study.prolific.submissions[gone.sitting]["status"] = "TIMED-OUT"
        study.command("pay", "--compensate", "0.05", "--yes")
        assert study.prolific.submissions[here.sitting]["status"] == "APPROVED"
        study.command("pay", "--yes")
        (paid,) = study.prolific.paid
        assert paid.startswith(gone.sitting) and float(paid.split(",")[1]) > 0.3
    capsys.readouterr()


def test_mturk_asks_on_the_page_that_hands_in(tmp_path, monkeypatch, capsys):
    with mturk_study(tmp_path, monkeypatch, **AFTER) as study:
        study.launch("--yes")
        assignment = study.turk.accept(study.hits()[0], "AWORKER")
        person = Person(study.app, "mturk", "AWORKER", sitting=assignment, site=study.site)
        person.work()
        page = person.end()
        assert page.index('action="/last-questions"') < page.index("externalSubmit")
        form = re.search(r'<div class="out">.*?</form>', page, re.DOTALL)[0]
        assert PageForm(form).fields.keys() == {"assignmentId", "answers"}  # nothing of the rater goes to MTurk
        assert tell(person).status_code == 303 and "externalSubmit" in person.end()
        assert study.turk.submit(PageForm(form).fields)
        study.command("pay", "--yes")
        assert study.turk.assignments[assignment]["AssignmentStatus"] == "Approved"
        assert told(tmp_path) == ([{"hard": "easy"}], [WROTE])
    capsys.readouterr()


def test_panel_lists_who_worked_whatever_they_told(tmp_path, capsys):
    app = make_study(tmp_path, launched=False, invited=True, sites=(), panel=PANEL, **AFTER)
    with served(app) as url:
        study = PanelStudy(tmp_path, app, url)
        study.open()
        for name in ("ann", "bert"):
            study.person(name).work()  # bert closes the tab here
        ann = study.person("ann")
        ann.arrive()
        page = ann.end()
        assert page.index('action="/last-questions"') < page.index(link(page).replace("&", "&amp;"))
        assert tell(ann).status_code == 303 and "code=ann" in link(ann.end())
        study.command("verify", "--worked", tmp_path / "worked.csv")
        worked = (tmp_path / "worked.csv").read_text()
        assert "ann" in worked and "bert" in worked and told(tmp_path) == ([{"hard": "easy"}], [WROTE])
    app.extensions["desk"].store.close()
    capsys.readouterr()


def test_mephisto_gets_the_sitting_and_no_answers(tmp_path):
    make_study(tmp_path, pairs_per_sitting=2, **AFTER).extensions["desk"].store.close()
    with launched(tmp_path) as url:
        gone, person = (Person(url, "mephisto", name, sitting=name) for name in ("w1", "w2"))
        gone.work()  # and closes the tab: the reply to the last answer was all that came
        wait_for(lambda: len(in_mephisto(tmp_path)) == 1)
        person.work()
        assert "Your work was handed in" in person.end() and 'action="/last-questions"' in person.end()
        assert tell(person).status_code == 303 and "Your work was handed in" in person.end()
        wait_for(lambda: len(in_mephisto(tmp_path)) == 2)
    assert told(tmp_path) == ([{"hard": "easy"}], [WROTE])
    with opened(tmp_path, None) as store, store.read() as connection:
        known = connection.execute(sa.select(raters.c.told)).all()
    assert [row for row in known if row.told] and WROTE not in json.dumps(in_mephisto(tmp_path))
