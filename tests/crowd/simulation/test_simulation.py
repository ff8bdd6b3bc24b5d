"""Simulated raters: each one different, the same whenever asked, and told by their votes."""

import math
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.forms.form import Content
from seedvote.crowd.forms.pairs import PairOnPage
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.simulation.crowd import MOST_IDLE, SimulatedCrowd
from seedvote.crowd.simulation.raters import FLUENCY, Habits, Reader, draw_habits, draw_quality, known_neighbours
from seedvote.crowd.web.page import Frame, SittingProgress, pair_fragment
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, Pair, Rater, Utterance, Vote
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.study import make_pairs
from tests.house.forked import Forked
from tests.house.waiting import PATIENCE, wait_for
from tests.house.warm import SERVING, warm_python

ROOT = Path(__file__).resolve().parents[3]
WORDS = [
    "hotel", "train", "room", "cheap", "north", "centre", "table", "food", "please",
    "thanks", "number", "leave", "arrive", "friday", "parking",
]  # fmt: skip


def varied(number, kind="real"):
    """Pairs of different quality."""
    draw = child_random(0, "pairs")

    def text():
        return " ".join(draw.choice(WORDS) for _ in range(draw.randrange(3, 12)))

    context = [Utterance("user", "Is there a cheap hotel near the centre with parking please")]
    return [
        Pair(f"p{n}", f"d{n}:1", context, Candidate(text(), "m", 0), Candidate(text(), "m", 1), kind=kind, answer="a")
        for n in range(number)
    ]


def test_every_rater_differs_and_is_the_same_when_drawn_again():
    people = [draw_habits(n, seed=0) for n in range(50)]
    assert people == [draw_habits(n, seed=0) for n in range(50)] != [draw_habits(n, seed=1) for n in range(50)]
    for name in ("sharpness", "threshold", "bias", "seconds"):
        assert len({getattr(person, name) for person in people}) > 40


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_the_share_of_blind_clickers_is_what_was_asked_for(share):
    for seed in range(5):
        blind = sum(draw_habits(n, seed=seed, clickers=share).lapse == 1 for n in range(60))
        assert abs(blind - 60 * share) <= 1


def test_simulated_choice_depends_on_rater_and_texts():
    pairs = varied(30)
    one, other = Reader(pairs, seed=0), Reader(reversed(pairs), seed=0)
    person = draw_habits(3, seed=0)
    shown = [(pair.context, pair.a.text, pair.b.text) for pair in pairs]
    backwards = [other.judge_texts(person, *s) for s in reversed(shown)]
    assert [one.judge_texts(person, *s) for s in shown] == backwards[::-1]


def test_simulated_readers_answer_checks_right():
    pairs = varied(900, kind="check")
    reader, reads = Reader(pairs, seed=0), draw_habits(0, seed=0, clickers=0)
    reads = Habits(**{**{f: getattr(reads, f) for f in Habits.__slots__}, "lapse": 0.0})
    clicks = draw_habits(0, seed=0, clickers=1.0)
    assert all(reader.judge_texts(reads, p.context, p.a.text, p.b.text)[0] == "left" for p in pairs)
    assert all(reader.judge_texts(reads, p.context, p.b.text, p.a.text)[0] == "right" for p in pairs)
    right = [reader.judge_texts(clicks, p.context, p.a.text, p.b.text)[0] == "left" for p in pairs]
    assert abs(statistics.fmean(right) - 1 / 3) < 0.05


def test_a_page_of_another_study_is_one_sentence():
    with pytest.raises(InputError, match="--pairs"):
        Reader(varied(2), seed=0).judge_texts(draw_habits(0, seed=0, clickers=0), [], "one", "other")


def test_quality_follows_what_is_known_of_a_response():
    context = [Utterance("user", "a cheap hotel with parking")]
    good, poor = Candidate("there is a cheap hotel with parking", "reference"), Candidate("<unk> <unk> <unk>", "random")
    assert draw_quality(good, context, seed=0) > draw_quality(poor, context, seed=0) + 4
    same = Candidate("yes", "m", 0), Candidate("yes", "m", 1)
    assert draw_quality(same[0], context, seed=0) == draw_quality(same[1], context, seed=0)


def test_nonsense_is_worse_than_what_people_say():
    """The words are the same, so only their order tells them apart; the names of the systems say nothing."""
    turns = ["there is a cheap hotel with parking", "i want to book it for two nights please"]
    context = [Utterance("user", turn) for turn in turns]
    known, generator = known_neighbours([context]), random.Random(0)
    worse = []
    for turn in turns:
        for seed in range(50):
            salad = " ".join(generator.sample(turn.split(), len(turn.split())))
            sides = Candidate(turn, "m", 0), Candidate(salad, "n", 0)
            fluent, broken = (draw_quality(side, context, seed=seed, neighbours=known) for side in sides)
            worse.append(fluent - broken)
    assert statistics.fmean(worse) == pytest.approx(FLUENCY * 0.85, abs=0.35)


