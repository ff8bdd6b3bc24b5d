"""A whole study on Prolific: draft, participants, settlement, over HTTP against the endpoint on this machine."""

import pytest

from seedvote.crowd.commands import verify
from seedvote.crowd.hit.hit import read_hit
from seedvote.crowd.store.launches import write_record
from seedvote.crowd.study_folder import opened, prepare_study
from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.prolific_study import prolific_study
from tests.crowd.marketplaces.study import Person, as_toml


@pytest.fixture
def study(tmp_path, monkeypatch):
    with prolific_study(tmp_path, monkeypatch) as found:
        yield found


def test_without_live_and_yes_no_draft_is_made(study, capsys):
    for words in ((), ("--yes",), ("--live",)):
        study.launch(*words)
        said = capsys.readouterr().out
        assert "3 sittings x (1.50 reward + 0.4995 fee) = 6.00 GBP at most" in said and "Nothing was created" in said
        assert said.endswith("--yes\n") and " --live" in said.splitlines()[-1]
    assert not study.prolific.studies


def test_cost_counts_failures_and_hourly_pay(study, capsys):
    study.launch()
    said = capsys.readouterr().out
    assert "about 11.86 GBP until every pair has its votes: 51% of raters pass (508 of 1,004" in said.replace(
        "pass the checks (", "pass ("
    )
    assert "1.50 GBP a sitting, 9.00 an hour at 10 minutes" in said
    assert "a test worker arrived at" in said and "found the way back" in said
    study.launch("--pass-rate", "1")
    assert "about 6.00 GBP until" in capsys.readouterr().out


def test_a_study_from_draft_to_verified_votes(study, capsys):
    study.open()
    assert study.prolific.studies[study.study]["total_available_places"] == 3
    submissions = [study.work(f"p{n}") for n in range(3)]
    assert {study.prolific.submissions[name]["study_code"] for name in submissions} == {"CDONE"}
    assert not any(vote.counted for vote in study.votes()) and study.progress().waiting == 18
    capsys.readouterr()
    study.command("pay", "--bonus", "0.20")
    said = capsys.readouterr().out
    assert study.prolific.paid == [] and "bonus      3 x, 0.60 GBP" in said and "reward     3 x, 4.50" in said
    for _ in range(2):
        study.command("pay", "--bonus", "0.20", "--yes")
    assert {row["status"] for row in study.prolific.submissions.values()} == {"APPROVED"}
    assert study.prolific.paid == [f"{name},0.20" for name in submissions]
    assert len(study.votes()) == 18 and all(vote.counted and vote.extra["verified"] for vote in study.votes())


def test_votes_count_once_verified_without_payment(study, capsys):
    study.open()
    study.come("p0")
    capsys.readouterr()
    study.command("verify")
    assert "1 visits confirmed" in (said := capsys.readouterr().out) and "6 of 18 count, 0 wait for Prolific" in said
    assert sum(vote.counted for vote in study.votes()) == 6
    assert not study.ledger("sent") and {row.purpose for row in study.ledger()} == {"places"}


def test_verifying_survives_a_busy_marketplace(study, capsys, monkeypatch):
    study.open()
    study.come("p0")
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        study.prolific.upset = {1: lambda *call: "busy", 2: lambda *call: "cut"}.get(len(slept))
        if len(slept) == 4:
            raise KeyboardInterrupt

    study.prolific.upset = lambda *call: "stumbles"
    monkeypatch.setattr(verify.time, "sleep", sleep)
    study.command("verify", "--every", "10")
    said = capsys.readouterr().out
    assert slept == [600] * 4 and said.count("Asked again in 10 min.") == 3 and "1 visits confirmed" in said
    study.prolific.upset = lambda *call: "stumbles"
    with pytest.raises(InputError, match="stumbled"):
        study.command("verify")


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "REJECTED"])
def test_a_visit_that_was_taken_back_stops_counting_and_comes_back_with_it(study, status, capsys):
    study.open()
    name = study.work("p0")
    study.command("verify")
    assert study.progress().counted == 6
    study.prolific.submissions[name]["status"] = status
    study.command("verify")
    assert study.progress().counted == 0 == study.progress().waiting
    assert not any(vote.counted for vote in study.votes()) and len(study.votes()) == 6
    study.prolific.submissions[name]["status"] = "APPROVED"  # the researcher has changed it by hand
    study.command("verify")
    assert study.progress().counted == 6
    capsys.readouterr()


