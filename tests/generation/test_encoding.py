"""Encoder states: the right rows, the right numbers, whatever the window, and the variants by option."""

import errno

import numpy as np
import pytest
import torch

from seedvote.dialogue.conditions import FILE, FOLDER
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json, write_json
from seedvote.dialogue.records import States
from seedvote.dialogue.validity import from_json
from seedvote.generation import encoding
from seedvote.generation.checkpoints import PRUNED, TrainedModel
from seedvote.generation.encoding import STATES_FOLDERS, Form, encode_block, pooling_name, remove_stale, write_states
from seedvote.generation.models.architectures import ARCHITECTURES, build_model
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import EOU, OTHER, PAD
from tests.generation.small_sizes import small_sizes

CPU = torch.device("cpu")
CONTEXTS = [[OTHER, *[9 + n] * (1 + n % 5), 30, EOU] for n in range(11)]
EXAMPLES = [Numbered(f"d{n}:1", context, [9]) for n, context in enumerate(CONTEXTS)]
every = pytest.mark.parametrize("name", ARCHITECTURES)


def tiny(name):
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        return build_model(name, 40, small_sizes(name, 12)).eval()


def write(path, model, form, name="hred"):
    write_states(
        path,
        model,
        EXAMPLES,
        form,
        name=name,
        seed=0,
        checkpoint="last",
        weights="abc",
        key="k",
        splits=["test"],
        device=CPU,
    )
    return np.load(path, mmap_mode="r"), from_json(States, read_json(path.with_suffix(".json")), str(path))


@every
def test_each_row_is_the_state_of_its_own_context(name):
    model = tiny(name)
    block = encode_block(model, CONTEXTS, Form(), CPU, batch_size=4)
    for row, context in zip(block, CONTEXTS, strict=True):
        np.testing.assert_allclose(row, encode_block(model, [context], Form(), CPU)[0], atol=1e-6)


def test_a_full_disk_leaves_no_half_written_states(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "WINDOW", 4)
    blocks = iter([np.ones((4, 12), np.float32)])

    def until_full(*arguments):
        for block in blocks:
            return block
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(encoding, "encode_block", until_full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write(tmp_path / "a.npy", tiny("hred"), Form())
    assert caught.value.filename == str(tmp_path / "a.npy")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_file_is_the_one_that_numpy_writes(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr(encoding, "WINDOW", 4)
    model = tiny("hred")
    matrix, _ = write(tmp_path / "a.npy", model, Form(dtype=dtype))
    np.save(tmp_path / "b.npy", np.array(matrix))
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_windows_and_files_change_nothing(tmp_path, monkeypatch):
    model = tiny("hred")
    whole, states = write(tmp_path / "a.npy", model, Form())
    monkeypatch.setattr(encoding, "WINDOW", 3)
    windowed, _ = write(tmp_path / "b.npy", model, Form())
    np.testing.assert_allclose(whole, windowed, atol=1e-6)
    assert list(states.ids) == [e.item for e in EXAMPLES]
    assert (states.width, states.pooling, states.dtype) == (12, "last", "float32")


def test_half_precision_takes_half_the_space(tmp_path):
    model = tiny("seq2seq")
    whole, _ = write(tmp_path / "a.npy", model, Form())
    half, states = write(tmp_path / "b.npy", model, Form(dtype="float16"))
    assert (half.dtype, states.dtype) == (np.float16, "float16")
    np.testing.assert_allclose(whole, half, atol=1e-3)


@every
def test_all_layers_end_with_the_top_one(name):
    model = tiny(name)
    both, top = (encode_block(model, CONTEXTS, Form(layers=layers), CPU) for layers in ("all", "top"))
    assert both.shape[1] == 2 * top.shape[1]
    np.testing.assert_array_equal(both[:, top.shape[1] :], top)


@every
def test_the_variant_of_the_papers_code_reads_padding(name):
    model = tiny(name)
    padded = encode_block(model, CONTEXTS, Form("padded"), CPU)
    by_hand = encode_block(model, [context + [PAD] * (100 - len(context)) for context in CONTEXTS], Form(), CPU)
    np.testing.assert_allclose(padded, by_hand, atol=1e-6)
    assert np.abs(padded - encode_block(model, CONTEXTS, Form(), CPU)).max() > 1e-3


def test_fault_4_padding_hides_the_context():
    model = tiny("seq2seq")
    ours, theirs = (
        np.ptp(encode_block(model, CONTEXTS, Form(pooling), CPU), axis=0).max() for pooling in ("own", "padded")
    )
    assert theirs < ours / 1000


def test_the_transformers_own_vector_is_the_mean(tmp_path):
    model = tiny("transformer")
    own, mean = (encode_block(model, CONTEXTS, Form(pooling), CPU) for pooling in ("own", "mean"))
    np.testing.assert_allclose(own, mean, atol=1e-6)


def test_names_and_refusals():
    model = tiny("seq2seq")
    assert pooling_name(model, Form("padded", "all")) == "padded last of all layers"
    with pytest.raises(InputError, match="use --pooling own or padded"):
        pooling_name(model, Form("mean", "all"))


def test_only_states_of_other_weights_are_removed(tmp_path):
    """Valid ones stay: those of weights that are there, and of weights that were pruned; so does a user's own array."""
    trained = TrainedModel(tmp_path / "models" / "hred-0", "hred", 0)
    trained.folder.mkdir(parents=True)
    folders = [*(tmp_path / name for name in STATES_FOLDERS), tmp_path / FOLDER / "typos@0.2-0" / "states"]
    hashes = {}
    for name in ("last", "epoch-1", "epoch-2", "epoch-3"):
        weights = trained.folder / f"{name}.safetensors"
        weights.write_bytes(name.encode())
        hashes[name] = digest(weights)
    for folder in folders:
        folder.mkdir(parents=True)
        (folder.parent / FILE).touch()
        for name in hashes:
            (folder / f"hred-0-{name}.npy").touch()
            write_json(folder / f"hred-0-{name}.json", {"weights": hashes[name], "checkpoint": name})
        for name in ("last", "epoch-3"):
            (folder / f"hred.layer-01-0-{name}.npy").touch()
            write_json(
                folder / f"hred.layer-01-0-{name}.json", {"weights": hashes[name], "checkpoint": name, "layer": 1}
            )
        for own, sidecar in (("hred-0-mine", {"ids": []}), ("hred-0-other", {"weights": "x", "checkpoint": "last"}),
                             ("hred-01-last", {"weights": "x", "checkpoint": "last"})):  # fmt: skip
            (folder / f"{own}.npy").touch()
            write_json(folder / f"{own}.json", sidecar)
    assert remove_stale(tmp_path, trained) == []
    (trained.folder / "epoch-1.safetensors").write_bytes(b"trained anew")
    for name in ("epoch-2", "epoch-3"):
        (trained.folder / f"{name}.safetensors").unlink()
    write_json(trained.folder / PRUNED, {"epoch-2": hashes["epoch-2"]})
    gone = ("hred-0-epoch-1", "hred-0-epoch-3", "hred.layer-01-0-epoch-3")
    removed = {folder / f"{name}.npy" for folder in folders for name in gone}
    assert set(remove_stale(tmp_path, trained)) == removed
    stay = ["hred-0-epoch-2", "hred-0-last", "hred-0-mine", "hred-0-other", "hred-01-last", "hred.layer-01-0-last"]
    for folder in folders:
        assert sorted(path.stem for path in folder.glob("*.npy")) == stay
        assert sorted(path.stem for path in folder.glob("*.json")) == stay
