"""Who is let in by which address, and how they go back."""

import pytest

from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.marketplaces.mturk.entrance import MTURK_PREVIEW, MTurkEntrance, mturk_sites
from seedvote.crowd.marketplaces.panel.entrance import PanelEntrance
from seedvote.crowd.marketplaces.prolific.entrance import ProlificEntrance, code_for
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.web.entrance import OVER, origin_of, read_identifier, way_back, way_to_decline
from seedvote.dialogue.errors import InputError

LIVE = "https://www.mturk.com"
VISIT = {"source": "mturk", "sitting": "A1", "worker": "AWORKER"}


def query(**changes):
    values = {"assignmentId": "A1", "hitId": "H1", "workerId": "AWORKER", "turkSubmitTo": LIVE}
    return {**values, **changes}


def test_an_mturk_arrival_names_worker_assignment_and_hit():
    arrival = MTurkEntrance(LIVE).read_arrival(query())
    assert (arrival.source, arrival.worker, arrival.sitting, arrival.task) == ("mturk", "AWORKER", "A1", "H1")
    assert MTurkEntrance(LIVE).read_arrival({"x": "1"}) is None


def test_a_preview_is_nobody():
    arrival = MTurkEntrance(LIVE).read_arrival({"assignmentId": MTURK_PREVIEW, "hitId": "H1"})
    assert arrival.preview and not arrival.worker


@pytest.mark.parametrize(
    "target",
    ["https://www.mturk.com.evil.org", "https://evil.org/www.mturk.com", "http://www.mturk.com", "", "javascript:1"],
)
def test_forms_go_to_the_marketplace_of_the_study_and_nowhere_else(target):
    with pytest.raises(InputError, match="turkSubmitTo"):
        MTurkEntrance(LIVE).read_arrival(query(turkSubmitTo=target))


def test_server_without_marketplace_refuses_mturk_workers():
    for target in ("", "://", LIVE):
        with pytest.raises(InputError, match="turkSubmitTo"):
            MTurkEntrance("").read_arrival(query(turkSubmitTo=target))


def test_sandbox_workers_are_not_taken_for_real_ones(monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL_MTURK", raising=False)
    with pytest.raises(InputError, match="turkSubmitTo"):
        MTurkEntrance(mturk_sites("live")[0]).read_arrival(query(turkSubmitTo=mturk_sites("sandbox")[0]))


def test_only_an_endpoint_on_this_machine_may_stand_in_for_the_marketplace(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "https://evil.org")
    assert mturk_sites("live")[0] == LIVE
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "http://127.0.0.1:9/x")
    assert mturk_sites("live") == ("http://127.0.0.1:9",)


@pytest.mark.parametrize("stage", OVER)
def test_judged_pairs_can_always_be_handed_in(stage):
    way = MTurkEntrance(LIVE).find_way_out(VISIT, Step(stage, done=4, judged=1))
    assert way.url == f"{LIVE}/mturk/externalSubmit" and way.fields == {"assignmentId": "A1", "answers": "4"}


def test_a_hit_in_which_nothing_was_done_is_returned_not_submitted():
    assert not MTurkEntrance(LIVE).find_way_out(VISIT, Step("no_more")).url


@pytest.mark.parametrize("stage", OVER)
@pytest.mark.parametrize("done", [0, 3])
def test_visit_of_checks_alone_is_no_work(stage, done):
    visit, step = {"source": "prolific", "sitting": "x1", "worker": "p1"}, Step(stage, done=done)
    panel = PanelEntrance(hit_from({"panel": {"complete": "DONE 7", "full": "FULL 8"}}, "hit.toml").panel)
    paid = stage == "no_more" and done > 0
    assert step.is_paid is paid
    assert bool(MTurkEntrance(LIVE).find_way_out(VISIT, step).url) is paid
    code = "S" if paid else code_for("full", "C")
    assert ProlificEntrance("C", "S").find_way_out(visit, step).url.endswith(f"?cc={code}")
    assert panel.find_way_out(visit, step).code == ("DONE 7" if paid else "FULL 8")


def test_nobody_leaves_in_the_middle_or_through_another_entrance():
    doors, over = (MTurkEntrance(LIVE), ProlificEntrance("C", "S")), Step("done", done=4, judged=1)
    assert way_back(doors, VISIT, Step("wait", done=4)) is None
    assert way_back(doors, {**VISIT, "source": "local"}, over) is None
    assert way_back(doors[1:], VISIT, over) is None and way_back(doors, VISIT, over).fields
    assert way_to_decline(doors, VISIT) is None
    assert "cc=" in way_to_decline(doors, {**VISIT, "source": "prolific"}).url


def test_a_prolific_arrival_names_person_study_and_submission():
    arrival = ProlificEntrance("C", "S").read_arrival({"PROLIFIC_PID": "p1", "STUDY_ID": "s1", "SESSION_ID": "x1"})
    assert (arrival.source, arrival.worker, arrival.task, arrival.sitting) == ("prolific", "p1", "s1", "x1")
    assert ProlificEntrance("C", "S").read_arrival({"workerId": "A1"}) is None
    with pytest.raises(InputError, match="SESSION_ID"):
        ProlificEntrance("C", "S").read_arrival({"PROLIFIC_PID": "p1", "STUDY_ID": "s1"})


@pytest.mark.parametrize(("stage", "code"), [(stage, "S" if stage == "no_more" else "C%261") for stage in OVER])
def test_finished_and_screened_out_leave_with_codes_of_their_own(stage, code):
    visit = {"source": "prolific", "sitting": "x1", "worker": "p1"}
    way = ProlificEntrance("C&1", "S").find_way_out(visit, Step(stage, done=3, judged=1))
    nothing = code_for("full", "C&1")  # asks for the place back, pays nobody
    assert ProlificEntrance("C&1", "S").find_way_out(visit, Step(stage)).url.endswith(f"?cc={nothing}")
    assert way.url == f"https://app.prolific.com/submissions/complete?cc={code}" and not way.fields


@pytest.mark.parametrize("value", ["", "a b", "x" * 65, "<script>", "a\0", "../x", "a\n"])
def test_what_is_not_an_id_goes_no_further(value):
    with pytest.raises(InputError, match="workerId is missing"):
        read_identifier("workerId", {"workerId": value})


def test_an_origin_is_scheme_host_and_port():
    assert origin_of("http://127.0.0.1:8080/a/b?c") == "http://127.0.0.1:8080"
