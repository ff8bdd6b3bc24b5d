"""A question is added by its file, its row and its page, as docs/house.md says: a command, a function and a section."""

import json
import shutil
import subprocess

import pytest

from tests.analysis.report_study import add_votes
from tests.house.doc_blocks import ROOT
from tests.house.warm import warm

HOME = '''
"""How many words the responses of each system have."""

from collections import defaultdict
from statistics import mean

from seedvote.analysis.showing.page import Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Response


def document(responses):
    lengths = defaultdict(list)
    for response in responses:
        lengths[f"{response.model}-{response.seed}"].append(len(response.text.split()))
    return {"systems": {name: mean(counts) for name, counts in sorted(lengths.items())}}


def tabulate(numbers):
    return Table(("system", "words"), [*numbers["systems"].items()], "Words of a response")


def words(study):
    numbers = document(read_records(study / "responses.jsonl", Response))
    return Result(numbers, [tabulate(numbers), "words:mean"], lambda: ())


def section(responses):
    return Section("words", "How long are the responses?", tables=(tabulate(document(responses)),))


def in_report(request):
    return request.study.responses
'''
ROW = """QUESTIONS = (
    Question(
        name="words",
        title="how long the responses of each system are",
        about="How many words the responses of each system have.",
        home="words",
        reported="words",
        options=(study("study folder"),),
        follow=follow_with("report", "study"),
    ),
"""
ASKED = """
import json, sys
from pathlib import Path
import seedvote as sv
from seedvote.analysis.report.assembly import as_latex, as_markdown, build_report
from seedvote.analysis.votes.study import read_study
full_report = build_report(read_study(Path(sys.argv[1])))
keys = [section.key for section in full_report.sections]
numbers = full_report.document["words"]
print(json.dumps([str(sv.words(Path(sys.argv[1]))), numbers, keys, as_markdown(full_report), as_latex(full_report)]))
"""


@pytest.fixture
def house(tmp_path):
    """A copy of what a question lies in, with links to all else."""
    copied = ("analysis", "seedvote", "tests")
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name not in copied:
            (tmp_path / path.name).symlink_to(path)
    for name in ("analysis", "seedvote"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests" / "house").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "house" / "reference.py", tmp_path / "tests" / "house")
    return tmp_path


def test_a_question_touches_its_file_and_its_row(house, tmp_path_factory):
    def run(*words):
        done = subprocess.run([*warm(), *map(str, words)], cwd=house, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (house / "analysis" / "questions" / "words.py").write_text(HOME)
    table = house / "analysis" / "questions" / "table.py"
    table.write_text(table.read_text().replace("QUESTIONS = (\n", ROW, 1))
    written = "from tests.house.reference import name_questions, write_page; print(name_questions(), *write_page())"
    assert {
        "    from seedvote.analysis.questions.words import words as words",
        " ### analysis words",
    } <= set(run("-c", written).splitlines())

    study = add_votes(tmp_path_factory.mktemp("study"))
    numbers = json.loads(run("-m", "seedvote", "words", study, "--json", "-"))
    assert [*numbers["systems"]] == [f"bilstm_attn-{seed}" for seed in range(3)]
    text, reported, keys, markdown, latex = json.loads(run("-c", ASKED, study))
    assert text.startswith("Words of a response\nsystem") and reported == numbers
    assert keys.index("raters") < keys.index("words") < keys.index("done")
    assert "## How long are the responses?" in markdown and r"\caption{Words of a response.}" in latex
