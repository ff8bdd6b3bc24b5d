"""Erasing: the whole line on a small study, decoders whose use of a fact is known, and effects with known means."""

import contextlib
import dataclasses
import html
import io
import json
import re
import shutil
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

from seedvote.analysis.__main__ import COMMANDS as ANALYSIS
from seedvote.analysis.notebook import erasure
from seedvote.analysis.questions.erasure import ErasedCheckpoint, ErasedReplies, answer, compare_erasures, erasure_notes
from seedvote.analysis.questions.erasure import document as erasure_document
from seedvote.dialogue.__main__ import COMMANDS as DIALOGUE
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, read_records, write_json
from seedvote.dialogue.records import Response
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.__main__ import COMMANDS as GENERATION
from seedvote.generation.encoding import Form, encode_block
from seedvote.generation.erasing import PARTS, PLACES, LinearEraser, read_eraser, with_eraser
from seedvote.generation.metrics.scoring import forced_rows
from seedvote.generation.models.interface import DialogueModel, Encoded
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import EOS, SPECIAL, Vocabulary
from seedvote.probes.__main__ import COMMANDS as PROBES
from seedvote.probes.erasing import erase_everything, fit_inlp, fit_leace, random_erasure
from tests.analysis.report_study import add_scores
from tests.house.doc_blocks import PACKAGES

TABLES = {"analysis": ANALYSIS, "dialogue": DIALOGUE, "generation": GENERATION, "probes": PROBES}


def say(line):
    """What a command prints."""
    package, *words = line.split()
    assert package in PACKAGES
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = dispatch(package, "", TABLES[package], words)
    return code, out.getvalue()


