"""Amounts, prices and budgets."""

from decimal import Decimal

import pytest

from seedvote.crowd.marketplaces.money import Price, check_budget, money, reward_of
from seedvote.crowd.marketplaces.mturk.client import bonus_cost
from seedvote.dialogue.errors import InputError


def test_a_total_is_never_rounded_down():
    assert Price(3, Decimal("0.33"), Decimal("0.066"), "USD").total == Decimal("1.19")


def test_a_budget_below_the_price_stops_the_launch():
    price = Price(10, Decimal("1.00"), Decimal("0.20"), "USD")
    check_budget(price.total, "USD", Decimal("12.00"))
    check_budget(price.total, "USD", None)
    with pytest.raises(InputError, match=r"budget is 11.99 USD, but this may cost 12.00\. Nothing was created"):
        check_budget(price.total, "USD", Decimal("11.99"))


@pytest.mark.parametrize("text", ["-1", "1.234", "1e3", "NaN", "", "12 USD"])
def test_money_is_plain(text):
    with pytest.raises(InputError, match="not an amount of money"):
        money(text)


def test_a_reward_is_in_cents_of_a_currency_that_the_marketplace_pays():
    assert reward_of(0.6, "USD", ("USD",), "MTurk") == Decimal("0.60")
    with pytest.raises(InputError, match="MTurk pays in USD"):
        reward_of(0.6, "EUR", ("USD",), "MTurk")
    for pay in (0, 0.005):
        with pytest.raises(InputError, match=r"at least 0\.01"):
            reward_of(pay, "USD", ("USD",), "MTurk")


@pytest.mark.parametrize("typed", [0.1 + 0.2, 1e-9, 1e22, float("nan"), float("inf"), 0.295])
def test_a_float_that_is_no_whole_number_of_cents_is_never_paid(typed):
    with pytest.raises(InputError, match="whole cents"):
        reward_of(typed, "USD", ("USD",), "MTurk")


def test_a_fee_is_rounded_up_and_so_never_slips_under_a_cap():
    assert bonus_cost(Decimal("0.12")) == Decimal("0.15")  # .024 of fee
