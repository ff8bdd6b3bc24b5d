"""Position: how far the dialogue has gone."""

from __future__ import annotations

from seedvote.dialogue.corpora.examples import Example
from seedvote.probes.tasks.task import ProbeTask, fixed


def fifth(example: Example) -> list[str]:
    """Which fifth of the dialogue's examples this one is in: min(4, 5 i // T) for example i of T.

    MultiWOZ has an example for each user turn that is answered; PersonaChat one for each utterance but the first.
    """
    turns = example.dialogue.turns
    targets = [n for n in range(1, len(turns)) if turns[n].speaker != "user"]
    return [str(min(4, 5 * targets.index(example.n) // len(targets)))]


POSITION_TASKS = (
    ProbeTask("UtteranceLoc", False, fixed(fifth), "which fifth of the dialogue", ("multiwoz", "personachat", "text")),
)