def test_who_is_screened_out_is_approved_for_what_was_done(study, capsys):
    study.open()
    submission = study.work("p0", prefers="b")
    assert study.prolific.submissions[submission]["study_code"] == "COUT"
    study.command("pay", "--yes")
    assert study.prolific.submissions[submission]["status"] == "APPROVED"
    study.command("extend", "--sittings", "1", "--yes")
    assert study.prolific.studies[study.study]["total_available_places"] == 4
    capsys.readouterr()


def test_fixed_screen_out_pay_is_in_the_ledger(study, capsys):
    with pytest.raises(InputError, match=r"takes 0\.10 or more, and less than 1\.50"):
        study.launch("--screen-out-pay", "1.50")
    study.open("--screen-out-pay", "0.40")
    submission = study.work("p0", prefers="b")
    assert study.prolific.submissions[submission]["status"] == "SCREENED OUT"
    capsys.readouterr()
    study.command("pay", "--yes")
    assert "partial        0.40  " in capsys.readouterr().out
    assert [row.purpose for row in study.ledger("confirmed")] == ["places", "screen-out"]


def test_refusing_or_late_people_leave_by_a_code(study, capsys):
    study.open()
    codes = {one["code"]: one for one in study.prolific.studies[study.study]["completion_codes"]}
    refuses = Person(study.app, "prolific", "p8", sitting=study.prolific.join(study.study, "p8"), task=study.study)
    code = refuses.arrive().text.split("complete?cc=")[1].split('"')[0]
    assert codes[code]["code_type"] == "NO_CONSENT" and codes[code]["actions"][0]["action"] == "REQUEST_RETURN"
    study.prolific.submissions[refuses.sitting]["status"] = "RETURNED"
    for n in range(3):
        study.work(f"p{n}")
    late = Person(study.app, "prolific", "p9", sitting="0" * 24, task=study.study)
    page = late.arrive().text  # before any consent or example
    code = page.split("complete?cc=")[1].split('"')[0]
    assert codes[code]["code_type"] == "OTHER" and codes[code]["actions"][0]["action"] == "REQUEST_RETURN"
    assert "does not harm your record" in page and "/consent" not in page
    capsys.readouterr()


