"""A page of differences for the eye: turns before and after, with the changed letters marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from seedvote.dialogue.errors import InputError
from seedvote.evaluators.perturbing.condition import ChangedTurn, Condition

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
SHOWN = 50  # turns of a condition
Part = tuple[str, str]  # del, ins, u or nothing, and a text
ALIKE = 0.5  # from this share of letters on, a changed word is shown letter by letter


def differences_page(perturbed: Sequence[Condition], summaries: Sequence[str], recipe: str) -> str:
    """The page; each condition shows up to SHOWN of its turns, evenly spread."""
    pages = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    blocks = [
        {
            "head": f"{condition.kind} at {condition.dose:g}",
            "said": summary_line,
            "turns": [
                {"item": turn.item, "before": old, "after": new}
                for turn in _spread(condition.changed)
                for old, new in [differences(turn)]
            ],
        }
        for condition, summary_line in zip(perturbed, summaries, strict=True)
    ]
    text = pages.get_template("perturbed/page.html").render(
        title="What was changed in the users' turns", conditions=blocks, recipe=recipe
    )
    return text + "\n"


def refuse_other_page(path: Path, text: str) -> None:
    """A page of other conditions is somebody's only look at them: it is not written over unasked."""
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise InputError(
            f"{path} shows the conditions of an earlier run. Move it away to keep it, or write over it: --replace. "
            "(Nothing was written; the conditions of that run stay in any case.)"
        )


def _spread(turns: Sequence[ChangedTurn]) -> list[ChangedTurn]:
    return [turns[n * len(turns) // SHOWN] for n in range(SHOWN)] if len(turns) > SHOWN else list(turns)


def differences(turn: ChangedTurn) -> tuple[list[Part], list[Part]]:
    """The turn before, with what was taken out, and after, with what was put in; protected values underlined."""
    old, new = _words(turn.before), _words(turn.after)
    before: list[Part] = []
    after: list[Part] = []
    values = frozenset(word for value in turn.held for word in _words(value) if word.strip())
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            before += [("u" if word in values else "", word) for word in old[a:b]]
            after += [("u" if word in values else "", word) for word in new[c:d]]
        elif what == "replace" and b - a == d - c:
            for old_word, new_word in zip(old[a:b], new[c:d], strict=True):
                gone, come = _letters(old_word, new_word)
                before += gone
                after += come
        else:
            before.append(("del", "".join(old[a:b])))
            after.append(("ins", "".join(new[c:d])))
    return [part for part in before if part[1]], [part for part in after if part[1]]


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|[\w']+|[^\w\s]", text)


def _letters(old: str, new: str) -> tuple[list[Part], list[Part]]:
    """Two words, marked letter by letter where they are alike, as wholes where they are not."""
    match = SequenceMatcher(None, old, new, autojunk=False)
    if match.ratio() < ALIKE:
        return [("del", old)], [("ins", new)]
    codes = match.get_opcodes()
    return (
        [("" if what == "equal" else "del", old[a:b]) for what, a, b, _, _ in codes],
        [("" if what == "equal" else "ins", new[c:d]) for what, _, _, c, d in codes],
    )
