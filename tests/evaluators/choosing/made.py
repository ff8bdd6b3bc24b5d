"""Questions and a corpus that tests share."""

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.records import Dialogue, Option, Question, Turn, Utterance

WORDS = ("red", "green", "blue", "small", "large", "old", "new", "fast")


def asked(name, options, answer, context="hello there", **more):
    """A question from texts."""
    return Question(
        name, more.pop("item", name), [Utterance("user", context)], [Option(text) for text in options], answer, **more
    )


def corpus_examples(dialogues=40, replies=4):
    """Dialogues of user and system by turns; some replies are said in many of them."""
    found = []
    for d in range(dialogues):
        turns = []
        for n in range(replies):
            turns.append(Turn("user", f"question {n} about {WORDS[d % 8]}"))
            common = n == replies - 1
            turns.append(Turn("system", "You are welcome." if common else f"answer {n} is {WORDS[(d + n) % 8]} {d}"))
        dialogue = Dialogue(f"D{d:03}", "test", turns)
        found += [Example(f"D{d:03}:{n}", dialogue, n) for n in range(1, len(turns), 2)]
    return found
