"""Simulated raters: people with a taste, a tie threshold, a position bias, lapses and a speed, each one different.

The model of one judgement is an ordered logit (Agresti 2013, section 8.2): a rater perceives
``u = sharpness * (quality(left) - quality(right)) + bias + noise`` with standard logistic noise, says tie where
|u| <= threshold, else the better side; with probability `lapse` the answer is a blind click instead, uniform over the
three. Everything follows from the seed, the rater's number and the texts shown, never from time or order, so that a
simulated study can be stopped and repeated to the letter.

Quality is a rule over the text, because nothing here can read: response words that occur in the context, minus the
share of unknown and of repeated words, plus a little for length up to 12 words, plus `FLUENCY` times the share of
neighbouring words that stand next to each other somewhere in the conversations of the study, as a reader knows how
people talk there; a response known to be the reference gains 2, one known to be random loses 2; plus what no feature
sees, a number drawn from N(0, 0.7) by the text itself. No system is known by its name. Equal texts have equal quality.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from seedvote.crowd.forms.pairs import Button
from seedvote.crowd.web.rendering import show_literally
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Choice, Pair, Utterance
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.tokens import tokenize

COMMENTS = 0.2  # of the texts that need not be written
WROTE = "This one fits what was just said."


def groups_asked(radios: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of the questions behind groups of radio buttons.

    >>> groups_asked({"q-better": ["left"], "q-fluency-left": ["1"], "q-fluency-right": ["1"]})
    ['better', 'fluency']
    """
    return list(dict.fromkeys(group.split("-")[1] for group in radios))


def fill_page(
    radios: Mapping[str, Sequence[str]], texts: Mapping[str, bool], votes_said: Mapping[str, str], generator: Random
) -> dict[str, str]:
    """Every group and text of the page, so that each question says which side is better as `said` has it."""
    fields: dict[str, str] = {}
    for question, side in votes_said.items():
        groups = {group: values for group, values in radios.items() if group.split("-")[1] == question}
        fields |= _press_side(groups, side, generator) if len(groups) == 1 else _rate_sides(groups, side, generator)
    return fields | {name: WROTE for name, must in texts.items() if must or generator.random() < COMMENTS}


def _press_side(groups: Mapping[str, Sequence[str]], side: str, generator: Random) -> dict[str, str]:
    ((group, values),) = groups.items()
    sides = [value for value in values if value.startswith(("left", "right"))]
    ties = [value for value in values if value not in sides]
    fits = ties if side == "tie" else [value for value in sides if value.startswith(side)]
    return {group: generator.choice(fits or sides)}


def _rate_sides(groups: Mapping[str, Sequence[str]], side: str, generator: Random) -> dict[str, str]:
    values = next(iter(groups.values()))
    low, high = sorted(generator.sample(range(len(values)), 2))
    worse, better = values[low], values[high]
    if side == "tie":
        return dict.fromkeys(groups, better)
    return {group: better if group.endswith(f"-{side}") else worse for group in groups}


BUTTONS: tuple[Button, ...] = ("left", "right", "tie")
OTHERWISE = 0.2  # of the further questions about a pair that are answered by chance
FLUENCY = 3.0  # between word salad and what people say, in units of the noise
KNOWN_QUALITY = {"reference": 2.0, "random": -2.0}


@dataclass(frozen=True, slots=True)
class Habits:
    """One simulated rater."""

    number: int
    sharpness: float
    threshold: float
    bias: float  # towards the left side, in units of u
    lapse: float
    seconds: float  # median of a judgement
    twice: float  # probability of clicking twice
    regret: float  # probability of taking an answer back
    leave: float  # probability of walking away in a sitting


