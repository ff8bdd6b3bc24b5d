"""The decoder sees the erased states and nothing else, in every architecture."""

import numpy as np
import pytest
import torch

from seedvote.dialogue.errors import InputError
from seedvote.generation.batches import stack_contexts
from seedvote.generation.decoding import parse_decoding, write_responses
from seedvote.generation.encoding import Form, encode_block
from seedvote.generation.erasing import PLACES, read_eraser, seen_by_decoder, view_widths, with_eraser
from seedvote.generation.metrics.scoring import forced_rows
from seedvote.generation.models.architectures import ARCHITECTURES, build_model
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import EOS, EOU, OTHER, SELF, SPECIAL, Vocabulary
from tests.generation.small_sizes import small_sizes

CPU = torch.device("cpu")
CONTEXTS = [[OTHER, *[9 + n] * (1 + n % 5), 30, EOU, SELF, 12 + n, EOU, OTHER, 25 - n, EOU] for n in range(6)]
ITEMS = [f"d{n}:1" for n in range(len(CONTEXTS))]
WORDS = Vocabulary((*SPECIAL, *(f"w{n}" for n in range(33))))
every = pytest.mark.parametrize("name", ARCHITECTURES)


def tiny(name):
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        model = build_model(name, 40, small_sizes(name, 12)).eval()
        for part in model.parameters():  # weights large enough that contexts tell
            part.data *= 3
    return model


def write(path, model, rank, flat=0):
    """An eraser of so many leading coordinates, or of all of them; so many of the last ones are flat."""
    widths = view_widths(model, CONTEXTS[0], CPU)
    arrays = {}
    for site, width in {"state": widths.get("state"), "memory": widths.get("mean")}.items():
        if width:
            kept = np.eye(width, dtype=np.float32)[: width if rank is None else rank]
            arrays |= {f"{site}.mean": np.full(width, 0.1, np.float32), f"{site}.read": kept, f"{site}.write": kept.T}
            arrays[f"{site}.flat"] = np.eye(width)[:, width - flat :]
    np.savez(path, **arrays)
    return path


def said(model):
    replies = write_responses(model, CONTEXTS, how=parse_decoding("greedy"), seed=0, items=ITEMS)
    examples = [Numbered(item, context, [10, 11, EOS]) for item, context in zip(ITEMS, CONTEXTS, strict=True)]
    rows = list(forced_rows(model, examples, WORDS, name="m", seed=0, checkpoint="last"))
    costs = {row.item: row.stats["nll"] for row in rows if row.task == "perplexity"}
    return [reply.tokens for reply in replies], [costs[item] for item in ITEMS]


@every
def test_with_nothing_erased_the_model_is_itself(name, tmp_path):
    model = tiny(name)
    texts, costs = said(model)
    behind = with_eraser(model, read_eraser(write(tmp_path / "none.npz", model, 0)), "none.npz")
    assert said(behind) == (texts, pytest.approx(costs, rel=1e-6))
    assert len(set(np.round(costs, 4))) > 1, "contexts must tell, or the next test says nothing"


@every
def test_with_everything_erased_no_context_differs_from_another(name, tmp_path):
    """Whatever a decoder sees beside the erased states (a layer, a cell, a position) would show here."""
    model = tiny(name)
    behind = with_eraser(model, read_eraser(write(tmp_path / "all.npz", model, None)), "all.npz")
    texts, costs = said(behind)
    assert len(set(texts)) == 1
    assert np.ptp(costs) < 1e-4


@every
def test_erased_decoding_changes_only_what_was_asked(name, tmp_path):
    model, contexts = tiny(name), stack_contexts(CONTEXTS, CPU)
    behind = with_eraser(model, read_eraser(write(tmp_path / "some.npz", model, 2)), "some.npz")
    before, after = (seen_by_decoder(one, one.encode(contexts)) for one in (model, behind))
    assert list(before) == list(after) and set(before) <= {"state", "mean", *PLACES}
    for view in before:
        assert torch.allclose(after[view][:, :2], torch.tensor(0.1))
        assert torch.allclose(after[view][:, 2:], before[view][:, 2:], atol=1e-6)


@every
def test_eraser_sets_flat_directions_to_their_mean(name, tmp_path):
    model, contexts = tiny(name), stack_contexts(CONTEXTS, CPU)
    behind = with_eraser(model, read_eraser(write(tmp_path / "flat.npz", model, 2, flat=3)), "flat.npz")
    before, after = (seen_by_decoder(one, one.encode(contexts)) for one in (model, behind))
    for view in before:
        assert torch.allclose(after[view][:, -3:], torch.tensor(0.1), rtol=0, atol=2e-8)
        assert torch.allclose(after[view][:, 2:-3], before[view][:, 2:-3], atol=1e-6)
    (eraser, *_) = behind.float().erasers.values()
    assert {part.dtype for part in (eraser.mean, eraser.read, eraser.write, eraser.flat)} == {torch.float64}


@every
def test_states_for_erasing_are_what_the_decoder_sees_whatever_the_batch(name):
    model = tiny(name)
    views = seen_by_decoder(model, model.encode(stack_contexts(CONTEXTS[:1], CPU)))
    block = encode_block(model, CONTEXTS, Form("decoder"), CPU)
    assert np.allclose(block[0], torch.cat(list(views.values()), 1).detach().numpy()[0], atol=1e-5)
    assert block.shape[1] == sum(view_widths(model, CONTEXTS[0], CPU).values())


def test_an_eraser_of_another_model_or_a_broken_one_is_refused(tmp_path):
    path = write(tmp_path / "one.npz", tiny("seq2seq"), 1)
    with pytest.raises(InputError, match=r"one.npz is for vectors of \{'state': 48\}; this model's decoder sees"):
        with_eraser(tiny("transformer"), read_eraser(path), "one.npz")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="not a whole eraser"):
        read_eraser(path)
    np.savez(path, **{f"state.{part}": np.zeros(48) for part in ("mean", "read", "write")})  # as they once were
    with pytest.raises(InputError, match=r"not a whole eraser \(.*state\.flat.*Make it again: python -m probes erase"):
        read_eraser(path)
