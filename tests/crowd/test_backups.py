"""A study as one file: whole under a live server, the same in either database, and no copy goes unnoticed."""

import json
import shutil
import sqlite3
import stat
import threading
from contextlib import closing

import pytest
import sqlalchemy as sa

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.exchange import exporting
from seedvote.crowd.hit.hit import read_hit
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.store import SCHEMA_VERSION, open_store, settings, sqlite_url
from seedvote.crowd.store.tables import METADATA, votes
from seedvote.crowd.study_folder import prepare_study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.real_server import Browser, make_study, serving
from tests.crowd.store.test_migrations import OLD
from tests.crowd.study import database
from tests.crowd.visitor import Visitor, live
from tests.house.waiting import PATIENCE

RULES = "pairs_per_sitting = 8\nfirst_checks = 1\nlater_checks = 1\nmax_failures = 2\nexamples = []\n"
RULES += 'questions = [{ name = "better", ask = "?" }, { name = "why", ask = "?", kind = "comment" }]\n'
KINDS = ("sqlite", "postgresql")


def command(name, *words):
    assert dispatch("crowd", "", COMMANDS, [name, *map(str, words)]) == 0


def at(url):
    """The option of a command that names this database, where it is not the study's own file."""
    return [] if url.startswith("sqlite") else ["--database", url]


def rows(url):
    """Everything that is in a store, but the settings that say where it lies."""
    with closing(open_store(url)) as store, store.read() as connection:
        found = {t.name: sorted(map(tuple, connection.execute(sa.select(t))), key=repr) for t in METADATA.sorted_tables}
    found["study"] = [row for row in found["study"] if row[0] not in ("place", "pulse")]
    return found


@pytest.fixture(params=KINDS)
def study(request, tmp_path):
    """A study with votes, comments and a rater who was forgotten, and where its store is."""
    folder = make_study(tmp_path / "study", RULES, real=12, checks=3)
    with database(request.param, folder) as url:
        hit = read_hit(folder / "hit.toml")
        prepare_study(folder, None, hit, url, seed=0, simulated=False)
        with live(url, hit) as app:
            for name in ("ann", "bob", "你好"):
                visitor = Visitor(app)
                visitor.arrive(name)
                assert judge(visitor) == 10
        command("forget", folder, "bob", *at(url), "--unpaid")
        yield folder, url


def judge(visitor):
    """Answer all that is due, right at every check, so that nobody is blocked; how many answers that were."""
    place, answers = visitor.look(), 0
    while place["status"] == "task":
        form = PageForm(place["html"])
        side = "left" if form.shown_texts()[1].endswith("a") else "right"
        fields = form.fields | {"q-better": side, "q-why": "because 😀", "seconds": "2.5"}
        place, answers = visitor.client.post("/answer", data=fields, headers=FETCH).json(), answers + 1
    return answers


def exported(url):
    with closing(open_store(url)) as store, store.read() as connection:
        found = exporting.export(connection, votes_per_pair=3)
        return [json.dumps(vars(vote) if hasattr(vote, "__dict__") else str(vote), default=str) for vote in found.votes]


@pytest.mark.parametrize("target", KINDS)
def test_a_backup_becomes_the_same_study_in_either_database(study, target, tmp_path):
    folder, url = study
    command("backup", folder, tmp_path / "study.zip", *at(url))
    again = tmp_path / "again"
    with database(target, again) as other:
        again.mkdir(exist_ok=True)
        command("restore", again, tmp_path / "study.zip", *at(other))
        assert rows(other) == rows(url) and exported(other) == exported(url)
        assert (again / "pairs.jsonl").read_bytes() == (folder / "pairs.jsonl").read_bytes()
        assert (again / "hit.toml").read_bytes() == (folder / "hit.toml").read_bytes()
        hit = read_hit(again / "hit.toml")  # and it goes on: new rows get numbers of their own
        prepare_study(again, None, hit, other, seed=0, simulated=False)
        with live(other, hit) as app:
            visitor = Visitor(app)
            visitor.arrive("carl")
            assert judge(visitor) == 10


def test_backup_under_load_holds_every_saved_vote(tmp_path):
    """A plain copy of the file holds less, because the newest votes are in the write-ahead log."""
    rules = "pairs_per_sitting = 1000\nfirst_checks = 0\nlater_checks = 0\nexamples = []\n"
    rules += 'questions = [{ name = "better", ask = "?" }]\n'
    folder = make_study(tmp_path / "study", rules, real=400)
    saved, enough, stop = [0], threading.Event(), threading.Event()

    def work(url, name):
        with Browser() as browser:
            page = browser.arrive(f"{url}/?rater={name}", examples=0)
            while not stop.is_set() and 'name="lease"' in page.text:
                fields = PageForm(page.text).fields | {"q-better": "left"}
                page = browser.post(f"{url}/answer", data=fields)
                saved[0] += 1
                if saved[0] >= 60:
                    enough.set()

    with serving(folder, "--walk-in") as url:
        people = [threading.Thread(target=work, args=(url, f"p{n}")) for n in range(3)]
        for one in people:
            one.start()
        assert enough.wait(PATIENCE)
        counts = []
        for n in range(2):
            before = saved[0] - len(people)  # what each has in hand may be under way
            command("backup", folder, tmp_path / f"{n}.zip")
            command("restore", tmp_path / f"r{n}", tmp_path / f"{n}.zip")
            held = len(rows(sqlite_url(tmp_path / f"r{n}"))["votes"])
            counts.append(held)
            assert held >= before
        stop.set()
        for one in people:
            one.join()
    assert counts == sorted(counts)


