"""Prolific, over HTTP against an endpoint that checks requests against the published schema."""

from dataclasses import replace
from decimal import Decimal

import pytest

from seedvote.crowd.marketplaces.ledger import NotDone, Unsure
from seedvote.crowd.marketplaces.prolific import calling, drafting
from seedvote.crowd.marketplaces.prolific import client as prolific
from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.prolific_endpoint import serve

TERMS = drafting.ProlificTerms("Which response is more relevant?", "Compare responses.", 12, "CDONE", "COUT")


@pytest.fixture
def endpoint(monkeypatch):
    server = serve()
    monkeypatch.setenv("PROLIFIC_API_URL", server.url)
    monkeypatch.setenv("PROLIFIC_TOKEN", "example")
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def state(endpoint):
    return endpoint.prolific


@pytest.fixture
def client(endpoint):
    with calling.connect_to_prolific() as client:
        yield client


def planned():
    return prolific.ProlificLaunch(public_url="https://x.org", pairs="0", reward="2.00", currency="GBP", places=45)


def create_draft(client, launch):
    return prolific.create_draft(client, launch, drafting.draft(launch, TERMS))


def launched(client, state):
    launch = create_draft(client, planned())
    state.publish(launch.study)
    return launch


def test_a_launch_creates_a_draft_that_spends_nothing(client, state):
    launch = create_draft(client, planned())
    study = state.studies[launch.study]
    assert study["status"] == "UNPUBLISHED" == prolific.study_at_prolific(client, launch)["status"] and not state.spent
    assert study["reward"] == 200 and study["total_available_places"] == 45
    assert study["external_study_url"] == (
        f"https://x.org/?LAUNCH={launch.key}&PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert [code["code"] for code in study["completion_codes"]][:2] == ["CDONE", "COUT"]


def test_nobody_is_approved_or_rejected_by_a_code_alone(client, state):
    study = state.studies[create_draft(client, planned()).study]
    actions = {action["action"] for code in study["completion_codes"] for action in code["actions"]}
    assert actions == {"MANUALLY_REVIEW", "REQUEST_RETURN"}


def test_a_launch_that_was_cut_off_after_the_draft_finds_it_again(client, state):
    launch = planned()
    made = create_draft(client, launch)
    assert create_draft(client, launch) == made == create_draft(client, made)
    assert len(state.studies) == 1


def test_a_launch_is_not_sent_twice_when_the_server_stumbles(client, state):
    state.faults = [("POST", "/studies/")]
    with pytest.raises(Unsure, match="has stumbled"):
        create_draft(client, planned())
    assert state.calls["POST", "/studies/"] == 1


def test_reading_is_tried_again_after_longer_and_longer_waits(client, state, waits):
    launch = create_draft(client, planned())
    state.faults = [("GET", "/studies/ID/")] * 4
    assert prolific.study_at_prolific(client, launch)["status"] == "UNPUBLISHED"
    assert len(waits) == 4 and all(2**n / 2 <= wait <= 2**n for n, wait in enumerate(waits))


@pytest.mark.parametrize(("asked", "least"), [("7", 7), ("Wed, 21 Oct 2099 07:28:00 GMT", None), ("soon", 0.5)])
def test_a_market_that_asks_for_patience_is_given_it(client, state, waits, asked, least):
    launch, state.retry_after = create_draft(client, planned()), asked
    answers = iter(["busy", "busy"])
    state.upset = lambda method, path: next(answers, None)
    if least is None:  # longer than a command waits: the person is told instead
        with pytest.raises(NotDone, match=r"busy \(429\)\. Run the same command again in \d+ min"):
            prolific.transition(client, launch, "PUBLISH")
        assert waits == [] and state.studies[launch.study]["status"] == "UNPUBLISHED"
    else:
        prolific.transition(client, launch, "PUBLISH")
        assert len(waits) == 2 and min(waits) >= least and state.studies[launch.study]["status"] == "ACTIVE"


def test_a_draft_is_found_again_behind_a_page_of_others(client, state):
    for n in range(7):
        create_draft(client, replace(planned(), key=f"other {n}"))
    launch = planned()
    assert create_draft(client, launch) == create_draft(client, launch) and len(state.studies) == 8


def test_a_field_that_the_schema_does_not_know_is_refused(client, state):
    body = {**drafting.draft(planned(), TERMS), "max_assignments": 9}
    with pytest.raises(NotDone, match="Prolific refused: Error"):
        calling.call(client, "POST", "/studies/", json=body)


@pytest.mark.parametrize(("completed", "screened_out"), [("", "B"), ("A", ""), ("A", "A")])
def test_finished_and_screened_out_need_codes_of_their_own(completed, screened_out):
    drafting.check_codes("A", "B")
    with pytest.raises(InputError, match="two different texts"):
        drafting.check_codes(completed, screened_out)


def test_submissions_are_read_over_all_pages(client, state):
    launch = launched(client, state)
    names = [state.join(launch.study, f"p{n}") for n in range(8)]
    state.complete(names[0], "CDONE")
    found = list(prolific.submissions(client, launch.study))
    assert [row.submission for row in found] == names
    assert [row.status for row in found[:2]] == ["AWAITING REVIEW", "ACTIVE"]


def test_work_is_approved_and_bonuses_are_paid_later(client, state):
    launch, state.slow = launched(client, state), True
    name = state.join(launch.study, "p0")
    state.complete(name, "CDONE")
    for _ in range(2):
        prolific.approve_all(client, [name])
        assert prolific.submission_status(client, name) == "AWAITING REVIEW"
    plan = prolific.set_up_bonuses(client, launch.study, {name: Decimal("0.5")})
    assert (plan.amount, plan.fees, plan.vat) == (50, 17, 0)
    prolific.pay_bonuses(client, plan.name)
    assert prolific.bonuses_of(client, name) == [] == state.paid
    state.deliver()
    assert prolific.bonuses_of(client, name) == [50] and state.paid == [f"{name},0.50"]
    assert prolific.submission_status(client, name) == "APPROVED"


def test_a_bonus_paid_twice_is_two_bonuses(client, state):
    launch = launched(client, state)
    name = state.join(launch.study, "p0")
    plan = prolific.set_up_bonuses(client, launch.study, {name: Decimal("0.5")})
    for _ in range(2):
        prolific.pay_bonuses(client, plan.name)
    assert prolific.bonuses_of(client, name) == [50, 50]  # which is why the ledger sends it once


@pytest.mark.parametrize(
    ("upset", "kind"), [("busy", NotDone), ("stumbles", Unsure), ("stumbles late", Unsure), ("cut", Unsure)]
)
def test_what_is_known_of_a_call_that_failed(client, state, upset, kind):
    launch = launched(client, state)
    state.upset = lambda method, path: upset
    with pytest.raises(kind):
        prolific.transition(client, launch, "PAUSE")
    # what was certainly not done is tried again, and nothing else
    assert state.calls["POST", "/studies/ID/transition/"] == (calling.ATTEMPTS if upset == "busy" else 1)


def test_a_connection_that_never_was_is_known_to_have_done_nothing(endpoint, client, monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_URL", "http://127.0.0.1:9/api/v1")
    with calling.connect_to_prolific() as nowhere, pytest.raises(NotDone, match="could not be reached"):
        prolific.approve_all(nowhere, ["0" * 24])


def test_a_participant_is_asked_to_return(client, state):
    name = state.join(launched(client, state).study, "p0")
    prolific.request_return(client, name, "Did not finish.")
    assert state.submissions[name]["return_requested"]


def test_the_fee_is_the_accounts(client):
    assert round(prolific.fee_percent(client, Decimal("2.00")), 3) == Decimal("33.3")


def test_recruiting_is_paused_and_places_are_added(client, state):
    launch = launched(client, state)
    prolific.transition(client, launch, "PAUSE")
    assert prolific.study_at_prolific(client, launch)["status"] == "PAUSED" and state.join(launch.study, "p") is None
    for _ in range(2):
        prolific.set_places(client, launch, 50)
    assert state.studies[launch.study]["total_available_places"] == 50


def test_the_estimate_adds_the_accounts_fee():
    assert prolific.prolific_price(45, Decimal("2.00"), "GBP", Decimal("33.3")).total == Decimal("119.97")


def test_a_missing_token_is_one_sentence(monkeypatch):
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    with pytest.raises(InputError, match="PROLIFIC_TOKEN is not set"):
        calling.connect_to_prolific()


def test_the_token_goes_nowhere_but_to_prolific(monkeypatch, client, state):
    monkeypatch.setenv("PROLIFIC_API_URL", "https://evil.org")
    with pytest.raises(InputError, match="neither Prolific nor this machine"):
        calling.connect_to_prolific()


def test_a_wrong_token_is_one_sentence_that_does_not_repeat_it(endpoint, monkeypatch):
    monkeypatch.setenv("PROLIFIC_TOKEN", "SECRET")
    with (
        calling.connect_to_prolific() as client,
        pytest.raises(InputError, match="does not accept the token") as raised,
    ):
        create_draft(client, planned())
    assert "SECRET" not in str(raised.value)


def test_a_study_that_was_deleted_by_hand_is_one_sentence(client, state):
    launch = launched(client, state)
    state.studies.clear()
    with pytest.raises(InputError, match="deleted by hand"):
        list(prolific.submissions(client, launch.study))
