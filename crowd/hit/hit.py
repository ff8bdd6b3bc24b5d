"""What a rater is asked and under which rules: the keys of hit.toml, their defaults, legal values and meaning.

The defaults reproduce the HIT of the paper (arXiv 2008.10427, human evaluation): relevance, A / B / Tie, three checks
at the start and more among the real items, a soft block at three failures, three raters a pair.

To add a key: a field of `Hit`, and the template or module that obeys it. What must hold of several keys together is
said in `_check_together`.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal

from seedvote.crowd.forms.choice import ChoiceExample
from seedvote.crowd.forms.conversations import ConversationsExample
from seedvote.crowd.forms.known import FORMS, FormName
from seedvote.crowd.forms.pairs import WorkedExample
from seedvote.crowd.hit.about import ABOUT, AboutQuestion, When, about_from
from seedvote.crowd.hit.defaults import (
    DEFAULTS,
    PAIRS_CONSENT,
    PAIRS_EXAMPLES,
    PAIRS_INSTRUCTIONS,
    instruct_on_responses,
)
from seedvote.crowd.hit.languages import ENGLISH, LANGUAGES_OF_STUDY, TEXTS, TextsIn, check_languages, texts_from
from seedvote.crowd.hit.live import LIVE, LiveRule, live_from
from seedvote.crowd.hit.questions import QUESTIONS, AskedQuestion, check_kinds, questions_from, questions_from_kept
from seedvote.crowd.hit.tables import (
    ADAPTIVE,
    EXCLUDE,
    MARKET_SCRIPT,
    MARKS,
    PANEL,
    AdaptiveRule,
    Exclusion,
    Legal,
    MarksRule,
    PanelDoor,
    adaptive_from,
    exclusion_from,
    marks_from,
    panel_from,
    whole_number,
)
from seedvote.dialogue.errors import InputError, value_in_short

Change = Literal[
    "refused after a launch",
    "from now on",
    "votes counted anew",
    "votes counted anew; higher is refused",
    "needs a new consent_version",
    "refused after the first vote",
]

Rendering = Literal["literal", "markdown", "code"]
Unlock = Literal["seen", "responses", "open"]
Differences = Literal["off", "on", "half"]
UnlockMedia = Literal["played", "begun", "shown"]


def _legal_text(longest: int, *, empty: bool = False) -> Legal:
    says = f"text of {0 if empty else 1} to {longest} characters"
    return Legal(says, lambda v: isinstance(v, str) and (empty or bool(v.strip())) and len(v) <= longest)


def _one_of(*options: str) -> Legal:
    return Legal("one of " + ", ".join(options), lambda value: value in options)


_MONEY = Legal("a number from 0 to 1000", lambda v: type(v) in (int, float) and 0 <= v <= 1000)
_YES_OR_NO = Legal("true or false", lambda v: isinstance(v, bool))
_EXAMPLES = Legal(
    "four tables with context, left, right, answer, why; or one to four with context, options, best, second, why, or "
    "with left, right, answer, why, speaker; or [] beside questions",
    lambda v: isinstance(v, list) and len(v) <= 4,
)


def _hit_key(default: Any, legal: Legal, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc, "legal": legal})


@dataclass(frozen=True)
class Hit:
    """One study's HIT; each field is a key of hit.toml."""

    title: str = _hit_key("Which response is more relevant?", _legal_text(100), "heading and window title")
    question: str = _hit_key(
        "Which response is more relevant to the conversation?",
        _legal_text(200),
        "asked above every pair; the responses are called A and B",
    )
    questions: tuple[AskedQuestion, ...] = _hit_key(
        (), QUESTIONS, "what is asked of each pair instead of `question`, see below; leave out for the one question"
    )
    consent_text: str = _hit_key(PAIRS_CONSENT, _legal_text(20_000), "first page; an empty line separates paragraphs")
    consent_version: str = _hit_key(
        "2", _legal_text(40), "recorded with each consent; must be given when `consent_text` is changed"
    )
    instructions: str = _hit_key(
        PAIRS_INSTRUCTIONS, _legal_text(20_000), "second page; an empty line separates paragraphs"
    )
    examples: tuple[WorkedExample | ChoiceExample | ConversationsExample, ...] = _hit_key(
        PAIRS_EXAMPLES,
        _EXAMPLES,
        "worked examples, answered by the rater with feedback: A, B, tie both good, tie both poor",
    )
    form: FormName = _hit_key(  # noqa: RUF009
        "pairs",
        _one_of(*FORMS),
        "what is shown at once: two responses (pairs.jsonl), one context with several options (questions.jsonl), "
        "two whole conversations (pairs.jsonl), two systems that the rater talks to (pairs.jsonl), or one response or "
        "more, each of another system (response_sets.jsonl)",
    )
    rendering: Rendering = _hit_key(  # noqa: RUF009
        "literal",
        _one_of("literal", "markdown", "code"),
        "conversations, responses and examples: to the letter, with Markdown's marks obeyed, or as code; see below",
    )
    differences: Differences = _hit_key(  # noqa: RUF009
        "off",
        _one_of("off", "on", "half"),
        "underline the words in which two near-identical responses differ: never, always, or for a random half of "
        "raters and pairs; see crowd.md",
    )
    pairs_per_sitting: int = _hit_key(20, whole_number(1, 1000), "real pairs in one sitting")
    votes_per_pair: int = _hit_key(
        3, whole_number(1, 100), "number of different raters per pair; the k-th votes form HumanExp-k"
    )
    assignment: Literal["fixed", "adaptive"] = _hit_key(
        "fixed",
        _one_of("fixed", "adaptive"),
        "every pair gets `votes_per_pair` votes, or votes go where they decide the question of [adaptive], see below",
    )
    adaptive: AdaptiveRule | None = _hit_key(  # noqa: RUF009 (as for every key)
        None, ADAPTIVE, "the question that votes are given out for, and its limits, see below"
    )
    first_checks: int = _hit_key(3, whole_number(0, 50), "hidden checks before the first real pair")
    later_checks: int = _hit_key(5, whole_number(0, 200), "hidden checks among the real pairs of a sitting")
    max_failures: int = _hit_key(
        3, whole_number(1, 200), "number of failed checks that blocks a rater from further work"
    )
    count_failures: Literal["total", "row"] = _hit_key(
        "total", _one_of("total", "row"), "count failures in total, or in a row"
    )
    lease_minutes: int = _hit_key(
        10, whole_number(1, 1440), "minutes that a shown pair is held for its rater; after that it is offered to others"
    )
    max_votes_per_rater: int | None = _hit_key(
        None,
        whole_number(1, 1_000_000),
        "maximum number of judgements per rater over all sittings; leave out for no limit",
    )
    identical: Literal["show", "skip", "tie"] = _hit_key(
        "show",
        _one_of("show", "skip", "tie"),
        "pairs with two identical responses: show them, leave them out, or record a tie without a rater",
    )
    late_votes: Literal["keep", "count"] = _hit_key(
        "keep",
        _one_of("keep", "count"),
        "answers after `lease_minutes`: keep them uncounted, or count them if the pair still needs votes",
    )
    sitting_minutes: int = _hit_key(
        0, whole_number(0, 1440), "minutes after which a sitting ends, with the question in hand; 0 for no limit"
    )
    about: tuple[AboutQuestion, ...] = _hit_key(
        (),
        ABOUT,
        "what raters are asked about themselves, once, after consent or at the end; see below; leave out for none",
    )
    pay_per_sitting: float = _hit_key(0.0, _MONEY, "pay for one sitting; if 0, the page does not mention pay")
    minutes_per_sitting: int = _hit_key(
        0,
        whole_number(0, 1440),
        "minutes that a sitting takes, as the consent page says; if 0, those that the raters so far took",
    )
    currency: str = _hit_key("USD", _legal_text(8), "currency of the pay, as shown")
    contact: str = _hit_key(
        "",
        _legal_text(300, empty=True),
        "whom raters ask about what is stored, e.g. an e-mail address; shown on a page of the HIT; empty for none",
    )
    completion_code: str = _hit_key(
        "", _legal_text(100, empty=True), "code shown at the end, for the marketplace; empty for none"
    )
    screened_out_code: str = _hit_key(
        "", _legal_text(100, empty=True), "code shown to a blocked rater, who is still paid for the work done"
    )

    exclude: Exclusion | None = _hit_key(  # noqa: RUF009 (as for every key)
        None, EXCLUDE, "rules by which raters are excluded after the fact, see below; leave out for none"
    )
    market_script: str = _hit_key(
        "",
        MARKET_SCRIPT,
        "a marketplace's own script in the pages after consent, e.g. an authenticity check; see below; empty for none",
    )
    languages: tuple[str, ...] = _hit_key(
        (ENGLISH,), LANGUAGES_OF_STUDY, "languages of the pages, the study's own first; raters choose among them"
    )
    texts: tuple[TextsIn, ...] = _hit_key(
        (),
        TEXTS,
        "the study's own texts in its further languages, see languages.md; needed for each text that is changed",
    )
    page_events: bool = _hit_key(
        False,
        _YES_OR_NO,
        "count how often the page is left, copied from and pasted into, never what; raters are told",
    )
    page_view: bool = _hit_key(
        True,
        _YES_OR_NO,
        "store with each answer the kind of device, the turns that were on the screen, and how long; raters are told",
    )
    unlock: Unlock = _hit_key(  # noqa: RUF009
        "seen",
        _one_of("seen", "responses", "open"),
        "when an answer may be given: once the whole conversation and all responses were on the screen, once the "
        "responses were, or at once",
    )
    unlock_media: UnlockMedia = _hit_key(  # noqa: RUF009
        "played",
        _one_of("played", "begun", "shown"),
        "when a recording or video counts as seen: once it was played to its end, once it was begun, or once it was on "
        "the screen",
    )
    program_trap: bool = _hit_key(
        False,
        _YES_OR_NO,
        "put a line on each page that only programs read, and note whoever follows it; raters are told",
    )
    live: LiveRule | None = _hit_key(  # noqa: RUF009
        None, LIVE, 'of form = "live": the systems that raters talk to, turns and money, see live.md'
    )
    marks: MarksRule | None = _hit_key(  # noqa: RUF009
        None, MARKS, "what may be wrong in a response: raters may mark passages, see crowd.md; leave out for no marks"
    )
    panel: PanelDoor | None = _hit_key(  # noqa: RUF009
        None, PANEL, "a panel that sends people with an id in the address, see panels.md; leave out for none"
    )

    def asked_of_rater(self, when: When) -> tuple[AboutQuestion, ...]:
        """What raters are asked about themselves before the first pair, or at the end."""
        return tuple(question for question in self.about if question.when == when)

    @cached_property
    def lead(self) -> AskedQuestion | None:
        """The first question that makes votes: what the researcher's page, signals and rules go by."""
        return next((question for question in self.questions if question.makes_votes), None)

    @property
    def is_adaptive(self) -> bool:
        """Whether votes go where they decide a question."""
        return self.assignment == "adaptive"

    @property
    def shown_per_sitting(self) -> int:
        """Pairs that a rater sees in a first sitting, hidden checks among them."""
        return self.pairs_per_sitting + self.first_checks + self.later_checks


