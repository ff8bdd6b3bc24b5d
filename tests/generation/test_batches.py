"""Batches: every example once, of like length, in an order that follows from (seed, epoch)."""

import numpy as np
import pytest
import torch

from seedvote.dialogue.devices import pick_device, pick_precision
from seedvote.dialogue.errors import InputError
from seedvote.generation.batches import plan_batches, stack_batch, stack_contexts
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import BOS, EOS, PAD

CPU = torch.device("cpu")
RNG = np.random.default_rng(0)
EXAMPLES = [
    Numbered(f"d{n}:1", [9] * int(RNG.integers(3, 100)), [9] * int(RNG.integers(1, 40)) + [EOS]) for n in range(500)
]


def test_every_example_comes_once_an_epoch():
    for size in (1, 7, 64, 1000):
        plan = plan_batches(EXAMPLES, size, seed=0, epoch=1)
        assert sorted(row for batch in plan for row in batch) == list(range(500))
        assert max(map(len, plan)) <= size


def test_fault_5_the_order_follows_from_the_seed_and_the_epoch():
    assert plan_batches(EXAMPLES, 64, seed=0, epoch=1) == plan_batches(EXAMPLES, 64, seed=0, epoch=1)
    assert plan_batches(EXAMPLES, 64, seed=0, epoch=1) != plan_batches(EXAMPLES, 64, seed=0, epoch=2)
    assert plan_batches(EXAMPLES, 64, seed=0, epoch=1) != plan_batches(EXAMPLES, 64, seed=1, epoch=1)


def test_batches_hold_examples_of_like_length():
    plan = plan_batches(EXAMPLES, 32, seed=0, epoch=1)
    padded = sum(max(len(EXAMPLES[row].target) for row in batch) * len(batch) for batch in plan)
    real = sum(len(example.target) for example in EXAMPLES)
    assert padded < 1.15 * real


def test_inputs_begin_with_bos_and_targets_end_with_eos():
    batch = stack_batch([Numbered("d:1", [9, 8], [10, 11, EOS]), Numbered("d:3", [7], [12, EOS])], CPU)
    assert batch.inputs.tolist() == [[BOS, 10, 11], [BOS, 12, PAD]]
    assert batch.targets.tolist() == [[10, 11, EOS], [12, EOS, PAD]]
    assert batch.contexts.tokens.tolist() == [[9, 8], [7, PAD]]
    assert batch.contexts.mask.tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("rows", [[], [[]], [[9], []]])
def test_an_empty_batch_or_context_is_said(rows):
    with pytest.raises(InputError, match="empty"):
        stack_contexts(rows, CPU)


def test_devices():
    assert pick_device("cpu").type == "cpu"
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(InputError, match="Choose from: auto, cpu"):
        pick_device("tpu")


def test_bf16_is_taken_by_itself_on_cuda_only():
    assert pick_precision("auto", CPU) == "float32"
    assert pick_precision("bf16", CPU) == "bf16"
    assert pick_precision("float32", torch.device("cuda")) == "float32"
