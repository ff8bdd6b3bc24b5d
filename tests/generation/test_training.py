"""The contract of training: the weights follow from the seed, to the bit, whatever happens around it."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from seedvote.dialogue.adam import Adam
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json, write_json
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.dialogue.signature import VERSION
from seedvote.generation import training
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.batches import plan_batches
from seedvote.generation.checkpoints import (
    TrainedModel,
    epoch_of,
    find_trained,
    load_model,
    pruned_hashes,
    read_weights,
)
from seedvote.generation.commands.train import precision_for
from seedvote.generation.decoding import parse_decoding, write_responses
from seedvote.generation.metrics.embedding import local_encoder, row_cosines
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts
from seedvote.generation.numbering import Data, Numbered, evenly_spread, number_examples
from seedvote.generation.training import (
    Settings,
    follower_named,
    is_finished,
    is_trained,
    make_ahead,
    read_log,
    train_model,
)
from seedvote.generation.vocabulary import EOS, EOU, OTHER, SPECIAL, Vocabulary, read_vocabulary

CPU = torch.device("cpu")
WORDS = Vocabulary((*SPECIAL, *(f"w{i}" for i in range(20))))
TINY = {"embedding": 8, "hidden": 8, "layers": 1, "dropout": 0.2}
SIZES = {
    "seq2seq": {**TINY, "dropout": 0.0},
    "seq2seq_attn": {**TINY, "layers": 2, "attention": 6},
    "hred": {**TINY, "layers": 2, "attention": 6},
    "bilstm_attn": {**TINY, "layers": 2, "attention": 6},
    "transformer": {"width": 8, "layers": 1, "heads": 2, "feedforward": 8, "dropout": 0.2},
}
ASKED = [
    pytest.param(name, marks=[] if name in ("seq2seq_attn", "transformer") else pytest.mark.slow) for name in SIZES
]


def example(n):
    word = len(SPECIAL) + n % 20
    return Numbered(f"d{n}:1", [OTHER, *[word] * (1 + n % 7), EOU], [word, len(SPECIAL) + (n * 7) % 20, EOS])


DATA = Data([example(n) for n in range(60)], [example(n) for n in range(60, 70)], WORDS, "invented")


def settings(model="seq2seq", seed=0, epochs=2, **options):
    return Settings(model, seed, SIZES[model], epochs, batch_size=8, learning_rate=0.01, **options)


def skip_without_bf16(model="seq2seq", precision="float32", **_):
    if precision_for(model, precision, "cpu") != precision:
        pytest.skip("this processor has no LSTM in bf16")


def trained(folder, **options):
    skip_without_bf16(**options)
    train_model(folder, settings(**options), DATA, CPU)
    return digest(folder / "last.safetensors")


@pytest.mark.parametrize("model", ASKED)
def test_fault_5_one_seed_twice_gives_the_same_bits_whatever_ran_before(tmp_path, model, undisturbed):
    first = digest(undisturbed(model=model) / "last.safetensors")
    torch.rand(7)
    trained(tmp_path / "b", model=model, seed=1)
    assert trained(tmp_path / "c", model=model) == first
    assert digest(tmp_path / "b" / "last.safetensors") != first


def test_seed_0_is_a_seed_like_any_other(tmp_path, undisturbed):
    again = trained(tmp_path / "a", seed=0)
    assert again == digest(undisturbed(seed=0) / "last.safetensors")
    assert trained(tmp_path / "b", seed=1) != again


def test_training_leaves_global_seed_and_threads_alone(tmp_path):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    trained(tmp_path / "a")
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a training that nothing breaks off, made once for each of its options."""
    made = {}

    def ready(**options):
        skip_without_bf16(**options)
        asked = settings(**options)
        if repr(asked) not in made:
            made[repr(asked)] = tmp_path_factory.mktemp("undisturbed") / "whole"
            train_model(made[repr(asked)], asked, DATA, CPU)
        return made[repr(asked)]

    return ready


class Killed(BaseException):
    """Stands for a process that ends here and now."""


