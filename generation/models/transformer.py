"""Transformer (Vaswani et al. 2017), two layers either side; layer norm before each sublayer and at the end.

Attention is masked on padding and, in the decoder, on what comes later. When writing freely, keys and values of what
has been written are kept, so that each step computes one position only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from seedvote.generation.batches import Contexts
from seedvote.generation.models.interface import DecoderState, DialogueModel, Encoded


@dataclass(frozen=True)
class TransformerSizes:
    """The papers' sizes."""

    width: int = 512
    layers: int = 2
    heads: int = 2
    feedforward: int = 2048
    dropout: float = 0.0


class Attention(nn.Module):
    """Multi-head attention with its four linear maps."""

    def __init__(self, sizes: TransformerSizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.query = nn.Linear(sizes.width, sizes.width)
        self.key_value = nn.Linear(sizes.width, 2 * sizes.width)
        self.out = nn.Linear(sizes.width, sizes.width)

    def keys_values(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, each batch x heads x time x width of a head."""
        keys, values = self.key_value(source).chunk(2, dim=2)
        return self._split_heads(keys), self._split_heads(values)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Look from x (batch x time x width) at keys and values; `mask` is True where one may look."""
        heads = scaled_dot_product_attention(self._split_heads(self.query(x)), keys, values, attn_mask=mask)
        return torch.as_tensor(self.out(heads.transpose(1, 2).flatten(2)))

    def _split_heads(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        return x.view(batch, time, self.heads, width // self.heads).transpose(1, 2)


class Block(nn.Module):
    """One layer: self-attention, attention to the source (decoder only), feed-forward; each with a residual."""

    def __init__(self, sizes: TransformerSizes, *, decoder: bool) -> None:
        super().__init__()
        self.own, self.own_norm = Attention(sizes), nn.LayerNorm(sizes.width)
        if decoder:
            self.cross, self.cross_norm = Attention(sizes), nn.LayerNorm(sizes.width)
        self.feed = nn.Sequential(
            nn.Linear(sizes.width, sizes.feedforward),
            nn.ReLU(),
            nn.Dropout(sizes.dropout),
            nn.Linear(sizes.feedforward, sizes.width),
        )
        self.feed_norm = nn.LayerNorm(sizes.width)
        self.dropout = nn.Dropout(sizes.dropout)

    def look_back(self, x: Tensor, mask: Tensor | None, past: tuple[Tensor, Tensor] | None = None) -> Past:
        """Self-attention over x and, where given, what came before it; also the keys and values for what follows."""
        normed = self.own_norm(x)
        keys, values = self.own.keys_values(normed)
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        return x + self.dropout(self.own(normed, keys, values, mask)), keys, values

    def look_across(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Attention to the source."""
        return x + torch.as_tensor(self.dropout(self.cross(self.cross_norm(x), keys, values, mask)))

    def think(self, x: Tensor) -> Tensor:
        """The feed-forward sublayer."""
        return x + torch.as_tensor(self.dropout(self.feed(self.feed_norm(x))))


Past = tuple[Tensor, Tensor, Tensor]


KEPT_POSITIONS = 128


class Transformer(DialogueModel):
    """Encoder and decoder stacks over sinusoidal positions."""

    has_lstms = False
    pooling = "mean"

    def __init__(self, vocabulary: int, sizes: TransformerSizes) -> None:
        super().__init__(vocabulary, sizes.width)
        self.width, self.dropout = sizes.width, nn.Dropout(sizes.dropout)
        self.positions = torch.empty(0, sizes.width)  # no weight, and no part of what is saved
        self.source = nn.Embedding(vocabulary, sizes.width)
        self.target = nn.Embedding(vocabulary, sizes.width)
        for table in (self.source, self.target):
            # Times sqrt(width) below, so that words and positions come in at one size (Vaswani et al., section 3.4).
            nn.init.normal_(table.weight, std=sizes.width**-0.5)
        self.encoder = nn.ModuleList(Block(sizes, decoder=False) for _ in range(sizes.layers))
        self.decoder = nn.ModuleList(Block(sizes, decoder=True) for _ in range(sizes.layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(sizes.width), nn.LayerNorm(sizes.width)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts; the context vector of a layer is the mean of its outputs over real tokens."""
        mask, means = contexts.mask, []
        x = self._add_positions(self.source(contexts.tokens), 0)
        for block in layers_of(self.encoder):
            x = block.think(block.look_back(x, mask[:, None, None])[0])
            means.append(mean_over(x, mask))
        x = self.encoder_norm(x)
        means[-1] = mean_over(x, mask)
        return Encoded(x, mask, (), torch.stack(means, 1))

    def decode_targets(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing."""
        x, mask = self._add_positions(self.target(inputs), 0), encoded.mask[:, None, None]
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        for block in layers_of(self.decoder):
            x, _, _ = block.look_back(x, causal)
            x = block.think(block.look_across(x, *block.cross.keys_values(encoded.memory), mask))
        return torch.as_tensor(self.decoder_norm(x))

    def start_state(self, encoded: Encoded) -> DecoderState:
        """Keys and values of the source, then those of what is written (none yet), for every layer."""
        across = [part for block in layers_of(self.decoder) for part in block.cross.keys_values(encoded.memory)]
        return (*across, *(part[:, :, :0] for part in across))

    def decode_step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        across, past = state[: len(state) // 2], state[len(state) // 2 :]
        x, cache = self._add_positions(self.target(tokens[:, None]), past[0].shape[2]), []
        for number, block in enumerate(layers_of(self.decoder)):
            x, keys, values = block.look_back(x, None, (past[2 * number], past[2 * number + 1]))
            cache += [keys, values]
            x = block.think(
                block.look_across(x, across[2 * number], across[2 * number + 1], encoded.mask[:, None, None])
            )
        return self.decoder_norm(x)[:, 0], (*across, *cache)

    def _add_positions(self, embedded: Tensor, first: int) -> Tensor:
        scaled, last = embedded * math.sqrt(self.width), first + embedded.shape[1]
        # Kept where they are needed: made at every step, they would be copied to the device at every step.
        if self.positions.shape[0] < last or (self.positions.device, self.positions.dtype) != (
            scaled.device,
            scaled.dtype,
        ):
            with torch.inference_mode(False):  # training may need them after decoding made them
                self.positions = sinusoidal_positions(0, max(last, KEPT_POSITIONS), self.width).to(scaled)
        return torch.as_tensor(self.dropout(scaled + self.positions[first:last]))


def layers_of(modules: nn.ModuleList) -> list[Block]:
    """The layers of a stack."""
    return [block for block in modules if isinstance(block, Block)]


def sinusoidal_positions(first: int, number: int, width: int) -> Tensor:
    """Sinusoidal positions (number x width): sine on even and cosine on odd places."""
    place = torch.arange(first, first + number)[:, None]
    angle = place * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)


def mean_over(x: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real tokens: x (batch x time x width), mask (batch x time)."""
    return (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
