"""The report's sections on judges and on what evaluators are worth: the commands' numbers, and nothing without them."""

import contextlib
import io
import json

import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.report.assembly import as_latex, as_markdown, build_report, render_page
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.judge_crowd import study_folder

pytestmark = pytest.mark.usefixtures("hasty_throughout")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return study_folder(tmp_path_factory.mktemp("judged") / "s", pairs=80, voted=40)


@pytest.fixture(scope="module")
def found(folder):
    return build_report(read_study(folder))


def asked(command, folder):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert dispatch("analysis", "", COMMANDS, [command, str(folder), "--json", "-"]) == 0
    return json.loads(out.getvalue())


@pytest.mark.parametrize("room", ["judge", "worth"])
def test_every_number_is_the_commands(found, folder, room):
    assert json.loads(json.dumps(found.document[room])) == asked(room, folder)


def test_page_markdown_and_latex_show_both_sections(found):
    estimate = found.document["judge"]["judges"][0]["estimates"][0]
    saved = estimate["votes_saved"]
    told = f"{saved['value']:,.0f} of {estimate['votes']:,}"
    for written in (render_page(found), as_markdown(found)):
        assert "The judge" in written and "What each evaluator is worth in human votes" in written
        assert told in written.replace("\N{NO-BREAK SPACE}", " ")
        assert "Judge gpt-x: 160 verdicts on 80 pairs, in both orders; 0 unusable." in written
    assert "x-0 against y-0: 120 votes on 40 pairs, and 40 pairs with verdicts of gpt-x alone" in as_latex(found)


def test_reviewers_are_told_of_the_judge_and_what_only_the_author_knows(found):
    asked = {one["what"]: one for one in found.document["checklist"] if "gpt-x" in one["what"]}
    which, agrees, trained = asked.values()
    assert which["answer"] == "gpt-x, prompt 3f1c, in both orders; 0 unusable replies"
    assert agrees["known"] and agrees["answer"].startswith("it equals ")
    assert not trained["known"]


def test_without_verdicts_and_with_few_pairs_neither_is_there(folder, tmp_path):
    bare = study_folder(tmp_path / "bare", pairs=8, voted=6)
    (bare / "verdicts.jsonl").unlink()
    found = build_report(read_study(bare))
    assert found.document["judge"] is None and found.document["worth"] is None
    assert not {"judge", "worth"} & {one.key for one in found.sections}


def test_foreign_votes_are_no_random_part_unless_said(folder, tmp_path):
    other = study_folder(tmp_path / "other", pairs=20, voted=12, door="imported")
    found = build_report(read_study(other))
    (section,) = [one for one in found.sections if one.key == "judge"]
    assert section.text[0].startswith("What the judges are worth is unknown. These votes come from elsewhere.")
    assert found.document["judge"] is None