@pytest.fixture(scope="module")
def two_rounds():
    """INLP that stops after two classifiers: how well it erases is asked in tests/probes/test_erasing.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(fit_inlp.__kwdefaults__, "rounds", 2)
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory, two_rounds):
    folder = tmp_path_factory.mktemp("erasing")
    for line in (
        f"dialogue toy {folder}/corpus --dialogues 40 --seed 0",
        f"generation train {folder} --models seq2seq_attn --seeds 0-1 --preset tiny --epochs 1 --valid 0 --jobs 1",
        f"generation encode {folder} --pooling decoder --checkpoints last --jobs 1",
        f"probes erase {folder} --tasks UtteranceLoc,IsMultiTopic,AllValues --draws 2 --method leace,inlp --jobs 1",
        f"generation sample {folder} --limit 8 --decoding greedy --jobs 1",
        f"generation erased {folder} --limit 8 --jobs 1",
    ):
        assert say(line)[0] in (0, None), line
    return folder


@pytest.fixture
def changed(study, tmp_path):
    shutil.copytree(study, tmp_path / "study")
    return tmp_path / "study"


def test_erasers_say_what_they_are_and_the_same_bytes_come_out_again(study, changed):
    about = read_json(study / "erasers" / "seq2seq_attn-0-last" / "erasers.json")
    by_task = {one["task"]: one for one in about["erasers"] if one["kind"] == "task"}
    assert by_task["AllValues"]["left_out"].startswith("up to") and "file" not in by_task["AllValues"]
    assert (about["fit"], about["report"], set(about["width"])) == ("train", "test", {"state", "mean", *PLACES})
    leace = next(one for one in about["erasers"] if one.get("file") == "IsMultiTopic.leace.npz")
    assert leace["ranks"] == {"state": 1, "memory": 2} and leace["after"] < leace["before"] + 1e-9
    for site, eraser in read_eraser(study / "erasers" / "seq2seq_attn-0-last" / leace["file"]).items():
        assert np.allclose(eraser.read @ eraser.write, np.eye(leace["ranks"][site]), atol=1e-3)
    first = {path.name: path.read_bytes() for path in (study / "erasers" / "seq2seq_attn-0-last").iterdir()}
    (changed / "erasers" / "seq2seq_attn-0-last" / "erasers.json").unlink()  # as if it had been killed before the end
    tasks = "UtteranceLoc,IsMultiTopic,AllValues"
    told = say(f"probes erase {changed} --tasks {tasks} --draws 2 --method leace,inlp --jobs 1")[1]
    assert "1 of 2 checkpoints were already done" in told and "left out: up to" in told
    assert {path.name: path.read_bytes() for path in (changed / "erasers" / "seq2seq_attn-0-last").iterdir()} == first


def test_without_an_eraser_the_replies_are_those_of_sample(study):
    sampled = {one.item: one.text for one in read_records(study / "responses.jsonl", Response) if one.seed == 0}
    plain = pq.read_table(study / "erased" / "seq2seq_attn-0-last" / "none.parquet")
    assert dict(zip(plain["item"].to_pylist(), plain["text"].to_pylist(), strict=True)) == sampled
    assert not any(plain["changed"].to_pylist())
    gone = pq.read_table(study / "erased" / "seq2seq_attn-0-last" / "everything.parquet")
    assert len(set(gone["text"].to_pylist())) == 1


def test_what_is_done_is_kept_and_what_does_not_fit_is_refused(changed):
    assert "files were already there" in (told := say(f"generation erased {changed} --limit 8 --jobs 1")[1])
    every = len(list((changed / "erased").glob("*/*.parquet")))
    assert f"{every} of {every} files were already there" in told
    with pytest.raises(InputError, match="was fitted on train"):
        say(f"generation erased {changed} --split train --limit 4 --jobs 1")
    path = changed / "erasers" / "seq2seq_attn-1-last" / "erasers.json"
    write_json(path, read_json(path) | {"weights": "another"})
    with pytest.raises(InputError, match="made for other weights"):
        say(f"generation erased {changed} --limit 8 --jobs 1")


def test_command_notebook_and_document_say_the_same(study):
    found = erasure(study)
    assert json.loads(say(f"analysis erasure {study} --json -")[1]) == json.loads(json.dumps(found.document))
    rows = {(row["task"], row["method"]): row for row in found.document["rows"]}
    assert {task for task, _ in rows} == {"UtteranceLoc", "IsMultiTopic"}
    row = rows["IsMultiTopic", "leace"]
    assert row["seeds"] == 2 and set(row["effects"]) == {"nats", "changed", "unlike", "acts"}
    nats = row["effects"]["nats"]
    assert (
        nats["beyond"] == pytest.approx(nats["task"] - nats["random"]) and nats["low"] <= nats["beyond"] <= nats["high"]
    )
    assert "AllValues" in found.document["left_out"][0] and "Left out: seq2seq_attn: AllValues" in str(found)


def test_the_report_has_the_numbers_of_the_command(changed, tmp_path):
    say(f"analysis report {add_scores(changed)} --out {tmp_path}/report.html")
    told = json.loads(say(f"analysis erasure {changed} --json -")[1])
    assert json.loads((tmp_path / "report.json").read_text())["erasure"] == told
    page = html.unescape((tmp_path / "report.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    text, tex = ((tmp_path / f"report.{suffix}").read_text() for suffix in ("md", "tex"))
    assert "What the decoders use" in page and "beyond a random eraser" in tex
    for row in told["rows"]:
        nats = row["effects"]["nats"]
        cost = "{beyond:+.3f} ({low:+.3f} to {high:+.3f})".format(**nats).replace("-", "\N{MINUS SIGN}")
        cost = re.sub(r"[+\N{MINUS SIGN}](0\.000)", r"\1", cost)
        assert page.count(cost) >= 2 and cost in text, row["task"]  # on its row of the figure, and in the table
    verdicts = {"used": 0, "not used": 0, "open": 0} | Counter(row["verdict"] for row in told["rows"])
    used, unused, left = verdicts.values()
    assert len(told["rows"]) == 4
    assert f"in {used}, and not to use it in {unused}; in {left} that is not known." in page
    for note in erasure_notes(answer(changed)):
        assert note in page


def test_absent_erasers_are_silent_and_unreadable_ones_named(changed, tmp_path):
    shutil.rmtree(changed / "erased")
    say(f"analysis report {add_scores(changed)} --out {tmp_path}/report.html")
    page = (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["erasure"] is None
    assert "What the decoders use is unknown." in page and "generation erased" in page
    shutil.rmtree(changed / "erasers")
    say(f"analysis report {changed} --out {tmp_path}/report.html")
    assert "decoders use" not in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["erasure"] is None


def test_erasers_and_replies_that_do_not_belong_together_are_refused(changed):
    folder = changed / "erasers" / "seq2seq_attn-0-last"
    shutil.copy(folder / "random-1-2.0.npz", folder / "IsMultiTopic.leace.npz")
    with pytest.raises(InputError, match="made with another eraser than is there now"):
        erasure(changed)
    (changed / "erased" / "seq2seq_attn-0-last" / "none.parquet").unlink()
    with pytest.raises(InputError, match=r"none\.parquet is not there, or not whole"):
        erasure(changed)
    told = read_json(folder / "erasers.json")
    for one in told["erasers"]:
        one.pop("flat", None)
    write_json(folder / "erasers.json", told)
    with pytest.raises(InputError, match="is of an earlier version"):
        erasure(changed)
    shutil.rmtree(changed / "erasers")
    with pytest.raises(InputError, match="has no erasers"):
        erasure(changed)
    with pytest.raises(InputError, match="--margin"):
        erasure(changed, margin=0)


CPU = torch.device("cpu")
WIDTH, WORDS = 12, Vocabulary((*SPECIAL, *(f"w{n}" for n in range(23))))
FACTS = {"topic": (8, 9), "slot": (10, 11)}  # each fact is a word or another one
ANSWERS = (20, 21)


class UsesOneFact(DialogueModel):
    """Encodes a context as the sum of its words' vectors; the reply follows from one direction that tells one fact."""

    pooling, attends = "last", False

    def __init__(self, used, seed):
        nn.Module.__init__(self)
        draw = np.random.default_rng(seed)
        self.vectors = nn.Buffer(torch.from_numpy(draw.standard_normal((len(WORDS), WIDTH))).float())
        told = [self.vectors[two] - self.vectors[one] for one, two in FACTS.values()]
        which = list(FACTS).index(used)
        others = told[1 - which]
        direction = told[which] - others * (told[which] @ others) / (others @ others)  # blind to the other fact
        self.direction = nn.Buffer(direction / (direction @ told[which]))
        self.middle = nn.Buffer(self.vectors[list(FACTS[used])].mean(0) @ self.direction)
        self.scale = nn.Parameter(torch.tensor(8.0))
        self.output = nn.Identity()

    def encode(self, contexts):
        vector = (self.vectors[contexts.tokens] * contexts.mask[:, :, None]).sum(1)
        return Encoded(vector[:, None], contexts.mask[:, :1], (vector[:, None],), vector[:, None])

    def decode_targets(self, encoded, inputs):
        told = (encoded.state[0][:, 0] @ self.direction - self.middle) * self.scale
        logits = torch.zeros(*inputs.shape, len(WORDS))
        logits[:, 0] -= 4
        logits[:, 0, ANSWERS[1]], logits[:, 0, ANSWERS[0]] = told, -told
        logits[:, 1:, EOS] = 5
        return logits


