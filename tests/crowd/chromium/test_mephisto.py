"""A rater in a real browser, in a run that was really launched through Mephisto in a process of its own."""

import re

import pytest

from tests.crowd.chromium.test_third_party import SKIP
from tests.crowd.marketplaces.study import make_study
from tests.crowd.marketplaces.test_mephisto import in_mephisto, launched, votes

pytestmark = pytest.mark.browser


def work(page, address, prefers):
    """Open a unit, consent, learn, judge by the text preferred until it is over; gives the last heading."""
    page.goto(address)
    page.get_by_role("button", name="I have read this and agree to take part").click()
    page.get_by_role("button", name="Tie").click()
    page.locator("#next").evaluate(SKIP)
    thanks = page.get_by_role("heading", name="Thank you")
    first = page.locator("section.response").first
    for _ in range(20):
        first.or_(thanks).wait_for()
        if thanks.count():
            break
        number = page.locator("h1").inner_text()
        left = f" says {prefers}" in first.inner_text()
        page.locator(f"button[name=choice][value={'left' if left else 'right'}]").click()
        page.locator("h1", has_text=re.compile(f"^{re.escape(number)}$")).wait_for(state="detached")
    return page.locator("main").inner_text()


@pytest.mark.slow
def test_raters_finish_units_and_their_votes_are_in_both_stores(tmp_path, chromium):
    few = {"pairs_per_sitting": 2, "first_checks": 1, "later_checks": 0, "max_failures": 1}
    make_study(tmp_path, **few).extensions["desk"].store.close()
    with launched(tmp_path) as url:
        for worker, unit, prefers, end in (
            ("w1", "1", "a", "Your work was handed in"),
            ("bad", "2", "b", "There are no more tasks"),
        ):
            context = chromium.new_context()
            address = f"{url}/?worker_id={worker}&assignment_id={unit}"
            assert end in work(context.new_page(), address, prefers)
            context.close()
        kept = in_mephisto(tmp_path)
    ours = votes(tmp_path)
    assert [(vote.choice, vote.source, vote.counted) for vote in ours if vote.counted] == [("a", "mephisto", True)] * 2
    assert [one["rater_status"] for one in kept] == ["passed", "blocked"]
    told = {(one["rater"], vote["pair"], vote["choice"]) for one in kept for vote in one["votes"]}
    assert told == {(vote.rater, vote.pair, vote.choice) for vote in ours}
