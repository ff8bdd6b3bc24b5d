"""The languages of hit.toml: `languages`, and the study's own texts in each, `[texts.LANGUAGE]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from seedvote.crowd.hit.tables import Legal
from seedvote.dialogue.errors import InputError

ENGLISH = "en"
CATALOGUES = Path(__file__).resolve().parents[2] / "templates" / "languages"
LANGUAGES = (ENGLISH, *sorted(path.stem for path in CATALOGUES.glob("*.po")))


@dataclass(frozen=True)
class TextsIn:
    """The study's own texts in one language; each has the name of the key of hit.toml that it stands for."""

    language: str
    title: str = ""
    question: str = ""
    consent_text: str = ""
    instructions: str = ""
    examples: tuple[Any, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Any other text of the study, as it stands in hit.toml -> in this language."""


WORDED = tuple(key.name for key in fields(TextsIn))[1:-1]
LANGUAGES_OF_STUDY = Legal(
    f"a list of languages out of {', '.join(LANGUAGES)}",
    lambda v: isinstance(v, list) and bool(v) and len({*map(str, v)}) == len(v) and set(map(str, v)) <= set(LANGUAGES),
)
TEXTS = Legal(
    f"a table for each further language, with {', '.join(WORDED)}, words",
    lambda v: isinstance(v, Mapping) and all(isinstance(one, Mapping) for one in v.values()),
)


def texts_from(texts: Mapping[str, Mapping[str, Any]], check: Callable[..., Any], where: str) -> tuple[TextsIn, ...]:
    """`[texts]` as it was written; `check(name, value, where)` gives the value of one key of hit.toml."""
    return tuple(_read_wording(language, wording, check, where) for language, wording in texts.items())


def _read_wording(language: str, wording: Mapping[str, Any], check: Callable[..., Any], where: str) -> TextsIn:
    place = f"{where}: texts.{language}"
    if unknown := [name for name in wording if name not in (*WORDED, "words")]:
        raise InputError(f"{place}.{unknown[0]} is not one of {', '.join(WORDED)}, words.")
    words = wording.get("words", {})
    if not isinstance(words, Mapping) or not all(isinstance(word, str) and word.strip() for word in words.values()):
        raise InputError(f"{place}.words is not a table of texts.")
    own = {name: check(name, value, place) for name, value in wording.items() if name != "words"}
    return TextsIn(language, **own, words=dict(words))


def texts_asked(hit: Any) -> list[str]:
    """What `[[about]]`, `[[questions]]` and `[marks]` say, answers and labels too."""
    marks = [text for text in (hit.marks.ask, *hit.marks.categories) if text] if hit.marks else []
    about = [text for question in hit.about for text in (question.ask, *question.answers)]
    return (
        about
        + marks
        + [text for question in hit.questions for text in (question.ask, *question.strength, *question.labels)]
    )


def texts_by_default(hit: Any, usual: Any) -> list[str]:
    """Those of the table, if any, that is still as the form brings it."""
    changed = {name: () for name in ("about", "questions") if getattr(hit, name) != getattr(usual, name)}
    return texts_asked(replace(usual, **changed))


def check_languages(hit: Any, usual: Any, where: str) -> None:
    """Every text that the study has of its own is there in each of its languages, and in no other.

    Those of `usual`, the HIT of this form where hit.toml says nothing, are there in every language.
    """
    first, *translations = hit.languages
    own = [name for name in WORDED if getattr(hit, name) and getattr(hit, name) != getattr(usual, name)]
    for wording in hit.texts:
        if wording.language not in translations:
            languages = ", ".join(translations) or "none"
            raise InputError(
                f"{where}: texts.{wording.language} is for none of the further languages ({languages}). The texts of "
                f"the first one, {first}, stand at the top; name the others in languages."
            )
    known = texts_by_default(hit, usual)
    missing_texts = [text for text in texts_asked(hit) if text not in known]
    for language in translations:
        texts_in = next((candidate for candidate in hit.texts if candidate.language == language), TextsIn(language))
        if unsaid := [text for text in missing_texts if text not in texts_in.words]:
            raise InputError(
                f"{where}: {unsaid[0]!r} of [[about]], [[questions]] or [marks] is not in [texts.{language}.words]."
            )
        if missing := [name for name in own if getattr(hit, name) and not getattr(texts_in, name)]:
            raise InputError(
                f"{where}: {missing[0]} is given in {first} and not in {language}: add it to [texts.{language}], so "
                "that no page mixes languages."
            )
