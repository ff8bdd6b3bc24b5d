"""The four recurrent architectures: seq2seq, seq2seq with attention, BiLSTM with attention, and HRED."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from seedvote.generation.batches import Contexts
from seedvote.generation.models.interface import DecoderState, DialogueModel, Encoded
from seedvote.generation.vocabulary import EOU, PAD

# LSTM over rows of unlike length as one fused call a layer, in which padding is never read.
#
# Packed sequences would do the same four times slower on CPU. Here every input carries one more number, 1 on padding,
# whose fixed weights shut the input gate and open the forget gate: on padding the cell keeps its content to the bit.
# So a forward pass ends with the cell of the last real token, and a backward pass, which meets the padding first,
# starts from zero at the last real token.

SHUT = 1000.0  # sigmoid(-SHUT) is 0 and sigmoid(SHUT) is 1 in single and double precision


def run_masked(lstm: nn.LSTM, embedded: Tensor, mask: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Outputs (batch x time x width, anything on padding) and last real states (layers x batch x hidden).

    `lstm` holds the weights; with two directions their states are interleaved, as in torch.
    """
    flag = (~mask).to(embedded.dtype)[:, :, None]
    last = mask.sum(1) - 1
    x = embedded
    h: list[Tensor] = []
    c: list[Tensor] = []
    for layer in range(lstm.num_layers):
        if layer:
            x = dropout(x, lstm.dropout, lstm.training)
        x, after = _run_layer(lstm, layer, torch.cat([x, flag], 2))
        h.append(x[torch.arange(len(x), device=x.device), last, : lstm.hidden_size])
        if lstm.bidirectional:
            h.append(x[:, 0, lstm.hidden_size :])
        c += after.unbind(0)
    return x, (torch.stack(h), torch.stack(c))


