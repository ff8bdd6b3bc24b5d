"""The response to a context is the same whatever the batch; sampled responses follow from (seed, item) alone."""

import copy
import functools
import math
from collections import Counter
from itertools import chain

import numpy as np
import pytest
import torch

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tokens import LONGEST_RESPONSE
from seedvote.generation import decoding
from seedvote.generation.batches import stack_contexts
from seedvote.generation.decoding import Sampler, keep_likely, parse_decoding, write_responses
from seedvote.generation.models import transformer
from seedvote.generation.models.architectures import ARCHITECTURES, build_model
from seedvote.generation.vocabulary import EOS, EOU, OTHER, SELF, SPECIAL
from tests.generation.small_sizes import small_sizes

CPU = torch.device("cpu")
WORDS = 60
HOW = ["greedy", "beam:3", "temperature:1.3", "top_k:5", "nucleus:0.9", "top_k:20+nucleus:0.8+temperature:0.7"]


def lively(name, seed=0):
    """A model with large random weights: its responses end, and depend on their context."""
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(seed)
        model = build_model(name, WORDS, small_sizes(name, 16)).eval()
        with torch.no_grad():
            for part in model.parameters():
                part.mul_(3 if name == "transformer" else 5)
            model.output.weight.mul_(0.6)
            model.output.bias[EOS] += 4 if name == "transformer" else 2
    return model


