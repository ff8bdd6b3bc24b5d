"""The languages of the pages: every one whole, nothing left in English, and what raters choose is kept."""

import base64
import dataclasses
import json
import re
from decimal import Decimal
from gettext import NullTranslations

import pytest

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.forms.choice import OptionsOnPage
from seedvote.crowd.forms.conversations import ConversationsOnPage, Line
from seedvote.crowd.forms.form import Content
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.forms.live import LiveOnPage
from seedvote.crowd.forms.responses import ResponsesOnPage
from seedvote.crowd.hit.about import AboutQuestion
from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.hit.languages import LANGUAGES, texts_asked
from seedvote.crowd.rating.change_control import refuse_changes
from seedvote.crowd.rating.personal_data import KnownRater, KnownVisit, forget
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.identity import seat_proof
from seedvote.crowd.store.store import read_events
from seedvote.crowd.web import page
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.crowd.web.entrance import WayOut
from seedvote.crowd.web.study_request import PageVisit, visit_of
from seedvote.dialogue.errors import InputError
from tests.crowd.study import SHORT, desk_of
from tests.crowd.web import catalogues
from tests.crowd.web.test_page import every_page, progress, shown

OTHERS = LANGUAGES[1:]
SOMEBODY = KnownRater("0", 0.0, "1", 0.0, None, [KnownVisit("local", "1", "2", 0.0, end) for end in (None, 60.0)], {},
                      2, 3, 3, 0.0, 60.0, 60.0, (1, 0, 0), [(Decimal(2), "USD")])  # fmt: skip
MIXED = Hit(languages=("de", "en", "ar"))
PARTS = re.compile(r"%\(\w+\)s|</?\w+[^>]*>")  # what a translation may neither lose nor add


@pytest.mark.parametrize("language", OTHERS)
def test_every_catalogue_is_whole(language):
    """If this fails: `make languages` adds what is new, empty; translate it in templates/languages/*.po."""
    known, wanted = catalogues.read(language), catalogues.messages()
    assert {one.id for one in known if one.id} == set(wanted), "run: make languages"
    for one in known:
        if not one.id:
            continue
        says = one.string if one.pluralizable else (one.string,)
        english = one.id if one.pluralizable else (one.id,)
        assert all(says) and not one.fuzzy, f"not translated: {one.id}"
        assert len(says) == (known.num_plurals if one.pluralizable else 1), one.id
        for text in says:
            parts = sorted(PARTS.findall(text))
            assert parts in [sorted(PARTS.findall(each)) for each in english], (one.id, text)
            assert "%" not in PARTS.sub("", text), text


class Marked(NullTranslations):
    """A language in which everything stands in brackets."""

    def gettext(self, message):
        return re.sub(r"(</?\w+[^>]*>)", r"⟧\1⟦", f"⟦{message}⟧")

    def ngettext(self, one, many, n):
        return self.gettext(one if n == 1 else many)


def test_nothing_that_a_page_says_is_left_in_english(monkeypatch):
    monkeypatch.setattr(page, "read_catalogue", lambda language: Marked())
    page.jinja_environment.cache_clear()
    frame = page.Frame("", "seat", "", "nl")
    hit = Hit(languages=("nl",), pay_per_sitting=2.0, completion_code="0")
    out = WayOut("Your work was handed in.", then="You may close this page.", code="0")
    at = page.SittingSoFar(3, "0", out, may_hand_in=True, more=True, undo="0")
    made = [page.consent_page(hit, frame), page.glance_page(hit, frame)]
    made += [page.about_page(dataclasses.replace(hit, about=(AboutQuestion("0", "1", ("2",)),)), frame, "incomplete")]
    asks = dataclasses.replace(
        hit, about=(AboutQuestion("0", "1", ("2",), "after"), AboutQuestion("3", "4", (), "after", "comment"))
    )
    made += [
        page.message_page(asks, frame, "done", dataclasses.replace(at, asks=one, incomplete=True))
        for one in ("asked", "told")
    ]
    made += [page.stored_page(hit, frame, one, own=own) for one, own in ((SOMEBODY, True), (None, True), (None, False))]
    made += [page.example_page(hit, frame, n, chosen) for n in (1, 4) for chosen in (None, "left", "tie")]
    made += [page.task_page(hit, frame, shown("1", "2", "3"), progress(), note) for note in page.NOTES]
    made += [page.message_page(hit, frame, kind, one) for kind in page.MESSAGE_KINDS for one in (at, page.NOTHING_YET)]
    page.jinja_environment.cache_clear()
    for text in made:
        assert unmarked(text) <= {
            "class",
            "text",
            "message",
            "task",
            "first",
            "user",
            "seat",
            "about",
            "EUR",
            "USD",
            "UTC",
        }


