"""One question, one answer: the report, the command and the function say the same, to the last digit."""

import argparse
import contextlib
import copy
import functools
import html
import inspect
import io
import json
import re
from dataclasses import replace

import pytest

from seedvote.analysis import notebook
from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.arguments import DELIVERED, READING, check_margin
from seedvote.analysis.questions.agreement import answer as agreement
from seedvote.analysis.questions.agreement.answer import NONE_TWICE
from seedvote.analysis.questions.comparison import answer as comparison
from seedvote.analysis.questions.planning import answer as planning
from seedvote.analysis.questions.preference import answer as preference
from seedvote.analysis.questions.table import COMMANDS as QUESTIONS
from seedvote.analysis.questions.ties import answer as ties
from seedvote.analysis.questions.variance import answer as variance
from seedvote.analysis.showing.words import p_value
from seedvote.analysis.votes.systems import UNKNOWN
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Vote
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.conditions_study import make_study
from tests.analysis.report_study import add_scores, add_votes

pytestmark = pytest.mark.usefixtures("hasty_throughout")

ROOMS = ("ties", "agreement", "preference")


def say(*words):
    """What a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert dispatch("analysis", "", COMMANDS, [*map(str, words)]) == 0
    return out.getvalue()


def ask(study, folder, *margin):
    """Every room's numbers in report.json, and from its command, with the pages; `margin` as on the command line."""
    say("report", study, "--out", folder / "report.html", *margin)
    found = json.loads((folder / "report.json").read_text())
    size = found["ties"]["recipe"]["size"]
    told = {
        "ties": json.loads(say("ties", study, "--size", size, "--out", folder, "--json", "-")),
        "agreement": json.loads(say("agreement", study, "--json", "-")),
        "preference": json.loads(say("preference", study, *margin, "--json", "-")),
    }
    return found, told, [(folder / f"report.{suffix}").read_text() for suffix in ("html", "md")]