HIT_KEYS = {key.name: key for key in dataclasses.fields(Hit)}
# What becomes of a study under way when a server starts with another value of a key.
PROMISED = ("pay_per_sitting", "currency", "completion_code", "screened_out_code")  # and told to a marketplace
CHANGES: Mapping[str, Change] = {
    **dict.fromkeys(HIT_KEYS, "from now on"),
    **dict.fromkeys(PROMISED, "refused after a launch"),
    **dict.fromkeys(
        ("form", "question", "questions", "rendering", "differences", "assignment", "adaptive", "live", "marks"),
        "refused after the first vote",
    ),
    "consent_text": "needs a new consent_version",
    "texts": "needs a new consent_version",
    "page_events": "needs a new consent_version",
    "page_view": "needs a new consent_version",
    "program_trap": "needs a new consent_version",
    "first_checks": "votes counted anew; higher is refused",
    "votes_per_pair": "votes counted anew",
    "max_failures": "votes counted anew",
    "count_failures": "votes counted anew",
    "identical": "votes counted anew",
    "late_votes": "votes counted anew",
    "exclude": "votes counted anew",
}


@cache
def usual_hit(form: FormName, questions: tuple[AskedQuestion, ...] = ()) -> Hit:
    """The HIT of this form where hit.toml says nothing but, perhaps, what is asked."""
    usual = Hit(form=form, **DEFAULTS[form])
    if form == "responses" and questions:
        return dataclasses.replace(usual, instructions=instruct_on_responses(questions))
    return usual