# At the first update, within an epoch, between two, at the last one; one with attention between two alone, bf16 within
# and between; what is left out here is in make test-slow.
BROKEN_OFF = [
    pytest.param(model, precision, at, marks=[] if at in asked else pytest.mark.slow)
    for model, precision, asked in (
        ("seq2seq", "float32", (0, 5, 8, 15)), ("seq2seq_attn", "float32", (8,)),
        ("bilstm_attn", "float32", ()), ("bilstm_attn", "bf16", (8,)), ("transformer", "bf16", (5,)),
    )
    for at in (0, 5, 8, 15)
]  # fmt: skip


@pytest.mark.parametrize(("model", "precision", "at"), BROKEN_OFF)
def test_training_resumes_from_any_update(tmp_path, monkeypatch, model, precision, at, undisturbed):
    whole = undisturbed(model=model, precision=precision)
    seen = 0
    update = training._Run._update_weights

    def dying(run, group):
        nonlocal seen
        if seen == at:
            raise Killed
        seen += 1
        return update(run, group)

    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(training._Run, "_update_weights", dying)
        trained(tmp_path / "broken", model=model, precision=precision)
    assert trained(tmp_path / "broken", model=model, precision=precision) == digest(whole / "last.safetensors")
    assert [line["loss"] for line in read_log(tmp_path / "broken")] == [line["loss"] for line in read_log(whole)]


@pytest.mark.parametrize("at", range(7))
def test_training_resumes_from_any_file(tmp_path, monkeypatch, at, undisturbed):
    whole = digest(undisturbed() / "last.safetensors")
    seen = 0

    def dying(write):
        def call(*args):
            nonlocal seen
            if seen == at:
                raise Killed
            seen += 1
            return write(*args)

        return call

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(training.checkpoints, "save_weights", dying(training.checkpoints.save_weights))
        patch.setattr(training.checkpoints, "name_again", dying(training.checkpoints.name_again))
        trained(tmp_path / "broken")
    assert trained(tmp_path / "broken") == whole


def test_more_epochs_go_on_from_the_last_one(tmp_path):
    trained(tmp_path / "grown", epochs=1)
    assert trained(tmp_path / "grown", epochs=3) == trained(tmp_path / "whole", epochs=3)
    assert [line["epoch"] for line in read_log(tmp_path / "grown")] == [1, 2, 3]


def test_what_is_done_is_skipped(tmp_path):
    trained(tmp_path / "a")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()}
    trained(tmp_path / "a")
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()} == before


def test_other_settings_in_the_same_folder_are_refused(tmp_path):
    trained(tmp_path / "a")
    with pytest.raises(InputError, match=r"was trained with clip 1.0, but 2.0 was asked for"):
        train_model(tmp_path / "a", settings(clip=2.0), DATA, CPU)


def test_what_was_begun_on_one_kind_of_device_is_not_continued_on_another(tmp_path):
    """The last bits differ; refused before anything is asked of the device, so this holds where there is none."""
    trained(tmp_path / "a", epochs=1)
    config = read_json(tmp_path / "a" / "config.json")
    assert "|device:cpu|" in config["signature"]
    with pytest.raises(InputError, match="was trained with device 'cpu', but 'cuda' was asked for"):
        train_model(tmp_path / "a", settings(epochs=2), DATA, torch.device("cuda"))
    write_json(tmp_path / "a" / "config.json", {k: v for k, v in config.items() if k != "device"})
    trained(tmp_path / "a", epochs=2)  # of an older folder nobody knows


@pytest.mark.parametrize("model", ASKED)
def test_bf16_learns_like_float32_and_keeps_its_weights_in_float32(tmp_path, model):
    assert trained(tmp_path / "a", model=model, precision="bf16", epochs=3) != trained(
        tmp_path / "b", model=model, epochs=3
    )
    assert {part.dtype for part in read_weights(tmp_path / "a" / "resume.safetensors").values()} == {torch.float32}
    one, two = (read_log(tmp_path / name) for name in "ab")
    assert one[-1]["loss"] < one[0]["loss"] - 0.3
    assert one[-1]["loss"] == pytest.approx(two[-1]["loss"], rel=0.01)


def test_precision_is_in_the_signature(tmp_path):
    trained(tmp_path / "a", epochs=1)
    config = read_json(tmp_path / "a" / "config.json")
    assert "precision:float32" in config["signature"]
    write_json(tmp_path / "a" / "config.json", {k: v for k, v in config.items() if k != "precision"})
    trained(tmp_path / "a")
    with pytest.raises(InputError, match="was trained with precision 'float32', but 'bf16' was asked for"):
        train_model(tmp_path / "a", settings(precision="bf16"), DATA, CPU)


