"""The line of commands on a tiny corpus: each re-run skips what is done, bad input is one sentence."""

import json
import math
import shutil
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_header, read_json, read_records
from seedvote.dialogue.records import Pair, Response, States
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.dialogue.tokens import normalize, tokenize
from seedvote.dialogue.validity import from_json
from seedvote.generation import curves, encoding
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.curves import draw_curves
from seedvote.generation.metrics.word_matching import find_wordnet

GRID = ["--models", "seq2seq,hred", "--seeds", "0-1", "--preset", "tiny", "--epochs", "1", "--valid", "8"]
GRID += ["--dialogues", "16"]
HERE = ["--jobs", "1"]  # in this process: each other one would load torch


def generation(*arguments):
    return dispatch("generation", "", COMMANDS, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_toy(folder / "corpus", 60, seed=0)
    assert generation("train", folder, *GRID, *HERE) == 0
    assert generation("sample", folder, "--limit", "20", *HERE) == 0
    assert generation("encode", folder, "--limit", "15", *HERE) == 0
    assert generation("score", folder) == 0
    assert generation("pair", folder, "--pairs", "16", "--controls", "3", "--checks", "4") == 0
    return folder


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_second_call_of_train_sample_and_encode_changes_no_file(study, capsys):
    before = stamps(study)
    generation("train", study, *GRID, *HERE)
    generation("sample", study, "--limit", "20", *HERE)
    generation("encode", study, "--limit", "15", *HERE)
    assert stamps(study) == before


@pytest.mark.usefixtures("drawn_curves")
def test_curves_are_drawn_again_for_a_longer_log(study, tmp_path):
    assert (study / "curves.png").read_bytes().startswith(b"\x89PNG")
    log = tmp_path / "models" / "seq2seq-0" / "log.jsonl"
    log.parent.mkdir(parents=True)
    lines = [{"epoch": n, "loss": 3 / n, "valid_loss": 4 / n, "bleu2": 2.0 * n} for n in (1, 2, 3)]
    log.write_text(json.dumps(lines[0]) + "\n")
    picture = draw_curves(tmp_path)
    first = picture.read_bytes()
    assert draw_curves(tmp_path) is None
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert draw_curves(tmp_path) == picture
    assert picture.read_bytes() != first


@pytest.mark.usefixtures("drawn_curves")
def test_no_point_of_a_curve_lies_outside_its_axes():
    low = [{"epoch": 1, "loss": 1.0, "valid_loss": 1.5, "bleu2": 0.5}]
    high = [{"epoch": n, "loss": 9.0, "valid_loss": 8.0, "bleu2": 30.0} for n in (1, 2)]
    figure = curves._draw_figure({"bilstm_attn": {0: low}, "seq2seq": {0: low, 1: high}})
    for axes in figure.axes:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        assert axes.lines and bottom == 0
        for line in axes.lines:
            assert all(left <= x <= right and 0 <= y <= top for x, y in line.get_xydata())


@pytest.mark.usefixtures("drawn_curves")
def test_without_validation_the_loss_alone_is_drawn(tmp_path):
    log = tmp_path / "models" / "seq2seq-0" / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"epoch": 1, "loss": 2.5}\n')
    assert draw_curves(tmp_path).stat().st_size > 1000


def test_every_model_answers_the_same_contexts(study):
    responses = read_records(study / "responses.jsonl", Response)
    groups = Counter((r.model, r.seed, r.decoding, r.extra["draw"]) for r in responses)
    assert set(groups.values()) == {20}
    assert len(groups) == 4 * 3
    by_model = {}
    for response in responses:
        by_model.setdefault((response.model, response.seed), set()).add(response.item)
    assert len(set(map(frozenset, by_model.values()))) == 1
    assert all(r.text and r.logprob < 0 for r in responses)
    assert "decoding:greedy,nucleus:0.9" in read_header(study / "responses.jsonl")["signature"]


def test_more_contexts_keep_the_responses_that_are_there(study, tmp_path):
    responses = read_records(study / "responses.jsonl", Response)
    for name in ("corpus", "models", "vocabulary.json"):
        (tmp_path / name).symlink_to(study / name)
    generation("sample", tmp_path, "--limit", "10", *HERE)
    generation("sample", tmp_path, "--limit", "20", *HERE)
    again = {
        (r.model, r.seed, r.decoding, r.extra["draw"], r.item): r.text
        for r in read_records(tmp_path / "responses.jsonl", Response)
    }
    assert again.items() >= {(r.model, r.seed, r.decoding, r.extra["draw"], r.item): r.text for r in responses}.items()