def read_hit(path: Path | None) -> Hit:
    """Read hit.toml over the defaults; without a file, the defaults themselves."""
    if path is None:
        return Hit()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'{path} is not TOML ({error}). Text must be in quotes: title = "...".') from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    return hit_from(values, str(path))


def hit_from(values: Mapping[str, Any], where: str) -> Hit:
    """Check parsed values key by key, then together."""
    for name, value in values.items():
        _check_key(name, value, where)
    form: FormName = values.get("form", "pairs")
    if "consent_text" in values and "consent_version" not in values:
        raise InputError(f'{where}: consent_text was changed, so consent_version must be given too, e.g. "2".')
    known = {**DEFAULTS[form], **values}
    if "questions" in values:
        known["questions"] = questions_from(values["questions"], where)
        known["instructions"] = values.get("instructions", usual_hit(form, known["questions"]).instructions)
    if "examples" in values:
        known["examples"] = _enough_examples(values, values["examples"], where)
    if "about" in values:
        known["about"] = about_from(values["about"], where)
    if "languages" in known:
        known["languages"] = tuple(known["languages"])
    if "texts" in known:
        known["texts"] = texts_from(known["texts"], partial(_check_worded, values), where)
    if "exclude" in known:
        known["exclude"] = exclusion_from(known["exclude"], where)
    if "marks" in known:
        known["marks"] = marks_from(known["marks"], where)
    if "panel" in known:
        known["panel"] = panel_from(known["panel"], where)
    if known.get("assignment") == "adaptive" or "adaptive" in known:
        known["adaptive"] = adaptive_from(known.get("adaptive", {}), where)
    if "live" in known:
        known["live"] = live_from(known["live"], where)
    hit = Hit(**known)
    checks = hit.first_checks + hit.later_checks
    if form == "choice" and "max_failures" not in values and 0 < checks < hit.max_failures:
        hit = dataclasses.replace(hit, max_failures=checks)  # a study of one check was let through by the default of 1
    _check_together(hit, where)
    check_languages(hit, usual_hit(form, hit.questions), where)
    return hit