def test_a_model_of_another_version_is_not_gone_on_with(tmp_path):
    trained(tmp_path / "a", epochs=1)
    config = read_json(tmp_path / "a" / "config.json")
    older = config["signature"].replace(f"|v:{VERSION}", "|v:0.0.9")
    write_json(tmp_path / "a" / "config.json", {**config, "signature": older})
    good = digest(tmp_path / "a" / "last.safetensors")
    with pytest.raises(
        InputError,
        match=r"was started with version 0\.0\.9 of Seedvote; this is .*, whose weights differ in",
    ):
        trained(tmp_path / "a", epochs=2)
    assert digest(tmp_path / "a" / "last.safetensors") == good


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
@pytest.mark.parametrize("model", SIZES)
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_on_cuda_a_model_learns_resumes_and_answers(tmp_path, model, precision):
    cuda = torch.device("cuda")
    train_model(tmp_path, settings(model, epochs=1, precision=precision), DATA, cuda)
    train_model(tmp_path, settings(model, epochs=6, precision=precision), DATA, cuda)
    log = read_log(tmp_path)
    assert log[-1]["loss"] < log[0]["loss"] - 0.3
    ready = load_model(TrainedModel(tmp_path, model, 0), "last", WORDS)
    contexts, items = [e.context for e in DATA.valid], [e.item for e in DATA.valid]
    how = parse_decoding("greedy")
    there, here = (write_responses(ready, contexts, how=how, seed=0, items=items, device=d) for d in (cuda, CPU))
    assert [a.tokens for a in there] == [a.tokens for a in here]


