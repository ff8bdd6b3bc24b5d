"""The papers' tables from one study: their ±, what stands where, and what is said of what is not there."""

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts
from seedvote.probes import papers, plots
from seedvote.probes.__main__ import COMMANDS
from seedvote.probes.comparisons import cloud_spreads
from seedvote.probes.papers import Remaking
from seedvote.probes.scoring import seed_spread
from seedvote.probes.states import find_states
from seedvote.probes.summary import TaskScore, gather_cells

TASKS = ("IsMultiTopic", "RecentTopic")


def score(task, model, seed, checkpoint, f1, classifier="logistic"):
    return TaskScore("probe", task, model, seed, checkpoint, classifier, "fit=train,report=test", f1, 100)


@pytest.fixture(scope="module")
def scores():
    found = [
        score(task, model, seed, checkpoint, 20 + 40 * (task == TASKS[0]) + 10 * (checkpoint != "untrained") + 3 * seed)
        for task in TASKS for model in ("seq2seq", "hred") for seed in range(3)
        for checkpoint in ("untrained", "last", "best_bleu", "best_embedding", "epoch-1")
    ]  # fmt: skip
    return [*found, score(TASKS[0], "hred", 0, "last", 50.0, "mlp:0")]


def table(text):
    return {tuple(line.strip("| ").split(" | "))[:2]: line.strip("| ").split(" | ") for line in text.splitlines()[4:]}


def test_a_cell_has_the_mean_what_the_papers_print_and_the_sd(scores):
    logistic, mlp, paper = papers.probe_tables(gather_cells(scores), TASKS, "multiwoz")
    rows = table(papers.paper_page(logistic))
    assert rows["seq2seq", "last"][2:] == ["73.00 ± 0.09 (SD 3.0)", "33.00 ± 0.09 (SD 3.0)"]
    assert set(rows) == {(model, at) for model in ("seq2seq", "hred") for at in ("untrained", "last", "best_bleu")}
    assert table(papers.paper_page(mlp)) == {("hred", "last"): ["hred", "last", "50.00", "-"]}
    assert (paper.missing, paper.command, paper.classifier) == ("it did not run", "probes run", "paper")
    values = np.array([50.0, 61.0, 77.0])
    assert papers.as_the_papers(seed_spread(values)) == pytest.approx(100 * np.var(values / 100, ddof=1))


def test_difficulty_and_selection_have_numbers(scores):
    of = [one for one in scores if one.classifier == "logistic"]
    rows = papers.difficulty_table(gather_cells(of)).rows
    assert ("hred", "last", "easy", "73.00", "-", "1", "IsMultiTopic") in rows
    chosen = {row[:2]: row[2:] for row in papers.selection_table(of).rows}
    by_task = ("73.00 ± 0.09 (SD 3.0)", "33.00 ± 0.09 (SD 3.0)")
    assert chosen["hred", "embedding"] == ("53.00", "3.00", "3", *by_task) and set(chosen) == {
        (model, metric) for model in ("hred", "seq2seq") for metric in ("bleu", "embedding")
    }
    assert "train --encoder" in papers.selection_table(of).title
    more = [*of, *(score(TASKS[0], "hred", seed, "best_encoder", 90.0) for seed in range(2))]
    rows = {row[:2]: row[2:] for row in papers.selection_table(more).rows}
    assert rows["hred", "encoder"] == ("90.00", "0.00", "2", "90.00 ± 0.00 (SD 0.0)", "-")
    assert "train --encoder" not in papers.selection_table(more).title


def test_courses_have_the_spread_of_every_epoch(scores):
    assert papers.course_table(
        [one for one in scores if one.classifier == "logistic"]
    ).missing  # one epoch is no course
    more = [*scores, *(score(TASKS[0], "hred", seed, "epoch-12", 80.0 + seed) for seed in range(3))]
    found = papers.course_table([one for one in more if one.classifier == "logistic"])
    assert found.head == ("task", "model", "untrained", "epoch 1", "epoch 12")
    assert found.rows == (("IsMultiTopic", "hred", "63.0 (3.0)", "73.0 (3.0)", "81.0 (1.0)"),)


