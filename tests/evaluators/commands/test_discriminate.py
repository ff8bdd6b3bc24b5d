"""`python -m evaluators discriminate` as a user meets it: a study of responses, and what is wrong with some."""

import contextlib
import io
import json
import random
from collections import Counter

import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.cards import cards_from
from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_json, write_records
from seedvote.dialogue.records import Response
from seedvote.dialogue.shell.command_line import parser_of
from seedvote.dialogue.tokens import tokenize
from seedvote.evaluators.commands import discriminate
from seedvote.evaluators.detection import figures
from tests.evaluators.toys import held_out_toy

TURNS = 3  # of each dialogue that the models answer


@pytest.fixture
def undrawn(monkeypatch):
    """Without the figure, for tests that look at something else."""
    monkeypatch.setattr(figures, "write_detection_figure", lambda folder, found: folder / "discriminator.png")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Fifty-six dialogues to test, and of those to train as few as hold all words: every command reads all of them."""
    return held_out_toy(tmp_path_factory.mktemp("toy") / "corpus", 280, train=40)


def response(item, text, model="copy", **more):
    return Response(item, model, 0, "last", text, -3.0, more.pop("decoding", "temperature:1"), **more)


@pytest.fixture(scope="module")
def responses(corpus):
    """One model says what people said elsewhere, another one the same with a mark."""
    read = read_corpus(corpus)
    every = (list(iterate_examples([one])) for split in ("valid", "test") for one in read.split(split))
    items = [one for dialogue in every for one in dialogue[:TURNS]]
    rng, said = random.Random(0), [one.target.text for one in items]
    found = []
    for draw in (0, 1):
        for one in items:
            found.append(response(one.item, rng.choice(said), extra={"draw": draw}))
            found.append(response(one.item, f"well, {rng.choice(said)}", "well", extra={"draw": draw}))
    return found


def say(folder, *words):
    """What the command prints."""
    out = io.StringIO()
    parser = parser_of(discriminate, "python -m evaluators discriminate")
    with contextlib.redirect_stdout(out):
        discriminate.run(parser.parse_args([str(folder), "--encoder", "bag", "--jobs", "1", *words]))
    return out.getvalue()


@pytest.fixture
def run(corpus, responses, tmp_path):
    def call(*words, given=responses, vocabulary=None):
        tmp_path.joinpath("corpus").exists() or tmp_path.joinpath("corpus").symlink_to(corpus)
        write_records(tmp_path / "responses.jsonl", given, signature="test", kind=Response)
        if vocabulary:
            write_json(tmp_path / "vocabulary.json", {"signature": "test", "words": ["<pad>", "<unk>", *vocabulary]})
        return say(tmp_path, *words)

    return call


@pytest.fixture(scope="module")
def done(corpus, responses, tmp_path_factory):
    """A study after its first run, and what that printed."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "corpus").symlink_to(corpus)
    write_records(folder / "responses.jsonl", responses, signature="test", kind=Response)
    return folder, say(folder, "--folds", "4", "--shared")


def test_a_line_a_model_its_marks_a_score_table_and_a_figure(done):
    folder, out = done
    copy, well = out.splitlines()[1:3]
    assert copy.split()[0] == "copy-0"
    assert "copy-0, temperature:1: not told from people" in out
    assert well.split()[2] == "1.00"
    assert '"(start) well"' in out
    assert "the words of the training split" in out
    table = pq.read_table(folder / "adversarial.parquet")
    card = cards_from(table.schema.metadata[b"cards"].decode(), "here")["adversarial"]
    rows = table.to_pylist()
    assert set(card.tasks) == {row["task"] for row in rows}
    own = [row for row in rows if row["evaluator"] == "adversarial" and row["task"] == "fooled"]
    assert len({row["item"] for row in own if row["model"] == "copy"}) * 2 == len(own)
    assert {row["score"] for row in own if row["model"] == "well"} == {0.0}
    assert {row["model"] for row in rows if row["evaluator"] == "baseline"} == {"length"}
    document = json.loads((folder / "adversarial.json").read_text("utf-8"))
    assert [one["model"] for one in document["generators"]] == ["copy", "well"]
    assert (folder / "discriminator.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_discriminate_again_trains_nothing(done, words):
    folder, first = done
    files = {path: path.stat().st_mtime_ns for path in (folder / "discriminators").iterdir()}
    told = say(folder, "--folds", "4", "--shared", *words)
    assert json.loads(told) == json.loads((folder / "adversarial.json").read_text("utf-8")) if words else told == first
    assert {path: path.stat().st_mtime_ns for path in (folder / "discriminators").iterdir()} == files


@pytest.mark.usefixtures("undrawn")
def test_no_word_outside_the_vocabulary_reaches_a_discriminator(run, responses, tmp_path):
    """A rare word of people's would tell them at once; both sides hold <unk> instead."""
    every = Counter(word for one in responses for word in tokenize(one.text))
    common = sorted({word for word, times in every.items() if times > 40} - {"well"})
    out = run("--folds", "4", "--models", "well", vocabulary=common)
    assert "(start) <unk>" in out
    assert "well" not in out.split("marks:")[1].split("\n")[0]
    assert "the study's vocabulary" in out


def test_too_few_dialogues_are_refused_with_the_way_out(run):
    with pytest.raises(InputError, match=r"14 dialogues are left for the test; 50 are the fewest.*--folds 4"):
        run()


def test_replies_to_the_training_split_are_refused(run, corpus, responses):
    item = next(iter(iterate_examples(read_corpus(corpus).split("train")))).item
    with pytest.raises(InputError, match="may know by heart"):
        run("--folds", "4", given=[*responses, response(item, "hello")])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--models", "hred"), "No response is by 'hred'"),
        (("--decoding", "beam:5"), "No response is by 'beam:5'"),
        (("--folds", "5"), "4 is the most"),
        (("--seeds", "one"), "--seeds is 'one'"),
    ],
)
def test_what_cannot_be_is_refused(run, words, complaint):
    with pytest.raises(InputError, match=complaint):
        run(*words)


def test_another_corpus_is_refused(run, responses):
    with pytest.raises(InputError, match="is no context of this corpus"):
        run("--folds", "4", given=[*responses, response("SNG01:1", "hello")])


@pytest.mark.usefixtures("undrawn")
def test_no_draws_of_one_length_to_rank_is_said(run):
    assert "no context of the test has enough draws" in run("--folds", "4", "--models", "copy", "--same-length")
