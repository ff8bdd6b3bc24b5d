"""The real sandbox, for those who have credentials: SEEDVOTE_MTURK_SANDBOX=1 pytest -m slow <this file>."""

import os
from decimal import Decimal

import pytest

from crowd.marketplaces.mturk import client as mturk
from crowd.marketplaces.mturk.connecting import connect_to_mturk

pytestmark = pytest.mark.slow


def test_a_hit_is_made_found_again_and_closed_in_the_sandbox():
    if os.environ.get("SEEDVOTE_MTURK_SANDBOX") != "1":
        pytest.skip("needs AWS credentials linked to the sandbox, and SEEDVOTE_MTURK_SANDBOX=1")
    client = connect_to_mturk(sandbox=True)
    assert mturk.balance(client) > 0
    plan = mturk.new_mturk_launch(
        sandbox=True, public_url="https://example.org", pairs="0", reward=Decimal("0.05"), minutes=60, sittings=2
    )
    terms = mturk.MTurkTerms("Smoke test", "Nothing to do here.", days=1)
    first, second = (list(mturk.create_missing(client, plan, terms))[-1] for _ in range(2))
    try:
        assert first.hits == second.hits
        assert list(mturk.assignments(client, first)) == []
    finally:
        mturk.set_expiry(client, first, mturk.in_days(0))
        for hit in first.hits:
            client.delete_hit(HITId=hit["hit"])
        client.delete_qualification_type(QualificationTypeId=first.qualification)
