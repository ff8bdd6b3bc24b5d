"""How simulated raters answer questions with several options, and what they tell about themselves.

Of each option a rater perceives ``u = sharpness * knowledge * [it is the true one] * 2 + noise`` with standard Gumbel
noise, and takes the two highest: first choices follow a softmax, second ones Plackett and Luce. Knowledge is what the
rater tells on the page about them, from .3 for the first answer of the list to 1.7 for the last; whoever prefers not to
say lies between. Lapses are blind clicks, and careful raters pass checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from seedvote.crowd.simulation.raters import Habits, page_key
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Question, Utterance
from seedvote.dialogue.seeds import child_random

ADVANTAGE = 2.0  # of the true option, in units of the noise
KNOWING = (0.3, 1.7)


class QuestionReader:
    """Knows the questions of a study, and how a rater would answer what a page shows."""

    def __init__(self, questions: Iterable[Question], *, seed: int) -> None:
        self.seed = seed
        self._known = {
            _key(question.context, [option.text for option in question.options]): question for question in questions
        }
        self._told: dict[int, float] = {}

    def tells(self, rater: Habits, name: str, answers: Sequence[str]) -> str:
        """What the rater answers about themselves, of the page's answers; the empty one is withheld."""
        place = int(self.whim(rater, "about", name) * len(answers))
        legal = [answer for answer in answers if answer]
        level = legal.index(answers[place]) / max(1, len(legal) - 1) if answers[place] else 0.5
        self._told[rater.number] = KNOWING[0] + (KNOWING[1] - KNOWING[0]) * level
        return answers[place]

    def judge(self, rater: Habits, context: Sequence[Utterance], /, *options: str) -> tuple[str, float]:
        """The places of the two that this rater takes, and the seconds that it takes."""
        key = _key(context, options)
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

    def fields(self, pressed: str) -> dict[str, str]:
        """The fields of the form."""
        return dict(zip(("first", "second"), pressed.split(","), strict=True))

    def learns(self, rater: Habits, number: int) -> str:
        """What is pressed in a worked example."""
        return "0,1" if self.whim(rater, "example", str(number)) < 0.5 else "1,0"

    def whim(self, rater: Habits, name: str, *key: str) -> float:
        """As of a reader of pairs."""
        return child_random(self.seed, name, rater.number, *key).random()


def _key(context: Sequence[Utterance], options: Sequence[str]) -> tuple[str, ...]:
    return page_key(context, sorted(options))
