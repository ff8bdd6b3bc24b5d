"""Labels that the user brings: how tables are read, what is refused, and that they are probed like any other task."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.probes.__main__ import COMMANDS
from seedvote.probes.summary import gather_cells, read_task_scores
from seedvote.probes.tasks.own import read_own_labels


def probes(*words):
    return dispatch("probes", "", COMMANDS, [str(word) for word in words])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A corpus without annotations, and states that hold whether a context is long."""
    folder = tmp_path_factory.mktemp("own")
    draw = np.random.default_rng(0)
    said = ["hello there", "i need a room", "which day", "on monday please", "how many nights", "two nights", "booked"]
    rows = [
        {"dialogue": f"d{n}", "split": split, "turns": [str(draw.choice(said)) for _ in range(6)]}
        for n, split in enumerate(["train"] * 14 + ["valid"] * 4 + ["test"] * 8)
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    members = list(iterate_examples(read_corpus(folder / "corpus.jsonl").dialogues))
    states = draw.standard_normal((len(members), 4))
    states[:, 0] += [5 * (one.n > 2) for one in members]
    np.save(folder / "mine.npy", states)
    (folder / "mine.json").write_text(json.dumps({"ids": [one.item for one in members], "model": "mine"}))
    return folder, members


def run(study, tmp_path, *more):
    folder, _ = study
    probes("run", tmp_path, "--corpus", folder / "corpus.jsonl", "--states", folder / "mine.npy", "--jobs", 1, *more)
    return {(c.task, c.model): c for c in gather_cells(read_task_scores(tmp_path / "scores.parquet"))}


def long_or_short(members):
    return [(one.item, "long" if one.n > 2 else "short") for one in members]


def test_labels_of_ones_own_are_probed_with_all_baselines_and_controls(study, tmp_path, capsys):
    rows = long_or_short(study[1])
    table = tmp_path / "length.csv"
    table.write_text("item,label\n" + "".join(f"{item},{label}\n" for item, label in rows[1:]) + f"{rows[0][0]},\n")
    found = run(study, tmp_path, "--labels", table)
    out = capsys.readouterr().out
    assert f"{len(rows) - 1} of {len(rows)} examples have a label, the others are left out; 1 rows have none." in out
    assert {task for task, _ in found} == {"length"}
    mine = found["length", "mine"]
    assert mine.seeds.mean > 95 and mine.above_shuffled > 20 and mine.selectivity == mine.selectivity
    assert {"majority", "turn_index", "bag_of_words", "bag_of_last_turn"} <= {model for _, model in found}
    assert found["length", "turn_index"].seeds.mean == 100
    signature = pq.read_schema(tmp_path / "scores.parquet").metadata[b"signature"].decode()
    assert "|labels:length@" in signature
    assert rows[0][0] not in set(pq.read_table(tmp_path / "scores.parquet")["item"].to_pylist())


@pytest.mark.usefixtures("few_baselines")
def test_own_tasks_take_several_labels_and_files(study, tmp_path, capsys):
    rows = long_or_short(study[1])
    lines = [{"item": item, "label": [label, "even"] if n % 2 else [label]} for n, (item, label) in enumerate(rows)]
    lines[0]["label"] = []
    (tmp_path / "kinds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "length.tsv").write_text("label\titem\n" + "".join(f"{label}\t{item}\n" for item, label in rows))
    found = run(
        study, tmp_path, "--labels", tmp_path / "kinds.jsonl", tmp_path / "length.tsv", "--tasks", "UtteranceLoc"
    )
    assert {task for task, _ in found} == {"kinds", "length", "UtteranceLoc"}
    out = capsys.readouterr().out
    assert f"task kinds, several labels an example ({len(rows) // 2} have more than one), 4 different" in out
    assert 60 < found["kinds", "mine"].seeds.mean < found["length", "mine"].seeds.mean


def test_rows_of_one_item_add_up_and_words_are_trimmed(tmp_path):
    (tmp_path / "a.b.csv").write_text("item,label\nd:1, yes\nd:1,no\nd:3,yes \nd:3,yes\n")
    (own,) = read_own_labels([tmp_path / "a.b.csv"], [], ["d:1", "d:3"])
    assert own.name == "a" and own.many and own.labels == {"d:1": ("yes", "no"), "d:3": ("yes",)}


@pytest.mark.parametrize(("text", "sentence"), [
    ("item,label\nd1:1,yes\nx:1,no\ny:2,no\n", r"2 of its 3 items are no contexts of this corpus, e\.g\. 'x:1', 'y:2'"),
    ("item,answer\nd1:1,yes\n", "has no column label; it has item, answer"),
    ("id,gold\nd1:1,yes\n", "has no column item and none label"),
    ("item,label\nd1:1,Yes\nd2:1,yes\n", "'Yes' and 'yes' differ only in capitals"),
    ("item,label\nd1:1,\n", "holds no label"),
    ("item,label\n,yes\n", "no item here"),
    ('[{"item": "d1:1", "label": {"a": 1}}]', "label is an object"),
])  # fmt: skip
def test_a_wrong_file_gets_a_sentence(tmp_path, text, sentence):
    path = tmp_path / ("wrong.json" if text.startswith("[") else "wrong.csv")
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_own_labels([path], [], ["d1:1", "d2:1"])


def test_names_of_tasks_are_kept_apart(tmp_path):
    for name in ("AllTopics.csv", "b.csv", "b.tsv"):
        (tmp_path / name).write_text("item\tlabel\nd1:1\tyes\n")
    with pytest.raises(InputError, match="another task is called AllTopics"):
        read_own_labels([tmp_path / "AllTopics.csv"], ["AllTopics"], ["d1:1"])
    with pytest.raises(InputError, match="another task is called b"):
        read_own_labels([tmp_path / "b.csv", tmp_path / "b.tsv"], [], ["d1:1"])


def test_labels_that_tell_nothing_apart_or_lie_in_one_split_are_refused(study, tmp_path):
    rows = long_or_short(study[1])
    (tmp_path / "same.csv").write_text("item,label\n" + "".join(f"{item},yes\n" for item, _ in rows))
    with pytest.raises(InputError, match=r"all 42 labelled examples of train have the label yes, so there is nothing"):
        run(study, tmp_path, "--labels", tmp_path / "same.csv")
    tests = [(one.item, label) for one, (_, label) in zip(study[1], rows, strict=True) if one.dialogue.split == "test"]
    (tmp_path / "few.csv").write_text("item,label\n" + "".join(f"{item},{label}\n" for item, label in tests))
    with pytest.raises(InputError, match=r"Neither train nor valid has labelled examples.* test has 24\."):
        run(study, tmp_path, "--labels", tmp_path / "few.csv")
