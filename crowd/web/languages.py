"""The languages of a rater's pages: what is said in each, in which direction, and how it writes money and dates.

`templates/languages/LANGUAGE.po` holds all that is said, by its English; a file more is a language more. English is
what the templates say themselves. Babel knows plurals, directions, names and forms of numbers of every language; it
is imported for who reads another language only.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from gettext import GNUTranslations, NullTranslations
from typing import Any

from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit, usual_hit
from seedvote.crowd.hit.languages import CATALOGUES, ENGLISH, TextsIn, texts_by_default


@dataclass(frozen=True, slots=True)
class LanguageName:
    """A language as its speakers call it."""

    code: str
    name: str
    direction: str


@cache
def catalogue(language: str) -> NullTranslations:
    """What is said in this language; a text that is not there is said in English."""
    if language == ENGLISH:
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with (CATALOGUES / f"{language}.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)


def in_words(text: str, language: str) -> str:
    """A text of ours; parts between empty lines are said one by one."""
    return "\n\n".join(catalogue(language).gettext(part) if part else "" for part in text.split("\n\n"))


@lru_cache(256)
def hit_in(hit: Hit, language: str) -> Hit:
    """The HIT with its texts in this language: those of hit.toml where it has them, else its form's, translated."""
    hit = _said_truly(hit)
    if language == ENGLISH and hit.languages == (ENGLISH,):
        return hit
    own_texts = next((texts for texts in hit.texts if texts.language == language), TextsIn(language))
    usual = usual_hit(hit.form)
    usual = _said_truly(replace(usual, form=hit.form, examples=hit.examples and usual.examples))
    first = hit if language == hit.languages[0] else usual

    def text(name: str) -> str:
        own = getattr(own_texts, name) or getattr(first, name)
        return in_words(own, language) if own == getattr(usual, name) else own

    examples = (own_texts.examples or first.examples) if hit.examples else ()
    if examples == usual.examples:
        say = partial(in_words, language=language)
        examples = tuple(FORMS[hit.form].example_said(example, say) for example in examples)
    words: dict[str, Any] = {name: text(name) for name in ("title", "question", "consent_text", "instructions")}
    return replace(hit, **words, examples=examples)


def _said_truly(hit: Hit) -> Hit:
    """Without the last words of a form's own instructions, "Worked examples come first", where none do."""
    usual = usual_hit(hit.form)
    if hit.examples or not usual.examples or hit.instructions != usual.instructions:
        return hit
    return replace(hit, instructions=hit.instructions.rpartition("\n\n")[0])


def own_word(hit: Hit, text: str, language: str) -> str:
    """A text of the study that is no key of its own, such as a question about the rater; its form's, translated."""
    words = next((texts.words for texts in hit.texts if texts.language == language), {})
    if text in words:
        return words[text]
    return in_words(text, language) if text in texts_by_default(hit, usual_hit(hit.form)) else text


@cache
def name_of(language: str) -> LanguageName:
    """How a page names the language that it offers."""
    from babel import Locale

    locale = Locale.parse(language)
    name = locale.get_display_name() or language
    return LanguageName(language, name[0].upper() + name[1:], locale.text_direction)


def direction(language: str) -> str:
    """`ltr` or `rtl`."""
    return "ltr" if language == ENGLISH else name_of(language).direction


def pay_in(amount: float, currency: str, language: str) -> str:
    """What is paid.

    >>> pay_in(2.5, "EUR", "en"), pay_in(2.5, "EUR", "de")
    ('2.50 EUR', '2,50 EUR')
    """
    if language == ENGLISH:
        return f"{amount:.2f} {currency}"
    from babel.numbers import format_decimal

    return f"{format_decimal(amount, '#,##0.00', locale=language)} {currency}"


def day(seconds: float, language: str) -> str:
    """The date of a moment, in words.

    >>> day(0, "en"), day(0, "de")
    ('January 1, 1970', '1. Januar 1970')
    """
    from babel.dates import format_date

    return format_date(datetime.fromtimestamp(seconds, UTC), "long", locale=language)


def moment(seconds: float) -> str:
    """A moment, to the minute, as every language reads it.

    >>> moment(0)
    '1970-01-01 00:00 UTC'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def preferred(accepted: Sequence[str], offered: Sequence[str]) -> str:
    """The first language that somebody accepts and the study offers, else the study's own.

    >>> preferred(["pt-BR", "de-AT", "en"], ["en", "de"]), preferred([], ["fr", "en"])
    ('de', 'fr')
    """
    primary = [language.lower().replace("_", "-").partition("-")[0] for language in accepted]
    return next((language for language in primary if language in offered), offered[0])
