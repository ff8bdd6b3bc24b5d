"""The epoch that an encoder picks is the one that a slow twin picks, whatever was scored before; no weights change."""

import json
import shutil

import pytest

from seedvote.dialogue.command_line import dispatch
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json, write_json
from seedvote.generation import selecting
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.checkpoints import epoch_of, find_trained, load_model
from seedvote.generation.decoding import parse_decoding, respond
from seedvote.generation.metrics.embedding import cosines, local_encoder
from seedvote.generation.numbering import evenly_spread, number_examples
from seedvote.generation.vocabulary import read_vocabulary

SCORED = 8
GRID = ["--models", "seq2seq", "--seeds", "0", "--preset", "tiny", "--valid", SCORED, "--jobs", 1]


def train(folder, *words):
    return dispatch("generation", "", COMMANDS, ["train", *map(str, [folder, *GRID, *words])])


def save_encoder(path, seed):
    """A tiny encoder with random weights; another seed, other weights."""
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = {word: n for n, word in enumerate(("<pad>", "<unk>", "the", "is", "a", "you", "i", "have", "?", "."))}
    raw = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", unk_token="<unk>").save_pretrained(path)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(seed)
        BertModel(BertConfig(vocab_size=len(words), initializer_range=1.0, **size)).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    return [save_encoder(tmp_path_factory.mktemp("encoder") / name, n) for n, name in enumerate(("one", "other"))]


@pytest.fixture(scope="module")
def trained(tmp_path_factory, encoders):
    folder = tmp_path_factory.mktemp("study")
    write_toy(folder / "corpus", 40, seed=0)
    assert train(folder, "--epochs", 3) == 0
    before = {path.name: digest(path) for path in (folder / "models" / "seq2seq-0").iterdir()}
    assert train(folder, "--epochs", 3, "--encoder", encoders[0]) == 0
    after = {path.name: digest(path) for path in (folder / "models" / "seq2seq-0").iterdir()}
    assert set(after) - set(before) == {"best_encoder.safetensors", "encoder.json"}
    assert {name: after[name] for name in before} == before  # later, and no weights are other ones
    return folder


@pytest.fixture
def study(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "study")
    return tmp_path / "study"


def by_hand(study, encoder):
    """Each epoch's mean cosine, from the files alone."""
    from seedvote.dialogue.corpora.examples import examples
    from seedvote.dialogue.corpora.reading import read_corpus

    (model,), vocabulary = find_trained(study), read_vocabulary(study / "vocabulary.json")
    rows = number_examples(
        evenly_spread(list(examples(read_corpus(study / "corpus").split("valid"))), SCORED), vocabulary
    )
    embed, found = local_encoder(encoder), {}
    for epoch in (1, 2, 3):
        net = load_model(model, f"epoch-{epoch}", vocabulary)
        each = []
        for row in rows:  # one by one
            (said,) = respond(net, [row.context], how=parse_decoding("greedy"), seed=0, items=[row.item])
            texts = [" ".join(vocabulary.words[n] for n in words) for words in (said.tokens, row.target[:-1])]
            each.append(float(cosines(embed(texts[:1]), embed(texts[1:]))[0]))
        found[epoch] = sum(each) / len(each)
    return found


def picked(study):
    folder = study / "models" / "seq2seq-0"
    told = read_json(folder / "encoder.json")
    best = digest(folder / "best_encoder.safetensors")
    (epoch,) = [n for n in (1, 2, 3) if digest(folder / f"epoch-{n}.safetensors") == best]
    return epoch, {int(n): value for n, value in told["scores"].items()}


def test_the_epoch_is_the_one_whose_replies_the_encoder_finds_most_alike(trained, encoders):
    epoch, scores = picked(trained)
    assert scores == pytest.approx(by_hand(trained, encoders[0]), abs=1e-4)
    assert epoch == max(scores, key=lambda n: (scores[n], -n))
    assert len({round(value, 6) for value in scores.values()}) == 3


def test_another_encoder_scores_anew_and_the_same_one_does_nothing(study, encoders, capsys):
    train(study, "--epochs", 3, "--encoder", encoders[0])
    assert "1 of 1 models were already trained" in capsys.readouterr().out
    first = picked(study)[1]
    train(study, "--epochs", 3, "--encoder", encoders[1])
    assert "other picks epoch" in capsys.readouterr().out
    epoch, scores = picked(study)
    assert scores == pytest.approx(by_hand(study, encoders[1]), abs=1e-4) and scores != first
    assert epoch == max(scores, key=lambda n: (scores[n], -n))


