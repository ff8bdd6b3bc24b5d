"""Mechanical Turk, over HTTP against an endpoint that botocore's own service model checks both ways."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import boto3
import pytest
from botocore.stub import Stubber

from seedvote.crowd.marketplaces.mturk import client as mturk
from seedvote.crowd.marketplaces.mturk.client import MTurkTerms
from seedvote.crowd.marketplaces.mturk.connecting import connect_to_mturk
from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.mturk_endpoint import serve

TERMS = MTurkTerms("Which response is more relevant?", "Compare responses in short conversations")


@pytest.fixture
def endpoint(monkeypatch):
    server = serve()
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "example")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")  # the wrong one: MTurk lives in us-east-1 only
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def turk(endpoint):
    return endpoint.turk


@pytest.fixture
def client(endpoint):
    return connect_to_mturk(sandbox=True)


def planned(sittings=20, reward="0.60"):
    hits = mturk.planned_hits(sittings)
    return mturk.MTurkLaunch(
        sandbox=True, public_url="https://x.org/a&b", pairs="0", reward=reward, minutes=60, hits=hits
    )


def create_missing(client, launch, terms=TERMS):
    """Without a ledger: a HIT that is there is found by its token."""

    def buy(known, token, places):
        return mturk.find_hit(client, known, token) or mturk.create_hit(client, known, 7, token, places)

    return mturk.create_missing(client, launch, terms, buy)


def launched(client, launch=None, terms=TERMS):
    launch = launch or planned()
    for step in create_missing(client, launch, terms):
        launch = step
    return launch


def worked(turk, hit, worker):
    assignment = turk.accept(hit, worker)
    assert turk.submit({"assignmentId": assignment, "done": "1"})
    return assignment


# Launch


@pytest.mark.parametrize("sittings", [1, 8, 9, 10, 19, 300])
def test_every_sitting_has_a_place_and_no_hit_reaches_the_higher_fee(sittings):
    hits = mturk.places(sittings)
    assert sum(hits) == sittings and max(hits) <= 9 and max(hits) - min(hits) <= 1
    assert mturk.places(0) == []


def test_the_estimate_is_what_the_account_is_charged(client, turk):
    launched(client, planned(20))
    assert Decimal(1000) - turk.available == mturk.mturk_price(20, Decimal("0.60")).total == Decimal("14.40")


def test_a_fee_is_at_least_one_cent_an_assignment():
    assert mturk.mturk_price(1, Decimal("0.01")).fee == Decimal("0.01")


def test_a_launch_creates_hits_of_one_type_that_show_our_page(client, turk):
    launch = launched(client)
    assert [hit["places"] for hit in launch.hits] == [7, 7, 6]
    assert {turk.hits[hit["hit"]]["HITTypeId"] for hit in launch.hits} == {launch.hit_type}
    assert turk.address(launch.hits[0]["hit"], "https://m").startswith("https://x.org/a&b/?hitId=")


def test_hits_are_hidden_from_workers_for_whom_there_is_no_more_work(client, turk):
    terms = replace(TERMS, locales=("US", "GB"), approval_rate=95, approved_hits=100)
    launch = launched(client, terms=terms)
    asked = turk.types[launch.hit_type]["QualificationRequirements"]
    assert {one["ActionsGuarded"] for one in asked} == {"DiscoverPreviewAndAccept"}
    assert asked[0]["QualificationTypeId"] == launch.qualification and asked[0]["Comparator"] == "DoesNotExist"
    assert asked[1]["LocaleValues"] == [{"Country": "US"}, {"Country": "GB"}]
    assert [one["IntegerValues"] for one in asked[2:]] == [[95], [100]]


def test_a_launch_that_was_cut_off_anywhere_makes_no_second_hit(client, turk):
    whole = planned()
    steps = len(list(create_missing(client, whole)))
    hits, money = set(turk.hits), turk.available
    for cut in range(steps):
        record = whole
        for _, step in zip(range(cut), create_missing(client, whole), strict=False):
            record = step
        finished = launched(client, record)
        assert {hit["hit"] for hit in finished.hits} == hits
    assert set(turk.hits) == hits and turk.available == money and len(turk.qualifications) == 1


def test_a_reply_that_was_lost_after_the_hit_was_made_costs_nothing(client, turk):
    turk.faults = [("CreateHITWithHITType", None, True)]
    launch = launched(client)
    assert len(turk.hits) == 3 == len({hit["hit"] for hit in launch.hits})


def test_throttling_is_waited_out(client, turk):
    turk.faults = [("CreateHITWithHITType", 500, False)] * 2
    assert len(launched(client).hits) == len(turk.hits) == 3


def test_too_little_money_is_one_sentence_and_the_launch_goes_on_later(client, turk):
    turk.available = Decimal("6.00")  # one HIT of seven sittings at 0.72
    launch = planned()
    with pytest.raises(InputError, match="too little money"):
        for step in create_missing(client, launch):
            launch = step
    assert len(turk.hits) == 1
    turk.available = Decimal(100)
    assert len({hit["hit"] for hit in launched(client, launch).hits}) == 3 == len(turk.hits)


# While the study runs


def test_submitted_assignments_are_listed_over_all_pages(client, turk):
    turk.page = 2
    launch = launched(client)
    done = {worked(turk, launch.hits[0]["hit"], f"AWORKER{n}") for n in range(5)}
    assert {row.assignment for row in mturk.assignments(client, launch.hits[0]["hit"])} == done


def test_within_a_hit_no_worker_is_let_in_twice(client, turk):
    hit = launched(client).hits[0]["hit"]
    worked(turk, hit, "AWORKER")
    assert turk.accept(hit, "AWORKER") is None


def test_a_hit_that_was_deleted_by_hand_is_passed_over(client, turk):
    launch = launched(client)
    worked(turk, launch.hits[1]["hit"], "AWORKER")
    del turk.hits[launch.hits[0]["hit"]]
    turk.hits[launch.hits[2]["hit"]]["HITStatus"] = "Disposed"
    assert mturk.look_up_hit(client, launch.hits[0]["hit"]) is None
    assert [row.worker for hit in mturk.hits_of(launch) for row in mturk.assignments(client, hit)] == ["AWORKER"]
    assert mturk.set_expiry(client, launch, mturk.in_days(0)) == 1


def test_a_study_is_closed_and_opened_again(client, turk):
    launch = launched(client)
    assert mturk.set_expiry(client, launch, mturk.in_days(0)) == 3
    assert turk.accept(launch.hits[0]["hit"], "AWORKER") is None
    mturk.set_expiry(client, launch, mturk.in_days(2))
    assert turk.accept(launch.hits[0]["hit"], "AWORKER")
    assert all(hit["Expiration"] > datetime.now(UTC) for hit in turk.hits.values())


def test_the_soft_block_hides_the_hits_and_leaves_the_account_alone(client, turk):
    launch = launched(client)
    mturk.close_to(client, launch, "AWORKER")
    assert mturk.closed_to(client, launch) == {"AWORKER"}
    assert turk.accept(launch.hits[0]["hit"], "AWORKER") is None
    assert turk.accept(launch.hits[0]["hit"], "AOTHER")
    assert not turk.calls["CreateWorkerBlock"]


def test_work_is_approved_and_a_bonus_is_paid_once(client, turk):
    launch = launched(client)
    worked(turk, launch.hits[0]["hit"], "AWORKER")
    (row,) = mturk.assignments(client, launch.hits[0]["hit"])
    mturk.approve_assignment(client, row.assignment)
    assert mturk.assignment_status(client, row.assignment) == "Approved"
    before = turk.available
    mturk.send_bonus(client, row.assignment, row.worker, Decimal("0.25"), "for all pairs", "bonus")
    assert before - turk.available == mturk.bonus_cost(Decimal("0.25"))
    assert mturk.bonuses(client, row.assignment) == [(Decimal("0.25"), "for all pairs")]
    with pytest.raises(InputError, match="DuplicateRequest"):
        mturk.send_bonus(client, row.assignment, row.worker, Decimal("0.25"), "for all pairs", "bonus")
    assert len(turk.bonuses) == 1


def test_the_balance_is_asked_for(client):
    assert mturk.balance(client) == Decimal("1000.00")


# What goes wrong


def test_missing_credentials_are_one_sentence(endpoint, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with pytest.raises(InputError, match="no AWS credentials were found"):
        mturk.balance(connect_to_mturk(sandbox=True))


def test_expired_credentials_are_one_sentence(endpoint, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "expired")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with pytest.raises(InputError, match="have expired"):
        mturk.balance(connect_to_mturk(sandbox=True))


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("ThrottlingException", "MTurk is busy"),
        ("UnrecognizedClientException", "does not accept these credentials"),
        ("AWS.MechanicalTurk.InsufficientFunds", "too little money"),
        ("AWS.MechanicalTurk.ParameterValidationError", "MTurk refused ApproveAssignment"),
    ],
)
def test_refusals_are_sentences_without_ids(client, code, sentence):
    with Stubber(client) as stub:
        stub.add_client_error("approve_assignment", code, f"worker A123SECRET ({code})")
        with pytest.raises(InputError, match=sentence) as raised:
            mturk.approve_assignment(client, "A1")
    assert "SECRET" not in str(raised.value)


def test_an_endpoint_that_does_not_answer_is_one_sentence(client, endpoint, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(InputError, match="could not be reached"):
        mturk.balance(connect_to_mturk(sandbox=True))


def test_a_profile_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobodys")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with pytest.raises(InputError, match="AWS_PROFILE is 'nobodys', which is no AWS profile"):
        connect_to_mturk(sandbox=True)


def test_without_an_endpoint_of_our_own_the_sandbox_is_the_sandbox(monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL_MTURK", raising=False)
    assert "sandbox" in connect_to_mturk(sandbox=True).meta.endpoint_url
    assert connect_to_mturk(sandbox=False).meta.endpoint_url == "https://mturk-requester.us-east-1.amazonaws.com"


def test_no_endpoint_but_amazons_and_this_machine_is_sent_money_or_ids(monkeypatch):
    for url in ("https://mturk.example.org", "https://amazonaws.com.example.org", "http://xamazonaws.com"):
        monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", url)
        with pytest.raises(InputError, match="is neither Amazon nor this machine"):
            connect_to_mturk(sandbox=True)
