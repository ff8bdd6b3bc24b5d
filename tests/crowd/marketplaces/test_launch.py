"""The record of a launch, and what a launch may name."""

import stat
from decimal import Decimal

import pytest

from crowd.marketplaces.launch import check_pairs, check_public_url, read_launch, write_launch
from crowd.marketplaces.mturk.client import new_mturk_launch
from dialogue.errors import InputError
from dialogue.files import digest, write_json


def launch(**changes):
    values = {
        "sandbox": True,
        "public_url": "https://x.org",
        "pairs": "0",
        "reward": Decimal("0.50"),
        "minutes": 60,
        "sittings": 20,
    }
    return new_mturk_launch(**{**values, **changes})


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


def test_a_launch_record_comes_back_and_only_its_owner_may_read_it(tmp_path):
    path = tmp_path / "mturk.json"
    assert read_launch(path, type(launch())) is None
    write_launch(path, launch())
    assert read_launch(path, type(launch())).public_url == "https://x.org"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_record_of_another_version_is_not_guessed_at(tmp_path):
    write_json(tmp_path / "mturk.json", {"key": "x"})
    with pytest.raises(InputError, match="not written by this version"):
        read_launch(tmp_path / "mturk.json", type(launch()))


def test_pairs_that_changed_after_the_launch_are_noticed(tmp_path):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("one")
    before = digest(pairs)
    check_pairs(pairs, before)
    pairs.write_text("two")
    with pytest.raises(InputError, match="has changed since the launch"):
        check_pairs(pairs, before)