def contexts_of(used, seed, dialogues=40, each=4):
    """Contexts with both facts and other words, and the answer that follows from the fact in use."""
    draw, rows, facts = np.random.default_rng([seed, 7]), [], {name: [] for name in FACTS}
    for n in range(dialogues * each):
        chosen = {name: int(draw.integers(2)) for name in FACTS}
        words = [FACTS[name][value] for name, value in chosen.items()] + draw.integers(12, 20, 3).tolist()
        rows.append(Numbered(f"d{n // each}:{n % each}", words, [ANSWERS[chosen[used]], EOS]))
        for name, value in chosen.items():
            facts[name].append(value)
    return rows, {name: np.eye(2)[values] for name, values in facts.items()}


def decoded(model, rows, told):
    costs = {
        row.item: row.stats
        for row in forced_rows(model, rows, WORDS, name="m", seed=0, checkpoint="last")
        if row.task == "perplexity"
    }
    nll, tokens = (np.array([costs[row.item][name] for row in rows]) for name in ("nll", "tokens"))
    return ErasedReplies(told, nll, tokens, np.zeros(len(rows)), np.full(len(rows), 100.0), None)


def amnesic(used, seed, draws=5):
    """One model with every eraser, by the functions that the commands call."""
    model = UsesOneFact(used, seed).eval()
    fit, facts = contexts_of(used, seed)
    rows, _ = contexts_of(used, seed + 100)
    states = encode_block(model, [row.context for row in fit], Form("decoder"), CPU).astype(float)
    draw = np.random.default_rng(seed)
    erasures = [
        *(
            ({"kind": "task", "task": name, "method": "leace"}, fit_leace([states], labels))
            for name, labels in facts.items()
        ),
        *(({"kind": "random", "draw": n}, random_erasure([states], 1, draw)) for n in range(draws)),
        ({"kind": "everything"}, erase_everything([states])),
    ]  # fmt: skip
    found = []
    for told, eraser in erasures:
        parts = [torch.from_numpy(getattr(eraser, part)) for part in PARTS]
        behind = with_eraser(model, {"state": LinearEraser(*parts)}, "")
        many = {"ranks": {"state": eraser.rank}, "flat": {"state": eraser.flats}}
        found.append(decoded(behind, rows, told | many | {"before": 99.0, "after": 50.0, "constant": 50.0}))
    items = tuple(row.item for row in rows)
    codes = np.unique([item.partition(":")[0] for item in items], return_inverse=True)[1]
    return ErasedCheckpoint("known", seed, "last", items, codes, decoded(model, rows, {}), tuple(found), {})