def unmarked(text):
    """The words of a page that stand in no brackets."""
    text = re.sub(r"(?s)^.*?<body|<kbd[^>]*>\w+</kbd>|&lt;unk&gt;", " ", text)
    while "⟦" in text:  # one inside another
        text = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
    words = re.sub(r"<[^>]*>", " ", text) + " ".join(re.findall(r'(?:aria-label|data-\w+)="([^"]*)"', text))
    return set(re.findall(r"[A-Za-z]{2,}", words))


ON_PAGE = {
    "pairs": shown("1", "2", "3"),
    "choice": OptionsOnPage("", [], [Content("1"), Content("2"), Content("3")], 1),
    "conversations": ConversationsOnPage("", [], [Line(0, "1"), Line(1, "2")], [Line(0, "3"), Line(2, "4")], 1),
    "live": LiveOnPage("", [], [Line(0, "1"), Line(1, "2")], [Line(0, "3"), Line(1, "4")], 1, "5", most=2),
    "responses": ResponsesOnPage("", [], [Content("1"), Content("2")], 1),
}
STAGES = [
    {"stage": "wait"},
    {"stage": "failed", "may_return": True},
    {"stage": "failed", "may_return": True, "is_spent": True},
    {"stage": "choose"},
    {"stage": "choose", "turn": 2},
    {"stage": "choose", "turn": 3},
    {"stage": "choose", "is_spent": True},
]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_has_a_default_that_is_left_in_english(form, monkeypatch):
    monkeypatch.setattr(page, "read_catalogue", lambda language: Marked())
    page.hit_in.cache_clear()
    page.jinja_environment.cache_clear()
    hit = hit_from({"languages": ["de"], "form": form}, "hit.toml")
    frame = page.Frame("", "seat", "", "de")
    made = [page.consent_page(hit, frame), page.glance_page(hit, frame), page.about_page(hit, frame)]
    for n, example in enumerate(hit.examples, 1):
        said = (None, FORMS[form].right_answer(example), "0,1" if form == "choice" else "left")
        made += [page.example_page(hit, frame, n, one) for one in said]
    made += [page.task_page(hit, frame, ON_PAGE[form], progress(), note) for note in page.NOTES]
    for stage in STAGES if form == "live" else ():
        made.append(page.task_page(hit, frame, dataclasses.replace(ON_PAGE[form], **stage), progress(), ""))
    page.hit_in.cache_clear()
    page.jinja_environment.cache_clear()
    assert set().union(*map(unmarked, made)) - {"class", "text", "task", "first", "seat", "many", "user"} == set()


@pytest.mark.parametrize("form", FORMS)
def test_a_form_speaks_each_language_without_a_text_from_the_study(form):
    hit = hit_from({"languages": ["de", "en", "ja"], "form": form}, "hit.toml")
    assert page.hit_in(hit, "en") == hit and hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit
    for language in ("de", "ja"):
        told = page.hit_in(hit, language)
        assert told.title != hit.title and told.instructions.count("\n\n") == hit.instructions.count("\n\n")
        assert len(told.examples) == len(hit.examples)
        assert [FORMS[form].right_answer(one) for one in told.examples] == [
            FORMS[form].right_answer(one) for one in hit.examples
        ]
        asked = texts_asked(hit)
        assert not {page.own_word(hit, text, language) for text in asked} & set(asked)


def test_a_study_s_own_texts_win_over_those_of_its_form():
    asked = [{"name": "kind", "ask": "Wie höflich?", "kind": "likert", "labels": ["kaum", "very good"]}]
    values = {"languages": ["de"], "form": "responses", "title": "Höflich", "questions": asked}
    hit = hit_from(values, "hit.toml")
    text = page.task_page(hit, page.Frame("", "", "", "de"), ON_PAGE["responses"], progress(), "")
    assert "Wie höflich?" in text and "1 kaum" in text and "5 very good" in text and "Wie gut" not in text
    told = page.hit_in(hit, "de")
    assert told.title == "Höflich" and told.instructions.startswith("Sie sehen ein Gespräch und eine oder mehrere")
    with pytest.raises(InputError, match=re.escape("title is given in de and not in fr")):
        words = {"Wie höflich?": "Poli ?", "kaum": "peu", "very good": "très"}
        hit_from({**values, "languages": ["de", "fr"], "texts": {"fr": {"words": words}}}, "hit.toml")
    with pytest.raises(InputError, match=re.escape("'Wie höflich?' of [[about]], [[questions]] or [marks] is not in")):
        hit_from({**values, "languages": ["de", "fr"]}, "hit.toml")