def test_halves_that_a_killed_run_left_go_when_it_is_run_again(study, tmp_path):
    for name in ("corpus", "models", "vocabulary.json"):
        (tmp_path / name).symlink_to(study / name)
    (tmp_path / "states").mkdir()
    generation("encode", tmp_path, "--limit", "3", "--checkpoints", "last", *HERE)
    matrices = sorted((tmp_path / "states").glob("*.npy"))
    for path in matrices:
        path.rename(path.with_name(f".{path.name}.host.7.tmp"))
        path.with_suffix(".json").unlink()
    generation("encode", tmp_path, "--limit", "3", "--checkpoints", "last", *HERE)
    assert sorted((tmp_path / "states").iterdir()) == sorted([*matrices, *(p.with_suffix(".json") for p in matrices)])


def test_layers_by_themselves_are_those_of_all_side_by_side(study, tmp_path):
    for part in ("corpus", "models", "vocabulary.json"):
        (tmp_path / part).symlink_to(study / part)
    words = ("--limit", "3", "--checkpoints", "last", *HERE)
    generation("encode", tmp_path, *words, "--layers", "all", "--out", "all")
    generation("encode", tmp_path, *words, "--layers", "each")
    paths = sorted((tmp_path / "states").glob("*.npy"))
    assert paths and not list((tmp_path / "states").glob(".*"))
    for path in paths:
        sidecar = read_json(path.with_suffix(".json"))
        together = np.load(tmp_path / "all" / f"{sidecar['model']}-{sidecar['seed']}-last.npy")
        at = sidecar["layer"] * sidecar["width"]
        assert (np.load(path) == together[:, at : at + sidecar["width"]]).all() and sidecar["ids"]
        assert path.name == f"{sidecar['model']}.layer-{sidecar['layer']:02d}-{sidecar['seed']}-last.npy"
    with pytest.raises(InputError, match="has the layers 0 to"):
        generation("encode", tmp_path, *words, "--layers", "0,9")
    with pytest.raises(InputError, match="have --layers top, all, each or numbers"):
        generation("encode", tmp_path, *words, "--layers", "some")


def test_encode_reads_equal_weights_once(study, tmp_path, monkeypatch):
    for name in ("together", "alone"):
        (tmp_path / name).mkdir()
        for part in ("corpus", "models", "vocabulary.json"):
            (tmp_path / name / part).symlink_to(study / part)
    encoded, write = [], encoding.write_states
    monkeypatch.setattr(
        encoding, "write_states", lambda path, *a, **k: encoded.append(path.stem) or write(path, *a, **k)
    )
    words = ("--limit", "3", *HERE, "--checkpoints")
    generation("encode", tmp_path / "together", *words, "last")
    generation("encode", tmp_path / "together", *words, "all")
    assert sorted(encoded) == [
        f"{m}-{s}-{at}" for m in ("hred", "seq2seq") for s in (0, 1) for at in ("last", "untrained")
    ]
    names = sorted(path.stem for path in (study / "models" / "hred-0").glob("*.safetensors") if path.stem != "resume")
    for name in names:  # one at a time and in a folder of its own, so that nothing can be shared
        generation("encode", tmp_path / "alone", *words, name, "--out", f"states-{name}")
        for path in (tmp_path / "alone" / f"states-{name}").iterdir():
            assert path.read_bytes() == (tmp_path / "together" / "states" / path.name).read_bytes()
    assert len(encoded) == 8 + 4 * len(names) and len(names) >= 7
    assert len(list((tmp_path / "together" / "states").iterdir())) == 2 * 4 * len(names)


def test_fault_7_states_are_joined_on_ids(study):
    corpus = read_corpus(study / "corpus")
    known = {e.item for split in ("train", "valid", "test") for e in iterate_examples(corpus.split(split))}
    sidecars = sorted((study / "states").glob("*.json"))
    assert len(sidecars) == 4 * 2
    for path in sidecars:
        states = from_json(States, read_json(path), str(path))
        matrix = np.load(path.with_suffix(".npy"), mmap_mode="r")
        assert matrix.shape == (len(states.ids), states.width) == (45, 64)
        assert set(states.ids) <= known
        assert len(set(states.ids)) == 45
        assert np.isfinite(matrix).all()
        assert states.weights == digest(
            study / "models" / f"{states.model}-{states.seed}" / f"{states.checkpoint}.safetensors"
        )


