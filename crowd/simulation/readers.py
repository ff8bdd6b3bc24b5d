"""How simulated raters answer questions with several options and judge sets of responses, knowing what a page shows.

Of each option a rater perceives ``u = sharpness * knowledge * [it is the true one] * 2 + noise`` with standard Gumbel
noise, and takes the two highest: first choices follow a softmax, second ones Plackett and Luce. Knowledge is what the
rater tells on the page about them, from .3 for the first answer of the list to 1.7 for the last; whoever prefers not to
say lies between. Lapses are blind clicks, and careful raters pass checks.

Of each response a rater perceives ``u = sharpness * quality + noise`` with standard Gumbel noise, the first on the page
a little more (their bias): the order of u is that of Plackett and Luce. A scale is that u in steps, and responses whose
u is nearer than the rater's threshold share a rank where the page allows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from seedvote.crowd.simulation.raters import (
    COMMENTS,
    WROTE,
    Habits,
    draw_quality,
    groups_asked,
    known_neighbours,
    page_key,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Question, ResponseSet, Utterance
from seedvote.dialogue.seeds import child_random

ADVANTAGE = 2.0  # of the true option, in units of the noise
KNOWING = (0.3, 1.7)


class QuestionReader:
    """Knows the questions of a study, and how a rater would answer what a page shows."""

    def __init__(self, questions: Iterable[Question], *, seed: int) -> None:
        self.seed = seed
        self._known = {
            _question_key(question.context, [option.text for option in question.options]): question
            for question in questions
        }
        self._told: dict[int, float] = {}

    def answer_about(self, rater: Habits, name: str, answers: Sequence[str]) -> str:
        """What the rater answers about themselves, of the page's answers; the empty one is withheld."""
        place = int(self.draw_whim(rater, "about", name) * len(answers))
        legal = [answer for answer in answers if answer]
        level = legal.index(answers[place]) / max(1, len(legal) - 1) if answers[place] else 0.5
        self._told[rater.number] = KNOWING[0] + (KNOWING[1] - KNOWING[0]) * level
        return answers[place]

    def judge_texts(self, rater: Habits, context: Sequence[Utterance], /, *options: str) -> tuple[str, float]:
        """The places of the two that this rater takes, and the seconds that it takes."""
        key = _question_key(context, options)
        generator = child_random(self.seed, "judgement", rater.number, *key)
        seconds = round(generator.lognormvariate(math.log(rater.seconds), 0.5), 2)
        blind = generator.sample(range(len(options)), 2)
        if generator.random() < rater.lapse:
            return "{},{}".format(*blind), seconds
        if key not in self._known:
            raise InputError(
                f"The server shows {options[0][:40]!r}, which is in none of these questions. Give the questions it "
                "serves: --questions."
            )
        question = self._known[key]
        truth = page_key([], [question.options[question.answer].text])
        noise = {text: -math.log(-math.log(generator.random())) for text in sorted(options)}  # whatever their places
        sharp = math.inf if question.kind == "check" else ADVANTAGE * rater.sharpness * self._told.get(rater.number, 1)
        felt = [noise[text] + (sharp if page_key([], [text]) == truth else 0.0) for text in options]
        best, second, *_ = sorted(range(len(options)), key=lambda place: -felt[place])
        return f"{best},{second}", seconds

    def form_fields(self, pressed: str) -> dict[str, str]:
        """The fields of the form."""
        return dict(zip(("first", "second"), pressed.split(","), strict=True))

    def answer_example(self, rater: Habits, number: int) -> str:
        """What is pressed in a worked example."""
        return "0,1" if self.draw_whim(rater, "example", str(number)) < 0.5 else "1,0"

    def draw_whim(self, rater: Habits, name: str, *key: str) -> float:
        """As of a reader of pairs."""
        return child_random(self.seed, name, rater.number, *key).random()


def _question_key(context: Sequence[Utterance], options: Sequence[str]) -> tuple[str, ...]:
    return page_key(context, sorted(options))


STEP = 1.2  # of u, between two points of a scale of five
INNER, OUTER = 1.0, 9.0  # of u in a check: what is asked for stands out on every scale


