"""What a dual encoder at the settings of Lowe et al. (2015) costs on this machine.

Run: python benchmarks/bench_dual_encoder.py CORPUS [STEPS]

Takes STEPS (default 20) steps of training as `evaluators choose --dual-encoder 0 --paper` takes them, each on a batch
drawn anew, and times each by the processor time of one thread. What an epoch would take is extrapolated from their
mean, with its 95 % interval over steps; the first step, which also makes buffers, is left out.
"""

import statistics
import sys
import time
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from scipy.special import stdtrit  # noqa: E402

from seedvote.dialogue.adam import Adam  # noqa: E402
from seedvote.dialogue.corpora.reading import read_corpus  # noqa: E402
from seedvote.evaluators.choosing.dual_encoder import (  # noqa: E402
    EPOCHS,
    PAPER,
    DualEncoder,
    compute_loss,
    dual_material,
)


def main(corpus, steps):
    """Print the cost of a step, of 1,000 steps, of an epoch and of the longest training."""
    torch.set_num_threads(1)
    material = dual_material(read_corpus(corpus), [], PAPER)
    stream = torch.Generator().manual_seed(0)
    network = DualEncoder(material.words, PAPER, stream)
    adam = Adam(network.parameters(), PAPER.rate)
    seconds = []
    for _ in range(steps + 1):
        rows = torch.randperm(len(material.train), generator=stream)[: PAPER.batch].tolist()
        start = time.process_time()
        adam.forget_gradients()
        compute_loss(network, [material.train[row] for row in rows], PAPER, stream).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        adam.step()
        seconds.append(time.process_time() - start)
    mean, sd = statistics.fmean(seconds[1:]), statistics.stdev(seconds[1:])
    reach = stdtrit(steps - 1, 0.975) * sd / steps**0.5
    epoch = -(-len(material.train) // PAPER.batch)
    words = statistics.fmean(len(pair[0]) for pair in material.train)
    print(f"{len(material.train):,} pairs, {words:.0f} tokens a context, {epoch} steps of {PAPER.batch} pairs an epoch")
    print(f"{steps} steps: {mean:.1f} s of one core each (95 % interval {mean - reach:.1f} to {mean + reach:.1f})")
    print(f"1,000 steps: {1000 * mean / 60:.0f} minutes; an epoch, extrapolated: {epoch * mean / 60:.0f} minutes "
          f"({epoch * (mean - reach) / 60:.0f} to {epoch * (mean + reach) / 60:.0f}); "
          f"{EPOCHS} epochs, the longest training: {EPOCHS * epoch * mean / 3600:.0f} hours")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