def test_pairs_hold_two_seeds_controls_and_balanced_checks(study):
    pairs = read_records(study / "pairs.jsonl", Pair)
    kinds = Counter((pair.kind, pair.contrast.partition(":")[0]) for pair in pairs)
    model = next(pair.a.model for pair in pairs if pair.kind == "real")
    assert kinds[("real", model)] == 16
    assert {kinds["control", name] for name in ("within-seed", "reference-model", "reference-random")} == {3}
    checks = [pair for pair in pairs if pair.kind == "check"]
    assert Counter(pair.answer for pair in checks) == {"a": 2, "b": 2}
    assert len({pair.pair for pair in pairs}) == len(pairs)


def test_two_systems_are_paired_with_controls_of_both(study, tmp_path):
    for name in ("corpus", "responses.jsonl"):
        (tmp_path / name).symlink_to(study / name)
    generation("pair", tmp_path, "--models", "hred,seq2seq", "--pairs", "12", "--controls", "4", "--checks", "2")
    pairs = read_records(tmp_path / "pairs.jsonl", Pair)
    real = [pair for pair in pairs if pair.kind == "real"]
    assert [{pair.a.model, pair.b.model} for pair in real] == [{"hred", "seq2seq"}] * 12
    assert all(pair.a.seed == pair.b.seed for pair in real)
    assert len({pair.pair for pair in pairs}) == len(pairs)
    assert {kind: Counter(pair.contrast for pair in pairs)[kind] for kind in ("within-seed", "reference-model")} == {
        "within-seed": 4,
        "reference-model": 4,
    }
    within = {pair.a.model for pair in pairs if pair.contrast == "within-seed"}
    assert within == {"hred", "seq2seq"}
    assert "model:hred,seq2seq" in read_header(tmp_path / "pairs.jsonl")["signature"]


def test_replies_are_paired_with_peoples_and_the_hit_asks_who_wrote_them(study, tmp_path):
    for name in ("corpus", "responses.jsonl"):
        (tmp_path / name).symlink_to(study / name)
    generation("pair", tmp_path, "--people", "--model", "hred", "--pairs", "10", "--checks", "2")
    pairs = read_records(tmp_path / "pairs.jsonl", Pair)
    assert Counter(pair.kind for pair in pairs) == {"real": 10, "check": 2}
    assert all({pair.a.model, pair.b.model} == {"hred", "reference"} for pair in pairs if pair.kind == "real")
    assert 'question = "Which of the two was written by a person?"' in (tmp_path / "hit.toml").read_text()
    assert "against:people" in read_header(tmp_path / "pairs.jsonl")["signature"]