def contexts(n, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        turns = [
            [(OTHER, SELF)[t % 2], *rng.integers(len(SPECIAL), WORDS, rng.integers(1, 12)).tolist(), EOU]
            for t in range(3)
        ]
        made.append(list(chain(*turns[: rng.integers(1, 4)])))
    return made


NUMBER = 24
CONTEXTS = contexts(NUMBER)
ITEMS = [f"d{n}:1" for n in range(NUMBER)]


def answer(model, how, rows=range(NUMBER), seed=0, batch_size=64):
    rows = list(rows)
    answers = write_responses(
        model,
        [CONTEXTS[r] for r in rows],
        how=parse_decoding(how),
        seed=seed,
        items=[ITEMS[r] for r in rows],
        batch_size=batch_size,
    )
    return dict(zip(rows, [a.tokens for a in answers], strict=True))


def every(test):
    """Of one that keeps a state and of one that looks back; the others in make test-slow."""
    asked = [
        pytest.param(name, marks=[] if name in ("hred", "transformer") else pytest.mark.slow) for name in ARCHITECTURES
    ]
    return pytest.mark.parametrize("name", asked)(test)


@functools.cache
def whole_batch(name, how):
    """What the lively model answers to all contexts at once."""
    return answer(lively(name), how)


# How a token is drawn from logits no architecture knows: one that looks back is asked for the likeliest token, by beams
# and by all ways of drawing at once, the others for the likeliest token, and the rest in make test-slow.
BATCHES = [
    pytest.param(name, how, marks=[] if how == HOW[0] or asked else pytest.mark.slow)
    for name in ARCHITECTURES
    for how in HOW
    for asked in [name == "transformer" and how in (HOW[1], HOW[-1])]
]


@pytest.mark.parametrize(("name", "how"), BATCHES)
def test_fault_1_response_does_not_depend_on_the_batch(name, how):
    model, whole = lively(name), whole_batch(name, how)
    assert len(set(whole.values())) > 3
    assert answer(model, how, reversed(range(NUMBER)), batch_size=10) == whole
    assert answer(model, how, range(0, NUMBER, 3)) == {row: whole[row] for row in range(0, NUMBER, 3)}
    assert answer(model, how, (0, NUMBER - 1), batch_size=1) == {row: whole[row] for row in (0, NUMBER - 1)}


@every
def test_rounding_between_batches_is_a_billion_times_smaller_than_a_choice(name):
    model = lively(name).double()
    with torch.inference_mode():
        rows = torch.full((NUMBER,), 9)
        together = model.encode(stack_contexts(CONTEXTS, CPU))
        many = model.output(model.decode_step(together, model.start_state(together), rows)[0])
        for row, context in enumerate(CONTEXTS):
            alone = model.encode(stack_contexts([context], CPU))
            one = model.output(model.decode_step(alone, model.start_state(alone), rows[:1])[0])
            assert (one[0] - many[row]).abs().max() < 1e-11


@pytest.mark.parametrize("how", ["greedy", "nucleus:0.9"])
def test_a_model_in_training_answers_without_dropout_and_stays_as_it_was(how):
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        model = build_model("transformer", WORDS, small_sizes("transformer", 16) | {"dropout": 0.5})
    assert answer(model.train(), how) == answer(copy.deepcopy(model).eval(), how)
    assert model.training and {part.dtype for part in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("how", ["temperature:1.3", "nucleus:0.9"])
def test_sampled_responses_follow_from_the_seed_and_the_item(how):
    model = lively("seq2seq")
    assert answer(model, how, seed=0) == answer(model, how, seed=0)
    assert answer(model, how, seed=0) != answer(model, how, seed=1)


@every
def test_greedy_is_at_every_step_the_argmax_of_the_forced_pass(name):
    model = lively(name).double()
    answers = write_responses(model, CONTEXTS[:8], how=parse_decoding("greedy"), seed=0, items=ITEMS[:8])
    for context, got in zip(CONTEXTS, answers, strict=False):
        written = [*got.tokens, EOS][:LONGEST_RESPONSE]
        with torch.inference_mode():
            encoded = model.encode(stack_contexts([context], CPU))
            logits = model.output(model.decode_targets(encoded, torch.tensor([[2, *written[:-1]]]))[0])
            first = decoding.mask_special(logits[:1].clone(), first=True)
            logits = torch.cat([first, decoding.mask_special(logits[1:], first=False)])
        # Every token is the likeliest behind those before it, which the forced pass reads: so one pass tells all.
        assert logits.argmax(1).tolist() == written
        total = float(logits.log_softmax(1).gather(1, torch.tensor(written)[:, None]).sum())
        assert got.logprob == pytest.approx(total, rel=1e-3)


@every
def test_greedy_is_equal_in_single_and_double_precision(name):
    model = lively(name)
    double = copy.deepcopy(model).double()
    with torch.inference_mode():
        exact = decoding.run_free(double, double.encode(stack_contexts(CONTEXTS, CPU)), decoding.most_likely)
    expected = [tuple(t for t in line if t != EOS) for line in exact.tokens.tolist()]
    rng = np.random.default_rng(0)
    for size, number in ((1, 5), (3, 10), (10, NUMBER), (NUMBER, NUMBER)):
        rows = rng.permutation(NUMBER)[:number].tolist()
        answers = write_responses(
            model, [CONTEXTS[r] for r in rows], how=parse_decoding("greedy"), seed=0, items=[ITEMS[r] for r in rows],
            batch_size=size,
        )  # fmt: skip
        assert [a.tokens for a in answers] == [expected[r] for r in rows]
        assert [a.logprob for a in answers] == pytest.approx(exact.logprob[rows].tolist(), rel=1e-3)


def test_unstable_logits_are_decoded_in_double(monkeypatch):
    """Weights three times as large make the transformer's single precision a hundred times worse."""
    calm, wild = build_model("transformer", WORDS, small_sizes("transformer", 16)).eval(), lively("transformer")
    assert (
        decoding.measure_rounding(calm, CONTEXTS)
        < decoding.NEAR[torch.float32] / 10
        < decoding.measure_rounding(wild, CONTEXTS)
    )
    exact = write_responses(wild, CONTEXTS, how=parse_decoding("greedy"), seed=0, items=ITEMS)
    monkeypatch.setattr(decoding, "NEAR", {torch.float32: -1.0, torch.float64: 0.0})
    assert write_responses(wild, CONTEXTS, how=parse_decoding("greedy"), seed=0, items=ITEMS) == exact
    assert decoding.measure_rounding(calm, []) == 0.0


def test_on_cuda_single_precision_comes_first_too_and_near_ties_go_to_double(monkeypatch):
    """There is no GPU here: what is asked of one is carried out on the CPU, and the precisions are noted."""
    calm, cuda, asked = (
        build_model("transformer", WORDS, small_sizes("transformer", 16)).eval(),
        torch.device("cuda"),
        [],
    )
    exact = write_responses(calm, CONTEXTS, how=parse_decoding("greedy"), seed=0, items=ITEMS)
    real = decoding._in_precision

    def in_precision(model, device, precision):
        asked.append((device.type, precision))
        return real(model, CPU, precision)

    monkeypatch.setattr(decoding, "_in_precision", in_precision)
    monkeypatch.setattr(decoding, "stack_contexts", lambda rows, device: stack_contexts(rows, CPU))
    there = write_responses(calm, CONTEXTS, how=parse_decoding("greedy"), seed=0, items=ITEMS, device=cuda)
    measured = [("cuda", torch.float32), ("cuda", torch.float64)]
    assert there == exact and asked[:3] == [*measured, ("cuda", torch.float32)]
    asked.clear()
    monkeypatch.setattr(decoding, "NEAR", {torch.float32: 2.0, torch.float64: 0.0})
    monkeypatch.setattr(decoding, "LEAST_NEAR", 2.0)  # every token is in doubt
    there = write_responses(calm, CONTEXTS, how=parse_decoding("greedy"), seed=0, items=ITEMS, device=cuda)
    assert asked[2:] == measured and [a.tokens for a in there] == [a.tokens for a in exact]


@pytest.mark.parametrize("how", [how for how in HOW if "beam" not in how and how != "greedy"])
def test_draws_on_cuda_are_those_of_double_precision(monkeypatch, how):
    """There is no GPU here: what is asked of one is carried out on the CPU, in single precision for most rows."""
    calm, asked, real = (
        build_model("transformer", WORDS, small_sizes("transformer", 16)).eval(),
        [],
        decoding._write_batch,
    )
    exact = [write_responses(calm, CONTEXTS, how=parse_decoding(how), seed=n, items=ITEMS) for n in range(2)]

    def write_batch(model, rows, *more):
        asked.append((next(model.parameters()).dtype, len(rows)))
        return real(model, rows, *more[:3], CPU, *more[4:])

    monkeypatch.setattr(decoding, "_write_batch", write_batch)
    ready = decoding._in_precision
    monkeypatch.setattr(decoding, "_in_precision", lambda model, device, precision: ready(model, CPU, precision))
    monkeypatch.setattr(decoding, "measure_rounding", lambda *_: 2e-7)
    for seed, wanted in enumerate(exact):
        there = write_responses(
            calm, CONTEXTS, how=parse_decoding(how), seed=seed, items=ITEMS, device=torch.device("cuda")
        )
        assert [a.tokens for a in there] == [a.tokens for a in wanted]
        assert [a.logprob for a in there] == pytest.approx([a.logprob for a in wanted], abs=1e-3)
    counts = Counter({dtype: sum(n for kind, n in asked if kind == dtype) for dtype, _ in asked})
    assert counts[torch.float32] == 2 * NUMBER and counts[torch.float64] < 0.5 * 2 * NUMBER


@pytest.mark.parametrize("how", ["temperature:0.8", "top_k:3", "nucleus:0.7", "top_k:6+nucleus:0.8"])
def test_a_safe_draw_is_the_same_whatever_the_rounding(how):
    """Every logit is moved by as much as is allowed, up or down at random: safe draws stay, and others may not."""
    how, rng = parse_decoding(how), np.random.default_rng(0)
    scaled = torch.from_numpy(rng.normal(0, 1.5, (4000, 12)).round(2))  # many ties and near ties
    uniforms, error = torch.from_numpy(rng.random((4000, 1))), torch.full((4000,), 2e-3)

    def draw(logits):
        masses, numbers = keep_likely(logits, how)
        sums = masses.cumsum(1)
        wanted = uniforms * sums[:, -1:]
        place = torch.searchsorted(sums, wanted, right=True).clamp(max=masses.shape[1] - 1)
        return numbers.gather(1, place)[:, 0], wanted, place

    tokens, wanted, place = draw(scaled)
    safe = decoding.is_safe_draw(scaled, wanted, place, how, error)
    assert 0.5 < float(safe.double().mean()) < 1
    moved = torch.zeros(4000, dtype=torch.bool)
    for _ in range(200):
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], scaled.shape))
        moved |= draw(scaled + signs * error[:, None])[0] != tokens
    assert not bool((moved & safe).any()) and bool(moved.any())


