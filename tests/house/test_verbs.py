"""The verbs in front: what a file is, is found out, and each does what the commands behind it do."""

import contextlib
import importlib
import io
import json
import re

import pytest

from seedvote.__main__ import ABOUT, VERBS, _run
from seedvote.commands.papers import PAPERS
from seedvote.commands.study import SIZES, stages, take_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import find_command, parser_of
from tests.analysis.conftest import hasty  # noqa: F401 (a fixture)
from tests.analysis.report_study import add_votes
from tests.house.doc_blocks import ROOT

README_TABLE = re.search(r"^\| pair \| rater.*?\n\n", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)[0]


def say(*words):
    """What `python -m seedvote words` prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert _run([*map(str, words)]) == 0
    return out.getvalue()


@pytest.fixture
def four_rows(tmp_path):
    """README's own table."""
    head, _, *rows = (
        [cell.strip() for cell in line.strip("| ").split("|")] for line in README_TABLE.split("\n") if line
    )
    assert len(rows) == 4
    path = tmp_path / "votes.csv"
    path.write_text("".join(",".join(row) + "\n" for row in (head, *rows)))
    return path


def test_the_help_shows_the_verbs_and_all_shows_every_command():
    front, everything = say("--help"), say("--all")
    assert re.findall(r"^  ([a-z]+) ", front, re.M) == list(VERBS)
    assert all(re.search(rf"^  {name} ", everything, re.M) for name in (*VERBS, *ABOUT, "report", "agreement"))
    with pytest.raises(InputError, match="reprot is no command"):
        _run(["reprot"])


@pytest.mark.parametrize("item", [item for paper in PAPERS for item in paper.items], ids=lambda item: item.name)
def test_every_command_of_the_papers_can_be_typed_and_every_page_is_there(item):
    words = item.command.split()
    if words[1] == "-m":
        package, name = words[2:4]
        commands = importlib.import_module(f"seedvote.{package}.__main__").COMMANDS
        parser_of(find_command(package, name, commands), item.command).parse_args(words[4:])
    else:
        assert (ROOT / words[1]).exists()
    for page in re.findall(r"docs/[\w/]+\.md|examples/\w+\.sh", item.ran):
        assert (ROOT / page).exists(), page


def test_the_papers_are_listed_one_by_one_or_all():
    everything, one = say("papers"), say("papers", "--paper", "003")
    assert [line[:3] for line in everything.splitlines() if line[:1].isdigit()] == ["000", "001", "002", "003", "004"]
    assert one in everything and "evaluators discriminate STUDY --same-length" in one
    assert everything.count("ran here:") == sum(len(paper.items) for paper in PAPERS)


@pytest.mark.usefixtures("sketched", "hasty")
def test_the_four_rows_of_the_readme_are_analysed(four_rows, tmp_path):
    assert "Next: " in say("analyze", four_rows)
    assert json.loads((tmp_path / "report.json").read_text())["ties"]["pooled"]["votes"] == 4
    assert "50.0 % of 4 votes are ties" in say("ties", four_rows, "--out", tmp_path)


@pytest.mark.slow  # two whole reports
def test_a_study_is_analysed_as_report_does(tmp_path):
    study = add_votes(tmp_path)
    say("analyze", study, "--margin", 0.2)
    analysed = (study / "report.json").read_text()
    say("report", study, "--margin", 0.2)
    assert (study / "report.json").read_text() == analysed


def test_logs_are_compared(tmp_path):
    for name, right in (("one", 3), ("two", 9)):
        rows = "".join(f"q{k},{int(k < right)}\n" for k in range(12))
        (tmp_path / f"{name}.csv").write_text(f"item,score\n{rows}")
    assert "two" in say("analyze", tmp_path / "one.csv", tmp_path / "two.csv")
    with pytest.raises(InputError, match="does not exist"):
        say("analyze", tmp_path / "three.csv")
    runs = "".join(f"{model},{seed},{20 + seed + 5 * (model == 'b')}\n" for model in "ab" for seed in range(3))
    (tmp_path / "runs.csv").write_text(f"model,seed,bleu\n{runs}")
    assert "Differences of independent runs (Welch's t)" in say("analyze", tmp_path / "runs.csv")


def test_a_study_on_another_corpus_begins_with_training(tmp_path):
    (tmp_path / "corpus").mkdir()
    take_corpus(tmp_path / "corpus", tmp_path / "study")
    take_corpus(tmp_path / "corpus", tmp_path / "study")
    assert (tmp_path / "study" / "corpus").resolve() == (tmp_path / "corpus").resolve()
    first, *_ = line = stages("study", SIZES["full"], invented=False)
    assert first.title.startswith("Train") and not any("--tasks" in stage.command for stage in line)
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="is another corpus than"):
        take_corpus(tmp_path / "other", tmp_path / "study")