@pytest.fixture
def asked(tmp_path):
    """The same of a study that a test has changed."""
    return lambda study: ask(study, tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    """The same of the study as nobody has changed it, computed once for each margin."""

    @functools.cache
    def once(*margin):
        folder = tmp_path_factory.mktemp("unchanged")
        return ask(vary(add_votes(folder)), tmp_path_factory.mktemp("report"), *margin)

    return lambda *margin: copy.deepcopy(once(*margin))


def nameless(document):
    """The same without pseudonyms, which no file of a report may hold."""
    assert all(row.pop("rater") for row in document["raters"])
    return document


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    return vary(add_votes(folder))


def vary(folder):
    """The study's votes with some of them changed, so that no interval is a point."""
    votes = list(read_records(folder / "votes.jsonl", Vote))
    changed = [
        Vote(**{f: getattr(v, f) for f in Vote.__slots__ if f != "choice"}, choice="a" if k % 5 == 0 else v.choice)
        for k, v in enumerate(votes)
    ]
    write_records(folder / "votes.jsonl", changed, signature="votes:varied|v:0", kind=Vote)
    return folder


@pytest.mark.parametrize("margin", [(), ("--margin", "0.167"), ("--margin", "0.9")])
def test_every_number_of_the_report_is_the_commands(unchanged, margin):
    found, told, _ = unchanged(*margin)
    nameless(told["agreement"])
    for room in ROOMS:
        assert found[room] == told[room], room
    assert [row["tost"] is None for row in found["preference"]["contrasts"]] == [not margin] * 3


def test_report_and_preference_call_the_same_systems_alike(unchanged):
    for margin in ("0.167", "0.9"):
        _, told, (page, _) = unchanged("--margin", margin)
        for row in told["preference"]["contrasts"]:
            words = "are equivalent" if row["tost"]["equivalent"] else "are not shown to be equivalent"
            names = [f"{one} and {other} {words} within" for one, other in
                     ((row["first"], row["second"]), (row["second"], row["first"]))]  # fmt: skip
            assert sum(name in page for name in names) == 1
    assert "are equivalent within 90 points" in page


def test_the_intervals_that_the_report_prints_are_the_commands(unchanged):
    _, told, pages = unchanged()
    agreed = told["agreement"]
    for name, one in (
        ("Fleiss&#39; kappa", agreed["fleiss_kappa"]),
        ("Krippendorff&#39;s alpha, nominal", agreed["krippendorff_alpha"]["nominal"]),
        ("Gwet&#39;s AC1", agreed["gwet_ac1"]),
        ("share of vote pairs that agree", agreed["agreement"]),
    ):
        ends = as_printed(one, 3, "")
        assert re.search(rf'<span class="label">{re.escape(name)}</span>.*?{re.escape(ends)}', pages[0], re.S), name
    kappa = as_printed(agreed["fleiss_kappa"], 2, "95 % interval ")
    share = "{low:.1%} to {high:.1%}".format(**told["ties"]["pooled"]["interval"]).replace("%", " %")
    for page in pages:
        assert kappa in page.replace("\N{NO-BREAK SPACE}", " ")
        assert share in page.replace("\N{NO-BREAK SPACE}", " ")


def as_printed(one, digits, name):
    """A coefficient as the report prints it; with few votes for its rarer labels it has no interval."""
    value, low, high = (None if end is None else f"{end:.{digits}f}" for end in (one["value"], one["low"], one["high"]))
    return (f"{value} (no interval)" if low is None else f"{value} ({name}{low} to {high})").replace("-", "−")


def given(caution, page):
    """Whether a page holds the caution, whatever it escapes."""
    plain = html.unescape(page).replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")
    return caution.replace("\\", "") in plain


@pytest.mark.parametrize("change", ["none", "raters", "agreeing", "one vote a pair"])
def test_every_caution_of_a_command_stands_in_the_report(study, asked, unchanged, change):
    if change != "none":
        votes = [vote for vote in read_records(study / "votes.jsonl", Vote) if vote.kind == "real"]
        more = {"raters": {"rater": "r1"}, "agreeing": {"choice": "tie"}, "one vote a pair": {}}[change]
        kept = [vote for vote in votes if change != "one vote a pair" or vote.round == 1]
        made = [Vote(**({f: getattr(v, f) for f in Vote.__slots__} | more)) for v in kept]
        write_records(study / "votes.jsonl", made, signature="changed|v:0", kind=Vote)
    _, told, pages = unchanged() if change == "none" else asked(study)
    cautions = [caution for room in ROOMS for caution in told[room]["warnings"]]
    assert cautions
    for page in pages:
        assert [caution for caution in cautions if not given(caution, page)] == []
    if change == "agreeing":
        assert any("only the share of agreeing votes has an interval" in caution for caution in cautions)
    if change == "one vote a pair":
        assert NONE_TWICE in cautions


def test_a_study_without_votes_or_systems_has_null_and_not_nothing(tmp_path):
    say("report", add_scores(tmp_path))
    found = json.loads((tmp_path / "report.json").read_text())
    assert [found[room] for room in ROOMS] == [None, None, None]


def test_missing_interval_is_a_dash_with_a_reason(study, asked):
    votes = list(read_records(study / "votes.jsonl", Vote))
    lone = [v for v in votes if v.kind == "real" and int(v.pair[1:]) % 3 == 0]  # bilstm_attn-0 against -1
    kept = [v for v in votes if v not in lone[1:]]
    write_records(study / "votes.jsonl", kept, signature="lone|v:0", kind=Vote)
    found, told, pages = asked(study)
    assert found["preference"] == told["preference"]
    *tested, last = told["preference"]["contrasts"]
    assert len(tested) == 2 and all(row["net"] and row["reason"] is None for row in tested)
    assert (last["first"], last["second"], last["votes"]) == ("bilstm_attn-0", "bilstm_attn-1", 1)
    assert last["net"] is last["tost"] is last["sign_test"]["p"] is None and last["reason"] == "1 vote"
    reason = "(1 vote: bilstm_attn-0 and bilstm_attn-1)"
    assert all(given(reason, page) for page in pages)
    text = say("preference", study)
    assert reason in text
    (row,) = [line for line in text.splitlines() if line.startswith("bilstm_attn-0 against bilstm_attn-1 ")]
    assert row.split()[-4:] == ["-"] * 4


def test_single_vote_is_an_error_or_a_reason(tmp_path):
    (tmp_path / "votes.jsonl").write_text('{"pair": "p", "rater": "r", "choice": "a"}\n')
    with pytest.raises(InputError, match="One vote has no interval"):
        say("preference", tmp_path)
    say("report", tmp_path)
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["preference"] is None
    assert any("is unknown. One vote has no interval" in sentence for sentence in found["limitations"])


def test_a_table_beside_pairs_jsonl_is_not_said_to_have_none(study, tmp_path):
    votes = list(read_records(study / "votes.jsonl", Vote))
    rows = [f"{v.pair},{v.rater},{v.choice},{v.round % 2}" for v in votes if v.round < 3 and v.kind == "real"]
    (study / "votes.csv").write_text("\n".join(["pair,rater,choice,round", *rows]))
    said = say("preference", study / "votes.csv")
    assert "over 30 pairs with a vote in every round" in said and "bilstm_attn-0" in said
    say("report", study / "votes.csv", "--out", tmp_path / "beside.html")
    told = json.loads((tmp_path / "beside.json").read_text())["limitations"]
    assert not any("There is no pairs.jsonl" in one for one in told)
    assert any("pairs.jsonl beside it tells the names" in one for one in told)
    chosen = {v.pair: v for v in votes if v.kind == "real"}
    few = list(chosen.values())[:3]  # of three different comparisons
    write_records(study / "votes.jsonl", few, signature="votes:few|v:0", kind=Vote)
    with pytest.raises(InputError, match="Each of the 3 comparisons of two systems has one vote"):
        say("preference", study)


def test_the_size_of_ties_json_is_that_of_the_report(study, asked):
    say("ties", study, "--size", 20)
    found, told, (page, _) = asked(study)
    assert found["ties"]["recipe"]["size"] == 20 and found["ties"] == told["ties"]
    assert json.loads((study / "ties.json").read_text()) == found["ties"]
    assert "half of the smallest experiment" not in page
    (study / "ties.json").unlink()
    found, told, (page, _) = asked(study)
    assert found["ties"]["recipe"]["size"] == 15 and found["ties"] == told["ties"]
    assert "A set is half of the smallest experiment here, because that has fewer than 200 votes." in page


def test_every_command_on_votes_ends_with_the_next_one(study):
    page = (study / "report.html").resolve().as_uri()
    for words, then in (
        (("ties", study, "--size", 15), f"analysis agreement {study}"),
        (("watch", study, "--once"), f"analysis agreement {study}"),
        (("agreement", study), f"analysis preference {study}"),
        (("agreement", study, "--labels", "any"), f"analysis report {study}"),
        (("preference", study), f"analysis report {study}"),
        (("report", study), f"webbrowser {page}"),
    ):
        assert say(*words).splitlines()[-1] == f"Next: python -m {then}"


@pytest.mark.parametrize(
    ("margin", "sentence"),
    [
        (16.7, "--margin is 16.7; it is a net preference between 0 and 1. For 16.7 points write --margin 0.167."),
        (1, "--margin is 1; it is a net preference between 0 and 1. For 1 point write --margin 0.01."),
        (0, "--margin is 0; it is a net preference between 0 and 1."),
        (-0.1, "--margin is -0.1; it is a net preference between 0 and 1."),
        (float("nan"), "--margin is nan; it is a net preference between 0 and 1."),
        (200, "--margin is 200; it is a net preference between 0 and 1."),
    ],
)
def test_a_margin_in_another_unit_is_refused_with_what_to_write(margin, sentence):
    with pytest.raises(InputError) as error:
        check_margin(margin)
    assert str(error.value) == sentence
    check_margin(0.167)
    check_margin(None)


def test_the_commands_refuse_a_margin_in_points(study):
    for command in ("preference", "report"):
        with pytest.raises(InputError, match=r"For 16\.7 points write --margin 0\.167"):
            say(command, study, "--margin", 16.7)


@pytest.mark.parametrize(
    ("room", "function", "command"),
    [
        (ties, notebook.ties, QUESTIONS["ties"]),
        (agreement, notebook.agreement, QUESTIONS["agreement"]),
        (preference, notebook.preference, QUESTIONS["preference"]),
        (planning, notebook.plan, QUESTIONS["plan"]),
        (variance, notebook.variance, QUESTIONS["variance"]),
        (comparison, notebook.compare, QUESTIONS["compare"]),
    ],
)
def test_room_notebook_and_command_have_the_same_defaults(room, function, command):
    def defaults(callable_):
        return {p.name: p.default for p in inspect.signature(callable_).parameters.values() if p.kind == p.KEYWORD_ONLY}

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    handed_over = (
        "known",
        "assumed",
        "compared",
        "not_used",
        "papers",
        "alone",
        "pairs",
    )  # not options of the function but what it made of them
    ours = {name: value for name, value in defaults(room.answer).items() if name not in handed_over}
    assert ours and {name: defaults(function)[name] for name in ours} == ours
    typed = {name: parser.get_default(name) for name in ours}
    assert {name: tuple(value) if isinstance(value, list) else value for name, value in typed.items()} == ours


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=str)
def test_table_options_have_the_defaults_of_their_function(question):
    taken = inspect.signature(question.ask).parameters
    reading = {option.typed for option in READING} if "reading" in taken else set()
    for option in question.options:
        if option.is_place or option.typed in (*DELIVERED, *reading) or option.help == argparse.SUPPRESS:
            continue
        default = taken[option.keyword or option.typed].default
        assert (option.default or None, option.typed) == (default or None, option.typed)


