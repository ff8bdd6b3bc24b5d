"""LSTM over rows of unlike length as one fused call a layer, in which padding is never read.

Packed sequences would do the same four times slower on CPU. Here every input carries one more number, 1 on padding,
whose fixed weights shut the input gate and open the forget gate: on padding the cell keeps its content to the bit. So a
forward pass ends with the cell of the last real token, and a backward pass, which meets the padding first, starts from
zero at the last real token.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from seedvote.generation.models.interface import DecoderState

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
        x, after = _layer(lstm, layer, torch.cat([x, flag], 2))
        h.append(x[torch.arange(len(x), device=x.device), last, : lstm.hidden_size])
        if lstm.bidirectional:
            h.append(x[:, 0, lstm.hidden_size :])
        c += after.unbind(0)
    return x, (torch.stack(h), torch.stack(c))


def _layer(lstm: nn.LSTM, layer: int, x: Tensor) -> tuple[Tensor, Tensor]:
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
