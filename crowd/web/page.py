"""The pages a rater sees, as HTML text: no store, no request, no Flask, so that every marketplace shows the same ones.

The fragment that holds one pair, or what else the form shows at once (crowd/forms/), is exchanged after an answer; the
other templates are the frame round it. Nothing here knows which response is a or b, which option is true, a model, a
seed or the kind of a pair, so nothing of it can reach a rater.

A page speaks the rater's language: what is said, in which direction, and how money and dates are written.
`templates/languages/LANGUAGE.po` holds all that is said, by its English; a file more is a language more. English is
what the templates say themselves. Babel knows plurals, directions, names and forms of numbers of every language; it
is imported for who reads another language only.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from seedvote.crowd.forms.form import OnPage
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit, usual_hit
from seedvote.crowd.hit.languages import CATALOGUES, ENGLISH, TextsIn, texts_by_default
from seedvote.crowd.rating.answer_sheet import buttons_of
from seedvote.crowd.rating.leasing import Ending
from seedvote.crowd.rating.personal_data import KnownRater
from seedvote.crowd.web.rendering import box_differing, box_text, render_code, show_literally
from seedvote.crowd.web.translated import TranslatedEnvironment

if TYPE_CHECKING:
    from seedvote.crowd.web.entrance import WayOut

TOKEN = "seat"  # the name of a visit's token in addresses and forms, see study_request.py
TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
STATIC = TEMPLATES / "static"

MessageKind = (
    Literal["wait", "paused", "uninvited", "lapsed", "simulation", "not_saved", "busy", "failed", "too_large"]
    | Literal["bad_request"]
    | Ending
)
Note = Literal["", "saved", "again", "late", "undone", "incomplete", "too_long"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
MESSAGE_KINDS: tuple[MessageKind, ...] = (
    "wait",
    "paused",
    "uninvited",
    "lapsed",
    "simulation",
    "not_saved",
    "busy",
    "failed",
    "too_large",
    "bad_request",
    *ENDINGS,
)
NOTES: dict[Note, str] = {
    "": "",
    "saved": "Saved",
    "again": "Saved already: the first answer stands",
    "late": "Saved, but after its time",
    "undone": "",  # the form has words of its own
    "incomplete": "",
    "too_long": "Not saved: a text is longer than 2,000 characters. Shorten it and save again.",
}
PRESSING = 2  # minutes: from here on the time left for a pair is named
REFUSALS: tuple[Note, ...] = ("incomplete", "too_long")  # after which the page holds what was sent
NOTHING_SENT: Mapping[str, str] = {}
ANSWER_ALL = "Answer every question"
NOT_ALL = "Please choose an answer to each question"
RANK_APART = "Answer every question; no two responses may share a rank"
CHOOSE_TWO, CHOOSE_ONE = "Choose the best option, and another one as second best", "Choose one"


@dataclass(frozen=True, slots=True)
class Frame:
    """What every page needs of the request."""

    base: str
    """Path prefix without a slash at its end; empty at the root."""
    seat: str
    """The token of the visit (study_request.py), which every address and form carries; empty before there is one."""
    nonce: str
    language: str = ENGLISH
    """In which the page speaks."""
    name_media: Callable[[str], str] = str
    """By the hash of a file, the name under which this study serves it."""
    is_rich: bool = False
    """Whether texts of the study hold more than words."""

    def media(self, sha256: str) -> str:
        """The address of an image, a recording or its captions."""
        return self.to(f"/media/{self.name_media(sha256)}")

    def to(self, path: str, **parameters: str) -> str:
        """The address of a page of this visit.

        >>> Frame("/study", "t", "").to("/task", last="", note="saved")
        '/study/task?seat=t&note=saved'
        """
        query = urlencode({name: value for name, value in {TOKEN: self.seat, **parameters}.items() if value})
        return f"{self.base}{path}{'?' if query else ''}{query}"


@dataclass(frozen=True, slots=True)
class SittingProgress:
    """The rater's own progress; `minutes_left` is the time left for the pair shown, None where there is no limit."""

    done: int
    of: int
    minutes_left: int | None
    undo: str = ""
    """The token of the answer that can be taken back."""
    minutes_to_go: int | None = None
    """How long the rest of the sitting will take; None while nobody knows."""

    @property
    def is_pressing(self) -> bool:
        """Whether the time for the pair is what to name, rather than that of the sitting."""
        return self.minutes_left is not None and self.minutes_left <= PRESSING


@dataclass(frozen=True, slots=True)
class Retry:
    """How a page that could not be shown is asked for again, by itself after some seconds."""

    path: str
    seconds: int
    sends: bool
    """Whether `sent` is sent again, by a form."""


