"""`python -m probes outside` on a study whose states were made to notice foreign talk, or not."""

import json

import numpy as np
import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import parser_of
from seedvote.evaluators.commands import perturb
from seedvote.probes.commands import outside
from seedvote.probes.foreign import foreign_turns


def run(module, *words):
    module.run(parser_of(module, "x").parse_args([str(word) for word in words]))


def write_states(folder, chosen, truth, shift):
    (folder / "states").mkdir(exist_ok=True)
    rng = np.random.default_rng(len(chosen))
    states = rng.normal(size=(len(chosen), 5)).astype(np.float32)
    states[truth, 0] += shift
    for model, matrix in (("sharp", states), ("dull", rng.normal(size=states.shape).astype(np.float32))):
        np.save(folder / f"states/{model}-0-last.npy", matrix)
        sidecar = {"model": model, "seed": 0, "checkpoint": "last", "ids": [e.item for e in chosen]}
        (folder / f"states/{model}-0-last.json").write_text(json.dumps(sidecar))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_toy(folder / "corpus", 60, seed=0)
    write_toy(folder / "chats", 20, seed=0, kind="personachat")
    from_chats = ("--kinds", "outside", "--from", folder / "chats")
    run(perturb, folder, *from_chats, "--doses", ".5")
    run(perturb, folder, *from_chats, "--doses", ".2", "--split", "train", "--seed", "1", "--replace")
    for path in (folder, *(folder / "conditions").iterdir()):
        chosen = list(iterate_examples(read_corpus(path / "corpus").dialogues))
        write_states(path, chosen, foreign_turns(chosen), 5.0)
    return folder


def test_who_notices_is_found_and_who_does_not_is_at_chance(study, capsys):
    run(outside, study)
    said = capsys.readouterr().out
    rows = {(row["model"], row["by"]): row for row in json.loads((study / "outside.json").read_text())["detectors"]}
    assert set(rows) == {(m, by) for m in ("sharp", "dull") for by in ("probe", "distance")} | {
        ("bag_of_words", "probe")
    }
    for by in ("probe", "distance"):
        assert rows["sharp", by]["auroc"][0] > 0.95
        low, high = rows["dull", by]["auroc"][1:]
        assert low < 0.5 < high
    assert rows["sharp", "probe"]["taught"] == "0.2" and rows["sharp", "distance"]["taught"] == "0"
    assert "Who always calls foreign has F1" in said and "guesses has AUROC 50" in said
    assert "analysis robustness" in said


def test_foreign_talk_is_of_its_own_split(study):
    """What a detector is taught with must not be what it is asked about."""
    clean = {e.item: e.context[-1].text for e in iterate_examples(read_corpus(study / "corpus").dialogues)}
    chats = read_corpus(study / "chats")
    for name, split in (("outside@0.5-0", "test"), ("outside@0.2-1", "train")):
        known = {turn.text.strip().rstrip(".") for dialogue in chats.split(split) for turn in dialogue.turns}
        chosen = list(iterate_examples(read_corpus(study / "conditions" / name / "corpus").dialogues))
        told = [e for e, foreign in zip(chosen, foreign_turns(chosen), strict=True) if foreign]
        assert told
        for e in told:
            assert e.context[-1].text.replace(clean[e.item], "").strip().rstrip(".") in known


def test_what_is_missing_gets_a_sentence(study, tmp_path):
    with pytest.raises(InputError, match="has no condition of kind outside with test dialogues"):
        run(outside, tmp_path)
    (study / "states/dull-0-last.npy").rename(study / "states/hidden")
    try:
        with pytest.raises(InputError, match=r"dull-0-last.npy is not there. Encode the clean corpus"):
            run(outside, study)
    finally:
        (study / "states/hidden").rename(study / "states/dull-0-last.npy")