def hit_as_kept(hit: Hit) -> dict[str, Any]:
    """Every key as plain values, as a store keeps it."""
    return dataclasses.asdict(hit)


def hit_from_kept(values: Mapping[str, Any]) -> Hit:
    """The HIT that a store keeps; keys that came later have their defaults."""
    known = {name: value for name, value in values.items() if name in HIT_KEYS}
    form = known.get("form", "pairs")
    known["examples"] = _read_examples(form, known["examples"], "store")
    known = {"page_view": False, "unlock": "responses", **known}  # as it was before there were these keys
    known["about"] = about_from(known.get("about", ()), "store")
    known["questions"] = questions_from_kept(known.get("questions", ()))
    known["languages"] = tuple(known.get("languages", (ENGLISH,)))
    known["texts"] = tuple(
        TextsIn(**{**texts, "examples": _read_examples(form, texts["examples"], "store")})
        for texts in known.get("texts", ())
    )
    if known.get("exclude"):
        known["exclude"] = exclusion_from(known["exclude"], "store")
    if known.get("marks"):
        known["marks"] = marks_from(known["marks"], "store")
    if known.get("panel"):
        known["panel"] = panel_from(known["panel"], "store")
    if known.get("adaptive"):
        known["adaptive"] = adaptive_from(known["adaptive"], "store")
    if known.get("live"):
        known["live"] = live_from(known["live"], "store")
    return Hit(**known)