@pytest.mark.parametrize("used", FACTS)
def test_the_fact_that_the_decoder_uses_is_found_and_the_other_is_not(used):
    (other,) = set(FACTS) - {used}
    found = {row.task: row for row in compare_erasures([amnesic(used, seed) for seed in range(5)]).rows}
    mine, spare = found[used].effects["nats"], found[other].effects["nats"]
    assert found[used].verdict == "used" and found[used].p_holm < 0.05
    assert mine.task > 0.9 * found[used].whole > 0.3  # nothing else of the context is in use
    assert abs(spare.task) < 0.05 * mine.task and found[other].verdict != "used"
    assert spare.beyond.high < 0 or spare.beyond.low < 0 < spare.beyond.high  # never above random erasers


def world(generator, seeds, draws, *, effect, random, seed_sd, luck, dialogues=50, each=5):
    """Effects with known means: seeds differ, random erasers differ, turns of a dialogue hang together."""
    codes = np.repeat(np.arange(dialogues), each)
    tokens = generator.integers(5, 20, len(codes)).astype(float)
    shared = generator.normal(0, 0.05, (2, dialogues))
    items = tuple(f"d{code}:{n}" for n, code in enumerate(codes))
    nothing, many = np.zeros(len(codes)), {"ranks": {"state": 1}, "flat": {"state": 0}}
    same = many | {"before": 0.0, "after": 0.0, "constant": 0.0}
    found = []
    for seed in range(seeds):

        def replies(told, mean, which):
            by_dialogue = shared[which][codes] + generator.normal(0, 0.03, dialogues)[codes]
            nll = (mean + by_dialogue + generator.normal(0, 0.1, len(codes))) * tokens
            return ErasedReplies(told | same, nll, tokens, nothing, nothing, None)

        task = replies({"kind": "task", "task": "T", "method": "leace"}, effect + generator.normal(0, seed_sd), 0)
        others = [replies({"kind": "random", "draw": n}, random + generator.normal(0, luck), 1) for n in range(draws)]
        plain = ErasedReplies({}, nothing, tokens, nothing, nothing, None)
        everything = ErasedReplies({"kind": "everything"}, tokens, tokens, nothing, nothing, None)
        found.append(ErasedCheckpoint("m", seed, "last", items, codes, plain, (task, *others, everything), {}))
    return found  # fmt: skip


WORLDS = {
    "seeds alike": {"effect": 0.05, "random": 0.02, "seed_sd": 0.0, "luck": 0.0},
    "seeds and erasers differ": {"effect": 0.05, "random": 0.02, "seed_sd": 0.03, "luck": 0.02},
    "nothing used": {"effect": 0.02, "random": 0.02, "seed_sd": 0.01, "luck": 0.03},
}


