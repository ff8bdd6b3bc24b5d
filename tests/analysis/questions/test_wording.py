"""What each question says of a small study, word for word: one file a question, so that other tests hold numbers only.

Numbers stand as #: they have tests of their own. `make wording` writes the files anew, to be read in the diff.
"""

import contextlib
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.conditions_study import make_study
from tests.analysis.judge_crowd import study_folder
from tests.analysis.questions.choice.made import made_answers, made_questions, write_choice_study
from tests.analysis.questions.logs import inspect_log
from tests.analysis.questions.ratings.sets_study import make_sets_study
from tests.analysis.report_study import add_scores, add_votes

FILES = Path(__file__).with_name("wording")
ARE_ANEW = "REFRESH_WORDING" in os.environ
VOTES = Path(__file__).resolve().parents[3] / "examples" / "votes.csv"


def write_seeds(folder):
    return add_scores(add_votes(folder), models=("bilstm_attn", "seq2seq"))


def write_choices(folder):
    questions = made_questions()
    write_choice_study(folder, questions, made_answers(questions))
    return folder


def write_logs(folder):
    generator = np.random.default_rng(0)
    for system, share in (("alpha", 0.8), ("beta", 0.4)):
        scores = {f"q{n}": [int(hit)] for n, hit in enumerate(generator.random(60) < share)}
        inspect_log(folder / f"{system}.json", system, scores)
    return folder


WORLDS = {
    "seeds": write_seeds,
    "sets": lambda folder: make_sets_study(folder / "sets"),
    "conditions": make_study,
    "judges": lambda folder: study_folder(folder / "judges"),
    "choices": write_choices,
    "logs": write_logs,
    "votes": lambda folder: VOTES,
}
CASES = {
    "ties": ("votes", "ties {votes} --out {out}"),
    "agreement": ("votes", "agreement {votes}"),
    "preference": ("votes", "preference {votes} --margin .1"),
    "preference-of-seeds": ("seeds", "preference {seeds}"),
    "replay": ("votes", "replay {votes} --replays 4"),
    "plan": ("votes", "plan {votes} --price .1 --seed-sd .1"),
    "variance": ("seeds", "variance {seeds}"),
    "compare": ("seeds", "compare {seeds}"),
    "ratings": ("sets", "ratings {sets} --question fluent"),
    "ranks": ("sets", "ranks {sets} --question order"),
    "robustness": ("conditions", "robustness {conditions}"),
    "leaderboard": ("conditions", "leaderboard {conditions}"),
    "judge": ("judges", "judge {judges}"),
    "choose": ("choices", "choose {choices}"),
    "compare-runs": ("logs", "compare-runs {logs}/alpha.json {logs}/beta.json"),
    "browse": ("seeds", "browse {seeds} --out {out}/browse.html"),
    "report": ("seeds", "report {seeds} --out {out}/report.html"),
}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """The folder of each study, made when it is first asked for."""
    folders = {}

    def folder_of(name):
        if name not in folders:
            folders[name] = WORLDS[name](tmp_path_factory.mktemp(name))
        return folders[name]

    return folder_of


def plain_words(text, *folders):
    """The text without what hangs on numbers and places: figures, the width of columns, recipes, folders."""
    for folder in folders:
        text = text.replace(str(folder), "FOLDER")
    lines = [line for line in text.splitlines() if "|v:" not in line]
    text = re.sub(r"[-+\N{MINUS SIGN}<]?\d[\d,]*(\.\d+)?|(?<![\w.])\.\d+", "#", "\n".join(lines))
    text = re.sub(r"(?<=\S) {2,}", "  ", text)
    return re.sub(r"^ +", "", text, flags=re.MULTILINE).strip() + "\n"


@pytest.mark.parametrize("name", CASES)
def test_a_question_is_worded_as_its_file_says(name, worlds, tmp_path):
    world, words = CASES[name]
    folder, out = worlds(world), io.StringIO()
    with contextlib.redirect_stdout(out):
        assert dispatch("analysis", "", COMMANDS, words.format(**{world: folder}, out=tmp_path).split()) in (0, None)
    text = out.getvalue()
    if name == "report":
        text = (tmp_path / "report.md").read_text(encoding="utf-8")
    text, path = plain_words(text, tmp_path, folder), FILES / f"{name}.txt"
    if ARE_ANEW:
        FILES.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "read the new wording aloud; then: make wording"
