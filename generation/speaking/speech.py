"""What a model is trained to say, what each turn is about, and how the states that it believes are spelled."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.corpora.reading import Corpus, read_databases
from seedvote.dialogue.domains.database import DomainTable, domain_tables
from seedvote.dialogue.domains.spelling import State, delexicalize_turn, state_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue
from seedvote.dialogue.tokens import detokenize, tokenize
from seedvote.generation.vocabulary import EOS, EOU, LONGEST_TARGET, UNK, Vocabulary

# A state as words and back: `hotel area north ; hotel stars 4`, slots in alphabetical order.
#
# An agent writes what has changed since its last turn, so that it need not write again what it believed already; a
# slot that is believed no more has the value `none`.

NEXT, NO_MORE = ";", "none"


def belief_words(state: State) -> list[str]:
    """The words of a state.

    >>> " ".join(belief_words({"train": {"leave": "16:15"}, "hotel": {"area": "north"}}))
    'hotel area north ; train leave 16:15'
    """
    words: list[str] = []
    for domain, name, value in sorted((d, name, value) for d, slots in state.items() for name, value in slots.items()):
        words += [*([NEXT] if words else []), domain, name, *tokenize(value)]
    return words


def parse_belief(words: Iterable[str]) -> dict[str, dict[str, str]]:
    """The state that words tell; what is not domain, slot and value is no part of it, and a slot's last value counts.

    >>> parse_belief("hotel area north ; hotel ; hotel name lemon inn".split())
    {'hotel': {'area': 'north', 'name': 'lemon inn'}}
    """
    state: dict[str, dict[str, str]] = {}
    for domain, name, *value in (piece for piece in _split_pieces(words) if len(piece) > 2):
        state.setdefault(domain, {})[name] = detokenize(value)
    return state


def state_changes(before: State, now: State) -> dict[str, dict[str, str]]:
    """What `now` has otherwise than `before`.

    >>> state_changes({"hotel": {"area": "north", "stars": "4"}}, {"hotel": {"stars": "3"}, "taxi": {"leave": "16:15"}})
    {'hotel': {'stars': '3', 'area': 'none'}, 'taxi': {'leave': '16:15'}}
    """
    old, new = _flatten_state(before), _flatten_state(now)
    differences: dict[str, dict[str, str]] = {}
    for (domain, name), value in [*new.items(), *((key, NO_MORE) for key in old if key not in new)]:
        if old.get((domain, name)) != value:
            differences.setdefault(domain, {})[name] = value
    return differences


def apply_changes(before: State, written: State) -> dict[str, dict[str, str]]:
    """The state after what was written.

    >>> apply_changes({"hotel": {"area": "north", "stars": "4"}}, {"hotel": {"stars": "3", "area": "none"}})
    {'hotel': {'stars': '3'}}
    """
    state: dict[str, dict[str, str]] = {}
    for (domain, name), value in {**_flatten_state(before), **_flatten_state(written)}.items():
        if value != NO_MORE:
            state.setdefault(domain, {})[name] = value
    return state


def _flatten_state(state: State) -> dict[tuple[str, str], str]:
    return {(domain, name): value for domain, slots in state.items() for name, value in slots.items()}


def _split_pieces(words: Iterable[str]) -> Sequence[Sequence[str]]:
    pieces: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            pieces.append([])
        else:
            pieces[-1].append(word)
    return pieces


# What a model is trained to say and how it says it: `reply`, `task` or `policy`.
#
# `reply`: the next utterance, as it stands in the corpus. `task`: an agent's turn. It reads what it believed before and
# the dialogue so far; it writes what it believes anew and <eob>; the database says how many rows match, in a word for
# each believed domain; it writes its reply with placeholders. `policy`: the same with the annotated belief given, so
# that only the reply is written.
#
# To add a kind: its name in KINDS, and what it reads and is given in `number`, how it
# answers in `agent.py`.

KINDS = ("reply", "task", "policy")
BELIEF, END = "<belief>", "<eob>"
COUNTS = ("0", "1", "2-3", "4+")  # how many rows match, as the database answers
LONGEST_BELIEF = 100
LONGEST_HISTORY = 50  # words of the dialogue that an agent reads: what was said earlier is in its belief
PLACEHOLDER = re.compile(r"(\[\w+\])")


@dataclass(frozen=True)
class Speech:
    """A kind, and the databases that an agent asks."""

    kind: str = "reply"
    tables: Mapping[str, DomainTable] = field(default_factory=dict, repr=False)

    @property
    def is_agent(self) -> bool:
        """Whether it believes, asks and answers with placeholders."""
        return self.kind != "reply"

    def words_of(self, dialogues: Iterable[Dialogue]) -> Iterator[str]:
        """Every word that is read or written."""
        for dialogue in dialogues:
            for turn in dialogue.turns:
                yield from tokenize(turn.text)
            if self.is_agent:
                for n in _system_turns(dialogue):
                    yield from belief_words(annotated_state(dialogue, n))
                    yield from reply_words(dialogue, n)

    @property
    def recipe(self) -> tuple[str, ...]:
        """What responses depend on, apart from model and contexts: the kind, and a hash of the databases."""
        if not self.is_agent:
            return ()
        rows = json.dumps({name: table.rows for name, table in sorted(self.tables.items())}, sort_keys=True)
        return self.kind, hashlib.sha256(rows.encode()).hexdigest()[:12]

    @property
    def marks(self) -> Sequence[str]:
        """Words that stand in no text: what begins and ends a belief, and all that the database may answer."""
        answers = [f"<{domain}:{count}>" for domain in self.searched_domains for count in COUNTS]
        return (BELIEF, END, *answers) if self.is_agent else ()

    def own_words(self) -> Sequence[str]:
        """Words that are always known."""
        return (*self.marks, NEXT) if self.is_agent else ()

    @cached_property
    def searched_domains(self) -> Sequence[str]:
        """The domains in which something is chosen from a database."""
        return sorted(domain for domain, table in self.tables.items() if table.offers)

    def answer_words(self, state: State) -> list[str]:
        """What the database answers to a belief: for each believed domain, how many rows match."""
        return [
            f"<{domain}:{_count_word(self.tables[domain].matching(state[domain]).bit_count())}>"
            for domain in sorted(state)
            if domain in self.searched_domains
        ]

    def number(self, example: Example, vocabulary: Vocabulary) -> tuple[list[int], list[int], tuple[int, int]]:
        """Context and target as numbers, and from where to where the target is given to the model."""
        dialogue, n, target = example.dialogue, example.n, example.target
        if not self.is_agent:
            return vocabulary.context(example.context, target.speaker), vocabulary.target(target), (0, 0)
        before = annotated_state(dialogue, n - 2)
        beginning = self.number_prefix(before, annotated_state(dialogue, n), vocabulary)
        reply = number_words(reply_words(dialogue, n), vocabulary)[: LONGEST_TARGET - 1]
        first = beginning.index(vocabulary.numbers[END]) + 1 if self.kind == "task" else 0
        return self.context(example, before, vocabulary), [*beginning, *reply, EOS], (first, len(beginning))

    def number_prefix(self, before: State, state: State, vocabulary: Vocabulary) -> list[int]:
        """What stands before a reply: what is believed anew, <eob>, the database's answer."""
        belief = number_words(belief_words(state_changes(before, state)), vocabulary)[:LONGEST_BELIEF]
        return [*belief, vocabulary.numbers[END], *number_words(self.answer_words(state), vocabulary)]

    def context(self, example: Example, before: State, vocabulary: Vocabulary) -> list[int]:
        """What an agent reads: its belief before this turn, and the newest words of the dialogue."""
        belief = number_words(belief_words(before), vocabulary)[:LONGEST_BELIEF]
        history = vocabulary.context(example.context, example.target.speaker, LONGEST_HISTORY)
        return [vocabulary.numbers[BELIEF], *belief, EOU, *history]