def _run_layer(lstm: nn.LSTM, layer: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """One layer's outputs and last cells (directions x batch x hidden)."""
    column = x.new_tensor([-SHUT, SHUT, 0.0, 0.0]).repeat_interleave(lstm.hidden_size)[:, None]
    weights: list[Tensor] = []
    for direction in ("", "_reverse") if lstm.bidirectional else ("",):
        own = [
            getattr(lstm, f"{name}_l{layer}{direction}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]
        weights += [torch.cat([own[0], column.to(own[0])], 1), *own[1:]]
    zero = x.new_zeros(2 if lstm.bidirectional else 1, len(x), lstm.hidden_size)
    outputs, _, cells = torch.lstm(x, (zero, zero), weights, True, 1, 0.0, lstm.training, lstm.bidirectional, True)
    return outputs, cells


def batch_first(state: tuple[Tensor, Tensor]) -> DecoderState:
    """(layers x batch x hidden) -> (batch x layers x hidden), for h and c."""
    return tuple(part.transpose(0, 1) for part in state)


def layers_first(state: DecoderState) -> tuple[Tensor, Tensor]:
    """(batch x layers x hidden) -> (layers x batch x hidden), for h and c."""
    h, c = (part.transpose(0, 1).contiguous() for part in state)
    return h, c


# seq2seq: a forward LSTM reads the context, a second one answers from its last state (Sutskever et al. 2014).


@dataclass(frozen=True)
class Seq2SeqSizes:
    """The papers' sizes."""

    embedding: int = 128
    hidden: int = 256
    layers: int = 2
    dropout: float = 0.0


class Seq2Seq(DialogueModel):
    """Encoder LSTM, decoder LSTM, no attention."""

    pooling = "last"
    attends = False

    def __init__(self, vocabulary: int, sizes: Seq2SeqSizes) -> None:
        super().__init__(vocabulary, sizes.hidden)
        widths = (sizes.embedding, sizes.hidden, sizes.layers)
        self.source = nn.Embedding(vocabulary, sizes.embedding)
        self.target = nn.Embedding(vocabulary, sizes.embedding)
        self.encoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout)
        self.decoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts; padding is never read."""
        mask = contexts.mask
        outputs, state = run_masked(self.encoder, self.source(contexts.tokens), mask)
        return Encoded(outputs, mask, batch_first(state), state[0].transpose(0, 1))

    def decode_targets(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing (batch x time x hidden)."""
        outputs, _ = self.decoder(self.target(inputs), layers_first(encoded.state))
        return torch.as_tensor(outputs)

    def decode_step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        del encoded
        outputs, after = self.decoder(self.target(tokens[:, None]), layers_first(state))
        return outputs[:, 0], batch_first(after)


# Additive content attention (Bahdanau et al. 2015) and the decoder that uses it; seq2seq with that decoder.
#
# At each step the decoder's last top state s asks every encoder state h_j with score v . tanh(W s + U h_j); the
# weighted mean of the h_j joins the embedded token, one linear map brings both back to the embedding's width, and the
# LSTM goes on. Scores are masked on padding and computed row by row: no row of a batch sees another. They are computed
# as 2 v . sigmoid(2 W s + 2 U h_j), which is larger by the sum of v for every j, so that the weights are the same: on
# CPU a sigmoid takes a sixth of a tanh.


@dataclass(frozen=True)
class AttentionSizes:
    """The papers' sizes; `attention` (they give none) makes the parameter count equal to that of their code."""

    embedding: int = 128
    hidden: int = 256
    layers: int = 2
    attention: int = 78
    dropout: float = 0.0


class AttentionDecoder(nn.Module):
    """An LSTM decoder that looks back at the encoder's states at every step."""

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, sizes.embedding)
        self.query = nn.Linear(sizes.hidden, sizes.attention)
        self.key = nn.Linear(sizes.hidden, sizes.attention, bias=False)
        self.score = nn.Linear(sizes.attention, 1, bias=False)
        self.combine = nn.Linear(sizes.embedding + sizes.hidden, sizes.embedding)
        widths = [sizes.embedding] + [sizes.hidden] * (sizes.layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(width, sizes.hidden) for width in widths)
        self.dropout = nn.Dropout(sizes.dropout)

    def decode_targets(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing (batch x time x hidden)."""
        keys, embedded = self._memory_keys(encoded), self.embedding(inputs)
        h, c = (list(part.unbind(1)) for part in encoded.state)
        outputs = []
        for token in embedded.unbind(1):
            h, c = self._advance_state(encoded, keys, token, h, c)
            outputs.append(h[-1])
        return torch.stack(outputs, 1)

    def start_state(self, encoded: Encoded) -> DecoderState:
        """The state before the first step: h, c and the keys, which stay the same."""
        return (*encoded.state, self._memory_keys(encoded))

    def decode_step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        h, c = (list(part.unbind(1)) for part in state[:2])
        h, c = self._advance_state(encoded, state[2], self.embedding(tokens), h, c)
        return h[-1], (torch.stack(h, 1), torch.stack(c, 1), state[2])

    def _advance_state(
        self, encoded: Encoded, keys: Tensor, token: Tensor, h: list[Tensor], c: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        below = self.combine(torch.cat([token, self._look_back(encoded, keys, h[-1])], 1))
        after_h, after_c = [], []
        for cell, old_h, old_c in zip(self.cells, h, c, strict=True):
            new_h, new_c = cell(below, (old_h, old_c))
            after_h.append(new_h)
            after_c.append(new_c)
            below = self.dropout(new_h)
        return after_h, after_c

    def _memory_keys(self, encoded: Encoded) -> Tensor:
        return 2 * torch.as_tensor(self.key(encoded.memory))

    def _look_back(self, encoded: Encoded, keys: Tensor, state: Tensor) -> Tensor:
        scores = 2 * self.score(torch.sigmoid(2 * self.query(state)[:, None] + keys))[:, :, 0]
        weights = scores.masked_fill(~encoded.mask, -torch.inf).softmax(1)
        return torch.bmm(weights[:, None], encoded.memory)[:, 0]


class Attentive(DialogueModel):
    """Any encoder with the attention decoder."""

    pooling = "last"

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__(vocabulary, sizes.hidden)
        self.source = nn.Embedding(vocabulary, sizes.embedding)
        self.decoder = AttentionDecoder(vocabulary, sizes)

    def decode_targets(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing."""
        return self.decoder.decode_targets(encoded, inputs)

    def start_state(self, encoded: Encoded) -> DecoderState:
        """The decoder's state before the first step."""
        return self.decoder.start_state(encoded)

    def decode_step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        return self.decoder.decode_step(encoded, state, tokens)


class Seq2SeqAttention(Attentive):
    """A forward LSTM encoder and the attention decoder."""

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__(vocabulary, sizes)
        widths = (sizes.embedding, sizes.hidden, sizes.layers)
        self.encoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts; padding is never read."""
        mask = contexts.mask
        outputs, state = run_masked(self.encoder, self.source(contexts.tokens), mask)
        return Encoded(outputs, mask, batch_first(state), state[0].transpose(0, 1))


# BiLSTM with attention: the encoder reads both ways, and the two directions are added (outputs and last states).
#
# Added, not joined, so that the decoder and the states are as wide as those of the other recurrent models.


class BiLSTMAttention(Attentive):
    """A bidirectional LSTM encoder and the attention decoder."""

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__(vocabulary, sizes)
        widths = (sizes.embedding, sizes.hidden, sizes.layers)
        self.encoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout, bidirectional=True)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts both ways; the backward pass starts at the last real token."""
        mask = contexts.mask
        outputs, (h, c) = run_masked(self.encoder, self.source(contexts.tokens), mask)
        forward, backward = outputs.chunk(2, dim=2)
        state = (_sum_directions(h), _sum_directions(c))
        return Encoded(forward + backward, mask, batch_first(state), state[0].transpose(0, 1))


def _sum_directions(state: Tensor) -> Tensor:
    """(2 layers x batch x hidden, directions interleaved) -> (layers x batch x hidden)."""
    return state[0::2] + state[1::2]


# HRED (Serban et al. 2016): one LSTM reads each utterance, a second reads the utterances' last states in order.
#
# The decoder attends to the states of the second LSTM, one an utterance, and starts from its last state. Utterances are
# cut where <eou> stands; of a history longer than the context's limit the first one may be a fragment.


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
