"""Logs of every tool give the same scores, and what cannot be paired is refused."""

import json
import math
from collections import Counter

import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.run_logs import read_runs
from tests.analysis.questions import logs

SCORES = {f"s{n}": [float(n % 2), float(n % 3 == 0)] for n in range(9)}
ONCE = {item: values[:1] for item, values in SCORES.items()}

WRITERS = {
    "inspect .json": lambda folder: logs.inspect_log(folder / "a.json", "a", SCORES),
    "inspect .eval": lambda folder: logs.inspect_log(folder / "a.eval", "a", SCORES),
    "inspect .eval, Zstandard": lambda folder: logs.inspect_log(folder / "a.eval", "a", SCORES, packed=True),
    "lm-eval": lambda folder: logs.lm_eval_log(folder, "a", SCORES),
    "lighteval": lambda folder: logs.lighteval_log(folder, "a", ONCE),
    "HELM": lambda folder: logs.helm_log(folder, "a", SCORES),
    "table": lambda folder: logs.table(folder / "a.csv", SCORES),
}


@pytest.mark.parametrize("tool", WRITERS)
def test_every_tool_gives_the_scores_that_were_written(tool, tmp_path):
    (run,) = read_runs(WRITERS[tool](tmp_path))
    expected = ONCE if tool == "lighteval" else SCORES
    assert run.system == "a" and run.failed == 0 and not run.notes
    read = {}
    for score in run.scores:
        read.setdefault(score.item, []).append(score.score)
    names = {str(n): f"s{n}" for n in range(9)} if tool == "lm-eval" else {item: item for item in SCORES}
    assert {names[item]: values for item, values in read.items()} == expected


def test_folder_of_logs_takes_the_newest_of_each_task(tmp_path):
    worse = {item: [0.0] for item in SCORES}
    logs.lm_eval_log(tmp_path, "a", worse, stamp="2026-11-20T10-00-00")
    logs.lm_eval_log(tmp_path, "a", ONCE, stamp="2026-11-24T10-00-00")
    logs.lm_eval_log(tmp_path, "a", ONCE, task="other", stamp="2026-11-21T10-00-00")
    (run,) = read_runs(tmp_path)
    assert {score.task for score in run.scores} == {"sums", "other"}
    assert sum(score.score for score in run.scores if score.task == "sums") == sum(v[0] for v in ONCE.values())
    assert run.notes == ("sums was logged twice; the newer log is read: samples_sums_2026-11-24T10-00-00.123456.jsonl",)


def test_items_that_failed_are_counted_and_an_unfinished_run_says_so(tmp_path):
    path = logs.inspect_log(tmp_path / "a.json", "a", SCORES)
    log = json.loads(path.read_text())
    log["status"] = "error"
    del log["samples"][0]["scores"]
    path.write_text(json.dumps(log))
    (run,) = read_runs(path)
    assert run.failed == 1 and "ended as 'error'" in run.notes[0]