class SetReader:
    """Knows the sets of a study, and how a rater would judge what a page shows."""

    def __init__(self, sets: Iterable[ResponseSet], *, seed: int) -> None:
        self.seed = seed
        sets = list(sets)
        self._neighbours = known_neighbours(response_set.context for response_set in sets)
        self._known = {
            _set_key(response_set.context, [response.text for response in response_set.responses]): response_set
            for response_set in sets
        }

    def judge_texts(self, rater: Habits, context: Sequence[Utterance], /, *texts: str) -> tuple[str, float]:
        """No single button; the seconds that it takes."""
        generator = child_random(self.seed, "judgement", rater.number, *_set_key(context, texts))
        return "", round(generator.lognormvariate(math.log(rater.seconds * len(texts) / 2), 0.5), 2)

    def form_fields(self, pressed: str) -> dict[str, str]:
        """None beside the answers to questions."""
        del pressed
        return {}

    def answer_example(self, rater: Habits, number: int) -> str:
        """There are no worked examples."""
        del rater, number
        return ""

    def answer_about(self, rater: Habits, name: str, answers: Sequence[str]) -> str:
        """What the rater answers about themselves, of the page's answers."""
        return answers[int(self.draw_whim(rater, "about", name) * len(answers))]

    def draw_whim(self, rater: Habits, name: str, *key: str) -> float:
        """As of a reader of pairs."""
        return child_random(self.seed, name, rater.number, *key).random()

    def answer_all(
        self,
        rater: Habits,
        context: Sequence[Utterance],
        shown_texts: Sequence[str],
        radios: Mapping[str, Sequence[str]],
        texts: Mapping[str, bool],
        rankings: Mapping[str, bool],
    ) -> dict[str, str]:
        """Every group and text of the page; `rankings` names the groups of ranks, true where none may be shared."""
        key = _set_key(context, shown_texts)
        generator = child_random(self.seed, "set", rater.number, *key)
        blind = generator.random() < rater.lapse
        if not blind and key not in self._known:
            raise InputError(
                f"The server shows {shown_texts[0][:40]!r}, which is in none of these sets. Give the sets it serves: "
                "--pairs."
            )
        record = None if blind else self._known[key]
        fields: dict[str, str] = {}
        for name in groups_asked(radios):
            group = f"q-{name}"
            points = len(radios[f"{group}-0"])
            felt = (
                [generator.gauss(0, 2) for _ in shown_texts]
                if record is None
                else self._feel_quality(rater, record, shown_texts)
            )
            if record is not None and (claim := _find_claim(record, name, groups_asked(radios)[0])):
                felt = _as_asked(felt, claim, [r.text for r in record.responses], shown_texts)
            if group in rankings:
                numbers = _make_ranks(felt, 0.0 if rankings[group] else rater.threshold / 2)
            else:
                numbers = [_choose_point(value, points) for value in felt]
            fields |= {f"{group}-{place}": str(number) for place, number in enumerate(numbers)}
        return fields | _write_comments(texts, generator)

    def _feel_quality(self, rater: Habits, record: ResponseSet, shown_texts: Sequence[str]) -> list[float]:
        """By place. The noise is that of the text, wherever it stands."""
        wrote = {page_key([], [response.text]): response for response in record.responses}
        felt = []
        for place, text in enumerate(shown_texts):
            noise = child_random(self.seed, "noise", rater.number, record.set, text).random()
            worth = draw_quality(
                wrote[page_key([], [text])], record.context, seed=self.seed, neighbours=self._neighbours
            )
            felt.append(rater.sharpness * worth - math.log(-math.log(noise)) + (rater.bias if place == 0 else 0.0))
        return felt


def _find_claim(record: ResponseSet, name: str, lead: str) -> str:
    """What a check asks of this question."""
    return record.answers.get(name) or (record.answer or "" if name == lead else "")


def _as_asked(felt: Sequence[float], claim: str, texts: Sequence[str], shown_texts: Sequence[str]) -> list[float]:
    """The same, so that the claim of a check holds."""
    word, colon, target = claim.partition(":")
    above, _, below = claim.partition(">")
    wanted = (
        {int(target): OUTER if word in ("best", "high") else -OUTER}
        if colon
        else {int(above): OUTER, int(below): -OUTER}
    )
    known = {page_key([], [texts[index]]): value for index, value in wanted.items()}
    others_felt = [max(-INNER, min(INNER, value)) for value in felt]
    return [
        known.get(page_key([], [text]), felt_value) for text, felt_value in zip(shown_texts, others_felt, strict=True)
    ]


def _choose_point(felt: float, points: int) -> int:
    """The point of a scale; its ends are for what lies beyond the others."""
    middle, step = (points + 1) / 2, STEP * 4 / max(1, points - 1)
    return max(1, min(points, round(middle + felt / step)))


def _make_ranks(felt: Sequence[float], near: float) -> list[int]:
    """1 the highest; whoever is nearer than `near` to the one above shares its rank."""
    order = sorted(range(len(felt)), key=lambda place: -felt[place])
    ranks, rank = [0] * len(felt), 1
    for number, place in enumerate(order, 1):
        if number > 1 and felt[order[number - 2]] - felt[place] > near:
            rank = number
        ranks[place] = number if near == 0 else rank
    return ranks


def _write_comments(texts: Mapping[str, bool], generator: Random) -> dict[str, str]:
    return {name: WROTE for name, must in texts.items() if must or generator.random() < COMMENTS}


def _set_key(context: Sequence[Utterance], texts: Sequence[str]) -> tuple[str, ...]:
    return page_key(context, sorted(texts))