@dataclass(frozen=True, slots=True)
class SittingSoFar:
    """What a page without a pair says of the sitting: answers given, the code for them, and the ways on and out."""

    done: int = 0
    code: str = ""
    out: WayOut | None = None
    may_hand_in: bool = False
    more: bool = False
    """Another sitting may begin at once."""
    undo: str = ""
    asks: Literal["", "asked", "told"] = ""
    """Whether something is asked about the rater at the end, or was told."""
    incomplete: bool = False
    sent: Mapping[str, str] = field(default_factory=dict)
    """What was chosen already where something is missing; the whole answer where it could not be stored."""
    why: str = ""
    """Why what was sent was not stored, if not because something is missing."""
    retry: Retry | None = None
    is_paid: bool = True
    """Whether what was done is paid; checks alone are not."""


NOTHING_YET = SittingSoFar()


def consent_page(
    hit: Hit, frame: Frame, pairs: int | None = None, decline: WayOut | None = None, minutes: int | None = None
) -> str:
    """The first page: a form to /consent with the seat and agree=yes, and the way back for who does not agree.

    `pairs` are those of a sitting (None: as many as planned), `minutes` how long it takes (None: nobody knows yet).
    """
    number = hit.shown_per_sitting if pairs is None else pairs
    minutes = minutes or hit.minutes_per_sitting or None
    hourly = pay_in(60 * hit.pay_per_sitting / minutes, hit.currency, frame.language) if minutes else ""
    values = {"pairs": number, "decline": decline, "minutes": minutes, "hourly": hourly}
    return _render_page("hit/consent.html", hit=hit, frame=frame, **values)


def about_page(hit: Hit, frame: Frame, note: Note = "", sent: Mapping[str, str] = NOTHING_SENT) -> str:
    """What raters are asked about themselves: a form to /about with one answer a question; empty is withheld."""
    notice = in_words(NOT_ALL, frame.language) if note else ""
    return _render_page("hit/about.html", hit=hit, frame=frame, said=notice, sent=sent)


def stored_page(hit: Hit, frame: Frame, known: KnownRater | None, *, own: bool) -> str:
    """What is stored about the rater, in plain words, and whom to ask; of somebody who may be another, nothing."""
    questions = {question.name: question.ask for question in hit.about}
    facts = known if own else None
    payouts = facts.paid if facts else ()
    paid = [pay_in(float(amount), currency, frame.language) for amount, currency in payouts]
    speaks = name_of(facts.language).name if facts and facts.language else ""
    values = {"known": facts, "theirs": own, "asked": questions, "paid": paid, "speaks": speaks}
    return _render_page("hit/stored.html", hit=hit, frame=frame, **values)


def example_page(
    hit: Hit,
    frame: Frame,
    number: int,
    chosen: str | None,
    note: Note = "",
    filled: Mapping[str, str] = NOTHING_SENT,
) -> str:
    """Page `number` (from 1) of the worked examples; with `chosen`, the feedback and the way on."""
    example = hit_in(hit, frame.language).examples[number - 1]
    content = FORMS[hit.form].example_on_page(example, number)
    values = {"example": example, "chosen": chosen, "said": say_note(hit, frame, note, content), "filled": filled}
    return _render_page("hit/instructions.html", hit=hit, frame=frame, shown=content, progress=None, **values)


def task_page(
    hit: Hit,
    frame: Frame,
    content: OnPage,
    progress: SittingProgress,
    note: Note,
    filled: Mapping[str, str] = NOTHING_SENT,
) -> str:
    """The page with one pair; `note` says what became of the previous answer, `filled` holds what was taken back."""
    values = {"note": note, "said": say_note(hit, frame, note, content), "filled": filled}
    return _render_page("hit/task.html", hit=hit, frame=frame, shown=content, progress=progress, **values)


def pair_fragment(
    hit: Hit, frame: Frame, content: OnPage, progress: SittingProgress, filled: Mapping[str, str] = NOTHING_SENT
) -> str:
    """What is shown at once alone, to be put in the place of the previous one."""
    return _render_page(content.fragment, hit=hit, frame=frame, shown=content, progress=progress, filled=filled)


def message_page(hit: Hit, frame: Frame, kind: MessageKind, at: SittingSoFar = NOTHING_YET) -> str:
    """A page that says one thing: why there is no pair, what is paid, and the ways on and out."""
    return _render_page("hit/message.html", hit=hit, frame=frame, kind=kind, at=at)


def glance_page(hit: Hit, frame: Frame, pairs: int | None = None) -> str:
    """The page for somebody who has not accepted the task yet: what it is about, nothing to work on."""
    return _render_page(
        "hit/glance.html", hit=hit, frame=frame, pairs=hit.shown_per_sitting if pairs is None else pairs
    )