def test_what_a_killed_run_left_is_finished_and_equals_start_first(study, encoders, monkeypatch):
    folder = study / "models" / "seq2seq-0"
    whole = read_json(folder / "encoder.json")
    (folder / "best_encoder.safetensors").unlink()
    tie = {**whole["scores"], "1": 99.0, "3": 99.0}
    write_json(folder / "encoder.json", whole | {"scores": {n: tie[n] for n in ("1", "3")}})
    scored, score = [], selecting._score_epoch
    monkeypatch.setattr(selecting, "_score_epoch", lambda *args: scored.append(args[1]) or score(*args))
    train(study, "--epochs", 3, "--encoder", encoders[0])
    assert scored == ["epoch-2"]  # only what was missing
    assert picked(study) == (1, {1: 99.0, 2: pytest.approx(whole["scores"]["2"]), 3: 99.0})


def test_more_epochs_leave_no_best_of_the_first_ones_behind(study, encoders):
    folder = study / "models" / "seq2seq-0"
    train(study, "--epochs", 4)
    assert not (folder / "best_encoder.safetensors").exists()
    train(study, "--epochs", 4, "--encoder", encoders[0])
    assert set(json.loads((folder / "encoder.json").read_text())["scores"]) == {"1", "2", "3", "4"}
    assert (folder / "best_encoder.safetensors").exists()


def test_states_of_weights_that_are_gone_go_with_them_and_are_named(study, encoders, capsys):
    """An array of one's own of the same name stays, and so do states of weights that are as they were."""
    encode = ["encode", str(study), "--checkpoints", "all", "--limit", "2", "--jobs", "1"]
    dispatch("generation", "", COMMANDS, encode)
    states, before = study / "states", {path.name for path in (study / "states").glob("*.npy")}
    (states / "seq2seq-0-mine.npy").write_bytes(b"mine")
    write_json(states / "seq2seq-0-mine.json", {"model": "seq2seq", "seed": 0, "checkpoint": "mine", "ids": []})
    capsys.readouterr()
    train(study, "--epochs", 4)
    told = capsys.readouterr().out
    gone = before - {path.name for path in states.glob("*.npy")}
    assert {"seq2seq-0-last.npy", "seq2seq-0-best_encoder.npy"} <= gone and all(name in told for name in gone)
    assert not {"seq2seq-0-untrained.npy", "seq2seq-0-epoch-3.npy"} & gone
    assert (states / "seq2seq-0-mine.npy").exists()
    assert not any((states / name).with_suffix(".json").exists() for name in gone)
    assert dispatch("generation", "", COMMANDS, encode) == 0
    assert {path.name for path in states.glob("*.npy")} == before - {"seq2seq-0-best_encoder.npy"} | {
        "seq2seq-0-epoch-4.npy", "seq2seq-0-mine.npy"
    }  # fmt: skip
    capsys.readouterr()
    train(study, "--epochs", 4, "--encoder", encoders[1])
    assert "removed" not in capsys.readouterr().out


def test_states_of_pruned_epochs_stay_and_the_weights_that_an_encoder_picked_too(study, encoders, capsys):
    encode = ["encode", str(study), "--checkpoints", "all", "--limit", "2", "--jobs", "1"]
    dispatch("generation", "", COMMANDS, encode)
    folder, states = study / "models" / "seq2seq-0", study / "states"
    picked = epoch_of(folder / "best_encoder.safetensors")
    capsys.readouterr()
    train(study, "--epochs", 3, "--keep-epochs", "none")
    assert "Weights of 2 epochs of these were removed" in capsys.readouterr().out
    assert {path.stem for path in folder.glob("epoch-*.safetensors")} == {f"epoch-{picked}"}
    train(study, "--epochs", 4, "--keep-epochs", "none", "--encoder", encoders[0])  # trains on, and clears stale states
    assert {f"seq2seq-0-epoch-{n}.npy" for n in (1, 2, 3)} <= {path.name for path in states.glob("*.npy")}
    assert (folder / "best_encoder.safetensors").exists()
    with pytest.raises(InputError, match="--keep-epochs is 'some'"):
        train(study, "--epochs", 4, "--keep-epochs", "some")


def test_without_validation_or_without_an_encoder_nothing_is_trained(tmp_path, encoders):
    write_toy(tmp_path / "corpus", 40, seed=0)
    with pytest.raises(InputError, match="scores validation contexts, and there are none"):
        train(tmp_path, "--epochs", 1, "--valid", 0, "--encoder", encoders[0])
    with pytest.raises(InputError, match="holds no Hugging Face encoder"):
        train(tmp_path, "--epochs", 1, "--encoder", tmp_path)
    assert not (tmp_path / "models").exists()