def test_states_have_axes_of_their_own_and_the_shift_beside_them(tmp_path):
    """A cloud ten times as wide, moved far away: its SDs are its own, and nearly all variance is the shift."""
    ids = [f"d{n}:1" for n in range(400)]
    draw = np.random.default_rng(0)
    cloud = draw.standard_normal((400, 3)) * [3.0, 1.0, 0.1]
    for checkpoint, states in {
        "untrained": cloud, "epoch-1": cloud + np.array([0, 0, 1e3]), "epoch-10": cloud * 10, "epoch-2": cloud,
        "best_bleu": cloud * 7,
    }.items():  # fmt: skip
        path = tmp_path / "states" / f"hred-0-{checkpoint}.npy"
        path.parent.mkdir(exist_ok=True)
        np.save(path, states.astype(np.float32))
        path.with_suffix(".json").write_text(
            json.dumps({"ids": ids, "model": "hred", "seed": 0, "checkpoint": checkpoint})
        )
    found = list(cloud_spreads(find_states(tmp_path, None, "all"), [ids[:300], ids[300:]]))
    assert [one.checkpoint for one in found] == ["untrained", "epoch-1", "epoch-2", "epoch-10"]
    for one, wide in zip(found, (1, 1, 1, 10), strict=True):
        assert (one.first / wide, one.second / wide) == pytest.approx(cloud[300:].std(0)[:2], rel=0.02)
        assert one.share > 0.99
    shifts = [one.shift for one in found]
    assert np.isnan(shifts[0]) and shifts[1] > 0.999 and shifts[2] == pytest.approx(0, abs=1e-6) and shifts[3] < 0.05
    table = papers.states_table(found, "")
    assert table.rows[0][-1] == "-" and table.rows[1][-1] == "100.0"
    assert papers.states_table([], "no .npy file").missing == "no .npy file"


def test_the_index_says_plainly_that_valid_was_trained_on(tmp_path):
    for name, data in (("hred-0", "personachat JSON, of valid, 900 dialogues"), ("hred-1", "multiwoz, 8 dialogues")):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text(json.dumps({"data": data}))
    page = papers.index_page([], {}, Remaking(tmp_path), "")
    assert "The models were trained on: personachat JSON, of valid, 900 dialogues." in page
    assert "NOT THE OFFICIAL TRAINING SPLIT: valid was trained on." in page
    (tmp_path / "models" / "hred-0" / "config.json").unlink()
    assert "NOT THE OFFICIAL" not in papers.index_page([], {}, Remaking(tmp_path), "")


def test_sizes_are_counted_in_the_weights(tmp_path):
    folder = tmp_path / "models" / "hred-0"
    folder.mkdir(parents=True)
    header = {
        "__metadata__": {"epoch": "0"},
        "a": {"dtype": "F32", "shape": [3, 4]},
        "b": {"dtype": "F32", "shape": [5]},
    }
    told = json.dumps(header).encode()
    (folder / "untrained.safetensors").write_bytes(len(told).to_bytes(8, "little") + told + bytes(4 * 17))
    assert papers.size_table(tmp_path).rows == (("hred", "17", "0.0M"),)


def test_bleu_of_every_seed_names_the_decoding_and_is_of_the_corpus_too(tmp_path):
    """One long response that matches and two of one wrong word: the corpus score is not the mean of the responses."""
    texts = [("the hotel is cheap", "the hotel is cheap"), ("yes", "no"), ("no", "yes")]
    rows = []
    for seed in (0, 1):
        for how in ("greedy", "nucleus:0.9"):
            for said, wanted in texts:
                counts = bleu_counts(said.split(), wanted.split())
                value = bleu2(counts, smooth="exp") / (1 + (how != "greedy"))
                rows.append(("bleu2", "hred", seed, "last", how, value, counts))
    names = ("task", "model", "seed", "checkpoint", "condition", "score", "stats")
    pq.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), tmp_path / "metrics.parquet")
    found = {row[3:5]: row[5:] for row in papers.bleu_by_seed(tmp_path).rows}
    assert list(found) == [(how, over) for how in ("greedy", "nucleus:0.9") for over in ("corpus", "mean of responses")]
    whole = bleu2(add_counts(bleu_counts(a.split(), b.split()) for a, b in texts), smooth="exp")
    assert found["greedy", "corpus"] == (f"{whole:.2f}", f"{whole:.2f}", f"{whole:.2f}", "0.00")
    assert found["greedy", "mean of responses"][0] == "33.33" != f"{whole:.2f}"
    assert found["nucleus:0.9", "mean of responses"][0] == "16.67"