def draw_habits(number: int, *, seed: int, clickers: float = 0.1, leave: float = 0.0) -> Habits:
    """Draw rater `number`; a share `clickers` of them do not read at all, evenly spread (a systematic sample)."""
    generator = child_random(seed, "habits", number)
    start = child_random(seed, "clickers").random()
    clicker = math.floor((number + 1) * clickers + start) > math.floor(number * clickers + start)
    return Habits(
        number=number,
        sharpness=generator.lognormvariate(0.0, 0.35),
        threshold=generator.lognormvariate(math.log(0.75), 0.35),
        bias=generator.gauss(0.0, 0.25),
        lapse=1.0 if clicker else generator.betavariate(1, 40),
        seconds=generator.lognormvariate(math.log(3 if clicker else 9), 0.35),
        twice=generator.betavariate(1, 20),
        regret=generator.betavariate(1, 60),
        leave=leave,
    )


def known_neighbours(contexts: Iterable[Sequence[Utterance]]) -> frozenset[tuple[str, str]]:
    """Every two words that follow each other in these conversations; marks count as words."""
    turns = {line.text for context in contexts for line in context}
    return frozenset(pair for text in turns for pair in pairwise(tokenize(text)))


def draw_quality(
    candidate: Candidate, context: Sequence[Utterance], *, seed: int, neighbours: Container[tuple[str, str]] = ()
) -> float:
    """How fluent and relevant the response is, in units of the raters' noise."""
    words = candidate.text.split()
    context_words = {word for line in context for word in line.text.split() if len(word) > 3}
    overlap = len(context_words & set(words)) / (1 + len(set(words)))
    unknown = words.count("<unk>") / max(1, len(words))
    repeated = 1 - len(set(words)) / max(1, len(words))
    unseen = child_random(seed, "quality", candidate.text).gauss(0.0, 0.7)
    known = KNOWN_QUALITY.get(candidate.model, 0.0)
    side_by_side = list(pairwise(tokenize(candidate.text)))
    fluent = sum(pair in neighbours for pair in side_by_side) / max(1, len(side_by_side))
    return FLUENCY * fluent + 2 * overlap - 2 * unknown - repeated + 0.5 * min(len(words), 12) / 12 + known + unseen


