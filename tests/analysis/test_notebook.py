"""The analysis from a notebook: any form of votes gives the command's numbers, shown as tables and figures."""

import json
import subprocess
import sys
from html.parser import HTMLParser

import pandas as pd
import pytest

import seedvote
from seedvote.analysis.notebook import agreement, compare, plan, preference, ties, variance
from seedvote.analysis.questions.table import NAMES
from seedvote.analysis.votes.inputs import votes_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Vote
from tests.house.reference import NOTEBOOK, name_questions
from tests.house.typed import typed
from tests.house.warm import sketch

pytestmark = pytest.mark.usefixtures("hasty_throughout")

VOTES = "examples/votes.csv"


def test_the_face_of_the_house_hands_on_every_question():
    assert seedvote.__all__ == sorted(NAMES)
    assert all(callable(getattr(seedvote, name)) for name in NAMES)
    assert set(NAMES) <= set(dir(seedvote)) and not hasattr(seedvote, "no_question")


def test_a_type_checker_sees_the_functions_of_the_table():
    assert NOTEBOOK.read_text(encoding="utf-8") == name_questions(), "python -m tests.house.reference"


@pytest.fixture
def frame(pytestconfig):
    return pd.read_csv(pytestconfig.rootpath / VOTES)


@pytest.fixture
def study(tmp_path):
    """Two systems, one of an ill-meaning name, eight pairs with two votes each."""
    names = ("<script>alert(1)</script>", "theirs")
    pairs = [
        Pair(f"p{n}", f"d{n}:1", [], Candidate("yes", names[n % 2]), Candidate("no", names[1 - n % 2]))
        for n in range(8)
    ]
    votes = [
        Vote(pair.pair, f"r{n % 3}", "tie" if n % 4 == 3 else "ab"[(k + n) % 3 == 0], 1 + n % 2)
        for k, pair in enumerate(pairs)
        for n in (k, k + 1)
    ]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="s", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="s", kind=Vote)
    return tmp_path, pairs, votes


def command(*words):
    done = typed("analysis", *words, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def numbers(document):
    """The same with what was read, and without the form that it had: a file has one, data in memory have none."""
    formless = {k: v for k, v in document["reading"].items() if k not in ("form", "rows", "columns", "words")}
    return {**document, "reading": formless}


def test_frames_records_and_files_give_equal_numbers(pytestconfig, frame):
    told = command("agreement", VOTES)
    forms = [frame, dict(frame), frame.to_dict("records"), pytestconfig.rootpath / VOTES]
    assert [numbers(agreement(form).document) == numbers(told) for form in forms] == [True] * 4


def test_a_folder_knows_its_pairs_and_records_take_them(pytestconfig, study):
    folder, pairs, votes = study
    told = command("preference", folder, "--sets", "50")
    assert preference(folder, sets=50).document == told
    assert numbers(preference(votes, pairs=pairs, sets=50).document) == numbers(told)
    assert set(told["systems"]) == {"<script>alert(1)</script>", "theirs"}


def test_the_names_of_another_tool_are_mapped_as_on_the_command_line(frame):
    theirs = frame.rename(columns={"pair": "item", "choice": "label"})
    theirs["label"] = theirs["label"].map({"a": "one", "b": "other", "tie": "none of them"})
    words = {"a": "one", "b": "other", "tie": "none of them"}
    names = {"columns": {"pair": "item", "choice": "label"}, "values": words}
    assert numbers(ties(theirs, **names).document) == numbers(ties(frame).document)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda votes: votes.drop(columns="choice"), "votes has no column 'choice', which every vote needs"),
        (lambda votes: votes.replace({"choice": {"tie": "?"}}), "votes: row 3: choice is '.', which is not one"),
        (lambda votes: votes.assign(round="first"), "votes: row 1: round is 'first', which is not a whole number"),
        (lambda votes: votes.iloc[:0], "votes holds no rows"),
        (lambda votes: votes[["pair", "choice", "choice"]], "votes has two columns called 'choice'"),
    ],
)
def test_a_frame_is_refused_in_the_sentences_that_files_are(frame, change, sentence):
    with pytest.raises(InputError, match=sentence):
        ties(change(frame))


def test_ids_of_mixed_types_are_text_and_missing_numbers_are_not_known(frame):
    frame["pair"] = frame["pair"].astype(object)
    frame.loc[0, "pair"] = 7
    frame["seconds"] = float("nan")
    votes = votes_of(frame)
    assert votes.pairs[0] == "7" and len(votes) == 1200


def test_variance_takes_a_frame_or_its_file(tmp_path):
    rows = [(m, s, f"i{i}", m * 0.1 + s * 0.01 + i % 3) for m in range(2) for s in range(3) for i in range(6)]
    scores = pd.DataFrame(rows, columns=["model", "seed", "item", "score"])
    scores.to_csv(tmp_path / "scores.csv", index=False)
    found = variance(scores, sets=20, sizes=[{"seed": 10}])
    assert (
        found.document["tables"][0]["components"]
        == (variance(tmp_path / "scores.csv", sets=20, sizes=[{"seed": 10}]).document["tables"][0]["components"])
    )
    with pytest.raises(InputError, match=r"scores has no column .f1. .*of a file of votes, --score tie or --score net"):
        variance(scores, score="f1")


