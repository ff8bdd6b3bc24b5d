"""The whole line on a small study: states, erasers, replies behind them, and what is said of them."""

import contextlib
import html
import io
import json
import re
import shutil
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from analysis.__main__ import COMMANDS as ANALYSIS
from analysis.erasure.answer import answer
from analysis.erasure.text import erasure_notes
from analysis.notebook import erasure
from dialogue.__main__ import COMMANDS as DIALOGUE
from dialogue.command_line import dispatch
from dialogue.errors import InputError
from dialogue.files import read_json, read_records, write_json
from dialogue.records import Response
from generation.__main__ import COMMANDS as GENERATION
from generation.erasing import PLACES, read_eraser
from probes.__main__ import COMMANDS as PROBES
from probes.erasing import inlp
from tests.analysis.report_study import add_scores
from tests.house.doc_blocks import PACKAGES

TABLES = {"analysis": ANALYSIS, "dialogue": DIALOGUE, "generation": GENERATION, "probes": PROBES}


def say(line):
    """What a command prints."""
    package, *words = line.split()
    assert package in PACKAGES
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = dispatch(package, "", TABLES[package], words)
    return code, out.getvalue()


@pytest.fixture(scope="module")
def two_rounds():
    """INLP that stops after two classifiers: how well it erases is asked in tests/probes/test_erasing.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(inlp.__kwdefaults__, "rounds", 2)
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory, two_rounds):
    folder = tmp_path_factory.mktemp("erasing")
    for line in (
        f"dialogue toy {folder}/corpus --dialogues 40 --seed 0",
        f"generation train {folder} --models seq2seq_attn --seeds 0-1 --preset tiny --epochs 1 --valid 0 --jobs 1",
        f"generation encode {folder} --pooling decoder --checkpoints last --jobs 1",
        f"probes erase {folder} --tasks UtteranceLoc,IsMultiTopic,AllValues --draws 2 --method leace,inlp --jobs 1",
        f"generation sample {folder} --limit 8 --decoding greedy --jobs 1",
        f"generation erased {folder} --limit 8 --jobs 1",
    ):
        assert say(line)[0] in (0, None), line
    return folder


@pytest.fixture
def changed(study, tmp_path):
    shutil.copytree(study, tmp_path / "study")
    return tmp_path / "study"


def test_erasers_say_what_they_are_and_the_same_bytes_come_out_again(study, changed):
    about = read_json(study / "erasers" / "seq2seq_attn-0-last" / "erasers.json")
    by_task = {one["task"]: one for one in about["erasers"] if one["kind"] == "task"}
    assert by_task["AllValues"]["left_out"].startswith("up to") and "file" not in by_task["AllValues"]
    assert (about["fit"], about["report"], set(about["width"])) == ("train", "test", {"state", "mean", *PLACES})
    leace = next(one for one in about["erasers"] if one.get("file") == "IsMultiTopic.leace.npz")
    assert leace["ranks"] == {"state": 1, "memory": 2} and leace["after"] < leace["before"] + 1e-9
    for site, eraser in read_eraser(study / "erasers" / "seq2seq_attn-0-last" / leace["file"]).items():
        assert np.allclose(eraser.read @ eraser.write, np.eye(leace["ranks"][site]), atol=1e-3)
    first = {path.name: path.read_bytes() for path in (study / "erasers" / "seq2seq_attn-0-last").iterdir()}
    (changed / "erasers" / "seq2seq_attn-0-last" / "erasers.json").unlink()  # as if it had been killed before the end
    tasks = "UtteranceLoc,IsMultiTopic,AllValues"
    told = say(f"probes erase {changed} --tasks {tasks} --draws 2 --method leace,inlp --jobs 1")[1]
    assert "1 of 2 checkpoints were already done" in told and "left out: up to" in told
    assert {path.name: path.read_bytes() for path in (changed / "erasers" / "seq2seq_attn-0-last").iterdir()} == first


def test_without_an_eraser_the_replies_are_those_of_sample(study):
    sampled = {one.item: one.text for one in read_records(study / "responses.jsonl", Response) if one.seed == 0}
    plain = pq.read_table(study / "erased" / "seq2seq_attn-0-last" / "none.parquet")
    assert dict(zip(plain["item"].to_pylist(), plain["text"].to_pylist(), strict=True)) == sampled
    assert not any(plain["changed"].to_pylist())
    gone = pq.read_table(study / "erased" / "seq2seq_attn-0-last" / "everything.parquet")
    assert len(set(gone["text"].to_pylist())) == 1


def test_what_is_done_is_kept_and_what_does_not_fit_is_refused(changed):
    assert "files were already there" in (told := say(f"generation erased {changed} --limit 8 --jobs 1")[1])
    every = len(list((changed / "erased").glob("*/*.parquet")))
    assert f"{every} of {every} files were already there" in told
    with pytest.raises(InputError, match="was fitted on train"):
        say(f"generation erased {changed} --split train --limit 4 --jobs 1")
    path = changed / "erasers" / "seq2seq_attn-1-last" / "erasers.json"
    write_json(path, read_json(path) | {"weights": "another"})
    with pytest.raises(InputError, match="made for other weights"):
        say(f"generation erased {changed} --limit 8 --jobs 1")


def test_command_notebook_and_document_say_the_same(study):
    found = erasure(study)
    assert json.loads(say(f"analysis erasure {study} --json -")[1]) == json.loads(json.dumps(found.document))
    rows = {(row["task"], row["method"]): row for row in found.document["rows"]}
    assert {task for task, _ in rows} == {"UtteranceLoc", "IsMultiTopic"}
    row = rows["IsMultiTopic", "leace"]
    assert row["seeds"] == 2 and set(row["effects"]) == {"nats", "changed", "unlike", "acts"}
    nats = row["effects"]["nats"]
    assert (
        nats["beyond"] == pytest.approx(nats["task"] - nats["random"]) and nats["low"] <= nats["beyond"] <= nats["high"]
    )
    assert "AllValues" in found.document["left_out"][0] and "Left out: seq2seq_attn: AllValues" in str(found)


def test_the_report_has_the_numbers_of_the_command(changed, tmp_path):
    say(f"analysis report {add_scores(changed)} --out {tmp_path}/report.html")
    told = json.loads(say(f"analysis erasure {changed} --json -")[1])
    assert json.loads((tmp_path / "report.json").read_text())["erasure"] == told
    page = html.unescape((tmp_path / "report.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    text, tex = ((tmp_path / f"report.{suffix}").read_text() for suffix in ("md", "tex"))
    assert "What the decoders use" in page and "beyond a random eraser" in tex
    for row in told["rows"]:
        nats = row["effects"]["nats"]
        cost = "{beyond:+.3f} ({low:+.3f} to {high:+.3f})".format(**nats).replace("-", "\N{MINUS SIGN}")
        cost = re.sub(r"[+\N{MINUS SIGN}](0\.000)", r"\1", cost)
        assert page.count(cost) >= 2 and cost in text, row["task"]  # on its row of the figure, and in the table
    verdicts = {"used": 0, "not used": 0, "open": 0} | Counter(row["verdict"] for row in told["rows"])
    used, unused, left = verdicts.values()
    said = f"the decoder is shown to use what was erased in {used}, and not to use it in {unused}"
    assert f"Of 4 erasures in 1 model, {said}; in {left} that is not known." in page
    for note in erasure_notes(answer(changed)):
        assert note in page


def test_a_report_says_nothing_of_erasers_that_are_not_there_and_why_where_they_cannot_be_read(changed, tmp_path):
    shutil.rmtree(changed / "erased")
    say(f"analysis report {add_scores(changed)} --out {tmp_path}/report.html")
    page = (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["erasure"] is None
    assert "What the decoders use is unknown." in page and "generation erased" in page
    shutil.rmtree(changed / "erasers")
    say(f"analysis report {changed} --out {tmp_path}/report.html")
    assert "decoders use" not in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["erasure"] is None


def test_erasers_and_replies_that_do_not_belong_together_are_refused(changed):
    folder = changed / "erasers" / "seq2seq_attn-0-last"
    shutil.copy(folder / "random-1-2.0.npz", folder / "IsMultiTopic.leace.npz")
    with pytest.raises(InputError, match="made with another eraser than is there now"):
        erasure(changed)
    (changed / "erased" / "seq2seq_attn-0-last" / "none.parquet").unlink()
    with pytest.raises(InputError, match=r"none\.parquet is not there, or not whole"):
        erasure(changed)
    told = read_json(folder / "erasers.json")
    for one in told["erasers"]:
        one.pop("flat", None)
    write_json(folder / "erasers.json", told)
    with pytest.raises(InputError, match="is of an earlier version"):
        erasure(changed)
    shutil.rmtree(changed / "erasers")
    with pytest.raises(InputError, match="has no erasers"):
        erasure(changed)
    with pytest.raises(InputError, match="--margin"):
        erasure(changed, margin=0)
