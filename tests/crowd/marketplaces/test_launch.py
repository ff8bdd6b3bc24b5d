"""The record of a launch, and what a launch may name."""

import dataclasses
import json

import pytest

from seedvote.crowd.marketplaces.launch import check_pairs, check_public_url, read_launch, update_launch, write_launch
from seedvote.crowd.marketplaces.market import launched_on
from seedvote.crowd.marketplaces.mturk.client import MTurkLaunch
from seedvote.crowd.store.launches import write_record
from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.crowd.study_folder import opened
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json, write_json


def launch(**changes):
    values = {
        "sandbox": True,
        "public_url": "https://x.org",
        "pairs": "0",
        "reward": "0.50",
        "minutes": 60,
    }
    return MTurkLaunch(**{**values, **changes})


@pytest.mark.parametrize("url", ["https://x.org", "https://x.org/study/", "http://localhost:8000", "http://127.0.0.1"])
def test_a_public_url_is_https_or_this_machine(url):
    assert check_public_url(url, rehearsal=True) == url.rstrip("/")


def test_a_live_launch_needs_https():
    assert check_public_url("https://x.org", rehearsal=False) == "https://x.org"
    with pytest.raises(InputError, match="not an https:// address"):
        check_public_url("http://127.0.0.1:8765", rehearsal=False)


@pytest.mark.parametrize("url", [None, "", "x.org", "http://x.org", "https://x.org/?a=1", "ftp://x.org", "https://"])
def test_any_other_public_url_is_refused_in_one_sentence(url):
    with pytest.raises(InputError, match="not an https:// address"):
        check_public_url(url, rehearsal=True)


@pytest.fixture
def store(tmp_path):
    store = open_store(sqlite_url(tmp_path), seed=0)
    yield store
    store.close()


def test_a_launch_record_comes_back(store):
    assert read_launch(store, "mturk", type(launch())) is None
    write_launch(store, "mturk", launch())
    assert read_launch(store, "mturk", type(launch())).public_url == "https://x.org"


def test_launch_change_keeps_changes_of_another_host(store):
    """`verify` has read the record, and before it writes what it has learnt, another command extends the study."""
    write_launch(store, "mturk", known := launch())
    update_launch(store, "mturk", known, minutes=90)
    assert update_launch(store, "mturk", known, reward="0.75").minutes == 60
    kept = read_launch(store, "mturk", type(known))
    assert (kept.minutes, kept.reward) == (90, "0.75")


def test_a_record_of_another_version_is_not_guessed_at(store):
    with store.write() as connection:
        write_record(connection, "mturk", {"key": "x"})
    with pytest.raises(InputError, match="not written by this version"):
        read_launch(store, "mturk", type(launch()))


def test_a_launch_that_was_a_file_moves_into_the_store_once(store, tmp_path):
    record = json.loads(json.dumps(dataclasses.asdict(launch())))
    write_json(tmp_path / "mturk.json", record)
    with opened(tmp_path, None) as again:
        assert read_launch(again, "mturk", type(launch())).key == record["key"]
    assert not (tmp_path / "mturk.json").exists() and read_json(tmp_path / "mturk.json.old") == record


def test_second_host_must_say_which_launch_file_is_right(store, tmp_path):
    """Two folders on one store, as on two hosts: the second one's file is older than the launch."""
    url, elsewhere = sqlite_url(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_launch(store, "mturk", launch())
    with opened(elsewhere, url) as again:
        assert [row.source for row in launched_on(again)] == ["mturk"]
        assert read_launch(again, "mturk", type(launch())) == read_launch(store, "mturk", type(launch()))
    write_json(elsewhere / "mturk.json", {"key": "x"})
    with pytest.raises(InputError, match="another host kept an older or newer one"), opened(elsewhere, url):
        pass
    assert read_launch(store, "mturk", type(launch())).public_url == "https://x.org"


def test_pairs_that_changed_after_the_launch_are_noticed(tmp_path):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("one")
    before = digest(pairs)
    check_pairs(pairs, before)
    pairs.write_text("two")
    with pytest.raises(InputError, match="has changed since the launch"):
        check_pairs(pairs, before)