def test_the_report_tells_ties_from_clicking_by_the_verdict_of_ties(tmp_path, asked):
    """By its logit the interval of 8 ties in 9 reaches from 6 to 100 %, and so does p: by the share it would be .04."""
    rows = [
        {"pair": f"p{n}", "rater": f"r{k}", "choice": "a" if n == k == 2 else "tie", "round": k + 1}
        for n in range(3)
        for k in range(3)
    ]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found, told, _ = asked(tmp_path)
    pooled = told["ties"]["pooled"]
    assert pooled["interval"]["low"] < 1 / 3 and pooled["chance"]["p"] > 0.05
    sentence = (
        f"Random clicking (33.3 %; p = {pooled['chance']['p']:.4f}) could give this tie share (88.9 %), so it cannot "
        "show that raters read the responses."
    )
    assert sentence in say("ties", tmp_path, "--size", 1, "--out", tmp_path)
    assert any(finding.endswith(sentence) for finding in found["findings"])
    assert not any("lies inside" in finding for finding in found["findings"])


def test_preference_table_has_the_p_of_the_finding(unchanged):
    found, told, (page, written) = unchanged()
    assert "p as if votes were independent" in page and "p as if votes were independent" in written
    for one in told["preference"]["contrasts"]:
        assert p_value(one["net"]["p"]) in page and p_value(one["net"]["p_holm"]) in page
    shown = any(one["net"]["p_holm"] < 0.05 for one in told["preference"]["contrasts"])
    assert shown != any("No preference" in finding for finding in found["findings"])