@pytest.fixture
def scores():
    """Two architectures under three seeds on ten dialogues of two examples, one classifier."""
    place = {"evaluator": "probe", "task": "T", "checkpoint": "last", "rater": "logistic", "condition": "test"}
    hits = [
        (m, s, f"d{k // 2}:{k % 2}", float((7 * k + 3 * s + 5 * m) % 11 > 3 + m))
        for m in (0, 1) for s in range(3) for k in range(20)
    ]  # fmt: skip
    rows = [
        place | {"model": f"m{m}", "seed": s, "item": i, "cluster": i[:2], "score": hit,
                 "stats": {"tp": hit, "fp": 1 - hit, "fn": 1 - hit}}
        for m, s, i, hit in hits
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_two_models_are_compared_in_every_form_of_table(tmp_path, scores):
    scores.to_parquet(tmp_path / "scores.parquet", index=False)
    scores.drop(columns="stats").to_csv(tmp_path / "scores.csv", index=False)
    asked = {"compare": ("m0", "m1"), "sets": 20}
    told = variance(scores, **asked).document["compared"]
    for source in (tmp_path / "scores.parquet", tmp_path / "scores.csv", scores.to_dict("records")):
        assert variance(source, **asked).document["compared"] == told
    assert told[2]["value"] == pytest.approx(scores.groupby("model").score.mean().diff().iloc[1] * -1)
    counted = variance(scores, metric="micro_f1", **asked).document["compared"]
    assert counted == variance(tmp_path / "scores.parquet", metric="micro_f1", **asked).document["compared"]
    few = variance(scores[["model", "seed", "item", "score"]], **asked).document["compared"]
    assert {(row["name"], row["value"]) for row in few} == {("scores", row["value"]) for row in told}
    with pytest.raises(InputError, match=r"scores.csv: column seed missing; a score table has model, seed, item"):
        scores.drop(columns=["stats", "seed"]).to_csv(tmp_path / "scores.csv", index=False)
        variance(tmp_path / "scores.csv", **asked)


def test_compare_takes_frames_as_it_takes_a_folder(study, scores):
    folder, pairs, votes = study
    with pytest.raises(InputError, match=r"What was given has votes without pairs.jsonl and no scores"):
        compare(None, votes=pd.DataFrame([{"pair": vote.pair, "choice": vote.choice} for vote in votes]))
    people = compare(None, votes=votes, pairs=pairs)
    assert {m["kind"] for m in people.document["methods"]} == {"people"}
    scores.to_parquet(folder / "scores.parquet", index=False)
    told = compare(folder).document
    assert numbers(compare(scores, votes=votes, pairs=pairs).document) == numbers(told)
    assert numbers(compare(folder / "scores.parquet", votes=folder).document) == numbers(told)
    alone = compare(scores).document
    assert alone["methods"] == [m for m in told["methods"] if m["kind"] == "probe"]
    assert alone["orders"][0]["kind"] == "probe"


def test_votes_give_variance_too(frame):
    names = [part["name"] for part in variance(frame, score="tie", sets=20).document["tables"][0]["components"]]
    assert names == ["dialogue", "pair", "rater", "residual"]


class Page(HTMLParser):
    """Tags that are open, and every tag that came."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_notebook_shows_tables_with_heads_and_the_recipe_and_no_script(study):
    shown = preference(study[0], sets=50)._repr_html_()
    page = Page(shown)
    assert page.open == [] and "script" not in page.tags
    assert {("scope", "col"), ("scope", "row")} <= set(page.attributes)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown and "<code>votes:16|pairs:8|" in shown


@pytest.mark.usefixtures("drawn", "coarse")
def test_one_call_draws_what_the_command_draws(frame, tmp_path, monkeypatch):
    """One question rendered, the others laid out: test_plots renders every figure."""
    for found, files in (
        (ties(frame), ["ties"]),
        (agreement(frame), ["agreement", "agreement-raters", "agreement-spam"]),
        (preference(frame, sets=50), ["preference"]),
        (plan(frame), ["plan", "plan-stopping"]),
        (variance(frame, score="tie", sets=20), ["variance", "variance-1"]),
    ):
        drawn = found.plot()
        page = Page(drawn._repr_html_())
        assert page.tags == ["img"] * len(files)
        assert all(text for name, text in page.attributes if name == "alt")
        drawn.save(tmp_path / files[0].split("-")[0])
        least = 4000 if files == ["ties"] else 0
        assert all((tmp_path / f"{name}.png").stat().st_size > least for name in files)
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", sketch)


def test_nothing_heavy_is_loaded_before_it_is_asked_for(pytestconfig):
    check = (
        "import sys, analysis.notebook as n; n.plan(); print([m for m in ('pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=pytestconfig.rootpath, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
