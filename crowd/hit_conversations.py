"""What hit.toml says where it says nothing and `form = "conversations"`, in our words.

The reading order is that of ACUTE-Eval (Li, Weston and Roller 2019): both conversations whole, the question after them,
about one speaker of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowd.forms.conversations import ConversationsExample
from dialogue.records import Utterance

CONSENT = """\
You are invited to take part in a research study about computer programs that hold a conversation. You will read pairs \
of conversations and say which of two speakers you would rather talk to. We want to know what you think.

We store your answers and the time each one took under a scrambled form of your worker id. The id itself is kept \
apart from them and serves only to pay you. We store no name, no network address and nothing about your browser. The \
answers, without your id, may be published for other researchers.

Taking part is voluntary. You may stop at any time by closing this page; what you have answered until then is kept. \
Much in the conversations was written by computer programs, and now and then something may be odd or unpleasant."""

INSTRUCTIONS = """\
You will see two whole conversations, A and B. In each of them one speaker is marked: speaker A and speaker B. Read \
both conversations to their end, then say which of the two marked speakers you would rather talk to.

Judge what the marked speaker says, and how it fits what was said before. Leave out of account what the other speaker \
says, what the conversation is about and how long it is.

Choose Tie when you would talk to both equally gladly, or to neither.

Worked examples come first. They are for practice and do not count."""


def _talk(*texts: str) -> tuple[Utterance, ...]:
    return tuple(Utterance(("user", "system")[place % 2], text) for place, text in enumerate(texts))


EXAMPLES = (
    ConversationsExample(
        _talk(
            "Hello! Did you do anything nice at the weekend?",
            "I baked bread with my sister. It was flat as a plate, and we ate all of it. And you?",
            "I went walking by the sea.",
            "In this wind? You must like it rough. Do you go there often?",
        ),
        _talk(
            "Hello! Did you do anything nice at the weekend?",
            "The weekend is nice. I like the weekend.",
            "I went walking by the sea.",
            "I have two dogs and a car. I like the weekend.",
        ),
        "left",
        "Speaker A takes up what was said and asks back. Speaker B repeats itself and changes the subject.",
    ),
    ConversationsExample(
        _talk(
            "I am looking for a cheap place to eat in the centre.",
            "The train to the coast leaves at 9:15.",
            "No, a restaurant, please.",
            "Would you like a room for two nights?",
        ),
        _talk(
            "Could you find me a museum that is free?",
            "The toy museum is free, and it is open until five today.",
            "Lovely. How do I get there?",
            "From the station walk straight ahead for five minutes.",
        ),
        "right",
        "Speaker B answers what was asked. Speaker A does not, whatever the conversation is about.",
    ),
    ConversationsExample(
        _talk("Do you have any hobbies?", "I paint, mostly birds. What do you do in the evening?"),
        _talk("What do you do when you are not working?", "I sing in a small choir. Do you like music?"),
        "tie",
        "Both answer well and keep the conversation going. When both are equally poor, that is a tie as well.",
    ),
)

CONVERSATIONS: Mapping[str, Any] = {
    "title": "Which speaker would you rather talk to?",
    "question": "Which of the two marked speakers would you rather talk to?",
    "consent_text": CONSENT,
    "instructions": INSTRUCTIONS,
    "examples": EXAMPLES,
    "pairs_per_sitting": 8,
    "first_checks": 1,
    "later_checks": 2,
    "max_failures": 2,
    "lease_minutes": 30,
}