def test_uncounted_votes_are_told_by_kind(study, asked):
    votes = list(read_records(study / "votes.jsonl", Vote))
    made = [replace(v, counted=not (v.kind == "control" or (v.round == 1 and v.pair == "p1"))) for v in votes]
    write_records(study / "votes.jsonl", made, signature="uncounted|v:0", kind=Vote)
    _, told, _ = asked(study)
    assert "Left out: 1 vote not counted (late, or of raters blocked or excluded)." in told["ties"]["warnings"]
    assert (
        "Left out: 7 votes not counted (late, or of raters blocked or excluded), 6 of them on control pairs."
        in told["preference"]["warnings"]
    )


def test_a_plan_on_votes_gives_the_cautions_of_these_votes(study):
    votes = [replace(v, counted=v.pair != "p1") for v in read_records(study / "votes.jsonl", Vote)]
    write_records(study / "votes.jsonl", votes, signature="uncounted|v:0", kind=Vote)
    cautions = json.loads(say("plan", study, "--json", "-"))["warnings"]
    assert "Left out: 3 votes not counted (late, or of raters blocked or excluded)." in cautions
    (study / "pairs.jsonl").unlink()
    document = json.loads(say("plan", study, "--json", "-"))
    assert UNKNOWN in document["warnings"] and UNKNOWN in say("plan", study)
    assert document["assumptions"]["source"] == "measured on 87 votes"
    assert notebook.plan().document["warnings"] == []


def test_an_option_that_a_study_folder_cannot_take_is_refused(study):
    with pytest.raises(InputError, match="--score names a column of a file"):
        say("variance", study, "--score", "accuracy")
    with pytest.raises(InputError, match="--compare needs scores with counts"):
        say("variance", study, "--compare", "A,B")


@pytest.mark.parametrize("suffix", ["md", "tex", "json"])
def test_the_page_may_not_take_the_place_of_its_own_numbers(study, suffix):
    with pytest.raises(InputError, match="written beside the page"):
        say("report", study, "--out", study / f"report.{suffix}")
    assert not (study / f"report.{suffix}").exists()


def test_task_success_and_robustness_of_the_report_are_the_commands(tmp_path):
    make_study(tmp_path / "study")
    say("report", tmp_path / "study", "--out", tmp_path / "report.html")
    found = json.loads((tmp_path / "report.json").read_text())
    for name in ("robustness", "leaderboard"):
        assert found[name] == json.loads(say(name, tmp_path / "study", "--json", "-")), name
    page, tex = ((tmp_path / f"report.{suffix}").read_text() for suffix in ("html", "tex"))
    assert "What perturbations cost" in page and "Task success of every system" in page
    assert "drops with 95" in tex and "Systems by the weighted mean of tasks" in tex
    drop = next(one for one in found["robustness"]["drops"] if one["dose"] == 0.8 and one["task"] == "jga")
    assert f"{drop['drop']:+.1f}" in html.unescape(page)