def test_a_browser_reads_a_page_to_the_letter():
    lines = [Utterance("user", "<b>a</b> & ${b}\nnext"), Utterance("system", ""), Utterance("user", "“q” 💥")]
    html = pair_fragment(
        Hit(),
        Frame("", "c", "n"),
        PairOnPage("t", lines, Content("<unk> & <script>"), Content("b\tb"), 1),
        SittingProgress(0, 9, 5),
    )
    form = PageForm(html)
    assert form.shown_texts() == (lines, "<unk> & <script>", "b\tb")
    assert form.fields == {"seat": "c", "lease": "t", "seconds": "", "view": "", "last": ""}


def test_position_bias_and_tie_threshold_are_recovered_from_the_votes():
    pairs, seed = varied(3000), 5
    reader = Reader(pairs, seed=seed)
    person = Habits(0, sharpness=1.3, threshold=0.6, bias=0.4, lapse=0.0, seconds=9, twice=0, regret=0, leave=0)
    better, answers = [], []
    for n, pair in enumerate(pairs):
        sides = (pair.a, pair.b) if n % 2 else (pair.b, pair.a)
        better.append(reader.judge_quality(sides[0], pair.context) - reader.judge_quality(sides[1], pair.context))
        answers.append(reader.judge_texts(person, pair.context, sides[0].text, sides[1].text)[0])
    d, left, right = np.array(better), np.array(answers) == "left", np.array(answers) == "right"

    def loss(p):
        u, t = p[0] * d + p[1], math.exp(p[2])
        above, below = 1 / (1 + np.exp(t - u)), 1 / (1 + np.exp(t + u))
        return -np.log(np.where(left, above, np.where(right, below, 1 - above - below)).clip(1e-12)).sum()

    found = minimize(loss, [1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-4})
    sharpness, bias, threshold = found.x[0], found.x[1], math.exp(found.x[2])
    assert sharpness == pytest.approx(1.3, abs=0.2)
    assert bias == pytest.approx(0.4, abs=0.12)
    assert threshold == pytest.approx(0.6, abs=0.06)


def cast(study):
    """How many votes the study holds."""
    try:
        with closing(sqlite3.connect(f"file:{study}/crowd.sqlite?mode=ro", uri=True)) as store:
            return store.execute("SELECT count(*) FROM votes").fetchone()[0]
    except sqlite3.OperationalError:  # not begun
        return 0


CROWD = ("--raters", "6", "--seed", "2", "--clickers", "0.2")
# A simulation whose server is forked too.
SIMULATE = """
import sys
sys.executable = sys.argv.pop(1)
from seedvote.crowd.__main__ import COMMANDS
from seedvote.dialogue.shell.command_line import dispatch
dispatch("crowd", "", COMMANDS, ["simulate", *sys.argv[1:]])
"""


def simulate(study, kill_at=None):
    """Send the crowd; kill it as soon as the study holds so many votes."""
    with Forked(["-c", SIMULATE, warm_python(SERVING), str(study), *CROWD], cwd=ROOT) as process:
        if kill_at is not None:
            wait_for(lambda: cast(study) >= kill_at)
            process.kill()
        return process.wait(PATIENCE)


def exported(study):
    assert dispatch("crowd", "", COMMANDS, ["export", str(study)]) == 0
    found = []
    for name, kind, times in (("votes", Vote, "submitted"), ("raters", Rater, "consented")):
        for record in read_records(study / f"{name}.jsonl", kind):
            values = {field: getattr(record, field) for field in kind.__slots__ if field != times}
            found.append(values)
    return found


@pytest.mark.slow
def test_killed_simulation_gives_the_same_votes(tmp_path):
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        write_records(tmp_path / name / "pairs.jsonl", make_pairs(20, checks=12), signature="test", kind=Pair)
    assert simulate(tmp_path / "undisturbed") == 0
    assert simulate(tmp_path / "killed", kill_at=12) == -signal.SIGKILL
    # The last part by a Python that has loaded nothing, hashes texts by another seed, and starts its server itself.
    command = [sys.executable, "-m", "crowd", "simulate", str(tmp_path / "killed"), *CROWD]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    assert exported(tmp_path / "killed") == exported(tmp_path / "undisturbed")


@pytest.mark.parametrize(("rounds", "expected"), [
    (["left", "left", "done", "closed"], 4),  # twice the last pair is in the hands of somebody who walks away
    (["wait", "closed"], 1),
    (["left"] * 99, MOST_IDLE),  # who always walks away keeps nobody here
])  # fmt: skip
def test_a_crowd_waits_for_who_walked_away_with_the_last_pair(monkeypatch, rounds, expected):
    made = []

    def visit(self, rater, sitting):
        made.append(sitting)
        ending = rounds[sitting - 1]
        return (
            (ending, int(ending == "done")) if rater == "holds it" else ("wait", 0) if ending == "left" else (ending, 0)
        )

    monkeypatch.setattr(SimulatedCrowd, "_visit_study", visit)
    SimulatedCrowd("http://127.0.0.1:9", None, ["holds it", "waits"], 1).run_rounds()
    assert max(made) == expected
