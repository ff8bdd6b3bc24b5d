"""What hit.toml says where it says nothing and `form = "choice"`: the survey of Lowe et al. (2016), in our words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowd.forms.choice import ChoiceExample
from crowd.hit_about import AboutQuestion
from dialogue.records import Utterance

CONSENT = """\
You are invited to take part in a research study about conversations. You will read the beginnings of short \
conversations and say which of several sentences was really said next. We want to know what you think.

We store your answers and the time each one took under a scrambled form of your worker id. The id itself is kept \
apart from them and serves only to pay you. We store no name, no network address and nothing about your browser. The \
answers, without your id, may be published for other researchers.

Taking part is voluntary. You may stop at any time by closing this page; what you have answered until then is kept. \
The conversations were held by other people, and now and then something in them may be odd or unpleasant."""

INSTRUCTIONS = """\
You will see the beginning of a conversation and several sentences. One of them was really said next; the others are \
from other conversations. Choose the one that you think came next, and the one that you would take as second best.

Please guess, even if none of them fits well: an answer is needed for each question. Ignore small slips of \
grammar, capital letters and length.

A few worked examples come first. They are for practice and do not count."""


def _talk(*texts: str) -> tuple[Utterance, ...]:
    return tuple(Utterance(("user", "system")[place % 2], text) for place, text in enumerate(texts))


EXAMPLES = (
    ChoiceExample(
        _talk(
            "Hello, I need a cheap place to eat in the north of town.",
            "There are two, an Indian and a Chinese restaurant. Which would you like?",
            "The Indian one, please. A table for four at 19:00.",
        ),
        (
            "The train leaves at 9:15 and costs 12 pounds.",
            "Which day would you like to come back?",
            "Your table for four at 19:00 is booked. Anything else?",
            "The museum is closed on Mondays.",
            "The restaurant is in the north and cheap. How many people are you?",
        ),
        best=3,
        second=5,
        why="Option 3 does what was asked. Option 5 is about the restaurant too, but asks what was said already.",
    ),
    ChoiceExample(
        _talk("Do you have any hobbies?", "I paint, mostly birds. And you?", "I bake bread at weekends."),
        (
            "That sounds lovely! Is sourdough hard to make?",
            "I have never been to Spain.",
            "It is a five minute walk from the station.",
            "My brother likes to cook as well.",
            "You are welcome, goodbye.",
        ),
        best=1,
        second=4,
        why="Option 1 takes up what was just said. Option 4 could follow too, but less directly.",
    ),
)

KNOWLEDGE = AboutQuestion(
    "knowledge",
    "How much do you know about what these conversations are about?",
    ("nothing", "a little", "a good deal", "I am an expert"),
)

CHOICE: Mapping[str, Any] = {
    "title": "What was said next?",
    "question": "Which of these was really said next?",
    "consent_text": CONSENT,
    "instructions": INSTRUCTIONS,
    "examples": EXAMPLES,
    "first_checks": 2,
    "later_checks": 2,
    "max_failures": 1,
    "sitting_minutes": 40,
    "about": (KNOWLEDGE,),
}