def test_a_backup_is_its_owners_alone_and_so_is_a_store(study, tmp_path):
    folder, url = study
    file = tmp_path / "study.zip"
    command("backup", folder, file, *at(url))
    command("restore", tmp_path / "again", file)
    for path in (file, tmp_path / "again" / "crowd.sqlite"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if url.startswith("sqlite"):
        for path in folder.glob("crowd.sqlite*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_backup_closes_an_open_store_to_strangers(tmp_path):
    path = tmp_path / "crowd.sqlite"
    open_store(sqlite_url(tmp_path), seed=0).close()
    path.chmod(0o664)
    open_store(sqlite_url(tmp_path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_nothing_is_restored_over_a_study_or_from_what_is_no_backup(study, tmp_path):
    folder, url = study
    file = tmp_path / "study.zip"
    command("backup", folder, file, *at(url))
    before = rows(url)
    with pytest.raises(InputError, match="already, which a backup does not replace"):
        command("restore", folder, file)
    if not url.startswith("sqlite"):
        with pytest.raises(InputError, match="holds a study already"):
            command("restore", tmp_path / "again", file, "--database", url)
        assert not (tmp_path / "again" / "hit.toml").exists()
    assert rows(url) == before
    for content in (b"", b"PK", file.read_bytes()[: file.stat().st_size // 2]):
        (tmp_path / "broken.zip").write_bytes(content)
        with pytest.raises(InputError, match="cannot be read as a backup"):
            command("restore", tmp_path / "broken", tmp_path / "broken.zip")
        assert not (tmp_path / "broken" / "crowd.sqlite").exists()
    with pytest.raises(InputError, match=r"no crowd.sqlite"):
        command("backup", tmp_path, tmp_path / "none.zip")


def old_study(folder):
    folder.mkdir()
    with closing(sqlite3.connect(folder / "crowd.sqlite")) as connection:
        connection.executescript(OLD.read_text())
    return folder


def test_an_older_store_is_saved_as_it_was_and_then_upgraded(tmp_path, capsys):
    folder = old_study(tmp_path / "study")
    command("upgrade", folder, "--backup", tmp_path / "before.zip")
    assert f"Schema version 1 became {SCHEMA_VERSION}" in capsys.readouterr().out
    command("restore", tmp_path / "again", tmp_path / "before.zip")
    after, restored = rows(sqlite_url(folder)), rows(sqlite_url(tmp_path / "again"))
    assert after["votes"] and {name: len(found) for name, found in after.items()} == {
        name: len(found) for name, found in restored.items()
    }
    command("upgrade", folder, "--backup", tmp_path / "twice.zip")
    assert "nothing to do" in capsys.readouterr().out and not (tmp_path / "twice.zip").exists()


def test_a_backup_changes_nothing_of_an_older_store(tmp_path):
    folder = old_study(tmp_path / "study")
    before = (folder / "crowd.sqlite").read_bytes()
    command("backup", folder, tmp_path / "study.zip")
    assert (folder / "crowd.sqlite").read_bytes() == before


def settings_at(url):
    with closing(open_store(url)) as store, store.read() as connection:
        return settings(connection)


def told(folder, url):
    """What a start says of this store."""
    said = []
    prepare_study(folder, None, read_hit(folder / "hit.toml"), url, seed=0, simulated=False, tell=said.append)
    return [one for one in said if "copied or moved" in one]


def test_a_copied_folder_says_so_until_it_has_secrets_of_its_own(tmp_path, capsys):
    folder = make_study(tmp_path / "study", RULES, real=4, checks=3)
    url = sqlite_url(folder)
    assert told(folder, url) == [] == told(folder, url)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert str(folder) in told(copy, sqlite_url(copy))[0] and told(folder, url) == []
    command("status", copy)
    assert "copied or moved from" in capsys.readouterr().out
    command("rotate", copy, "all", "--yes")
    assert told(copy, sqlite_url(copy)) == []
    ours, theirs = (settings_at(sqlite_url(one)) for one in (folder, copy))
    assert ours["secret"] != theirs["secret"] and theirs["dashboard_key"] not in (ours["secret"], theirs["secret"])


def test_a_folder_that_was_renamed_or_put_back_in_its_place_is_no_copy(tmp_path):
    folder = make_study(tmp_path / "study", RULES, real=4, checks=3)
    told(folder, sqlite_url(folder))
    folder = folder.rename(tmp_path / "renamed")
    assert told(folder, sqlite_url(folder)) == []
    shutil.copytree(folder, tmp_path / "saved")
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "saved", folder)
    assert told(folder, sqlite_url(folder)) == []


def test_a_study_that_moved_is_told_so_once(tmp_path):
    folder = make_study(tmp_path / "study", RULES, real=4, checks=3)
    told(folder, sqlite_url(folder))
    shutil.copytree(folder, tmp_path / "elsewhere")
    moved = tmp_path / "elsewhere"
    assert told(moved, sqlite_url(moved))
    command("rotate", moved, "moved", "--yes")
    assert told(moved, sqlite_url(moved)) == []


def test_a_restored_database_knows_that_it_is_a_copy(study, tmp_path):
    folder, url = study
    prepare_study(folder, None, read_hit(folder / "hit.toml"), url, seed=0, simulated=False)
    command("backup", folder, tmp_path / "study.zip", *at(url))
    again = tmp_path / "again"
    command("restore", again, tmp_path / "study.zip")
    assert told(again, sqlite_url(again))
    with closing(open_store(sqlite_url(again))) as store, store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(votes)) > 10