def test_the_words_of_scores():
    from seedvote.dialogue.importing.run_logs import _read_number

    words = {"C": 1, "I": 0, "P": 0.5, "N": 0, True: 1, "75%": 0.75, " 3.5 ": 3.5, "yes": 1, "maybe": None, "nan": None}
    assert {word: _read_number(word) for word in words} == words
    assert _read_number(None) is None and _read_number([1]) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name,score\nx,1\n", r"no column says which item .* --columns item=NAME"),
        ("item,words\nx,one\n", r"no column holds scores.* --columns score=NAME"),
        ("item,score\nx,1\ny,fast\n", r"a.csv:3: score is 'fast', which is no number"),
        ("item,score\n,1\n", r"a.csv:2: item is empty"),
        ("item,epoch,score\nx,1,1\nx,1,0\n", r"a.csv:3: item x a second time in epoch 1"),
    ],
)
def test_a_table_that_lacks_something_is_refused_with_its_place(text, sentence, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_runs(tmp_path / "a.csv")


def test_run_logs_count_missing_scores(tmp_path):
    (tmp_path / "a.csv").write_text("Model,Item,acc\nx,1,1\nx,2,N/A\ny,1,0\ny,2,1\n")
    runs = {run.system: run for run in read_runs(tmp_path / "a.csv")}
    assert set(runs) == {"x", "y"} and runs["x"].failed == 1 and len(runs["x"].scores) == 1


def test_scores_of_several_people_are_ratings_and_no_repetitions(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("model,item,annotator,correct\nx,1,p,1\nx,1,q,0\ny,1,p,0\ny,1,q,0\n")
    with pytest.raises(InputError, match=r"a.csv:3: annotator says .*analysis ratings .* --columns score=correct"):
        read_runs(path)
    assert [len(run.scores) for run in read_runs(path, {"epoch": "annotator"})] == [2, 2]
    path.write_text("model,item,annotator,correct\nx,1,p,1\nx,2,q,0\ny,1,p,0\ny,2,q,0\n")  # one person an item
    assert [len(run.scores) for run in read_runs(path)] == [2, 2]


def test_rows_of_another_seed_are_of_another_run_and_no_repetition(tmp_path):
    (tmp_path / "a.csv").write_text("system,seed,item,score\nx,0,1,1\nx,0,2,0\nx,1,1,0\nx,1,2,1\ny,0,1,1\ny,0,2,1\n")
    runs = read_runs(tmp_path / "a.csv")
    assert [(run.system, len(run.scores), run.told_apart) for run in runs] == [
        ("x", 2, "seed"),
        ("x", 2, "seed"),
        ("y", 2, "seed"),
    ]
    repeated = read_runs(tmp_path / "a.csv", {"epoch": "seed"})
    assert [(run.system, len(run.scores)) for run in repeated] == [("x", 4), ("y", 2)]


def test_columns_of_numbers_are_metrics_where_none_is_a_score_by_name(tmp_path):
    (tmp_path / "a.csv").write_text("item,rouge,chrf,text\n1,.2,40,hi\n2,.4,60,ho\n")
    (run,) = read_runs(tmp_path / "a.csv")
    assert {score.metric for score in run.scores} == {"rouge", "chrf"}


@pytest.mark.parametrize("damage", ["cut", "checksum", "no log", "empty folder"])
def test_what_is_no_whole_log_is_refused(damage, tmp_path):
    path = logs.inspect_log(tmp_path / "a.eval", "a", SCORES, packed=True)
    raw = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "checksum":
        place = raw.rindex(b"PK\x01\x02")
        raw[place + 16] ^= 1
        path.write_bytes(raw)
    elif damage == "no log":
        path.write_bytes(b"hello")
    else:
        path = tmp_path / "empty"
        path.mkdir()
    with pytest.raises(InputError, match=r"no whole log|checksum|no log of an evaluation"):
        read_runs(path)


def test_a_metric_that_lacks_numbers_says_of_how_many_samples(tmp_path):
    path = logs.inspect_log(tmp_path / "a.json", "a", ONCE)
    log = json.loads(path.read_text())
    for number, sample in enumerate(log["samples"]):
        if number % 3:
            sample["scores"]["gaps"] = {"value": math.nan if number % 3 == 1 else 1}
        sample["scores"]["listed"] = {"value": [1, 0]}
    path.write_text(json.dumps(log))
    (run,) = read_runs(path)
    assert run.failed == 0 and Counter(score.metric for score in run.scores) == {"match": 9, "gaps": 3}
    assert run.notes == (
        "a.json: gaps has no number for 6 of 9 samples, which are left out",
        "a.json: listed has no score for a single item and is not compared",
    )


def test_a_perplexity_is_the_log_likelihood_of_every_item(tmp_path):
    """lm-eval logs a log-likelihood, alone or with its words or bytes, under the names of perplexities."""
    file = tmp_path / "a" / "samples_wiki_2026-11-24T10-00-00.jsonl"
    file.parent.mkdir()
    pairs = {"word_perplexity": [-8.0, 4], "bits_per_byte": [-8.0, 16], "perplexity": -8.0, "acc": 1.0}
    rows = [
        {"doc_id": n, "doc": {"page": n}, "resps": [], "filter": "none", "metrics": [*pairs], **pairs} for n in (0, 1)
    ]
    rows[1] |= {"word_perplexity": [-9.0, 3], "acc": None}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run,) = read_runs(file)
    values = {(score.item, score.metric): score.score for score in run.scores}
    assert values == {
        **{(item, "log-likelihood a byte"): -0.5 for item in "01"},
        **{(item, "log-likelihood"): -8.0 for item in "01"},
        ("0", "log-likelihood a word"): -2.0,
        ("1", "log-likelihood a word"): -3.0,
        ("0", "acc"): 1.0,
    }
    assert run.notes == (f"{file.name}: acc has no number for 1 of 2 samples, which are left out",)