def test_the_page_says_its_language_and_where_it_begins():
    german, arabic = (page.message_page(MIXED, page.Frame("", "s", "", one), "done") for one in ("de", "ar"))
    assert '<html lang="de">' in german and "Sie haben diesen Durchgang beendet" in german
    assert '<html lang="ar" dir="rtl">' in arabic
    assert '<html lang="en">' in page.message_page(MIXED, page.Frame("", "s", ""), "done")
    assert ">العربية</button>" in german and 'value="de" lang="de" aria-current="true"' in german
    assert "languages" not in page.message_page(Hit(), page.Frame("", "s", ""), "done")


def test_one_and_several_are_said_as_each_language_says_them():
    def said(language, n):
        text = page.message_page(MIXED, page.Frame("", "", "", language), "handed_in", page.SittingSoFar(n))
        return re.search(r'<p class="lead">(.*)</p>', text)[1]

    assert "Ihre Antwort ist" in said("de", 1) and "Ihre 5 Antworten sind" in said("de", 5)
    assert len({re.sub(r"\d+", "", said("ar", n)) for n in (1, 2, 5)}) == 3
    assert page.pay_in(1234.5, "EUR", "de") == "1.234,50 EUR" and page.pay_in(1.5, "USD", "en") == "1.50 USD"
    assert page.day(0, "ja") == "1970年1月1日"


def test_study_texts_are_never_markup():
    texts = {"de": {"question": "Welche <b>ist</b> besser? 100 %"}}
    hit = hit_from({"languages": ["en", "de"], "question": "Which is better?", "texts": texts}, "hit.toml")
    text = page.task_page(hit, page.Frame("", "", "", "de"), shown(), progress(), "")
    assert "Welche &lt;b&gt;ist&lt;/b&gt; besser? 100 %" in text and "Which is better?" not in text
    assert "Which is better?" in page.task_page(hit, page.Frame("", "", "", "en"), shown(), progress(), "")
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit


