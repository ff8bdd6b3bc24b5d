"""The pages as text: model text literally, nothing but what a rater may know, small, and from this host alone."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedvote.crowd.commands.preview import _invent_rater
from seedvote.crowd.forms.form import Content
from seedvote.crowd.forms.pairs import PairOnPage
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.web import page
from seedvote.crowd.web.rendering import show_literally
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Utterance
from seedvote.dialogue.shell.command_line import dispatch

FRAME = page.Frame(base="/prefix", seat="seat-token", nonce="nonce-token")
HIT = Hit()
HOSTILE = [
    "you <unk> me",
    "<script>alert(1)</script>",
    "${b} {{ 7*7 }} {% raw %} &amp; &lt;",
    "first\nsecond\n\n  indented",
    "\nleading and trailing newline\n",
    "emoji \U0001f469\u200d\U0001f4bb and accents é e\u0301",
    "שלום עולם",
    '"\' onmouseover="x',
    "</p></form></html><!-- -->",
    "x" * 5000,
    "word " * 1000,
]


class Texts(HTMLParser):
    """Collects the text of elements that hold model text, and every attribute."""

    def __init__(self, html):
        super().__init__()
        self.said, self.tags, self.links = [], [], []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.links += [attributes[name] for name in ("href", "src", "action", "formaction") if name in attributes]
        if tag == "p" and attributes.get("dir") == "auto":
            self.inside = True
            self.said.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "p"

    def handle_data(self, data):
        if self.inside:
            self.said[-1] += data


def shown(left="left text", right="right text", context="hello"):
    return PairOnPage("lease-token", (Utterance("user", context),), Content(left), Content(right), 4)


def progress(**change):
    return dataclasses.replace(page.SittingProgress(3, 28, 9, "last-token"), **change)


def fragment(**texts):
    return page.pair_fragment(HIT, FRAME, shown(**texts), progress())


def every_page():
    yield "consent", page.consent_page(HIT, FRAME)
    for number in range(1, 5):
        yield f"example {number}", page.example_page(HIT, FRAME, number, None)
        yield f"feedback {number}", page.example_page(HIT, FRAME, number, "left")
    for note in page.NOTES:
        yield f"task {note}", page.task_page(HIT, FRAME, shown(), progress(), note)
    for kind in page.MESSAGE_KINDS:
        yield kind, page.message_page(HIT, FRAME, kind)
    yield "stored", page.stored_page(HIT, FRAME, _invent_rater(HIT), own=True)
    yield "stored elsewhere", page.stored_page(HIT, FRAME, _invent_rater(HIT), own=False)


PAGES = dict(every_page())


@pytest.mark.parametrize("text", HOSTILE)
def test_model_text_is_shown_to_the_letter(text):
    assert Texts(fragment(left=text, right="r", context="c")).said == ["c", text, "r"]
    assert Texts(fragment(left="l", right=text, context=text)).said == [text, "l", text]


@given(st.text(min_size=1).filter(str.strip))
def test_any_text_comes_back_and_adds_no_tag(text):
    parsed = Texts(fragment(left=text))
    assert parsed.said[1] == show_literally(text)
    assert parsed.tags == Texts(fragment()).tags


def test_what_a_browser_would_drop_becomes_visible():
    assert show_literally("a\0b\x1bc\x7f\r\nd\ttab") == "a␀b␛c␡\nd\ttab"
    assert show_literally("\ud800") == "\\ud800"


def test_an_empty_response_is_named():
    assert "<em>(empty)</em>" in fragment(left=" \n")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_stays_on_this_host_and_below_the_prefix(name):
    assert all(link.startswith("/prefix/") for link in Texts(PAGES[name]).links)
    assert "http" not in PAGES[name].replace("http-equiv", "")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_with_all_it_loads_weighs_less_than_50_kb(name):
    assert len(PAGES[name].encode()) + sum(path.stat().st_size for path in page.STATIC.glob("hit.*")) < 50_000


@pytest.mark.parametrize("name", PAGES)
def test_no_page_needs_an_inline_style_or_script(name):
    assert " style=" not in PAGES[name] and " onclick=" not in PAGES[name]
    assert "<script>" not in PAGES[name] and "<style" not in PAGES[name]


def test_the_form_carries_what_the_server_asks_for_and_nothing_else():
    names = [part.split('"')[0] for part in fragment().split('name="')[1:]]
    assert names == ["seat", "lease", "seconds", "view", "last", "choice", "choice", "choice"]
    assert 'value="lease-token"' in fragment() and 'value="seat-token"' in fragment()


def test_undo_is_offered_only_where_there_is_something_to_undo():
    assert "/prefix/undo" not in page.pair_fragment(HIT, FRAME, shown(), progress(undo=""))
    assert 'formaction="/prefix/undo"' in fragment() and 'name="last" value="last-token"' in fragment()


def test_time_to_go_is_named_and_that_of_a_pair_only_when_it_is_short():
    def times(**change):
        return re.findall(
            r'<p class="time" id="([a-z-]+)"( hidden)?>', page.pair_fragment(HIT, FRAME, shown(), progress(**change))
        )

    assert times() == [("left", " hidden")]  # nobody knows yet how long the rest takes
    assert times(minutes_to_go=4) == [("to-go", ""), ("left", " hidden")]
    assert times(minutes_to_go=4, minutes_left=2) == [("to-go", " hidden"), ("left", "")]
    assert times(minutes_left=None) == []
    assert "about 4 min to go" in page.pair_fragment(HIT, FRAME, shown(), progress(minutes_to_go=4))
    assert '<span id="minutes">9</span> min left' in fragment()


def test_consent_names_minutes_and_hourly_pay_where_they_are_known():
    paid = Hit(pay_per_sitting=2.5, currency="EUR")
    told = page.consent_page(paid, FRAME, minutes=12)
    assert "It takes about 12 minutes." in told and "You are paid 2.50 EUR, which is 12.50 EUR an hour." in told
    own = page.consent_page(dataclasses.replace(paid, minutes_per_sitting=30), FRAME)
    assert "about 30 minutes" in own and "5.00 EUR an hour" in own
    assert "minute" not in page.consent_page(paid, FRAME) and "an hour" not in page.consent_page(paid, FRAME)


def test_the_worked_examples_answer_with_a_reason_and_lead_on():
    wrong = page.example_page(HIT, FRAME, 1, "right")
    assert "You chose B. Here the answer is A." in wrong and HIT.examples[0].why in wrong
    assert 'href="/prefix/instructions/2?seat=seat-token"' in wrong
    assert "Yes, Tie." in page.example_page(HIT, FRAME, 4, "tie")
    assert 'href="/prefix/task?seat=seat-token"' in page.example_page(HIT, FRAME, 4, "tie")
    assert "Here the answer" not in page.example_page(HIT, FRAME, 1, None)


def test_pay_is_spoken_of_only_where_there_is_some():
    assert "You are paid" not in PAGES["consent"]
    assert "You are paid 2.50 EUR" in page.consent_page(Hit(pay_per_sitting=2.5, currency="EUR"), FRAME)


def test_the_consent_names_its_version_and_counts_checks_among_the_pairs():
    assert "version 2." in PAGES["consent"] and "then 28 pairs" in PAGES["consent"]


def test_a_code_is_shown_where_there_is_one():
    assert "<output>C0DE</output>" in page.message_page(HIT, FRAME, "done", page.SittingSoFar(1, "C0DE"))
    assert "completion code" not in PAGES["done"]


@pytest.mark.parametrize("kind", ["wait", "paused"])
def test_who_waits_may_hand_in_where_the_desk_says_so(kind):
    said = [page.message_page(HIT, FRAME, kind, page.SittingSoFar(1, may_hand_in=may)) for may in (True, False)]
    assert ["/hand-in" in text for text in said] == [True, False]


def test_finished_rater_is_told_pay_and_no_checks():
    text = page.message_page(Hit(pay_per_sitting=1), FRAME, "no_more").lower()
    assert "thank you" in text and "will be paid" in text and "paid" not in PAGES["no_more"]
    assert not any(word in text for word in ("check", "fail", "block", "reject"))


def test_a_changed_static_file_gets_a_new_address():
    assert page.asset_path("hit.css").startswith("/static/hit.css?v=") and page.asset_path(
        "hit.css"
    ) != page.asset_path("hit.js")


def test_the_preview_writes_every_page_and_all_it_loads(tmp_path, capsys):
    done = exit_of(["preview", "--hit", "examples/hit.toml", "--number", "2", "--out", str(tmp_path)])
    assert done == 0 and str(tmp_path / "index.html") in capsys.readouterr().out
    names = {path.stem for path in tmp_path.glob("*.html")}
    assert names >= {"index", "consent", "example-4", "example-4-answered", "pair-1", "pair-2", "message-no-more"}
    for path in tmp_path.glob("*.html"):
        for link in Texts(path.read_text(encoding="utf-8")).links:
            if "static" in link:
                assert (tmp_path / link.partition("?")[0]).exists()


def test_the_preview_tells_a_mistake_in_the_hit(tmp_path):
    (tmp_path / "hit.toml").write_text("votes_per_pair = 0", encoding="utf-8")
    with pytest.raises(InputError, match="votes_per_pair is 0"):
        exit_of(["preview", "--hit", str(tmp_path / "hit.toml"), "--out", str(tmp_path)])
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("choice", "serve runs/hit --questions examples/questions.jsonl"),
        ("conversations", "conversations-from examples/conversations/brisk.jsonl"),
        ("responses", "serve runs/hit --pairs examples/response_sets.jsonl"),
    ],
)
def test_the_preview_shows_a_form_with_the_sample_of_its_own(tmp_path, capsys, form, told):
    (tmp_path / "hit.toml").write_text(f'form = "{form}"\n', encoding="utf-8")
    assert exit_of(["preview", "--hit", str(tmp_path / "hit.toml"), "--number", "2", "--out", str(tmp_path)]) == 0
    assert (tmp_path / f"{form.removesuffix('s')}-2.html").exists() and told in capsys.readouterr().out


def exit_of(arguments):
    return dispatch("crowd", "", {"preview": ""}, arguments)
