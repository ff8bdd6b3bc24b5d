"""The public corpora, where they lie beside the project: every published count, and every label count reproduced."""

import functools
import json
import lzma
from collections import Counter, defaultdict

import pytest

from dialogue.corpora.examples import examples
from dialogue.corpora.reading import read_corpus


@pytest.fixture(scope="module")
def shared(pytestconfig):
    folder = pytestconfig.rootpath.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("the public corpora are not beside the project (../shared/data)")
    return folder


@functools.cache
def corpus(path):
    return read_corpus(path)


def counts(found, splits):
    groups = [found.split(name) for name in splits]
    return [len(group) for group in groups], [sum(len(d.turns) for d in group) for group in groups]


def test_the_text_of_multiwoz_2_2(shared):
    found = corpus(shared / "data/multiwoz22_text")
    assert counts(found, ("train", "valid", "test")) == ([8437, 1000, 1000], [113552, 14748, 14744])
    assert not any("[" in turn.text for dialogue in found.dialogues for turn in dialogue.turns)


def test_personachat(shared):
    found = corpus(shared / "data/personachat_valid_test")
    assert counts(found, ("valid", "test")) == ([1000, 968], [15602, 15024])
    assert all(set(dialogue.persona) == {"partner", "self"} for dialogue in found.dialogues)


def test_the_databases_of_multiwoz_are_read_beside_its_dialogues(shared, tmp_path):
    folder = shared / "data/multiwoz_db"
    for path in folder.glob("*.json"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "val.json.xz").symlink_to(shared / "data/multiwoz21_valtest/val.json.xz")
    databases = read_corpus(tmp_path).databases
    sizes = {domain: len(rows) for domain, rows in databases.items()}
    assert sizes.items() >= {"attraction": 79, "hotel": 33, "restaurant": 110, "train": 2828}.items()


def label_counts(dialogues):
    """Label -> how often, by the rules of the probe tasks, from the records that `read_corpus` gives."""
    found = defaultdict(Counter)
    for dialogue in dialogues:
        before = {}
        topic = None
        for example in examples([dialogue]):
            now = example.context[-1].belief
            acts = example.target.acts
            new = [path for path in now if path not in before]
            domains = {path.split("-")[0] for path in now}
            leaves = Counter(path.rpartition("-")[2] for path in now)
            repeated = [leaf for leaf, uses in leaves.items() if uses > 1]
            topic = new[-1].split("-")[0] if new else topic
            found["ntop"][len(domains)] += 1
            found["multi"][len(domains) > 1] += 1
            found["nrep"][len(repeated)] += 1
            found["rep"].update(repeated or ["none"])
            found["nrec"][len(new)] += 1
            found["nrecv"][sum(before.get(path) != value for path, value in now.items())] += 1
            found["nall"][len(now)] += 1
            found["alltop"].update(domains or ["none"])
            found["rtopic"][topic] += 1
            found["allslots"].update(now)
            found["acts"].update(acts or ["none"])
            found["nacts"][len(acts)] += 1
            found["eslots"].update({slot for pairs in acts.values() for slot, _ in pairs} or ["none"])
            before = now
    return {name: {str(label): n for label, n in counter.items()} for name, counter in found.items()}


@pytest.fixture(scope="module", params=["valid", "test"])
def labels(request, shared):
    """Published counts and ours."""
    table = json.loads((shared / "tables/label_counts_multiwoz_valid_test.json").read_text())
    dialogues = corpus(shared / "data/multiwoz21_valtest").split(request.param)
    return {"valid": table["val"], "test": table["test"]}[request.param], dialogues


def test_annotated_dialogues_and_examples(labels):
    table, dialogues = labels
    assert len(dialogues) == table["dialogues"]
    assert sum(1 for _ in examples(dialogues)) == table["examples(user turns)"]


@pytest.mark.parametrize("task", ["acts", "nacts"])
def test_published_label_counts(labels, task):
    table, dialogues = labels
    assert label_counts(dialogues)[task] == table[task]
