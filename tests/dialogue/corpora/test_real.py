"""The public corpora, where they lie beside the project: every published count, and every label count reproduced."""

import functools
import json
import lzma
from collections import Counter, defaultdict

import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus


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


@pytest.mark.slow
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
    dialogue = {"log": [{"text": "hi", "metadata": {}}, {"text": "ho", "metadata": {}}]}
    (tmp_path / "val.json").write_text(json.dumps({"SNG1": dialogue}))
    databases = read_corpus(tmp_path).databases
    sizes = {domain: len(rows) for domain, rows in databases.items()}
    assert sizes.items() >= {"attraction": 79, "hotel": 33, "restaurant": 110, "train": 2828}.items()


def label_counts(dialogues):
    """Label -> how often, by the rules of the probe tasks, from the records that `read_corpus` gives."""
    found = defaultdict(Counter)
    for dialogue in dialogues:
        before = {}
        topic = None
        for example in iterate_examples([dialogue]):
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
            found["allslots"].update(list(now))
            found["acts"].update(list(acts) or ["none"])
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


@pytest.fixture(scope="module")
def counted(labels):
    return label_counts(labels[1])


@pytest.mark.slow
def test_annotated_dialogues_and_examples(labels):
    table, dialogues = labels
    assert len(dialogues) == table["dialogues"]
    assert sum(1 for _ in iterate_examples(dialogues)) == table["examples(user turns)"]


def test_published_label_counts_of_the_system_acts(labels, counted):
    table, ours = labels[0], counted
    assert ours["acts"] == table["acts"]
    assert ours["nacts"] == table["nacts"]
    # One turn of the valid file: the table's source has Ref where this release has Id.
    moved = {slot: n - table["eslots"][slot] for slot, n in ours["eslots"].items() if n != table["eslots"][slot]}
    assert moved in ({}, {"Ref": -1, "Id": 1})


@pytest.mark.slow
def test_beliefs_are_those_that_a_plain_loop_over_the_file_finds(shared):
    raw = json.loads(lzma.decompress((shared / "data/multiwoz21_valtest/val.json.xz").read_bytes()))
    for dialogue in corpus(shared / "data/multiwoz21_valtest").split("valid"):
        log = raw[dialogue.dialogue]["log"]
        for n in range(0, len(log), 2):
            expected = []
            for domain in log[n + 1]["metadata"]:
                for section in log[n + 1]["metadata"][domain]:
                    for slot in log[n + 1]["metadata"][domain][section]:
                        value = log[n + 1]["metadata"][domain][section][slot]
                        if slot != "booked" and value != "" and value != "not mentioned" and value != "none":
                            expected.append((f"{domain}-{section}-{slot}", value))
            assert list(dialogue.turns[n].belief.items()) == expected


def test_every_slot_is_filled_in_more_turns_than_in_the_table(labels, counted):
    """2.1 added to the states of 2.0, of which the table is; the one slot without a change is the hospital's."""
    table, ours = labels[0], counted["allslots"]
    assert ours.keys() == table["allslots"].keys()
    assert {slot for slot, n in table["allslots"].items() if ours[slot] <= n} <= {"hospital-semi-department"}
    assert 0.91 < sum(table["allslots"].values()) / sum(ours.values()) < 0.94


# Total variation from the table's shares, of which the larger of valid and test stands here. It shows that our beliefs
# stand with the right turns: one turn late is .14 away in `ntop`.
NEAR = {
    "ntop": 0.0075,
    "multi": 0.0065,
    "rtopic": 0.005,
    "alltop": 0.003,
    "nrep": 0.0305,
    "rep": 0.0535,
    "nrec": 0.0635,
    "nrecv": 0.0645,
    "nall": 0.0605,
}


@pytest.mark.parametrize("task", NEAR)
def test_belief_label_counts_are_near_those_of_another_release(labels, counted, task):
    table = labels[0]
    assert distance(counted[task], table[task]) < NEAR[task]


def distance(ours, theirs):
    """Total variation between two tables of counts."""
    keys = ours.keys() | theirs.keys()
    return (
        sum(abs(ours.get(key, 0) / sum(ours.values()) - theirs.get(key, 0) / sum(theirs.values())) for key in keys) / 2
    )