def test_the_index_says_what_is_not_there_and_how_to_make_it(tmp_path):
    nothing = [
        papers.size_table(tmp_path),
        papers.bleu_by_seed(tmp_path),
        papers.difficulty_table([]),
        papers.selection_table([]),
    ]
    assert all(one.missing and not one.rows for one in nothing)
    page = papers.index_page(
        nothing, {"evolution": "not drawn yet", "states": ""}, Remaking(tmp_path), "NOT THE OFFICIAL SPLIT"
    )
    assert "BLEU-2 by seed: **not here**, there is no metrics.parquet | BLEU-2 of every model |" in page
    before = " && ".join(f"python -m generation {name} {tmp_path}" for name in ("train", "sample"))
    assert (
        f"`{before} && python -m generation score {tmp_path}`" in page and "[states.png](../probes/states.png)" in page
    )
    assert "probe scores over epochs: **not here**, not drawn yet" in page
    assert "python -m analysis ties" in page
    assert page.rstrip().endswith("NOT THE OFFICIAL SPLIT")


@pytest.mark.usefixtures("sketched", "few_baselines")
def test_one_command_writes_every_table_and_draws_every_figure(tmp_path, capsys):
    dispatch("dialogue", "", {"toy": ""}, ["toy", str(tmp_path / "corpus"), "--dialogues", "40", "--seed", "1"])
    members = list(iterate_examples(read_corpus(tmp_path / "corpus").dialogues))
    (tmp_path / "states").mkdir()
    every = ("untrained", "epoch-1", "epoch-2", "last", "best_bleu", "best_encoder")
    for step, checkpoint in enumerate(every):
        path = tmp_path / "states" / f"hred-0-{checkpoint}.npy"
        np.save(path, np.random.default_rng(step).standard_normal((len(members), 4)).astype(np.float32))
        record = {"model": "hred", "seed": 0, "checkpoint": checkpoint, "ids": [e.item for e in members]}
        path.with_suffix(".json").write_text(json.dumps(record))
    run = ["run", str(tmp_path), "--tasks", "UtteranceLoc", "--checkpoints", "all", "--jobs", "1"]
    assert dispatch("probes", "", COMMANDS, run) == 0
    capsys.readouterr()
    assert dispatch("probes", "", COMMANDS, ["papers", str(tmp_path)]) == 0
    out, page = capsys.readouterr().out, (tmp_path / "papers" / "index.md").read_text()
    assert (
        "4 of 4 figures" in out and "6 of 10 tables" in out
    )  # sizes, BLEU, MLP and their own classifier are not there
    for name in ("probes-multiwoz-logistic", "difficulty", "selection", "courses", "states", "labels"):
        assert (tmp_path / "papers" / f"{name}.csv").stat().st_size and f"[{name}.md]({name}.md)" in page
    for name in papers.FIGURES:
        assert (tmp_path / "probes" / f"{name}.png").stat().st_size and f"(../probes/{name}.png)" in page
    assert page.count("**not here**") == 4


@pytest.mark.usefixtures("few_baselines")
def test_papers_index_names_commands_for_missing_tables(tmp_path, capsys, monkeypatch):
    """States of a part of the examples, a corpus elsewhere: the command knows of both, and it runs as it stands."""
    corpus, study = tmp_path / "a corpus", tmp_path / "study"
    dispatch("dialogue", "", {"toy": ""}, ["toy", str(corpus), "--dialogues", "40", "--seed", "1"])
    members = [e.item for e in iterate_examples(read_corpus(corpus).dialogues)][::2]
    (study / "states").mkdir(parents=True)
    for step, checkpoint in enumerate(("untrained", "last")):
        path = study / "states" / f"hred-0-{checkpoint}.npy"
        np.save(path, np.random.default_rng(step).standard_normal((len(members), 4)).astype(np.float32))
        record = {"model": "hred", "seed": 0, "checkpoint": checkpoint, "ids": members}
        path.with_suffix(".json").write_text(json.dumps(record))
    papers_again = ["papers", str(study), "--corpus", str(corpus)]
    monkeypatch.setattr(plots, "save_figure", lambda figure, stem: None)
    assert dispatch("probes", "", COMMANDS, papers_again) == 0
    page = (study / "papers" / "index.md").read_text()
    assert "2 of 10 tables, 1 of 4 figures" in capsys.readouterr().out and "A SUBSET" in page
    assert (study / "papers" / "labels.md").exists() and (study / "papers" / "states.md").exists()
    row = next(line for line in page.splitlines() if "Probe tasks on multiwoz, logistic" in line)
    assert f"**not here**, there is no {study / 'scores.parquet'}" in row
    command = row.split("`")[1]
    assert command == f"python -m probes run {study} --checkpoints all --subset --corpus '{corpus}'"
    words = shlex.split(command)[3:]
    assert dispatch("probes", "", COMMANDS, [*words, "--tasks", "UtteranceLoc", "--jobs", "1"]) == 0
    assert dispatch("probes", "", COMMANDS, papers_again) == 0
    page = (study / "papers" / "index.md").read_text()
    assert "[probes-multiwoz-logistic.md]" in page and "there is no scores.parquet" not in page
    listed = next(line for line in page.splitlines() if "Label distributions" in line).split("`")[1]
    assert dispatch("probes", "", COMMANDS, shlex.split(listed)[3:]) == 0


