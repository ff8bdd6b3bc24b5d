"""What the marketplaces' doors share."""

import stat
from decimal import Decimal

import pytest

from crowd.marketplaces.launch import (
    Estimate,
    check_budget,
    check_pairs,
    check_public_url,
    money,
    read_launch,
    reward_of,
    sittings_needed,
    write_launch,
)
from crowd.marketplaces.mturk.client import new_launch
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
    return new_launch(**{**values, **changes})


@pytest.mark.parametrize("url", ["https://x.org", "https://x.org/study/", "http://localhost:8000", "http://127.0.0.1"])
def test_a_public_url_is_https_or_this_machine(url):
    assert check_public_url(url) == url.rstrip("/")


@pytest.mark.parametrize("url", [None, "", "x.org", "http://x.org", "https://x.org/?a=1", "ftp://x.org", "https://"])
def test_any_other_public_url_is_refused_in_one_sentence(url):
    with pytest.raises(InputError, match="not an https:// address"):
        check_public_url(url)


def test_every_pair_gets_its_votes_from_enough_sittings():
    assert sittings_needed(2000, 3, 20) == 300
    assert sittings_needed(2000, 3, 20, votes=5981) == 1
    assert sittings_needed(2000, 3, 20, votes=7000) == 0


def test_a_total_is_never_rounded_down():
    assert Estimate(3, Decimal("0.33"), Decimal("0.066"), "USD").total == Decimal("1.19")


def test_a_budget_below_the_estimate_stops_the_launch():
    estimate = Estimate(10, Decimal("1.00"), Decimal("0.20"), "USD")
    check_budget(estimate, Decimal("12.00"))
    check_budget(estimate, None)
    with pytest.raises(InputError, match=r"budget is 11.99 USD, but this may cost 12.00\. Nothing was created"):
        check_budget(estimate, Decimal("11.99"))


@pytest.mark.parametrize("text", ["-1", "1.234", "1e3", "NaN", "", "12 USD"])
def test_money_is_plain(text):
    with pytest.raises(InputError, match="not an amount of money"):
        money(text)


def test_a_reward_is_in_cents_of_a_currency_that_the_door_pays():
    assert reward_of(0.6, "USD", ("USD",), "MTurk") == Decimal("0.60")
    with pytest.raises(InputError, match="MTurk pays in USD"):
        reward_of(0.6, "EUR", ("USD",), "MTurk")
    for pay in (0, 0.005):
        with pytest.raises(InputError, match=r"at least 0\.01"):
            reward_of(pay, "USD", ("USD",), "MTurk")


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
