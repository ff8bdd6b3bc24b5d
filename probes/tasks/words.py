"""Words (PersonaChat): a mid-frequency word of the response, and the words of the persona."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from seedvote.dialogue.corpora.examples import Example
from seedvote.probes.tasks.stopwords import STOPWORDS
from seedvote.probes.tasks.task import NONE, LabelRule, ProbeTask, fixed, or_none

MOST_WORDS = 500
BAND = (1000, 3000)  # occurrences in the official training file ...
BAND_UTTERANCES = 131_438  # ... of this many utterances; for another corpus the band is scaled


def tokens(text: str) -> list[str]:
    """Words in lower case.

    >>> tokens("I'm a dog-walker !")
    ['i', "'m", 'a', 'dog', 'walker']
    """
    return re.findall(r"[a-z0-9]+|'[a-z]+", text.lower())


def mid_frequency_words(train: Sequence[Example]) -> list[str]:
    """The words in the middle band of frequency in the training examples, at most 500, the most frequent first.

    An utterance counts in every example that shows it, as target or in the context: so the band has about 500 words in
    PersonaChat, as the papers say, and half of the responses have none. Counted once each, it would have 110.
    """
    dialogues = {example.dialogue.dialogue: example.dialogue for example in train}.values()
    counts: Counter[str] = Counter()
    for dialogue in dialogues:
        for n, turn in enumerate(dialogue.turns):
            appearances = len(dialogue.turns) - max(n, 1)
            counts.update({word: appearances * times for word, times in Counter(tokens(turn.text)).items()})
    utterances = sum(len(dialogue.turns) for dialogue in dialogues)
    low, high = (bound * utterances / BAND_UTTERANCES for bound in BAND)
    band = [(-count, word) for word, count in counts.items() if max(low, 2) <= count <= high]
    return [word for _, word in sorted(band)[:MOST_WORDS]]


def word_of_the_response(train: Sequence[Example]) -> LabelRule:
    """The rule: the first mid-frequency word of the target, or none."""
    chosen = set(mid_frequency_words(train))
    return lambda example: [next((word for word in tokens(example.target.text) if word in chosen), NONE)]


def persona_words(example: Example) -> list[str]:
    """The words of the persona of the one who answers, without stop words, or none."""
    lines = example.dialogue.persona.get(example.target.speaker, ())
    words = dict.fromkeys(word for line in lines for word in tokens(line))
    return or_none(word for word in words if word not in STOPWORDS and not word.startswith("'"))


WORD_TASKS = (
    ProbeTask("WordCont", False, word_of_the_response, "a mid-frequency word of the response", ("personachat", "text")),
    ProbeTask("PersonalInfo", True, fixed(persona_words), "the words of the persona", ("personachat",)),
)
