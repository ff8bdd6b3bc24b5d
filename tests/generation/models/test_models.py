"""Architectures: sizes as published, nothing read beyond the real tokens, one row blind to the others."""

import csv
from itertools import chain

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seedvote.generation.batches import Contexts, stack_batch, stack_contexts
from seedvote.generation.commands.train import PRESETS
from seedvote.generation.models.architectures import ARCHITECTURES, build_model, sizes_of
from seedvote.generation.models.interface import summed_cross_entropy
from seedvote.generation.models.recurrent import run_masked, split_utterances
from seedvote.generation.numbering import Numbered
from seedvote.generation.training import batch_loss
from seedvote.generation.vocabulary import BOS, EOS, EOU, OTHER, PAD, SELF
from tests.generation.small_sizes import small_sizes

CPU = torch.device("cpu")
WORDS = 40
PUBLISHED = {  # the papers' five at 17,000 words; an architecture of one's own has no published count
    "seq2seq": 10_564_200,
    "seq2seq_attn": 10_653_572,
    "hred": 11_706_244,
    "bilstm_attn": 12_099_460,
    "transformer": 40_843_880,
}
CONTEXTS = [
    [OTHER, 9, EOU],
    [OTHER, *range(8, 30), EOU, SELF, 12, 13, EOU, OTHER, 20, EOU],
    [SELF, 11, 12, EOU, OTHER, 14, 15, 16, 17, EOU],
    [9, EOU, OTHER, *range(30, 39), EOU],
]


def tiny(model, seed=0):
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(seed)
        return build_model(model, WORDS, small_sizes(model, 12)).eval()


def every(test):
    return pytest.mark.parametrize("name", ARCHITECTURES)(test)


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameter_counts_are_those_of_the_papers_code(name, shared):
    with (shared / "tables" / "published_parameters.csv").open() as table:
        published = next(row for row in csv.DictReader(table) if row["model"] == name)
    for words in (13_000, 16_000, 17_000):
        with torch.device("meta"):
            model = build_model(name, words, sizes_of(name, "paper"))
        millions = sum(part.numel() for part in model.parameters()) / 1e6
        assert round(millions, 2) == float(published[f"params_code_V{words}_M"])


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameter_counts_at_17000_words(name):
    with torch.device("meta"):
        model = build_model(name, 17_000, sizes_of(name, "paper"))
    assert sum(part.numel() for part in model.parameters()) == PUBLISHED[name]


@every
def test_fault_4_padding_changes_nothing(name):
    model = tiny(name)
    with torch.inference_mode():
        for context in CONTEXTS:
            alone = model.encode(stack_contexts([context], CPU))
            padded = torch.tensor([context + [PAD] * 20])
            wide = model.encode(Contexts(padded, torch.tensor([len(context)])))
            torch.testing.assert_close(wide.vectors, alone.vectors, rtol=0, atol=1e-6)


@every
def test_fault_4_an_untrained_state_tells_contexts_apart(name):
    with torch.inference_mode():
        vectors = tiny(name).encode(stack_contexts(CONTEXTS, CPU)).vectors[:, -1]
    assert torch.pdist(vectors).min() > 1e-3


@every
def test_fault_1_rows_of_a_batch_do_not_see_each_other(name):
    model, inputs = tiny(name), torch.tensor([[BOS, 9, 10], [BOS, 11, 12], [BOS, 13, 9], [BOS, 9, 9]])
    with torch.inference_mode():
        together = model.decode_targets(model.encode(stack_contexts(CONTEXTS, CPU)), inputs)
        for row, context in enumerate(CONTEXTS):
            alone = model.decode_targets(model.encode(stack_contexts([context], CPU)), inputs[row : row + 1])
            torch.testing.assert_close(together[row : row + 1], alone, rtol=0, atol=1e-6)


@every
def test_fault_1_no_gradient_flows_from_one_row_to_another(name):
    model = tiny(name)
    table = model.source.weight.detach().clone()
    batch = [list(CONTEXTS[1]), [OTHER, 39, EOU]]
    encoded = model.encode(stack_contexts(batch, CPU))
    hidden = model.decode_targets(encoded, torch.tensor([[BOS, 9], [BOS, 9]]))[0]
    hidden[:, 0].sum().backward()  # one unit: all of them, after layer norm, have the sum 0 whatever is read
    assert model.source.weight.grad[39].abs().sum() == 0
    assert model.source.weight.grad[20].abs().sum() > 0
    assert torch.equal(model.source.weight.detach(), table)


@every
def test_free_steps_repeat_what_teacher_forcing_computes(name):
    model, inputs = tiny(name), torch.tensor([[BOS, 9, 10, 11]] * 4)
    with torch.inference_mode():
        encoded = model.encode(stack_contexts(CONTEXTS, CPU))
        forced, state = model.decode_targets(encoded, inputs), model.start_state(encoded)
        for time in range(4):
            hidden, state = model.decode_step(encoded, state, inputs[:, time])
            torch.testing.assert_close(hidden, forced[:, time], rtol=0, atol=1e-6)


def read_one(lstm, x):
    """Outputs, h and c of a plain LSTM over one sequence (time x width), which has no padding and no batch."""
    outputs, (h, c) = lstm(x[None])
    return outputs[0], h[:, 0], c[:, 0]