class Reader:
    """Knows the pairs of a study, and how a rater would judge what a page shows."""

    def __init__(self, pairs: Iterable[Pair], *, seed: int) -> None:
        self.seed = seed
        self._known: dict[tuple[str, ...], tuple[Pair, bool]] = {}
        pairs = list(pairs)
        self._neighbours = known_neighbours(pair.context for pair in pairs)
        for pair in pairs:
            a, b = read_of(pair.a), read_of(pair.b)
            self._known.setdefault(page_key(pair.context, (a, b)), (pair, True))
            self._known.setdefault(page_key(pair.context, (b, a)), (pair, False))

    def judge_texts(self, rater: Habits, context: Sequence[Utterance], /, *texts: str) -> tuple[str, float]:
        """The side that this rater presses and the seconds that it takes."""
        left, right = texts
        key = page_key(context, (left, right))
        generator = child_random(self.seed, "judgement", rater.number, *key)
        seconds = round(generator.lognormvariate(math.log(rater.seconds), 0.5), 2)
        lapse, blind, draw = generator.random(), generator.choice(BUTTONS), generator.random()
        if lapse < rater.lapse:
            return blind, seconds
        pair, straight = self.find_pair(context, left, right)
        if pair.kind == "check":
            return _find_side(_read_key(pair), straight), seconds
        first, second = (pair.a, pair.b) if straight else (pair.b, pair.a)
        better = self.judge_quality(first, pair.context) - self.judge_quality(second, pair.context)
        perceived = rater.sharpness * better + rater.bias + math.log(draw / (1 - draw))
        if abs(perceived) <= rater.threshold:
            return "tie", seconds
        return ("left" if perceived > 0 else "right"), seconds

    def find_pair(self, context: Sequence[Utterance], left: str, right: str) -> tuple[Pair, bool]:
        """The pair that a page shows, and whether its a stands on the left."""
        key = page_key(context, (left, right))
        if key not in self._known:
            raise InputError(
                f"The server shows {left[:40]!r}, which is in none of these pairs. Give the pairs it serves: --pairs."
            )
        return self._known[key]

    def judge_quality(self, side: Candidate, context: Sequence[Utterance]) -> float:
        """What raters of this study make of a response."""
        return draw_quality(side, context, seed=self.seed, neighbours=self._neighbours)

    def answer_about(self, rater: Habits, name: str, answers: Sequence[str]) -> str:
        """What the rater answers about themselves, of the page's answers."""
        return answers[int(self.draw_whim(rater, "about", name) * len(answers))]

    def form_fields(self, pressed: str) -> dict[str, str]:
        """The fields of the form."""
        return {"choice": pressed}

    def answer_example(self, rater: Habits, number: int) -> str:
        """What is pressed in a worked example, not always well."""
        return BUTTONS[int(self.draw_whim(rater, "example", str(number)) * 3)]

    def fill_sheet(
        self,
        rater: Habits,
        context: Sequence[Utterance],
        shown_texts: Sequence[str],
        radios: Mapping[str, Sequence[str]],
        texts: Mapping[str, bool],
    ) -> dict[str, str]:
        """The answers to several questions: the first as `judge` has it, further ones mostly alike."""
        key = page_key(context, shown_texts)
        choice, _ = self.judge_texts(rater, context, *shown_texts)
        left, right = shown_texts
        pair, straight = self.find_pair(context, left, right)
        generator = child_random(self.seed, "sheet", rater.number, *key)
        sides: dict[str, str] = {}
        for name in groups_asked(radios):
            is_other = generator.random() < OTHERWISE and bool(sides)
            sides[name] = generator.choice(BUTTONS) if is_other and pair.kind != "check" else choice
        if pair.kind == "check" and choice == _find_side(_read_key(pair), straight):  # no blind click
            sides |= {
                name: _find_side(right_one, straight) for name, right_one in pair.answers.items() if name in sides
            }
        return fill_page(radios, texts, sides, generator)

    def draw_whim(self, rater: Habits, name: str, *key: str) -> float:
        """A uniform number for a habit such as clicking twice, the same whenever it is asked for."""
        return child_random(self.seed, name, rater.number, *key).random()


class TalkReader(Reader):
    """How a rater would judge two conversations that they held: by what was said, which no file has.

    What the sides of checks are played to say stands in the file, so a careful rater knows it for wrong.
    """

    def __init__(self, pairs: Iterable[Pair], *, seed: int) -> None:
        pairs = list(pairs)
        super().__init__(pairs, seed=seed)
        sides = [side for pair in pairs if pair.kind == "check" for side in (pair.a, pair.b)]
        self._wrong = {show_literally(turn.text).strip() for side in sides for turn in side.turns or ()}

    def find_pair(self, context: Sequence[Utterance], left: str, right: str) -> tuple[Pair, bool]:
        """A pair of what was said, as if a stood on the left."""
        wrong = [not self._wrong.isdisjoint(text.split("\n")) for text in (left, right)]
        pair = Pair("", "", context, Candidate(left, ""), Candidate(right, ""))
        if wrong[0] == wrong[1]:
            return pair, True
        return replace(pair, kind="check", answer="b" if wrong[0] else "a"), True


def _read_key(check: Pair) -> Choice | None:
    """The right answer to the first question that a check asks."""
    return check.answer or next(iter(check.answers.values()), None)


def _find_side(answer: Choice | None, straight: bool) -> Button:
    if answer == "tie":
        return "tie"
    return "left" if (answer == "a") == straight else "right"


def read_of(side: Candidate) -> str:
    """What a page shows of a side: of a whole conversation what was said, without the names."""
    return side.text if side.turns is None else "\n".join(show_literally(turn.text).strip() for turn in side.turns)


def page_key(context: Sequence[Utterance], texts: Sequence[str]) -> tuple[str, ...]:
    """What a page shows, as text: control signs made visible, space at the ends gone."""
    parts = [part for line in context for part in (line.speaker, line.text)]
    return tuple(show_literally(part).strip() for part in (*parts, *texts))