def test_positions_are_made_once_and_where_the_model_is(monkeypatch):
    model, made, real = lively("transformer"), [], transformer.sinusoidal_positions

    def sinusoidal_positions(*size):
        made.append(size)
        return real(*size)

    monkeypatch.setattr(transformer, "sinusoidal_positions", sinusoidal_positions)
    write_responses(model, CONTEXTS, how=parse_decoding("beam:2"), seed=0, items=ITEMS)
    assert len(made) == 1, "made anew at a later step"
    assert "positions" not in model.state_dict()
    longest = transformer.KEPT_POSITIONS + 5
    for device, number in (("cpu", 1), ("meta", 2)):
        there = model.to(device)
        there._add_positions(torch.zeros(1, 3, 16, device=device), number)
        assert there.positions.device.type == device and there.positions.shape == (transformer.KEPT_POSITIONS, 16)
    added = lively("transformer")._add_positions(torch.zeros(1, longest, 16), 4)
    assert torch.equal(added[0], real(4, longest, 16))


@every
def test_single_precision_errs_a_twentieth_of_what_counts_as_near(name):
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        single = build_model(name, WORDS, small_sizes(name, 16)).eval()
    double, latest = copy.deepcopy(single).double(), torch.full((NUMBER,), 2)
    with torch.inference_mode():
        both = [(m, m.encode(stack_contexts(CONTEXTS, CPU))) for m in (single, double)]
        states = [model.start_state(encoded) for model, encoded in both]
        for _ in range(LONGEST_RESPONSE):
            steps = [m.decode_step(e, state, latest) for (m, e), state in zip(both, states, strict=True)]
            states = [state for _, state in steps]
            one, two = (model.output(hidden) for (model, _), (hidden, _) in zip(both, steps, strict=True))
            reach = two.amax(1) - two.amin(1)
            assert ((one - two).abs().amax(1) / reach).max() < decoding.NEAR[torch.float32] / 20
            latest = two.argmax(1)