def both_ways(outputs, *states):
    """Outputs and states of a bidirectional LSTM with the two directions added."""
    forward, backward = outputs.chunk(2, dim=1)
    return forward + backward, *(state[0::2] + state[1::2] for state in states)


def utterances(context):
    """The context's tokens cut after each end mark."""
    ends = [n + 1 for n, token in enumerate(context) if token == EOU]
    return [context[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


READERS = {
    "seq2seq_attn": lambda model, words, context: read_one(model.encoder, words(context)),
    "bilstm_attn": lambda model, words, context: both_ways(*read_one(model.encoder, words(context))),
    "hred": lambda model, words, context: read_one(
        model.context, torch.stack([read_one(model.utterance, words(part))[1][-1] for part in utterances(context)])
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_a_context_is_read_as_the_architecture_says(name):
    """By plain LSTMs, one context at a time: tokens and utterances in order, and both directions where due."""
    model = tiny(name)
    with torch.inference_mode():
        encoded = model.encode(stack_contexts(CONTEXTS, CPU))
        for row, context in enumerate(CONTEXTS):
            outputs, h, c = READERS[name](model, lambda part: model.source(torch.tensor(part)), context)
            found = encoded.memory[row][encoded.mask[row]], encoded.vectors[row], *(s[row] for s in encoded.state[:2])
            for ours, plain in zip(found, (outputs, h, h, c), strict=True):
                torch.testing.assert_close(ours, plain, rtol=0, atol=1e-6)


@every
def test_the_future_is_not_seen(name):
    model = tiny(name)
    with torch.inference_mode():
        encoded = model.encode(stack_contexts(CONTEXTS, CPU))
        one = model.decode_targets(encoded, torch.tensor([[BOS, 9, 10]] * 4))
        two = model.decode_targets(encoded, torch.tensor([[BOS, 9, 30]] * 4))
    assert torch.equal(one[:, :2], two[:, :2])


@every
def test_every_parameter_learns(name):
    model = tiny(name).train()
    loss, _ = batch_loss(model, stack_batch([Numbered("d:1", c, [9, 10, EOS]) for c in CONTEXTS], CPU))
    loss.backward()
    assert not [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()]


def test_utterances_are_cut_after_each_end_mark():
    parts = split_utterances(stack_contexts(CONTEXTS, CPU))
    assert parts.counts.tolist() == [1, 3, 2, 2]
    assert parts.row.tolist() == [0, 1, 1, 1, 2, 2, 3, 3]
    assert parts.place.tolist() == [0, 0, 1, 2, 0, 1, 0, 1]
    cut = [row[:n] for row, n in zip(parts.contexts.tokens.tolist(), parts.contexts.lengths.tolist(), strict=True)]
    assert list(chain(*cut)) == list(chain(*CONTEXTS))
    assert all(row[-1] == EOU for row in cut)


@pytest.mark.parametrize("tokens", [1, 255, 256, 257, 700])
def test_the_chunked_loss_and_its_gradients_are_those_of_the_plain_one(tokens):
    make = torch.Generator().manual_seed(0)
    hidden, weight, bias = (
        torch.randn(*size, generator=make, dtype=torch.float64) for size in ((tokens, 6), (9, 6), (9,))
    )
    targets = torch.randint(9, (tokens,), generator=make)
    ours = [part.clone().requires_grad_() for part in (hidden, weight, bias)]
    plain = [part.clone().requires_grad_() for part in (hidden, weight, bias)]
    one = summed_cross_entropy(*ours, targets)
    two = cross_entropy(plain[0] @ plain[1].T + plain[2], targets, reduction="sum")
    (one / 3).backward()
    (two / 3).backward()
    torch.testing.assert_close(one, two, rtol=1e-12, atol=0)
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_masked_lstm_is_the_packed_one(both, dtype):
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        lstm = torch.nn.LSTM(5, 7, 2, batch_first=True, bidirectional=both).to(dtype)
        x = (torch.randn(6, 11, 5, dtype=dtype) * 3).requires_grad_()
    lengths = torch.tensor([11, 3, 1, 7, 10, 2])
    mask = torch.arange(11) < lengths[:, None]
    packed, plain = lstm(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    expected = pad_packed_sequence(packed, batch_first=True)[0]
    outputs, masked = run_masked(lstm, x, mask)
    close = {"rtol": 0, "atol": 1e-6 if dtype == torch.float32 else 1e-14}
    torch.testing.assert_close(outputs[mask], expected[mask], **close)
    torch.testing.assert_close(masked, plain, **close)
    losses = (expected[mask].square().sum() + plain[1].sum(), outputs[mask].square().sum() + masked[1].sum())
    gradients = [torch.autograd.grad(loss, [x, *lstm.parameters()], retain_graph=True) for loss in losses]
    torch.testing.assert_close(*gradients, rtol=0, atol=close["atol"] * 50)


def test_the_preset_of_the_papers_code_differs_in_dropout_and_clip_alone():
    differ = {name for name in ARCHITECTURES if sizes_of(name, "code") != sizes_of(name, "paper")}
    assert differ == {"transformer"}
    assert sizes_of("transformer", "code") == {**sizes_of("transformer", "paper"), "dropout": 0.2}
    (size, rate, clip), (paper_size, paper_rate, paper_clip) = PRESETS["code"], PRESETS["paper"]
    assert (size, rate) == (paper_size, paper_rate) and (clip, paper_clip) == (10, 1)