REPLY = Speech()


def with_databases(corpus: Corpus, folder: Path | None) -> Corpus:
    """The corpus with the databases of a folder apart from it, where one is named."""
    return replace(corpus, databases=read_databases(folder)) if folder else corpus


def speech_of(kind: str, corpus: Corpus) -> Speech:
    """What is to be spoken about this corpus; an agent's needs are looked for."""
    if kind == "reply":
        return REPLY
    if lacking := _list_lacking(corpus):
        raise InputError(
            f"--speak {kind} needs {', '.join(lacking)}, which this corpus has not. Give one with states, system acts "
            "and databases (--db FOLDER where these lie apart), or leave --speak out."
        )
    return Speech(kind, domain_tables(corpus.databases))


def _list_lacking(corpus: Corpus) -> list[str]:
    turns = [turn for dialogue in corpus.dialogues for turn in dialogue.turns]
    wanted = {
        "states": any(turn.belief for turn in turns),
        "acts of the system": any(turn.acts for turn in turns if turn.speaker != "user"),
        "databases": any(table.offers for table in domain_tables(corpus.databases).values()),
    }
    return [name for name, is_there in wanted.items() if not is_there]


def number_words(words: Iterable[str], vocabulary: Vocabulary) -> list[int]:
    """Words as numbers."""
    return [vocabulary.numbers.get(word, UNK) for word in words]


def reply_words(dialogue: Dialogue, n: int) -> list[str]:
    """The words of a system turn with placeholders, each one word."""
    text = delexicalize_turn(dialogue.turns[n], _turn_topics(dialogue)[n])
    return [word for part in PLACEHOLDER.split(text) for word in ([part] if part[:1] == "[" else tokenize(part))]


def annotated_state(dialogue: Dialogue, n: int) -> State:
    """The annotated state behind the system turn `n`; empty before the first."""
    return state_of(dialogue.turns[n - 1].belief or {}) if n > 0 else {}


def _system_turns(dialogue: Dialogue) -> list[int]:
    return [n for n, turn in enumerate(dialogue.turns) if n and turn.speaker != "user"]


def _count_word(rows: int) -> str:
    return COUNTS[0 if rows == 0 else 1 if rows == 1 else 2 if rows < 4 else 3]


def check_speaks(vocabulary: Vocabulary, speech: Speech, path: Path) -> None:
    """Models that speak otherwise need other words, so they have a study of their own."""
    if lacking := [word for word in speech.own_words() if word not in vocabulary.numbers]:
        raise InputError(
            f"{path} was not made for --speak {speech.kind} with these databases: it lacks {lacking[0]}. What speaks "
            "otherwise goes into another study folder."
        )
    if not speech.is_agent and END in vocabulary.numbers:
        raise InputError(f"{path} was made for agents (--speak task or policy). Train replies in another study folder.")


def _turn_topics(dialogue: Dialogue) -> Sequence[str]:
    """For every turn the domain of the newest slot that was filled or changed by then; "" where none was.

    A system turn that books is about what it books.
    """
    domains, current = [], ""
    before: dict[str, str] = {}
    booked: set[str] = set()
    for turn in dialogue.turns:
        if turn.speaker == "user":
            belief = dict(turn.belief or {})
            new = [name for name, value in belief.items() if before.get(name) != value]
            current = new[-1].partition("-")[0] if new else current
            before = belief
        now = set(turn.booked or ())
        domains.append(min(now - booked, default=current))
        booked |= now
    return domains