@every
def test_decoding_settles_near_ties_in_double_precision(name, monkeypatch):
    model = lively(name)
    half, output = (WORDS - len(SPECIAL)) // 2, model.output
    with torch.no_grad():  # every word has a twin that is likelier by less than single precision sees
        output.weight[-half:] = output.weight[-2 * half : -half]
        output.bias[-2 * half : -half] = 1.0
        output.bias[-half:] = 1.0 + 2**-23
        output.weight[len(SPECIAL)] = output.weight[-1]  # the odd one out never wins
        output.bias[len(SPECIAL)] = 0.0
    greedy, some, items = parse_decoding("greedy"), CONTEXTS[:5], ITEMS[:5]
    for batch_size in (1, 3, 5):
        answers = write_responses(model, some, how=greedy, seed=0, items=items, batch_size=batch_size)
        assert min(min(answer.tokens) for answer in answers) >= WORDS - half
    monkeypatch.setitem(decoding.NEAR, torch.float32, 0.0)
    monkeypatch.setattr(decoding, "measure_rounding", lambda *_: -1.0)  # single precision is taken whatever it does
    answers = write_responses(model, some, how=greedy, seed=0, items=items)
    assert min(min(answer.tokens) for answer in answers) < WORDS - half


@every
def test_fault_3_no_response_holds_a_special_token_or_is_empty(name):
    for how in HOW:
        for tokens in whole_batch(name, how).values():
            assert tokens
            assert min(tokens) >= len(SPECIAL)


