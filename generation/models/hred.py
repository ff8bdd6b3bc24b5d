"""HRED (Serban et al. 2016): one LSTM reads each utterance, a second reads the utterances' last states in order.

The decoder attends to the states of the second LSTM, one an utterance, and starts from its last state. Utterances are
cut where <eou> stands; of a history longer than the context's limit the first one may be a fragment.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from seedvote.generation.batches import Contexts
from seedvote.generation.models.attention import AttentionSizes, Attentive
from seedvote.generation.models.interface import Encoded
from seedvote.generation.models.recurrent import batch_first, run_masked
from seedvote.generation.vocabulary import EOU, PAD


class Utterances(NamedTuple):
    """All utterances of a batch of contexts."""

    contexts: Contexts  # utterances x time
    row: Tensor  # the context that each utterance belongs to
    place: Tensor  # its number in that context
    counts: Tensor  # utterances of each context


class HRED(Attentive):
    """Utterance encoder, context encoder, attention decoder."""

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__(vocabulary, sizes)
        widths = (sizes.hidden, sizes.layers)
        self.utterance = nn.LSTM(sizes.embedding, *widths, batch_first=True, dropout=sizes.dropout)
        self.context = nn.LSTM(sizes.hidden, *widths, batch_first=True, dropout=sizes.dropout)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read utterances, then contexts; padding is read on neither level."""
        parts = split_utterances(contexts)
        _, (h, _) = run_masked(self.utterance, self.source(parts.contexts.tokens), parts.contexts.mask)
        utterances = h.new_zeros(len(parts.counts), int(parts.counts.max()), h.shape[2])
        utterances = utterances.index_put((parts.row, parts.place), h[-1])
        mask = torch.arange(utterances.shape[1], device=utterances.device) < parts.counts[:, None]
        outputs, state = run_masked(self.context, utterances, mask)
        return Encoded(outputs, mask, batch_first(state), state[0].transpose(0, 1))


def split_utterances(contexts: Contexts) -> Utterances:
    """Cut every context after each <eou>."""
    row, time = contexts.mask.nonzero(as_tuple=True)
    tokens = contexts.tokens[row, time]
    first = (time == 0) | (tokens.roll(1) == EOU)
    which = first.cumsum(0) - 1
    starts, owner = time[first], row[first]
    lengths = torch.bincount(which)
    cut = torch.full((len(lengths), int(lengths.max())), PAD, device=tokens.device)
    cut[which, time - starts[which]] = tokens
    counts = torch.bincount(owner, minlength=len(contexts.lengths))
    place = torch.arange(len(owner), device=tokens.device) - (counts.cumsum(0) - counts)[owner]
    return Utterances(Contexts(cut, lengths), owner, place, counts)