# The commands of the papers' index: each names what it needs in this study, and nothing that was given by now.


@pytest.fixture
def study(tmp_path):
    """Two models of three checkpoints; states of two of these."""
    for name in ("hred-0", "hred-1"):
        folder = tmp_path / "models" / name
        folder.mkdir(parents=True)
        for checkpoint in ("untrained", "epoch-1", "last", "resume"):
            (folder / f"{checkpoint}.safetensors").touch()
        (tmp_path / "states").mkdir(exist_ok=True)
        for checkpoint in ("untrained", "last"):
            (tmp_path / "states" / f"{name}-{checkpoint}.npy").touch()
    return tmp_path


def test_what_must_come_first_is_named_only_where_it_is_not_there(study, tmp_path_factory):
    how = Remaking(study)
    encode = f"python -m generation encode {study} --checkpoints all"
    assert how.made_by("probes run") == f"python -m probes run {study} --checkpoints all"
    assert (
        how.made_by("probes run", missing="no epochs") == f"{encode} && python -m probes run {study} --checkpoints all"
    )
    for name in ("hred-0", "hred-1"):
        (study / "states" / f"{name}-epoch-1.npy").touch()
    assert " && " not in how.made_by("probes run", missing="no epochs")  # all is encoded: no round for ever
    sample, score = (f"python -m generation {name} {study}" for name in ("sample", "score"))
    assert how.made_by("generation score") == f"{sample} && {score}"
    (study / "responses.jsonl").touch()
    assert how.made_by("generation score") == score
    assert how.made_by("generation train") == f"python -m probes papers {study}"  # counted in weights that are there
    empty = tmp_path_factory.mktemp("empty")
    (train, *_, run) = Remaking(empty).made_by("probes run", missing="nothing").split(" && ")
    assert train == f"python -m generation train {empty}" and run.startswith("python -m probes run")


def test_arrays_of_ones_own_are_not_encoded_by_a_model_that_is_not_there(study):
    for path in (study / "models").glob("*/*"):
        path.unlink()
    how = Remaking(study)
    assert how.made_by("generation encode") == f"python -m probes papers {study}"
    assert how.made_by("probes run", missing="no epochs") == f"python -m probes run {study} --checkpoints all"


def test_papers_command_keeps_the_probed_settings(study):
    corpus = Path("my corpus")
    how = Remaking(study, corpus, Path("s.parquet"), "valid", "valid,test", 300, True, ("logistic", "paper"))
    run = how.made_by("probes run", "mlp")
    assert run == (
        f"python -m probes run {study} --checkpoints all --classifier logistic,mlp --protocol paper --subset "
        "--report valid --out s.parquet --corpus 'my corpus'"
    )
    assert how.encode() == (
        f"python -m generation encode {study} --checkpoints all --splits valid,test --limit 300 --corpus 'my corpus'"
    )
    assert how.made_by("probes list") == "python -m probes list --corpus 'my corpus' --report valid"
    assert "--solver sklearn" in Remaking(study, classifiers=("logistic-sklearn",)).run()
    assert "sklearn" not in Remaking(study, classifiers=("logistic-sklearn",)).run("logistic")