def say_note(hit: Hit, frame: Frame, note: Note, content: OnPage | None = None) -> str:
    """What a note says, in the words of the form and the language of the page."""
    words = FORMS[hit.form].undone if note == "undone" else NOTES[note]
    if note == "incomplete":
        is_strict = any(question.kind == "ranking" and question.tie == "none" for question in hit.questions)
        words = RANK_APART if is_strict else ANSWER_ALL if hit.questions else said_incomplete(content)
    return in_words(words, frame.language)


def said_incomplete(content: OnPage | None) -> str:
    """What is missing, of a question with several options; in English."""
    return CHOOSE_TWO if getattr(content, "ranked", True) else CHOOSE_ONE


def indent_json(text: str) -> str:
    """The same with a line for every field, where it is an object or a list in JSON.

    >>> indent_json('{"city": "Ulm"}').split(chr(10)), indent_json("no JSON")
    (['{', '  "city": "Ulm"', '}'], 'no JSON')
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, (dict, list)) else text


def split_paragraphs(text: str) -> list[str]:
    """The paragraphs of a text of hit.toml, parted by empty lines."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


@cache
def asset_path(name: str) -> str:
    """Path of a static file below the prefix; its content is in the query, so that it may be cached for ever."""
    return f"/static/{name}?v={hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:10]}"


@cache
def jinja_environment(language: str = ENGLISH) -> Environment:
    """Templates that speak a language, with autoescape on and a complaint for every name that is not given."""
    jinja = TranslatedEnvironment(
        read_catalogue(language),
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja.filters.update(indented=indent_json)
    jinja.filters.update(
        literal=show_literally,
        coded=render_code,
        boxed=box_text,
        differing=box_differing,
        paragraphs=split_paragraphs,
        buttons_of=buttons_of,
    )
    jinja.globals.update(asset=asset_path, said_incomplete=said_incomplete, direction=text_direction(language))
    jinja.globals.update(name_of=name_of, moment=moment)
    return jinja


def _render_page(name: str, *, hit: Hit, frame: Frame, **values: object) -> str:
    pay, hit = (
        pay_in(hit.pay_per_sitting, hit.currency, frame.language),
        hit_in(hit, frame.language),
    )
    own = partial(own_word, hit, language=frame.language)
    return jinja_environment(frame.language).get_template(name).render(hit=hit, frame=frame, pay=pay, own=own, **values)


@dataclass(frozen=True, slots=True)
class LanguageName:
    """A language as its speakers call it."""

    code: str
    name: str
    direction: str


@cache
def read_catalogue(language: str) -> NullTranslations:
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
    return "\n\n".join(read_catalogue(language).gettext(part) if part else "" for part in text.split("\n\n"))


@lru_cache(256)
def hit_in(hit: Hit, language: str) -> Hit:
    """The HIT with its texts in this language: those of hit.toml where it has them, else its form's, translated."""
    hit = _said_truly(hit)
    if language == ENGLISH and hit.languages == (ENGLISH,):
        return hit
    own_texts = next((texts for texts in hit.texts if texts.language == language), TextsIn(language))
    usual = usual_hit(hit.form, hit.questions)
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
    usual = usual_hit(hit.form, hit.questions)
    if hit.examples or not usual.examples or hit.instructions != usual.instructions:
        return hit
    return replace(hit, instructions=hit.instructions.rpartition("\n\n")[0])


def own_word(hit: Hit, text: str, language: str) -> str:
    """A text of the study that is no key of its own, such as a question about the rater; its form's, translated."""
    words = next((texts.words for texts in hit.texts if texts.language == language), {})
    if text in words:
        return words[text]
    return in_words(text, language) if text in texts_by_default(hit, usual_hit(hit.form, hit.questions)) else text


@cache
def name_of(language: str) -> LanguageName:
    """How a page names the language that it offers."""
    from babel import Locale

    locale = Locale.parse(language)
    name = locale.get_display_name() or language
    return LanguageName(language, name[0].upper() + name[1:], locale.text_direction)


def text_direction(language: str) -> str:
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


def preferred_language(accepted: Sequence[str], offered: Sequence[str]) -> str:
    """The first language that somebody accepts and the study offers, else the study's own.

    >>> preferred_language(["pt-BR", "de-AT", "en"], ["en", "de"]), preferred_language([], ["fr", "en"])
    ('de', 'fr')
    """
    primary = [language.lower().replace("_", "-").partition("-")[0] for language in accepted]
    return next((language for language in primary if language in offered), offered[0])