def slow_filter(logits, how):
    """The textbook way: sort everything, keep top-k, then the smallest set that holds the nucleus."""
    probabilities = torch.softmax(logits.double() / how.temperature, 0)
    order = probabilities.argsort(descending=True, stable=True)
    order = order[: how.top_k] if how.top_k else order
    mass = probabilities[order].sum() if how.top_k else 1.0
    before = probabilities[order].cumsum(0) - probabilities[order]
    kept = order[before < how.nucleus * mass]
    return {int(i): float(probabilities[i]) for i in kept}


@pytest.mark.parametrize("how", HOW[2:])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_the_kept_tokens_are_those_of_a_full_sort(how, scale):
    how = parse_decoding(how)
    logits = torch.randn(20, 300, generator=torch.Generator().manual_seed(1)) * scale
    masses, numbers = keep_likely(logits.double() / how.temperature, how)
    for row in range(20):
        found = {n: m for n, m in zip(numbers[row].tolist(), masses[row].tolist(), strict=True) if m > 0}
        assert found == pytest.approx(slow_filter(logits[row], how))


def test_draws_have_the_frequencies_of_the_distribution():
    how = parse_decoding("nucleus:0.8")
    logits = torch.tensor([[2.0, 1.5, 1.0, 0.5, 0.0, -1.0]])
    expected = slow_filter(logits[0], how)
    total = sum(expected.values())
    sampler = Sampler(how, [f"i{n}" for n in range(20_000)], 0, CPU)
    tokens, _, _ = sampler.choose(logits.double().expand(20_000, -1), torch.arange(20_000), 0)
    counts = Counter(tokens.tolist())
    assert set(counts) == set(expected)
    for token, mass in expected.items():
        share = mass / total
        assert abs(counts[token] / 20_000 - share) < 4 * math.sqrt(share * (1 - share) / 20_000)


def slow_beam(model, context, width):
    """Beam search over whole prefixes, one context at a time."""
    open_ends, closed = [((), 0.0)], []
    with torch.inference_mode():
        encoded = model.encode(stack_contexts([context], CPU))
        for time in range(LONGEST_RESPONSE):
            prefixes = torch.tensor([[2, *prefix] for prefix, _ in open_ends])
            hidden = model.decode_targets(encoded.rows(torch.zeros(len(prefixes), dtype=torch.long)), prefixes)[:, -1]
            logs = decoding.mask_special(model.output(hidden), first=time == 0).log_softmax(1).tolist()
            grown = [
                ((*prefix, token), score + log)
                for (prefix, score), line in zip(open_ends, logs, strict=True)
                for token, log in enumerate(line)
            ]
            grown = sorted(grown, key=lambda part: -part[1])[:width]
            closed += [part for part in grown if part[0][-1] == EOS]
            open_ends = [part for part in grown if part[0][-1] != EOS]
            if not open_ends:
                break
    return max(closed + open_ends, key=lambda part: part[1] / len(part[0]))


@pytest.mark.parametrize("name", ["seq2seq", "transformer"])
def test_beam_search_finds_what_the_slow_twin_finds(name):
    model = lively(name).double()
    answers = write_responses(model, CONTEXTS[:5], how=parse_decoding("beam:4"), seed=0, items=ITEMS[:5])
    for context, got in zip(CONTEXTS, answers, strict=False):
        tokens, score = slow_beam(model, context, 4)
        assert got.tokens == tuple(token for token in tokens if token != EOS)
        assert got.logprob == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "beam",
        "beam:0",
        "beam:2.5",
        "greedy+top_k:3",
        "nucleus:0",
        "nucleus:1.5",
        "hot",
        "greedy:3",
        "greedy+greedy",
        "temperature:nan",
        "temperature:inf",
        "top_k:inf",
        "top_k:x",
        "top_k:2+top_k:3",
    ],
)
def test_decoding_that_is_not_understood_is_said(text):
    with pytest.raises(InputError, match="Legal: greedy, beam:5"):
        parse_decoding(text)
