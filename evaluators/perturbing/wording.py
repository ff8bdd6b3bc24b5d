"""The same wish in other words, learnt from the corpus: how other users said the same acts, and words that stand in for
one another.

A training turn whose annotated values all stand in it verbatim is a template. Templates of one set of acts say the same
thing, so a turn is told anew by another of its templates with its own values put in. Two templates of one set that
differ in a single word make these two words interchangeable; where no template fits, words are exchanged.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dialogue.records import Dialogue, Turn
from evaluators.perturbing.protecting import NO_VALUES, Protector, Span, intact, whole_places

Key = tuple[tuple[str, str, str], ...]  # the acts: (act, slot, "" or the value where it does not stand verbatim)
MOST = 300  # templates of one set of acts that are kept
SEEN = 2  # places in which two words must stand in for one another
KEPT = frozenset(
    ("not", "no", "never", "nor", "without", "and", "or", "but", "only", "than", "except", "both", "neither", "either",
     "a", "an")
)  # fmt: skip
PHRASES = (
    ("i am looking for", "i am trying to find"), ("i'm looking for", "i am trying to find"), ("can you", "could you"),
    ("could you", "would you"), ("i would like", "i want"), ("i'd like", "i want"), ("i need", "i require"),
    ("i want", "i would like"), ("thank you", "many thanks"), ("thanks", "thank you"), ("how about", "what about"),
    ("what about", "how about"), ("what is", "could you tell me"), ("is there", "do you have"), ("find", "look up"),
    ("please", "kindly"), ("great", "wonderful"), ("okay", "all right"), ("yes", "yeah"), ("goodbye", "bye"),
    ("hello", "hi"), ("also", "in addition"),
)  # fmt: skip
_PHRASES = [(re.compile(rf"(?<![\w']){phrase}(?![\w'])", re.I), other) for phrase, other in PHRASES]


@dataclass(frozen=True, slots=True)
class Template:
    """A wording: `parts` are texts and, as numbers, places of the acts' values."""

    parts: tuple[str | int, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The wording as words, places of values as `#0`."""
        told = "".join(f" #{part} " if isinstance(part, int) else part.lower() for part in self.parts)
        return tuple(re.findall(r"#\d+|[\w']+", told))

    def with_values(self, values: Sequence[str]) -> str:
        """With these values, and the article that goes with each."""
        text = ""
        for part in self.parts:
            if isinstance(part, int):
                article = r"\1n" if values[part][:1].lower() in "aeiou" else r"\1"
                text = re.sub(r"(?<!\w)(a)n?(?= $)", article, text, flags=re.I)
            text += values[part] if isinstance(part, int) else part
        return text


class Paraphraser:
    """What the training dialogues teach of wording."""

    def __init__(self, dialogues: Iterable[Dialogue], protector: Protector) -> None:
        self._templates: dict[Key, dict[tuple[str, ...], Template]] = defaultdict(dict)
        for turn in (turn for dialogue in dialogues for turn in dialogue.turns if turn.speaker == "user" and turn.acts):
            if parsed := _parsed(turn, protector):
                key, template, _ = parsed
                if _tells(key) and len(kept := self._templates[key]) < MOST:
                    kept.setdefault(template.words, template)
        self.synonyms = _synonyms(self._templates, protector)

    @property
    def templates(self) -> int:
        """How many wordings are known."""
        return sum(map(len, self._templates.values()))

    def told_anew(self, turn: Turn, pieces: Sequence[Span], protector: Protector, *, rng: random.Random) -> str:
        """The turn by another template, else with other words; as it was where neither can be had."""
        if parsed := _parsed(turn, protector):
            key, own, values = parsed  # of no key that tells nothing are there templates
            others = [one for words, one in self._templates.get(key, {}).items() if words != own.words]
            for template in rng.sample(others, min(3, len(others))):
                if intact(pieces, text := template.with_values(values)):
                    return text
        return self._reworded(pieces, rng)

    def _reworded(self, pieces: Sequence[Span], rng: random.Random) -> str:
        return "".join(piece.text if piece.held else self._exchanged(piece.text, rng) for piece in pieces)

    def _exchanged(self, text: str, rng: random.Random) -> str:
        for phrase, other in _PHRASES:
            if match := phrase.search(text):
                text = text[: match.start()] + _cased(match[0], other) + text[match.end() :]
                break
        return re.sub(r"[A-Za-z']+", lambda match: self._other(match[0], rng), text)

    def _other(self, word: str, rng: random.Random) -> str:
        choices = self.synonyms.get(word.lower())
        return _cased(word, rng.choice(choices)) if choices and rng.random() < 0.5 else word


def _tells(key: Key) -> bool:
    """Whether the acts say what is meant: greetings and small talk are all one act, whatever is said."""
    return any(not act.startswith("general") for act, _, _ in key)


def _cased(before: str, after: str) -> str:
    return after[:1].upper() + after[1:] if before[:1].isupper() else after


def _parsed(turn: Turn, protector: Protector) -> tuple[Key, Template, list[str]] | None:
    """The acts' key, the turn as a template, and its values; None where something else in it is protected."""
    low = turn.text.lower()
    if len(low) != len(turn.text) or not turn.acts:
        return None
    places: list[tuple[int, int]] = []
    named: list[tuple[str, str, str]] = []
    for act, slot, value in sorted((a, s, v.strip().lower()) for a, pairs in turn.acts.items() for s, v in pairs):
        place = None if value in NO_VALUES else _free_place(low, value, places)
        named.append((act, slot, value if place is None else ""))
        if place is not None:
            places.append(place)
    parts: list[str | int] = []
    at = 0
    for number, (start, end) in sorted(enumerate(places), key=lambda one: one[1]):
        parts += [turn.text[at:start], number]
        at = end
    parts.append(turn.text[at:])
    if any(protector.spans(part) for part in parts if isinstance(part, str)):
        return None
    return tuple(named), Template(tuple(parts)), [turn.text[start:end] for start, end in places]


def _free_place(low: str, value: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    return next(
        (
            (begin, end)
            for begin, end in whole_places(low, value)
            if all(end <= start or begin >= stop for start, stop in taken)
        ),
        None,
    )


def _synonyms(
    templates: Mapping[Key, Mapping[tuple[str, ...], Template]], protector: Protector
) -> dict[str, tuple[str, ...]]:
    """Word -> the words that stood in its place in SEEN templates or more."""
    together: dict[tuple[str, str], int] = defaultdict(int)
    for wordings in templates.values():
        holes: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for words in wordings:
            for n, word in enumerate(words if len(words) > 3 else ()):
                if word.isalpha() and word not in KEPT and word not in protector.words:
                    holes[(*words[:n], "", *words[n + 1 :])].add(word)
        for found in holes.values():
            for one in found:
                for other in found - {one}:
                    together[one, other] += 1
    kept: dict[str, list[str]] = defaultdict(list)
    for (one, other), times in sorted(together.items()):
        if times >= SEEN:
            kept[one].append(other)
    return {word: tuple(others) for word, others in kept.items()}
