"""Prolific, over HTTP against an endpoint that checks requests against the published schema."""

from decimal import Decimal

import pytest

from crowd.marketplaces.prolific import client as prolific
from dialogue.errors import InputError
from tests.crowd.marketplaces.prolific_endpoint import serve

TERMS = prolific.ProlificTerms("Which response is more relevant?", "Compare responses.", 12, "CDONE", "COUT")


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
    with prolific.connect_to_prolific() as client:
        yield client


def planned():
    return prolific.new_prolific_launch(
        public_url="https://x.org", pairs="0", reward=Decimal("2.00"), currency="GBP", places=45
    )


def launched(client, state):
    launch = prolific.create_draft(client, planned(), TERMS)
    prolific.transition(client, launch, "START")
    return launch


def test_a_launch_creates_a_draft_that_spends_nothing(client, state):
    launch = prolific.create_draft(client, planned(), TERMS)
    study = state.studies[launch.study]
    assert study["status"] == "UNPUBLISHED" == prolific.study_status(client, launch)
    assert study["reward"] == 200 and study["total_available_places"] == 45
    assert study["external_study_url"] == (
        "https://x.org/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert [code["code"] for code in study["completion_codes"]] == ["CDONE", "COUT"]


def test_nobody_is_approved_or_rejected_by_a_code_alone(client, state):
    study = state.studies[prolific.create_draft(client, planned(), TERMS).study]
    assert {action["action"] for code in study["completion_codes"] for action in code["actions"]} == {"MANUALLY_REVIEW"}


def test_a_launch_that_was_cut_off_after_the_draft_finds_it_again(client, state):
    launch = planned()
    made = prolific.create_draft(client, launch, TERMS)
    assert prolific.create_draft(client, launch, TERMS) == made == prolific.create_draft(client, made, TERMS)
    assert len(state.studies) == 1


def test_a_launch_is_not_sent_twice_when_the_server_stumbles(client, state):
    state.faults = [("POST", "/studies/")]
    with pytest.raises(InputError, match="could not be reached"):
        prolific.create_draft(client, planned(), TERMS)
    assert state.calls["POST", "/studies/"] == 1


def test_reading_is_tried_again(client, state):
    launch = prolific.create_draft(client, planned(), TERMS)
    state.faults = [("GET", "/studies/ID/")] * 2
    assert prolific.study_status(client, launch) == "UNPUBLISHED"


def test_a_field_that_the_schema_does_not_know_is_refused(client, state):
    body = {**prolific.draft(planned(), TERMS), "max_assignments": 9}
    with pytest.raises(InputError, match="Prolific refused: Error creating"):
        prolific.call(client, "POST", "/studies/", json=body)


@pytest.mark.parametrize(("completed", "screened_out"), [("", "B"), ("A", ""), ("A", "A")])
def test_finished_and_screened_out_need_codes_of_their_own(completed, screened_out):
    prolific.check_codes("A", "B")
    with pytest.raises(InputError, match="two different texts"):
        prolific.check_codes(completed, screened_out)


def test_submissions_are_read_over_all_pages(client, state):
    launch = launched(client, state)
    names = [state.join(launch.study, f"p{n}") for n in range(8)]
    state.complete(names[0], "CDONE")
    found = list(prolific.submissions(client, launch))
    assert [row.submission for row in found] == names
    assert [row.status for row in found[:2]] == ["AWAITING REVIEW", "ACTIVE"]


def test_work_is_approved_and_bonuses_are_paid(client, state):
    launch = launched(client, state)
    names = [state.join(launch.study, f"p{n}") for n in range(120)]
    prolific.approve_submissions(client, names)
    assert {row.status for row in prolific.submissions(client, launch)} == {"APPROVED"}
    assert state.calls["POST", "/submissions/bulk-approve/"] == 2
    prolific.pay_bonuses(client, launch, names[:2], Decimal("0.5"))
    assert state.paid == [f"{names[0]},0.50", f"{names[1]},0.50"]


def test_recruiting_is_paused_and_places_are_added(client, state):
    launch = launched(client, state)
    prolific.transition(client, launch, "PAUSE")
    assert prolific.study_status(client, launch) == "PAUSED" and state.join(launch.study, "p") is None
    more = prolific.add_places(client, launch, 5)
    assert more.places == 50 == state.studies[launch.study]["total_available_places"]


def test_the_estimate_adds_the_accounts_fee():
    assert prolific.prolific_price(45, Decimal("2.00"), "GBP", Decimal("33.3")).total == Decimal("119.97")


def test_a_missing_token_is_one_sentence(monkeypatch):
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    with pytest.raises(InputError, match="PROLIFIC_TOKEN is not set"):
        prolific.connect_to_prolific()


def test_the_token_goes_nowhere_but_to_prolific(monkeypatch, client, state):
    monkeypatch.setenv("PROLIFIC_API_URL", "https://evil.org")
    with pytest.raises(InputError, match="neither Prolific nor this machine"):
        prolific.connect_to_prolific()


def test_a_wrong_token_is_one_sentence_that_does_not_repeat_it(endpoint, monkeypatch):
    monkeypatch.setenv("PROLIFIC_TOKEN", "SECRET")
    with (
        prolific.connect_to_prolific() as client,
        pytest.raises(InputError, match="does not accept the token") as raised,
    ):
        prolific.create_draft(client, planned(), TERMS)
    assert "SECRET" not in str(raised.value)


def test_a_study_that_was_deleted_by_hand_is_one_sentence(client, state):
    launch = launched(client, state)
    state.studies.clear()
    with pytest.raises(InputError, match="deleted by hand"):
        list(prolific.submissions(client, launch))