def test_batches_made_ahead_are_the_same_and_never_more_than_one_ahead():
    made = []
    stream = make_ahead(lambda n: made.append(n) or n * n, iter(range(5)), True)
    for n, square in enumerate(stream):
        time.sleep(0.01)
        assert square == n * n and len(made) <= n + 2
    assert list(make_ahead(lambda n: n * n, range(3), False)) == [0, 1, 4] and not list(make_ahead(abs, [], True))
    with pytest.raises(ZeroDivisionError):
        list(make_ahead(lambda n: 1 // n, [1, 0, 1], True))


def test_deterministic_algorithms_are_part_of_the_recipe_and_change_nothing_on_a_cpu(tmp_path, undisturbed):
    good = trained(tmp_path / "a", deterministic=True)
    assert good == digest(undisturbed() / "last.safetensors") and not torch.are_deterministic_algorithms_enabled()
    assert "deterministic:yes" in read_json(tmp_path / "a" / "config.json")["signature"]
    with pytest.raises(InputError, match="was trained with deterministic True, but False was asked for"):
        trained(tmp_path / "a", epochs=3)


def test_batches_that_make_one_update_give_the_gradient_of_one_large_batch(tmp_path, monkeypatch):
    """Without dropout: two halves of a batch, joined by their tokens, move the weights as the whole one does."""
    monkeypatch.setattr(training, "plan_batches", lambda *_, **__: [list(range(8)), list(range(8, 16))])
    train_model(tmp_path / "halves", settings(epochs=1, accumulate=2), DATA, CPU)
    monkeypatch.setattr(training, "plan_batches", lambda *_, **__: [list(range(16))])
    train_model(tmp_path / "whole", settings(epochs=1), DATA, CPU)
    halves, whole = (load_file(tmp_path / name / "last.safetensors") for name in ("halves", "whole"))
    assert all(torch.allclose(halves[name], part, atol=2e-6) for name, part in whole.items())
    assert read_log(tmp_path / "halves")[0]["loss"] == pytest.approx(read_log(tmp_path / "whole")[0]["loss"], rel=1e-6)


SCHEDULED = {"schedule": "cosine", "warmup": 0.3, "accumulate": 3}


def test_a_schedule_ends_at_its_last_update_and_survives_a_restart(tmp_path, monkeypatch):
    rates, real = [], Adam.step

    def step(self):
        rates.append(self.rate)
        real(self)

    monkeypatch.setattr(training.Adam, "step", step)
    train_model(tmp_path / "whole", settings(epochs=3, **SCHEDULED), DATA, CPU)
    assert len(rates) == sum(-(-len(plan_batches(DATA.train, 8, seed=0, epoch=n)) // 3) for n in (1, 2, 3))
    warm = round(0.3 * len(rates))
    assert max(rates) == rates[warm - 1] == 0.01 and rates[:warm] == sorted(rates[:warm])
    assert rates[warm:] == sorted(rates[warm:], reverse=True) and rates[-1] < 0.002
    whole = digest(tmp_path / "whole" / "last.safetensors")

    def stop_in_epoch_2(self):
        step(self)
        if len(rates) == 4:
            raise KeyboardInterrupt

    rates.clear()
    monkeypatch.setattr(training, "SAVE_SECONDS", -1.0)
    monkeypatch.setattr(training.Adam, "step", stop_in_epoch_2)
    with pytest.raises(KeyboardInterrupt):
        train_model(tmp_path / "parts", settings(epochs=3, **SCHEDULED), DATA, CPU)
    monkeypatch.setattr(training.Adam, "step", real)
    train_model(tmp_path / "parts", settings(epochs=3, **SCHEDULED), DATA, CPU)
    assert digest(tmp_path / "parts" / "last.safetensors") == whole
    with pytest.raises(InputError, match=r"schedule 'cosine over 3 epochs', but 'cosine over 4 epochs' was asked for"):
        train_model(tmp_path / "parts", settings(epochs=4, **SCHEDULED), DATA, CPU)


def test_training_stops_where_a_score_no_longer_improves(tmp_path, monkeypatch):
    scores = iter([3.0, 2.0, 2.5, 2.0, 2.2, 1.0])
    real = training._Run._score_validation
    monkeypatch.setattr(training._Run, "_score_validation", lambda self: real(self) | {"valid_loss": next(scores)})
    asked = settings(epochs=6, patience=2)
    train_model(tmp_path, asked, DATA, CPU)
    assert [line["valid_loss"] for line in read_log(tmp_path)] == [3.0, 2.0, 2.5, 2.0], "an equal one is no better one"
    assert is_trained(tmp_path, asked, DATA) and not is_trained(tmp_path, settings(epochs=6), DATA)
    train_model(tmp_path, asked, DATA, CPU)
    assert len(read_log(tmp_path)) == 4
    train_model(tmp_path, settings(epochs=6, patience=3), DATA, CPU)
    assert len(read_log(tmp_path)) == 5
    assert is_finished(tmp_path, settings(epochs=6, patience=4, watched="loss")) is False
    with pytest.raises(
        InputError, match=r"--stop-by is 'fame', which training does not measure\. Choose from loss, val"
    ):
        is_finished(tmp_path, settings(epochs=6, patience=1, watched="fame"))


def test_what_is_named_is_called_after_each_epoch(tmp_path, monkeypatch):
    written, calls = {}, []

    class Writer:
        def __init__(self, folder):
            self.folder = folder

        def add_scalar(self, name, value, epoch):
            written.setdefault(self.folder, []).append((name, epoch, value))

        def close(self):
            calls.append("closed")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    train_model(tmp_path / "a", settings(epochs=2), DATA, CPU, follow=follower_named("tensorboard"))
    (rows,) = written.values()
    assert list(written) == [str(tmp_path / "a" / "tensorboard")] and calls == ["closed"] * 2
    assert {(name, epoch) for name, epoch, _ in rows} >= {("loss", 1), ("valid_loss", 2), ("bleu2", 2)}
    assert follower_named("") is None and follower_named("os.path:join") is os.path.join
    for name in ("os.path:nothing", "no_such_module:f", ":"):
        with pytest.raises(InputError, match=r"Say tensorboard, or MODULE:FUNCTION\."):
            follower_named(name)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match="pip install tensorboard"):
        follower_named("tensorboard")(tmp_path, {})


def test_every_checkpoint_is_there(tmp_path):
    trained(tmp_path / "a")
    names = {path.name for path in (tmp_path / "a").glob("*.safetensors")}
    assert {f"{name}.safetensors" for name in ("untrained", "epoch-1", "epoch-2", "last", "best_bleu")} <= names


def weights_in(folder):
    return {path.stem for path in folder.glob("*.safetensors")} - {"resume"}


@pytest.mark.parametrize(("keep", "numbered"), [(None, {1, 2, 3, 4}), (2, {2, 4}), (0, set())])
def test_pruned_epochs_leave_the_named_checkpoints_as_they_were(tmp_path, keep, numbered, undisturbed):
    train_model(tmp_path / "a", settings(epochs=4), DATA, CPU, keep=keep)
    whole = undisturbed(epochs=4)
    names = weights_in(whole)
    assert weights_in(tmp_path / "a") == {name for name in names if not name.startswith("epoch-")} | {
        f"epoch-{n}" for n in numbered
    }
    for name in weights_in(tmp_path / "a"):
        assert digest(tmp_path / "a" / f"{name}.safetensors") == digest(whole / f"{name}.safetensors")
    removed = {f"epoch-{n}" for n in {1, 2, 3, 4} - numbered}
    assert pruned_hashes(tmp_path / "a") == {name: digest(whole / f"{name}.safetensors") for name in removed}


def test_training_goes_on_from_pruned_weights_and_says_which_are_gone(tmp_path, undisturbed):
    train_model(tmp_path / "a", settings(epochs=2), DATA, CPU, keep=0)
    train_model(tmp_path / "a", settings(epochs=4), DATA, CPU, keep=0)
    whole = undisturbed(epochs=4)
    for name in ("last", "best_bleu", "best_rouge", "best_meteor", "best_embedding"):
        assert digest(tmp_path / "a" / f"{name}.safetensors") == digest(whole / f"{name}.safetensors")
    with pytest.raises(InputError, match=r"no checkpoint 'epoch-1'\. Its weights were removed \(--keep-epochs\)"):
        TrainedModel(tmp_path / "a", "seq2seq", 0).weights("epoch-1")


@pytest.mark.parametrize("model", SIZES)
def test_where_lstms_cannot_learn_in_bf16_it_is_for_the_transformer_alone(model, monkeypatch):
    alone = "bf16" if model == "transformer" else "float32"
    assert precision_for(model, "bf16", "cuda") == alone
    monkeypatch.setattr("seedvote.dialogue.devices.lstms_take_bf16", {"cpu": False}.get)
    assert precision_for(model, "bf16", "cpu") == alone
    monkeypatch.setattr("seedvote.dialogue.devices.lstms_take_bf16", {"cpu": True}.get)
    assert precision_for(model, "bf16", "cpu") == "bf16"
    assert precision_for(model, "float32", "cuda") == "float32"


def test_nan_loss_keeps_the_last_good_checkpoint(tmp_path):
    trained(tmp_path / "a", epochs=1)
    good = digest(tmp_path / "a" / "last.safetensors")
    model = training._Run(tmp_path / "a", settings(), DATA, CPU)
    model.start()
    with torch.no_grad():
        model.model.output.weight.fill_(float("nan"))
    with pytest.raises(InputError, match="the loss is no longer a number"):
        model._update_weights([training.stack_batch(DATA.train[:4], CPU)])
    assert digest(tmp_path / "a" / "last.safetensors") == good


def test_nothing_to_train_on_is_said(tmp_path):
    with pytest.raises(InputError, match="No examples to train on"):
        train_model(tmp_path / "a", settings(), dataclasses.replace(DATA, train=[]), CPU)


def test_a_full_disk_is_said_and_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    trained(tmp_path / "a", epochs=1)
    good = digest(tmp_path / "a" / "last.safetensors")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("seedvote.dialogue.files.os.fsync", full)
    with pytest.raises(InputError, match=r"could not be written .No space left on device."):
        trained(tmp_path / "a", epochs=2)
    monkeypatch.undo()
    assert digest(tmp_path / "a" / "last.safetensors") == good
    assert trained(tmp_path / "a", epochs=2) == trained(tmp_path / "whole", epochs=2)


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import test_training as t
t.training.SAVE_SECONDS = 0.0
t.trained(t.Path(sys.argv[2]), model="bilstm_attn", epochs=6)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.05, 0.2, 0.5])
def test_kill_9_leaves_the_weights_of_an_undisturbed_run(tmp_path, after):
    whole = trained(tmp_path / "whole", model="bilstm_attn", epochs=6)
    environment = {**os.environ, "PYTHONPATH": str(Path(training.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(tmp_path / "broken")]
    for _ in range(3):
        process = subprocess.Popen(command, env=environment)
        while process.poll() is None and not (tmp_path / "broken" / "resume.safetensors").exists():
            time.sleep(0.01)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert trained(tmp_path / "broken", model="bilstm_attn", epochs=6) == whole


@pytest.mark.parametrize("model", ASKED)
def test_ten_dialogues_are_learned_by_heart(tmp_path, model):
    wide = {"width": 48} if model == "transformer" else {"hidden": 48}  # what is wide learns in fewer updates
    few = dataclasses.replace(DATA, train=DATA.train[:10] * 2, valid=[])  # twice in each epoch: its end costs as well
    epochs = 34 if model == "hred" else 17  # two encoders, one over the other, take longer
    sizes = {**SIZES[model], "dropout": 0.0, **wide}
    train_model(tmp_path, Settings(model, 0, sizes, epochs, batch_size=10, learning_rate=0.03), few, CPU)
    log = read_log(tmp_path)
    assert log[0]["loss"] > 2
    assert log[-1]["loss"] < 0.2 * log[0]["loss"]


@pytest.mark.slow
@pytest.mark.parametrize("model", SIZES)
def test_a_small_corpus_is_learned_by_heart_and_foreign_contexts_hurt(tmp_path, model):
    sizes = {
        **SIZES[model],
        "dropout": 0.0,
        **({"width": 32, "feedforward": 64} if model == "transformer" else {"hidden": 48}),
    }
    memorised = Settings(model, 0, sizes, 400, batch_size=8, learning_rate=0.005)
    known = DATA.train[:50]
    train_model(tmp_path, memorised, dataclasses.replace(DATA, train=known, valid=[]), CPU)
    log = read_log(tmp_path)
    assert log[0]["loss"] > 2
    assert log[-1]["loss"] < 0.1
    ready = load_model(TrainedModel(tmp_path, model, 0), "last", WORDS)
    own, foreign = (bleu(ready, [e.context for e in rows], known) for rows in (known, known[7:] + known[:7]))
    assert own > 90
    assert foreign < 30


def bleu(model, contexts, references):
    """BLEU-2 of greedy responses to contexts."""
    items = [e.item for e in references]
    answers = write_responses(model, contexts, how=parse_decoding("greedy"), seed=0, items=items)
    pairs = zip(answers, references, strict=True)
    return bleu2(add_counts(bleu_counts(a.tokens, e.target[:-1]) for a, e in pairs), smooth="exp")


# The epoch that an encoder picks is the one that a slow twin picks, whatever was scored before; no weights change.

SCORED = 8
GRID = ["--models", "seq2seq", "--seeds", "0", "--preset", "tiny", "--valid", SCORED, "--jobs", 1]


def run_train(folder, *words):
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
def encoder_study(tmp_path_factory, encoders):
    folder = tmp_path_factory.mktemp("study")
    write_toy(folder / "corpus", 40, seed=0)
    assert run_train(folder, "--epochs", 3) == 0
    before = {path.name: digest(path) for path in (folder / "models" / "seq2seq-0").iterdir()}
    assert run_train(folder, "--epochs", 3, "--encoder", encoders[0]) == 0
    after = {path.name: digest(path) for path in (folder / "models" / "seq2seq-0").iterdir()}
    assert set(after) - set(before) == {"best_encoder.safetensors", "encoder.json"}
    assert {name: after[name] for name in before} == before  # later, and no weights are other ones
    return folder


@pytest.fixture
def study(encoder_study, tmp_path):
    shutil.copytree(encoder_study, tmp_path / "study")
    return tmp_path / "study"


def by_hand(study, encoder):
    """Each epoch's mean cosine, from the files alone."""
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus

    (model,), vocabulary = find_trained(study), read_vocabulary(study / "vocabulary.json")
    rows = number_examples(
        evenly_spread(list(iterate_examples(read_corpus(study / "corpus").split("valid"))), SCORED), vocabulary
    )
    embed, found = local_encoder(encoder), {}
    for epoch in (1, 2, 3):
        net = load_model(model, f"epoch-{epoch}", vocabulary)
        each = []
        for row in rows:  # one by one
            (said,) = write_responses(net, [row.context], how=parse_decoding("greedy"), seed=0, items=[row.item])
            texts = [" ".join(vocabulary.words[n] for n in words) for words in (said.tokens, row.target[:-1])]
            each.append(float(row_cosines(embed(texts[:1]), embed(texts[1:]))[0]))
        found[epoch] = sum(each) / len(each)
    return found


def picked(study):
    folder = study / "models" / "seq2seq-0"
    told = read_json(folder / "encoder.json")
    best = digest(folder / "best_encoder.safetensors")
    (epoch,) = [n for n in (1, 2, 3) if digest(folder / f"epoch-{n}.safetensors") == best]
    return epoch, {int(n): value for n, value in told["scores"].items()}


def test_the_epoch_is_the_one_whose_replies_the_encoder_finds_most_alike(encoder_study, encoders):
    epoch, scores = picked(encoder_study)
    assert scores == pytest.approx(by_hand(encoder_study, encoders[0]), abs=1e-4)
    assert epoch == max(scores, key=lambda n: (scores[n], -n))
    assert len({round(value, 6) for value in scores.values()}) == 3


def test_another_encoder_scores_anew_and_the_same_one_does_nothing(study, encoders, capsys):
    run_train(study, "--epochs", 3, "--encoder", encoders[0])
    assert "1 of 1 models were already trained" in capsys.readouterr().out
    first = picked(study)[1]
    run_train(study, "--epochs", 3, "--encoder", encoders[1])
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
    scored, score = [], training._score_epoch
    monkeypatch.setattr(training, "_score_epoch", lambda *args: scored.append(args[1]) or score(*args))
    run_train(study, "--epochs", 3, "--encoder", encoders[0])
    assert scored == ["epoch-2"]  # only what was missing
    assert picked(study) == (1, {1: 99.0, 2: pytest.approx(whole["scores"]["2"]), 3: 99.0})


def test_more_epochs_leave_no_best_of_the_first_ones_behind(study, encoders):
    folder = study / "models" / "seq2seq-0"
    run_train(study, "--epochs", 4)
    assert not (folder / "best_encoder.safetensors").exists()
    run_train(study, "--epochs", 4, "--encoder", encoders[0])
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
    run_train(study, "--epochs", 4)
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
    run_train(study, "--epochs", 4, "--encoder", encoders[1])
    assert "removed" not in capsys.readouterr().out


def test_pruning_keeps_states_and_picked_weights(study, encoders, capsys):
    encode = ["encode", str(study), "--checkpoints", "all", "--limit", "2", "--jobs", "1"]
    dispatch("generation", "", COMMANDS, encode)
    folder, states = study / "models" / "seq2seq-0", study / "states"
    picked = epoch_of(folder / "best_encoder.safetensors")
    capsys.readouterr()
    run_train(study, "--epochs", 3, "--keep-epochs", "none")
    assert "Weights of 2 epochs of these were removed" in capsys.readouterr().out
    assert {path.stem for path in folder.glob("epoch-*.safetensors")} == {f"epoch-{picked}"}
    run_train(study, "--epochs", 4, "--keep-epochs", "none", "--encoder", encoders[0])  # clears stale states
    assert {f"seq2seq-0-epoch-{n}.npy" for n in (1, 2, 3)} <= {path.name for path in states.glob("*.npy")}
    assert (folder / "best_encoder.safetensors").exists()
    with pytest.raises(InputError, match="--keep-epochs is 'some'"):
        run_train(study, "--epochs", 4, "--keep-epochs", "some")


def test_without_validation_or_without_an_encoder_nothing_is_trained(tmp_path, encoders):
    write_toy(tmp_path / "corpus", 40, seed=0)
    with pytest.raises(InputError, match="scores validation contexts, and there are none"):
        run_train(tmp_path, "--epochs", 1, "--valid", 0, "--encoder", encoders[0])
    with pytest.raises(InputError, match="holds no Hugging Face encoder"):
        run_train(tmp_path, "--epochs", 1, "--encoder", tmp_path)
    assert not (tmp_path / "models").exists()