def test_checks_that_a_person_has_edited_are_kept(study, tmp_path):
    for name in ("corpus", "responses.jsonl"):
        (tmp_path / name).symlink_to(study / name)
    lines = (study / "checks.jsonl").read_text().splitlines()
    (tmp_path / "checks.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    generation("pair", tmp_path, "--pairs", "4")
    assert sum(pair.kind == "check" for pair in read_records(tmp_path / "pairs.jsonl", Pair)) == 3


def test_scores_have_counts_that_add_up_to_the_corpus_score(study):
    table = pq.read_table(study / "metrics.parquet")
    assert b"embedding:words of hred-0" in table.schema.metadata[b"signature"]
    rows = table.to_pylist()
    tasks = {row["task"] for row in rows}
    assert tasks - {"meteor_wordnet"} == {
        "bleu2", "bleu2_swapped", "rouge1", "rouge_l", "meteor", "distinct1", "distinct2", "embedding", "perplexity",
        "bleu2_teacher_forced",
    }  # fmt: skip
    assert ("meteor_wordnet" in tasks) == (find_wordnet() is not None)
    losses = [row for row in rows if row["task"] == "perplexity"]
    assert len(losses) == 4 * 20
    for row in losses:
        assert row["score"] == pytest.approx(math.exp(row["stats"]["nll"] / row["stats"]["tokens"]))
    assert {row["condition"] for row in losses} == {"teacher-forced"}


def test_fault_2_teacher_forced_scores_stand_apart_from_free_running_ones(study):
    rows = pq.read_table(study / "metrics.parquet").to_pylist()
    conditions = {
        name: {row["condition"] for row in rows if row["task"] == name} for name in ("bleu2", "bleu2_teacher_forced")
    }
    assert conditions["bleu2_teacher_forced"] == {"teacher-forced"}
    assert conditions["bleu2"] == {"greedy", "nucleus:0.9", "nucleus:0.9 draw 1", "constant"}


def test_the_most_frequent_training_response_is_scored_beside_the_models(study):
    corpus = read_corpus(study / "corpus")
    counts = Counter(normalize(example.target.text) for example in iterate_examples(corpus.split("train")))
    rows = pq.read_table(study / "metrics.parquet").to_pylist()
    constant = [row for row in rows if row["model"] == "most_frequent" and row["task"] == "bleu2"]
    assert len(constant) == 20
    assert {row["stats"]["length"] for row in constant} == {len(tokenize(counts.most_common(1)[0][0]))}


def test_fault_10_scored_split_is_not_the_selecting_one(study):
    test = {example.item for example in iterate_examples(read_corpus(study / "corpus").split("test"))}
    assert {response.item for response in read_records(study / "responses.jsonl", Response)} <= test


def test_a_reference_in_a_control_is_spelt_like_a_response(study):
    corpus = {e.item: e for e in iterate_examples(read_corpus(study / "corpus").dialogues)}
    for pair in read_records(study / "pairs.jsonl", Pair):
        if pair.contrast == "reference-model":
            side = pair.a if pair.a.model == "reference" else pair.b
            assert side.text == normalize(corpus[pair.item].target.text)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "{}", "--models", "gpt"], "'gpt' is not an architecture"),
        (["train", "{}", "--seeds", "many"], "--seeds is 'many'"),
        (["train", "{}", "--epochs", "0"], "--epochs is 0; it must be at least 1"),
        (["train", "{}", "--dialogues", "0"], "--dialogues is 0; it must be at least 1"),
        (["train", "{}", "--vocabulary-size", "3"], "--vocabulary-size is 3; it must be at least 10"),
        (["train", "{}", "--clip", "nan"], "--clip is nan; a number above 0 is expected"),
        (["train", "{}", "--learning-rate", "0"], "--learning-rate is 0.0; a number above 0 is expected"),
        (["sample", "{}", "--limit", "0"], "--limit is 0; it must be at least 1"),
        (["sample", "{}", "--draws", "0"], "--draws is 0; it must be at least 1"),
        (["encode", "{}", "--limit", "-1"], "--limit is -1; it must be at least 1"),
        (["pair", "{}", "--pairs", "0"], "--pairs is 0; it must be at least 1"),
        (["pair", "{}", "--checks", "-2"], "--checks is -2; it must be at least 0"),
        (["import", "{}", "answers.csv", "--temperature", "nan"], "--temperature is nan; it must be at least 0"),
        (["sample", "{}", "--checkpoint", "epoch-9"], "has no checkpoint 'epoch-9'. It has: best_bleu"),
        (["sample", "{}", "--decoding", "hot"], "Decoding 'hot' is not understood"),
        (["encode", "{}", "--device", "abacus", *HERE], "Device 'abacus' is not available"),
        (["pair", "{}", "--checkpoint", "best_bleu"], "no responses of checkpoint 'best_bleu'. It has: last"),
        (["pair", "{}", "--model", "transformer"], "no responses of transformer. It has: hred, seq2seq."),
        (["pair", "{}", "--models", "hred,gpt"], "two names joined by a comma are expected, of: hred, seq2seq"),
        (["score", "{}", "--words-of", "gpt-0"], "'gpt-0' is not a model of this study"),
        (["train", "{}", *GRID, "--clip", "2"], "was trained with clip 1.0, but 2.0 was asked for"),
    ],
)
def test_bad_input_is_one_sentence(study, arguments, sentence):
    with pytest.raises(InputError) as caught:
        generation(*[argument.replace("{}", str(study)) for argument in arguments])
    assert sentence in str(caught.value)


def test_a_study_without_models_is_told_the_next_step(tmp_path):
    with pytest.raises(InputError, match="Train some: python -m generation train"):
        generation("sample", tmp_path)


def test_a_corpus_that_has_changed_is_not_taken_for_the_old_one(study, tmp_path):
    for name in ("models", "vocabulary.json"):
        (tmp_path / name).symlink_to(study / name)
    write_toy(tmp_path / "corpus", 60, seed=1)
    with pytest.raises(InputError, match="was trained with data"):
        generation("train", tmp_path, *GRID)
    shutil.copy(study / "responses.jsonl", tmp_path)
    (tmp_path / "mine.csv").write_text("item,text\nTOY00000:1,hello\n")
    for command in (["import", tmp_path / "mine.csv", "--model", "mine"], ["sample"], ["score"], ["pair"]):
        with pytest.raises(InputError, match=r"answers another corpus .*--corpus.*another study folder"):
            generation(command[0], tmp_path, *command[1:])
