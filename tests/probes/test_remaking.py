"""The commands of the papers' index: each names what it needs in this study, and nothing that was given by now."""

from pathlib import Path

import pytest

from seedvote.probes.remaking import Remaking


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


def test_a_command_keeps_what_was_probed_and_knows_the_corpus_the_side_and_the_part(study):
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