def held(generator, reps, seeds, draws, **how):
    """The share of studies whose interval holds the truth, and of those that call the task used."""
    truth, covered, used = how["effect"] - how["random"], 0, 0
    for _ in range(reps):
        (row,) = compare_erasures(world(generator, seeds, draws, **how)).rows
        covered += row.effects["nats"].beyond.low <= truth <= row.effects["nats"].beyond.high
        used += row.verdict == "used"
    return covered / reps, used / reps


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_interval_holds_the_truth(name):
    covered, used = held(np.random.default_rng(0), 120, 3, 5, **WORLDS[name])
    assert covered > 0.88
    assert used < 0.1 or name != "nothing used"


@pytest.mark.slow
def test_the_interval_holds_the_truth_in_many_studies():
    """Worlds in which the task costs more than a random map, or as much."""
    generator = np.random.default_rng(1)
    for name, how in WORLDS.items():
        for seeds in (1, 3, 5):
            covered, used = held(generator, 1000, seeds, 5, **how)
            print(f"{name}, {seeds} seeds: {covered:.3f} held, {used:.3f} called used")
            assert covered > (0.9 if seeds > 1 or not how["seed_sd"] else 0.5)
            assert name != "nothing used" or used < (0.06 if seeds > 1 else 0.2)


def test_one_seed_and_an_idle_context_are_said():
    answer = compare_erasures(world(np.random.default_rng(0), 1, 5, **WORLDS["nothing used"]))
    assert answer.lone == ("m",) and erasure_document(answer)["one_seed"] == ["m"]
    idle = dataclasses.replace(answer, rows=tuple(dataclasses.replace(row, whole=0.001) for row in answer.rows))
    assert "next to nothing to m last" in "\n".join(erasure_notes(idle))
    assert "next to nothing" not in "\n".join(erasure_notes(answer))


def test_a_task_that_one_seed_lacks_is_named_with_the_seed():
    lacking, *others = world(np.random.default_rng(0), 3, 5, **WORLDS["nothing used"])
    some = [*others, dataclasses.replace(lacking, left_out={"U": "too wide"})]
    assert compare_erasures(some).left_out == ("m: U (for seed 0 too wide)",)
    every = [dataclasses.replace(one, left_out={"U": "too wide"}) for one in some]
    assert compare_erasures(every).left_out == ("m: U (too wide)",)


def test_directions_that_hardly_vary_are_counted_where_there_are_any():
    answer = compare_erasures(found := world(np.random.default_rng(0), 2, 5, **WORLDS["nothing used"]))
    assert "hardly" not in (said := "\n".join(erasure_notes(answer))) and "millionth" not in said
    counts = iter(({"state": 3, "memory": 0}, {"state": 8, "memory": 0}))
    some = [
        dataclasses.replace(
            seed, erased=tuple(dataclasses.replace(one, entry=one.entry | {"flat": flat}) for one in seed.erased)
        )
        for seed, flat in zip(found, counts, strict=True)
    ]
    answer = compare_erasures(some)
    assert "no part of its rank: m last 3 to 8 of the first state." in "\n".join(erasure_notes(answer))
    assert erasure_document(answer)["rows"][0]["flat"] == {"state": [3, 8], "memory": [0, 0]}


def test_decoder_without_context_is_judged_on_no_part():
    """Nothing of it could have been found: an effect of nothing is then no evidence."""
    quiet = {"effect": 0.0, "random": 0.0, "seed_sd": 0.0, "luck": 0.0}
    found = world(np.random.default_rng(0), 3, 5, **quiet)
    assert compare_erasures(found, margin=0.05).rows[0].verdict == "not used"

    def cheaper(one):
        return dataclasses.replace(one, nll=0.04 * one.tokens) if one.entry["kind"] == "everything" else one

    idle = [dataclasses.replace(seed, erased=tuple(map(cheaper, seed.erased))) for seed in found]
    assert compare_erasures(idle, margin=0.05).rows[0].verdict == "open"