def test_filters_groups_and_quotas_are_said_in_prolifics_own_words(study, capsys):
    study.open("--filters", "age=18..65; sex=Male:1,female:1; approval_rate=95..", "--group", "G1", "--not-group", "G2")
    made = study.prolific.studies[study.study]
    assert made["filters"] == [
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 65}},
        {"filter_id": "sex", "selected_values": ["0", "1"], "weightings": {"0": 1, "1": 1}},
        {"filter_id": "approval_rate", "selected_range": {"lower": 95}},
        {"filter_id": "participant_group_blocklist", "selected_values": ["G2"]},
    ]
    assert made["study_type"] == "QUOTA"
    assert {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": "G1"} in made["completion_codes"][0]["actions"]
    capsys.readouterr()


def test_quota_parts_are_verified_and_paid(study, capsys):
    """Prolific runs such a study as one a group; the list of the study itself names nobody."""
    study.open("--filters", "sex=Male:1,Female:2", "--pass-rate", "1")
    names = [study.work(f"p{n}") for n in range(3)]
    parts = {study.prolific.submissions[name]["study_id"] for name in names}
    assert len(parts) == 2 and study.study not in parts
    study.command("verify")
    assert study.progress().counted == 18 and len(study.record()["parts"]) == 2
    assert study.command("pay", "--bonus", "0.20", "--yes") == 0
    assert sorted(study.prolific.paid) == [f"{name},0.20" for name in names]
    assert {study.prolific.submissions[name]["status"] for name in names} == {"APPROVED"}
    capsys.readouterr()


@pytest.mark.parametrize("filters", [(), ("--filters", "sex=Male:1,Female:2")])
def test_nobody_takes_a_pair_by_an_address_that_the_draft_does_not_have(study, capsys, filters):
    """A made-up name of a study, before anybody was verified: with quotas the real names are not known by then."""
    study.open("--pass-rate", "1", *filters)
    address = study.prolific.address(study.prolific.join(study.study, "p0"))
    names = ["f" * 24, "LAUNCH", *([study.study] if filters else [])]
    for name in names:
        stranger = Person(study.app, "prolific", "evil", sitting="f" * 24, task=name)
        assert stranger.arrive().status_code == 403
    key = study.record()["key"]
    guess = Person(study.app, "prolific", "evil", address=address.replace(key, "seedvote-0000000000000000"))
    assert guess.arrive().status_code == 403 and study.progress().held == 0
    assert Person(study.app, "prolific", "p0", address=address).begin()["status"] == "task"
    capsys.readouterr()


def test_a_cap_refuses_before_anything_is_created_or_printed_as_possible(study, capsys):
    for words in ((), ("--live", "--yes")):
        with pytest.raises(InputError, match=r"the cap is 5\.00 GBP, but this may cost 6\.00"):
            study.launch("--cap", "5.00", *words)
    assert study.record() is None and not study.prolific.studies
    study.open("--cap", "7.00")
    for words in ((), ("--yes",)):
        with pytest.raises(InputError, match=r"may cost 7\.00 in all, 6\.00 is spent or promised, and this is 2\.00"):
            study.command("extend", "--sittings", "1", *words)
    study.command("extend", "--sittings", "1", "--cap", "9.00")
    assert "Add --yes to do it" in capsys.readouterr().out
    study.command("extend", "--sittings", "1", "--cap", "9.00", "--yes")
    assert study.record()["places"] == 4
    capsys.readouterr()


def test_a_draft_tells_what_the_workspace_holds(study, capsys):
    study.launch()
    assert "the token is accepted; its workspace holds 100000.00 GBP" in capsys.readouterr().out
    study.prolific.balance = 500
    study.launch()
    assert "holds 5.00 GBP, less than these places cost (6.00): top up before" in capsys.readouterr().out
    study.prolific.workspaces.append("e" * 24)
    study.launch()
    assert "it has several workspaces (--workspace ID)" in capsys.readouterr().out
    study.launch("--workspace", "e" * 24)
    assert "holds 5.00 GBP" in capsys.readouterr().out


def test_a_fee_that_the_calculator_rounds_is_a_short_number(study, capsys):
    study.prolific.fee = 0.25 * (1 - 1e-9)
    study.launch()
    assert "(1.50 reward + 0.375 fee)" in capsys.readouterr().out


def test_pay_says_by_its_exit_code_and_last_line_what_was_not_done(study, capsys):
    study.open()
    study.work("p0")
    study.prolific.upset = lambda method, path: "busy" if path == "/submissions/bulk-approve/" else None
    capsys.readouterr()
    assert study.command("pay", "--yes") == 1
    told = capsys.readouterr()
    assert told.err.strip().splitlines()[-1] == "Not all was paid: 1 refused."
    assert told.out.endswith(f"Next: python -m crowd pay {study.folder} --yes\n")
    study.prolific.upset = lambda method, path: "cut" if path == "/bulk-bonus-payments/ID/pay/" else None
    study.prolific.slow = True
    assert study.command("pay", "--bonus", "0.20", "--yes") == 1
    assert capsys.readouterr().err.strip().splitlines()[-1] == "Not all was paid: 1 uncertain."
    study.prolific.upset = None
    study.prolific.deliver()
    assert study.command("pay", "--bonus", "0.20", "--yes") == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hight=3", "filter of Prolific's. They are: age, approval_rate, sex"),
        ("age=old", "is not a range such as age=18..65"),
        ("age=65..18", "is not a range"),
        ("sex=cat", "has no choice 'cat'. It has: Male, Female"),
        ("sex=Male:1,Female", "give all or none"),
        ("sex=Male:0.5,Female:0.5", "weight '0.5' of Male is not a whole number"),
    ],
)
def test_a_filter_that_prolific_does_not_have_is_one_sentence(study, text, said):
    with pytest.raises(InputError, match=said):
        study.launch("--filters", text)


