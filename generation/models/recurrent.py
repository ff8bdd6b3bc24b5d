"""LSTM over rows of unlike length: packed, so that padding is never read, and states turned batch first."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from generation.models.interface import State


def run_packed(lstm: nn.LSTM, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Outputs (batch x time x width, zero on padding) and last states (each layers x batch x hidden)."""
    packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
    outputs, (h, c) = lstm(packed)
    padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=embedded.shape[1])
    return padded, (h, c)


def batch_first(state: tuple[Tensor, Tensor]) -> State:
    """(layers x batch x hidden) -> (batch x layers x hidden), for h and c."""
    return tuple(part.transpose(0, 1) for part in state)


def layers_first(state: State) -> tuple[Tensor, Tensor]:
    """(batch x layers x hidden) -> (layers x batch x hidden), for h and c."""
    h, c = (part.transpose(0, 1).contiguous() for part in state)
    return h, c