def _check_worded(values: Mapping[str, Any], name: str, value: Any, where: str) -> Any:
    """A text of `[texts.LANGUAGE]`, as legal as at the top."""
    _check_key(name, value, where)
    return _enough_examples(values, value, where) if name == "examples" else value


def _enough_examples(values: Mapping[str, Any], examples: Sequence[object], where: str) -> tuple[Any, ...]:
    form: FormName = values.get("form", "pairs")
    if len(examples) < FORMS[form].fewest_examples and (examples or "questions" not in values):
        raise InputError(f"{where}: examples holds {len(examples)}, which is not {_EXAMPLES.says}.")
    return _read_examples(form, examples, where)


def _check_key(name: str, value: object, where: str) -> None:
    if name not in HIT_KEYS:
        near = difflib.get_close_matches(name, HIT_KEYS, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(HIT_KEYS)}."
        raise InputError(f"{where}: {name} is not a key of the HIT. {hint}")
    legal: Legal = HIT_KEYS[name].metadata["legal"]
    if not legal.holds(value):
        raise InputError(f"{where}: {name} is {value_in_short(value)}, which is not {legal.says}.")


def _check_together(hit: Hit, where: str) -> None:
    check_kinds(hit.questions, hit.form, where)
    if hit.questions and hit.identical == "tie":
        raise InputError(
            f'{where}: identical is "tie", but nobody can say what a rater would answer to several questions; show or '
            "skip identical responses."
        )
    if hit.marks and not FORMS[hit.form].is_markable:
        raise InputError(f"{where}: [marks] is for the forms pairs and responses; {hit.form} shows no single response.")
    if hit.marks and hit.rendering != "literal":
        raise InputError(
            f'{where}: [marks] needs rendering = "literal": a mark is stored by the characters of the text itself, '
            "and raters would see another one."
        )
    if hit.differences != "off":
        _check_differences(hit, where)
    if hit.adaptive is not None and not hit.is_adaptive:
        raise InputError(f'{where}: [adaptive] is given, but assignment is "fixed"; set assignment = "adaptive" too.')
    if hit.is_adaptive and not FORMS[hit.form].is_sided:
        raise InputError(f"{where}: assignment is adaptive for pairs of two systems; the form {hit.form} has none.")
    if hit.live is not None and hit.form != "live":
        raise InputError(f'{where}: [live] is given, but form is "{hit.form}"; write form = "live" too.')
    checks = hit.first_checks + hit.later_checks
    if 0 < checks < hit.max_failures:
        raise InputError(
            f"{where}: max_failures is {hit.max_failures}, but a sitting holds {checks} checks, so nobody could fail; "
            "raise first_checks or later_checks, or set both to 0 for no checks."
        )
    if not FORMS[hit.form].is_sided and hit.exclude and (hit.exclude.left or hit.exclude.ties):
        raise InputError(f"{where}: exclude.left and exclude.ties are for pairs; the form {hit.form} has neither.")
    if hit.later_checks > hit.pairs_per_sitting:
        raise InputError(
            f"{where}: later_checks is {hit.later_checks}, which is more than pairs_per_sitting "
            f"({hit.pairs_per_sitting}): there would be more checks than real pairs to hide them among."
        )


def _check_differences(hit: Hit, where: str) -> None:
    if hit.form != "pairs":
        raise InputError(f"{where}: differences is for the form pairs; {hit.form} does not show two single responses.")
    if hit.rendering != "literal":
        raise InputError(
            f'{where}: differences needs rendering = "literal": in {hit.rendering}, raters do not see the characters '
            "that are compared."
        )
    if hit.marks:
        raise InputError(
            f"{where}: differences and [marks] exclude each other: marks count the characters of plain text, and "
            "raters would mark what is underlined."
        )


def _read_examples(form: FormName, values: Sequence[object], where: str) -> tuple[Any, ...]:
    return tuple(FORMS[form].example_from(value, f"{where}: examples[{n}]") for n, value in enumerate(values))
