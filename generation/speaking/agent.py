"""An agent at work: it writes its belief, asks the database, and writes its reply behind the answer.

Whole dialogues go turn by turn: what users and system said before is as in the corpus, the belief before is the
agent's own. A belief is written greedily, whatever the decoding of the reply: it is what the agent holds for true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.domains.spelling import State
from seedvote.dialogue.records import Dialogue
from seedvote.generation.decoding import (
    NEVER_WRITTEN,
    RESPONSE,
    Decoded,
    Decoding,
    Part,
    parse_decoding,
    write_responses,
)
from seedvote.generation.models.interface import DialogueModel
from seedvote.generation.numbering import Numbered
from seedvote.generation.speaking.speech import (
    END,
    LONGEST_BELIEF,
    Speech,
    annotated_state,
    apply_changes,
    number_words,
    parse_belief,
)
from seedvote.generation.vocabulary import EOS, EOU, SPECIAL, Vocabulary

GREEDY = parse_decoding("greedy")


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said to one context: the reply, the log-probability of all that was written, the belief if one was."""

    tokens: tuple[int, ...]
    logprob: float
    state: Mapping[str, Mapping[str, str]] | None = None
    belief: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Speaker:
    """A model with what it speaks and the words it has."""

    model: DialogueModel
    speech: Speech
    vocabulary: Vocabulary
    device: torch.device

    def answer_validation(self, rows: Sequence[Numbered]) -> list[Spoken]:
        """Greedy answers to single contexts; the belief before each is the annotated one."""
        beginnings = [row.target[: row.unscored[1]] for row in rows]
        before = [self._read_belief(row.context) for row in rows] if self.speech.is_agent else []
        return self._answer_contexts(
            [row.context for row in rows], before, beginnings, GREEDY, 0, [row.item for row in rows]
        )

    def answer_alone(self, rows: Sequence[Numbered], how: Decoding, seed: int) -> dict[str, Spoken]:
        """Item -> the reply to a single context."""
        items = [row.item for row in rows]
        return dict(
            zip(items, self._answer_contexts([row.context for row in rows], (), (), how, seed, items), strict=True)
        )

    def answer_dialogues(self, dialogues: Sequence[Dialogue], how: Decoding, seed: int) -> dict[str, Spoken]:
        """Item -> what is said, for every system turn of the dialogues."""
        turns = [list(iterate_examples([dialogue])) for dialogue in dialogues]
        before: list[State] = [{} for _ in dialogues]
        spoken: dict[str, Spoken] = {}
        for k in range(max(map(len, turns), default=0)):
            rows = [row for row, system_turns in enumerate(turns) if k < len(system_turns)]
            now = [turns[row][k] for row in rows]
            annotated = [annotated_state(example.dialogue, example.n) for example in now]
            contexts = [
                self.speech.context(example, before[row], self.vocabulary)
                for row, example in zip(rows, now, strict=True)
            ]
            known = [before[row] for row in rows]
            beginnings = [
                self.speech.number_prefix(*pair, self.vocabulary) for pair in zip(known, annotated, strict=True)
            ]
            answers = self._answer_contexts(contexts, known, beginnings, how, seed, [example.item for example in now])
            for row, example, answer, state in zip(rows, now, answers, annotated, strict=True):
                before[row] = state if answer.state is None else answer.state
                spoken[example.item] = answer
        return spoken

    def _answer_contexts(
        self,
        contexts: Sequence[Sequence[int]],
        before: Sequence[State],
        beginnings: Sequence[Sequence[int]],
        how: Decoding,
        seed: int,
        items: Sequence[str],
    ) -> list[Spoken]:
        """`before`: what was believed; `beginnings`: the annotated belief and database's answer, given to `policy`."""
        if not self.speech.is_agent:
            plain = self._write_part(contexts, how, seed, items, RESPONSE)
            return [Spoken(decoded.tokens, decoded.logprob) for decoded in plain]
        if self.speech.kind == "policy":
            replies = self._write_part(contexts, how, seed, items, self._reply, beginnings)
            return [Spoken(decoded.tokens, decoded.logprob) for decoded in replies]
        beliefs = self._write_part(contexts, GREEDY, 0, items, self._belief)
        states = [
            apply_changes(known, parse_belief(self.vocabulary.words[number] for number in decoded.tokens))
            for known, decoded in zip(before, beliefs, strict=True)
        ]
        behind = [
            [*decoded.tokens, self._number_of(END), *number_words(self.speech.answer_words(state), self.vocabulary)]
            for decoded, state in zip(beliefs, states, strict=True)
        ]
        replies = self._write_part(contexts, how, seed, items, self._reply, behind)
        return [
            Spoken(reply.tokens, belief.logprob + reply.logprob, state, belief.tokens)
            for reply, belief, state in zip(replies, beliefs, states, strict=True)
        ]

    def _read_belief(self, context: Sequence[int]) -> State:
        """The belief that an agent's context begins with."""
        words = [self.vocabulary.words[number] for number in context[1 : context.index(EOU)]]
        return parse_belief(words)

    def _write_part(
        self,
        contexts: Sequence[Sequence[int]],
        how: Decoding,
        seed: int,
        items: Sequence[str],
        part: Part,
        beginnings: Sequence[Sequence[int]] = (),
    ) -> list[Decoded]:
        return write_responses(
            self.model, contexts, how=how, seed=seed, items=items, device=self.device, part=part, beginnings=beginnings
        )

    @property
    def _belief(self) -> Part:
        own = number_words(self.speech.marks, self.vocabulary)
        never = (*range(len(SPECIAL)), *(number for number in own if number != self._number_of(END)))
        return Part(self._number_of(END), never, LONGEST_BELIEF, may_be_empty=True)

    @property
    def _reply(self) -> Part:
        return Part(EOS, (*NEVER_WRITTEN, *number_words(self.speech.marks, self.vocabulary)))

    def _number_of(self, word: str) -> int:
        return self.vocabulary.numbers[word]


def joint_accuracy(rows: Sequence[Numbered], answers: Sequence[Spoken]) -> float:
    """The share of contexts in which what is believed anew is what is annotated, word by word."""
    right = [
        answer.belief == tuple(row.target[: row.unscored[0] - 1]) for row, answer in zip(rows, answers, strict=True)
    ]
    return sum(right) / len(right)
