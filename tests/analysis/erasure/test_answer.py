"""Amnesic probing where the truth is known: a decoder that uses one of two facts, and effects with known means."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from analysis.erasure.answer import ErasedCheckpoint, ErasedReplies, with_and_without
from analysis.erasure.text import document, erasure_notes
from generation.encoding import Form, encode_block
from generation.erasing import PARTS, LinearEraser, with_eraser
from generation.metrics.scoring import forced_rows
from generation.models.interface import DialogueModel, Encoded
from generation.numbering import Numbered
from generation.vocabulary import EOS, SPECIAL, Vocabulary
from probes.erasing import everything, leace, random_erasure

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

    def forced(self, encoded, inputs):
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
            ({"kind": "task", "task": name, "method": "leace"}, leace([states], labels))
            for name, labels in facts.items()
        ),
        *(({"kind": "random", "draw": n}, random_erasure([states], 1, draw)) for n in range(draws)),
        ({"kind": "everything"}, everything([states])),
    ]  # fmt: skip
    found = []
    for told, erasure in erasures:
        parts = [torch.from_numpy(getattr(erasure, part)) for part in PARTS]
        behind = with_eraser(model, {"state": LinearEraser(*parts)}, "")
        many = {"ranks": {"state": erasure.rank}, "flat": {"state": erasure.flats}}
        found.append(decoded(behind, rows, told | many | {"before": 99.0, "after": 50.0, "constant": 50.0}))
    items = tuple(row.item for row in rows)
    codes = np.unique([item.partition(":")[0] for item in items], return_inverse=True)[1]
    return ErasedCheckpoint("known", seed, "last", items, codes, decoded(model, rows, {}), tuple(found), {})


@pytest.mark.parametrize("used", FACTS)
def test_the_fact_that_the_decoder_uses_is_found_and_the_other_is_not(used):
    (other,) = set(FACTS) - {used}
    found = {row.task: row for row in with_and_without([amnesic(used, seed) for seed in range(5)]).rows}
    mine, spare = found[used].effects["nats"], found[other].effects["nats"]
    assert found[used].verdict == "used" and found[used].p_holm < 0.05
    assert mine.task > 0.9 * found[used].whole > 0.3  # nothing else of the context is in use
    assert abs(spare.task) < 0.05 * mine.task and found[other].verdict != "used"
    assert spare.found.high < 0 or spare.found.low < 0 < spare.found.high  # never above random erasers


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
        (row,) = with_and_without(world(generator, seeds, draws, **how)).rows
        covered += row.effects["nats"].found.low <= truth <= row.effects["nats"].found.high
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
    """The table of docs/probes.md."""
    generator = np.random.default_rng(1)
    for name, how in WORLDS.items():
        for seeds in (1, 3, 5):
            covered, used = held(generator, 1000, seeds, 5, **how)
            print(f"{name}, {seeds} seeds: {covered:.3f} held, {used:.3f} called used")
            assert covered > (0.9 if seeds > 1 or not how["seed_sd"] else 0.5)
            assert name != "nothing used" or used < (0.06 if seeds > 1 else 0.2)


def test_one_seed_and_an_idle_context_are_said():
    answer = with_and_without(world(np.random.default_rng(0), 1, 5, **WORLDS["nothing used"]))
    assert answer.lone == ("m",) and document(answer)["one_seed"] == ["m"]
    idle = dataclasses.replace(answer, rows=tuple(dataclasses.replace(row, whole=0.001) for row in answer.rows))
    assert "next to nothing to m last" in "\n".join(erasure_notes(idle))
    assert "next to nothing" not in "\n".join(erasure_notes(answer))


def test_a_task_that_one_seed_lacks_is_named_with_the_seed():
    lacking, *others = world(np.random.default_rng(0), 3, 5, **WORLDS["nothing used"])
    some = [*others, dataclasses.replace(lacking, left_out={"U": "too wide"})]
    assert with_and_without(some).left_out == ("m: U (for seed 0 too wide)",)
    every = [dataclasses.replace(one, left_out={"U": "too wide"}) for one in some]
    assert with_and_without(every).left_out == ("m: U (too wide)",)


def test_directions_that_hardly_vary_are_counted_where_there_are_any():
    answer = with_and_without(found := world(np.random.default_rng(0), 2, 5, **WORLDS["nothing used"]))
    assert "hardly" not in (said := "\n".join(erasure_notes(answer))) and "millionth" not in said
    counts = iter(({"state": 3, "memory": 0}, {"state": 8, "memory": 0}))
    some = [
        dataclasses.replace(
            seed, erased=tuple(dataclasses.replace(one, told=one.told | {"flat": flat}) for one in seed.erased)
        )
        for seed, flat in zip(found, counts, strict=True)
    ]
    answer = with_and_without(some)
    assert "no part of its rank: m last 3 to 8 of the first state." in "\n".join(erasure_notes(answer))
    assert document(answer)["rows"][0]["flat"] == {"state": [3, 8], "memory": [0, 0]}


def test_a_decoder_that_does_without_its_context_is_not_said_to_do_without_a_part_of_it():
    """Nothing of it could have been found: an effect of nothing is then no evidence."""
    quiet = {"effect": 0.0, "random": 0.0, "seed_sd": 0.0, "luck": 0.0}
    found = world(np.random.default_rng(0), 3, 5, **quiet)
    assert with_and_without(found, margin=0.05).rows[0].verdict == "not used"

    def cheaper(one):
        return dataclasses.replace(one, nll=0.04 * one.tokens) if one.told["kind"] == "everything" else one

    idle = [dataclasses.replace(seed, erased=tuple(map(cheaper, seed.erased))) for seed in found]
    assert with_and_without(idle, margin=0.05).rows[0].verdict == "open"
