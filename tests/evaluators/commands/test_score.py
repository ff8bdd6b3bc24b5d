"""`evaluators score`: an evaluator of another package, found by its entry point, scores a study and joins compare."""

import contextlib
import io
import json
import sys
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import sacrebleu

from seedvote.analysis.__main__ import COMMANDS
from seedvote.dialogue.cards import cards_from
from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Response, Utterance
from seedvote.dialogue.shell.command_line import dispatch, parser_of
from seedvote.evaluators.commands import score
from tests.evaluators.toys import held_out_toy

PLUGIN = Path(__file__).resolve().parents[3] / "examples" / "plugin"
OWN = """
class Odd:
    version = "2"
    card = {"title": "oddity", "tasks": {"*": {"unit": "none", "better": "lower"}}}

    def score(self, responses):
        assert all(one.context for one in responses)
        return {"words": [None if "nothing" in one.response else len(one.response.split()) for one in responses]}

class Short(Odd):
    def score(self, responses):
        return {"words": [1.0]}

class Loud(Odd):
    def score(self, responses):
        raise RuntimeError("no weights")

class Bare:
    version = "1"

class Wordy(Odd):
    def score(self, responses):
        return {"words": ["many"] * len(responses)}

class Unknown(Odd):
    card = {"title": "oddity", "tasks": {"letters": {}}}
"""


def installed(folder, monkeypatch, points):
    """Entry points as pip leaves them in a folder on the path."""
    info = folder / "made-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[seedvote.evaluators]\n{lines}")
    (folder / "odd_ones.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(PLUGIN))


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    names = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]["entry-points"]["seedvote.evaluators"]
    odd = {name.lower(): f"odd_ones:{name}" for name in ("Odd", "Short", "Loud", "Bare", "Wordy", "Unknown", "Absent")}
    installed(tmp_path / "site", monkeypatch, {**names, **odd, "token": "odd_ones:Odd"})
    yield
    for name in ("odd_ones", "seedvote_chrf"):
        sys.modules.pop(name, None)


def say(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        score.run(parser_of(score, "python -m evaluators score").parse_args([*map(str, words)]))
    return out.getvalue()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return held_out_toy(tmp_path_factory.mktemp("corpus"), 60)


@pytest.fixture
def study(corpus, tmp_path):
    """Two models under two seeds: one says what people said but for a word, one says what they said elsewhere."""
    (tmp_path / "corpus").symlink_to(corpus)
    examples = list(iterate_examples(read_corpus(corpus).split("test")))[:40]
    said = [example.target.text for example in examples]
    rows = [
        Response(example.item, model, seed, "last", text)
        for k, example in enumerate(examples)
        for seed in (0, 1)
        for model, text in (("near", f"well {said[k]}"), ("far", said[(k + 7 + seed) % 40]))
    ]
    write_records(tmp_path / "responses.jsonl", rows, signature="s", kind=Response)
    return tmp_path


def test_the_example_package_scores_as_sacrebleu_and_stands_in_compare(study, plugins):
    out = say(study, "chrf")
    assert "160 responses" in out and "evaluator:chrf|version:1.0" in out
    table = pq.read_table(study / "chrf.parquet")
    assert cards_from(table.schema.metadata[b"cards"].decode(), "here")["chrf"].title == "chrF"
    references = {one.item: one.target.text for one in iterate_examples(read_corpus(study / "corpus").split("test"))}
    rows = table.to_pylist()
    metric = sacrebleu.CHRF()
    lines = [json.loads(line) for line in (study / "responses.jsonl").read_text().splitlines()[1:]]
    for line, row in zip(lines[:40], rows[:40], strict=True):
        theirs = metric.sentence_score(line["text"], [references[line["item"]]]).score / 100
        assert row["score"] == pytest.approx(theirs, abs=1e-9)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        dispatch("analysis", "", COMMANDS, ["compare", str(study), "--json", "-"])
    (near, far) = sorted(json.loads(shown.getvalue())["methods"], key=lambda row: row["model"] == "far")
    assert near["name"] == "chrf" and min(near["values"]) > max(far["values"])


def test_contexts_alone_serve_where_there_is_no_corpus_and_missing_scores_are_counted(tmp_path, plugins):
    pairs = [Pair(f"p{n}", f"i{n}", [Utterance("user", "hello")], Candidate("a", "m"), Candidate("b", "n"))
             for n in range(3)]  # fmt: skip
    write_records(tmp_path / "pairs.jsonl", pairs, signature="s", kind=Pair)
    rows = [Response(f"i{n}", "m", 0, "last", text, decoding=how, extra={"draw": draw})
            for n, text in enumerate(("one", "nothing", "three words here")) for how in ("greedy", "beam:2")
            for draw in (0, 1)]  # fmt: skip
    write_records(tmp_path / "responses.jsonl", rows, signature="s", kind=Response)
    out = say(tmp_path, "odd")
    assert "words: 2 of them have no score" in out and "6 further draws" in out
    table = pq.read_table(tmp_path / "odd.parquet").to_pylist()
    assert {row["condition"] for row in table} == {"greedy", "beam:2"}
    assert [row["reason"] for row in table if row["score"] != row["score"]] == ["the evaluator gave none"] * 2
    assert "chrf: 6 of them have no score" in say(tmp_path, "chrf")
    assert "chrf  seedvote_chrf:CharacterF" in say("--list")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("short", "gave 1 scores of words for 160 responses"),
        ("loud", r"failed \(RuntimeError: no weights\); nothing was written"),
        ("bare", "has no card"),
        ("wordy", "gave 'many' for a score"),
        ("unknown", "scores 'words', which its card does not name"),
        ("absent", "cannot be loaded"),
        ("token", "name is that of an evaluator of ours"),
        ("comet", "No evaluator 'comet' is installed. There are: absent, bare, chrf"),
        ("", "Give a study and an evaluator"),
    ],
)
def test_a_package_that_does_not_keep_the_contract_is_named(study, plugins, name, said):
    with pytest.raises(InputError, match=said):
        say(study, *([name] if name else []))
    assert not (study / f"{name}.parquet").exists()


def test_items_without_a_context_are_named(tmp_path, plugins):
    write_records(tmp_path / "responses.jsonl", [Response("i:1", "m", 0, "last", "x")], signature="s", kind=Response)
    with pytest.raises(InputError, match="no context for item 'i:1'"):
        say(tmp_path, "odd")
