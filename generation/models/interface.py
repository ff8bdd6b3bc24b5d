"""What training, decoding and encoding ask of an architecture. All tensors are batch first, so that rows can be picked.

An architecture reads contexts (`encode`), gives hidden states for known targets (`forced`) or for one more token
(`step`), and projects hidden states to the vocabulary (`output`), which training does in chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn

from seedvote.generation.batches import Contexts

DecoderState = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A read context: what can be attended to, where it is real, where the decoder starts, and the context vector."""

    memory: Tensor  # batch x time x hidden
    mask: Tensor  # batch x time, True where real
    state: DecoderState  # each batch x ...
    vectors: (
        Tensor  # batch x layers x width: each layer's last state, or its mean over real tokens; the last is the top
    )

    def rows(self, chosen: Tensor) -> Encoded:
        """Some rows of the batch (an index tensor)."""
        return replace(
            self,
            memory=self.memory[chosen],
            mask=self.mask[chosen],
            state=tuple(part[chosen] for part in self.state),
            vectors=self.vectors[chosen],
        )


class DialogueModel(nn.Module):
    """One architecture: words in, words out."""

    pooling: str
    has_lstms = True
    attends = True  # whether the decoder looks at `memory` as well as the state that it starts from

    def __init__(self, vocabulary: int, hidden: int) -> None:
        super().__init__()
        self.output = nn.Linear(hidden, vocabulary)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read a batch of contexts."""
        raise NotImplementedError

    def forced(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states before the output layer for known decoder inputs (batch x time x hidden)."""
        raise NotImplementedError

    def start(self, encoded: Encoded) -> DecoderState:
        """The decoder's state before the first step."""
        return encoded.state

    def step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """Hidden states (batch x hidden) and the new state after one more token a row."""
        raise NotImplementedError