WRONG = {
    "de-DE": ({"languages": ["de-DE"]}, "languages is ['de-DE'], which is not a list of languages out of en, ar, de"),
    "none": ({"languages": []}, "not a list of languages"),
    "twice": ({"languages": ["de", "de"]}, "not a list of languages"),
    "missing": ({"languages": ["en", "de"], "question": "Which?"}, "question is given in en and not in de"),
    "of another": ({"texts": {"de": {"question": "Was?"}}}, "texts.de is for none of the further languages (none)"),
    "no text": ({"languages": ["en", "de"], "texts": {"de": {"pay": "1"}}}, "texts.de.pay is not one of title"),
    "about": (
        {"languages": ["en", "de"], "about": [{"name": "age", "ask": "Old?", "answers": ["no", "yes"]}]},
        "'Old?' of [[about]], [[questions]] or [marks] is not in [texts.de.words]",
    ),
    "too long": ({"languages": ["en", "de"], "texts": {"de": {"title": "x" * 101}}}, "texts.de: title is"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_study_that_would_mix_languages_is_refused(case):
    values, sentence = WRONG[case]
    with pytest.raises(InputError, match=re.escape(sentence)):
        hit_from(values, "hit.toml")


@pytest.fixture
def study(tmp_path):
    """A study in three languages, and its application."""
    hit = dataclasses.replace(SHORT, languages=("de", "en", "ar"))
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of(url, tmp_path, hit) as desk:
        yield desk, create_app(ServerConfig(url, hit, rate=0))


def test_raters_choose_and_the_choice_is_recorded_and_forgotten(study):
    desk, app = study
    client = app.test_client()
    first = client.get("/?rater=r1", headers={"Accept-Language": "ar-EG,en;q=0.5"}).text
    assert 'lang="ar" dir="rtl"' in first
    chosen = client.post("/language", data=PageForm(first).fields | {"language": "en"}).text
    assert '<html lang="en">' in chosen
    task = client.post("/consent", data=PageForm(chosen).fields, follow_redirects=True).text
    assert '<html lang="en">' in task and "Pair 1" in task
    task = client.post("/language", data=PageForm(task).fields | {"language": "de"}, follow_redirects=True).text
    assert '<html lang="de">' in task and "Paar 1" in task
    fetched = {"X-Requested-With": "fetch"}
    answered = client.post("/answer", data=PageForm(task).fields | {"choice": "tie"}, headers=fetched).json
    assert answered["said"] == "Gespeichert" and "Paar 2" in answered["html"]
    refused = client.post("/language", data=PageForm(task).fields | {"language": "fr"})
    assert refused.status_code == 400 and "Diese Seite passt nicht" in refused.text
    with desk.store.read() as connection:
        told = [event.data["language"] for event in read_events(connection) if event.kind == "language"]
        (rater,) = export(connection, votes_per_pair=3).raters
    assert told == ["en", "de"] and rater.language == "de"
    assert forget(desk.store, rater.rater, votes_per_pair=3, now=0.0) == 1
    with desk.store.read() as connection:
        (nobody,) = export(connection, votes_per_pair=3).raters
        assert nobody.language == ""
        assert "language" not in {event.kind for event in read_events(connection)}
    app.extensions["desk"].store.close()


def test_who_says_nothing_reads_the_study_s_own_language(study):
    _, app = study
    text = app.test_client().get("/?rater=r2", headers={"Accept-Language": "pt, xx;q=0.1"}).text
    assert '<html lang="de">' in text and "Bevor Sie beginnen" in text
    app.extensions["desk"].store.close()


def test_about_answers_are_stored_in_the_study_language():
    words = {"Old?": "Alt?", "no": "nein", "yes": "ja"}
    values = {"languages": ["en", "de"], "about": [{"name": "age", "ask": "Old?", "answers": ["no", "yes"]}]}
    hit = hit_from({**values, "texts": {"de": {"words": words}}}, "hit.toml")
    text = page.about_page(hit, page.Frame("", "s", "", "de"), "incomplete")
    assert "Alt?" in text and 'value="yes" required> <span dir="auto">ja</span>' in text
    assert "Keine Angabe" in text and "Bitte beantworten Sie jede Frage" in text and "Old?" not in text


def test_texts_that_change_ask_everybody_again(study):
    desk, app = study
    changed = dataclasses.replace(desk.rules.hit, texts=(page.TextsIn("en", title="Other"),))
    with pytest.raises(InputError, match="texts was changed: raise consent_version too"):
        refuse_changes(desk.store, changed)
    refuse_changes(desk.store, dataclasses.replace(changed, consent_version="3"))
    app.extensions["desk"].store.close()


def test_a_token_from_before_there_were_languages_is_still_a_visit():
    visit = PageVisit("local", "w", "1", tab="t")
    body = base64.urlsafe_b64encode(json.dumps([*dataclasses.astuple(visit)][:6]).encode()).decode().rstrip("=")
    assert visit_of("k", f"{body}.{seat_proof('k', body)}", now=0.0) == visit


def test_english_pages_know_nothing_of_other_languages():
    assert {
        text for name, text in every_page() if "languages" in text or "data-" in text.replace("data-next", "")
    } == set()


@pytest.mark.parametrize("form", ["pairs", "conversations"])
def test_no_worked_examples_are_announced_where_none_come(form):
    """In every language; a text of the study's own stays to the letter, whatever it says."""
    asked = [{"name": "q", "ask": "?"}]
    said = {one: one for one in ("?",)}
    rules = {"form": form, "languages": ["en", *OTHERS], "questions": asked}
    rules["texts"] = {language: {"words": said} for language in OTHERS}
    with_, without = (hit_from({**rules, **more}, "test") for more in ({}, {"examples": []}))
    for language in ("en", *OTHERS):
        before, after = (page.hit_in(hit, language).instructions for hit in (with_, without))
        assert before.startswith(after) and len(before.split("\n\n")) == len(after.split("\n\n")) + 1
    english = hit_from({"form": form, "questions": asked, "examples": []}, "test")
    assert "xamples" not in page.hit_in(english, "en").instructions
    own = hit_from({"form": form, "questions": asked, "examples": [], "instructions": "One.\n\nTwo."}, "test")
    assert page.hit_in(own, "en").instructions == "One.\n\nTwo."