def test_short_work_is_left_to_the_researcher(study, capsys):
    study.open()
    person = study.come("p0", most=4)
    study.prolific.complete(person.sitting, "CDONE")
    capsys.readouterr()
    study.command("pay", "--min-answers", "5")
    said = capsys.readouterr().out
    assert f"    {person.sitting}  4 answers, 0 of 3 checks failed, 1.5 s each" in said
    assert "short      1 handed in with fewer answers" in said and "reward" not in said
    study.command("pay", "--min-answers", "5", "--yes")
    assert study.prolific.submissions[person.sitting]["status"] == "AWAITING REVIEW"
    study.command("pay", "--per-answer", "0.05", "--yes")
    assert study.prolific.paid == [f"{person.sitting},0.20"]
    capsys.readouterr()


def test_who_worked_and_could_not_hand_in_can_be_compensated_once(study, capsys):
    study.open()
    person = study.come("p0", most=4)
    study.prolific.submissions[person.sitting]["status"] = "TIMED-OUT"
    capsys.readouterr()
    study.command("pay")
    assert "could not  1 worked and could not hand in" in capsys.readouterr().out
    for said in ("partial        0.40", "1 were paid before"):
        study.command("pay", "--compensate", "0.10", "--yes")
        assert said in (printed := capsys.readouterr().out) and "uncertain" not in printed
    assert study.prolific.paid == [f"{person.sitting},0.40"]


def test_recruiting_is_stopped_and_started_again(study, capsys):
    study.open()
    study.command("expire", "--yes")
    assert study.prolific.join(study.study, "p0") is None
    study.command("resume", "--yes")
    assert study.prolific.join(study.study, "p0")
    capsys.readouterr()


def test_an_interrupted_launch_makes_no_second_draft(study, capsys):
    study.open()
    study.prolific.studies[study.study]["status"] = "UNPUBLISHED"
    record = study.record()
    study.rewrite(study="")
    study.launch("--live", "--yes")
    assert study.record() == record and len(study.prolific.studies) == 1
    capsys.readouterr()


def test_a_draft_whose_reply_was_lost_is_found_again(study, capsys):
    study.prolific.upset = lambda method, path: "cut" if (method, path) == ("POST", "/studies/") else None
    study.open()
    assert len(study.prolific.studies) == 1
    capsys.readouterr()


def test_a_budget_uses_the_fee_of_the_account(study):
    with pytest.raises(InputError, match=r"may cost 6\.00"):
        study.launch("--budget", "5")
    with pytest.raises(InputError, match=r"may cost 6\.43"):
        study.launch("--budget", "6", "--fee-percent", "42.8", "--live", "--yes")
    assert not study.prolific.studies


def test_pay_below_the_marketplaces_least_is_refused(study):
    with pytest.raises(InputError, match=r"1\.50 GBP an hour, below 6\.00"):
        study.command("launch", "--prolific", "--public-url", study.url, "--minutes", "60", "--live", "--yes")
    assert not study.prolific.studies


def test_a_study_on_two_marketplaces_asks_which(study, capsys):
    study.open()
    with opened(study.folder, None) as store, store.write() as connection:
        write_record(connection, "mturk", {})
    with pytest.raises(InputError, match="add --mturk or --prolific"):
        study.command("expire")
    study.command("expire", "--prolific")
    capsys.readouterr()


# What a stranger may try


def test_only_the_study_that_was_launched_lets_people_in(study, capsys):
    for task in ("made-up", "S1"):
        assert Person(study.app, "prolific", "evil", sitting="s", task=task).arrive().status_code == 403
    study.open()
    assert Person(study.app, "prolific", "evil", sitting="s", task="made-up").arrive().status_code == 403
    assert Person(study.app, "mturk", "evil", sitting="s").arrive().status_code in (400, 403)
    assert Person(study.app, "local", "evil", sitting="s").arrive().status_code == 403
    assert study.votes() == []
    capsys.readouterr()


def test_made_up_visits_count_for_nothing_and_are_set_aside_in_time(study, monkeypatch, capsys):
    study.open()
    for n in range(3):
        Person(study.app, "prolific", f"made-up-{n}", sitting=f"s{n}", task=study.study).work()
    assert not any(vote.counted for vote in study.votes()) and study.progress().counted == 0
    study.command("pay", "--yes")
    assert study.progress().waiting == 18, "their time is not over yet"
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: 4e9)
        study.command("verify")
    assert study.progress().waiting == 0 and {row.purpose for row in study.ledger()} == {"places"}
    study.work("p0")
    study.command("verify")
    assert study.progress().counted == 6
    capsys.readouterr()


def test_forged_visits_under_a_known_id_change_nothing_for_that_person(study, monkeypatch, capsys):
    study.open()
    name = study.work("p0")
    study.command("pay", "--yes")
    assert study.progress().counted == 6
    for n in range(2):
        Person(study.app, "prolific", "p0", "b", sitting=f"forged{n}", task=study.study).work()
    study.command("pay", "--yes")
    assert study.progress().counted == 6 and study.prolific.submissions[name]["status"] == "APPROVED"
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: 4e9)
        study.command("pay", "--yes")
    assert study.progress().counted == 6 and not any(rater == "blocked" for rater in study.progress().raters)
    capsys.readouterr()


def change_hit(study, **values):
    """What the researcher writes into hit.toml in mid-study."""
    path = study.folder / "hit.toml"
    kept = [line for line in path.read_text().splitlines() if line.split(" = ")[0] not in values]
    path.write_text("\n".join([*kept, *(f"{name} = {as_toml(value)}" for name, value in values.items())]))


@pytest.mark.parametrize(("key", "value"), [("pay_per_sitting", 2.5), ("currency", "USD"), ("completion_code", "CNEW")])
def test_hit_keys_told_to_prolific_are_fixed_after_launch(study, key, value, capsys):
    before = {"pay_per_sitting": 1.5, "currency": "GBP", "completion_code": "CDONE"}
    change_hit(study, **{key: value})
    prepare_study(study.folder, None, read_hit(study.folder / "hit.toml"), None, seed=0, simulated=False)
    change_hit(study, **{key: before[key]})
    prepare_study(study.folder, None, read_hit(study.folder / "hit.toml"), None, seed=0, simulated=False)
    study.open()
    change_hit(study, **{key: value})
    with pytest.raises(InputError, match=f"{key} was changed, but the study was launched"):
        prepare_study(study.folder, None, read_hit(study.folder / "hit.toml"), None, seed=0, simulated=False)
    if key != "completion_code":
        with pytest.raises(InputError, match=r"launched with (reward|currency)"):
            study.launch("--live", "--yes")
    capsys.readouterr()


def test_interrupted_launch_opens_no_door(study, capsys):
    study.prolific.upset = lambda method, path: "busy" if (method, path) == ("POST", "/studies/") else None
    with pytest.raises(InputError, match="busy"):
        study.launch("--live", "--yes")
    made_up = Person(study.app, "prolific", "p9", sitting="0" * 24, task="1" * 24)
    assert made_up.arrive().status_code == 403
    study.prolific.upset = None
    with pytest.raises(InputError, match="launched with public_url"):
        study.launch("--live", "--yes", "--public-url", study.url.replace("127.0.0.1", "localhost"))
    study.launch("--live", "--yes")
    assert made_up.arrive().status_code == 403 and len(study.prolific.studies) == 1
    capsys.readouterr()
