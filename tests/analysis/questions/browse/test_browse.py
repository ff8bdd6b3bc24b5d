"""The page of every pair: its numbers are the analysis's, its texts are data, its filters say what they keep."""

import html
import json
import re
from dataclasses import replace

import pytest

from seedvote.analysis.notebook import preference
from seedvote.analysis.questions.browse.answer import answer, slices_of
from seedvote.analysis.questions.browse.page import address_of, browse_page, document
from seedvote.analysis.votes.votes import read_votes
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, HeldConversation, Pair, Utterance, Vote
from tests.analysis.report_study import add_votes
from tests.house.barriers import LOOKS, barriers
from tests.house.typed import typed
from tests.house.waiting import wait_for

pytestmark = pytest.mark.usefixtures("hasty_throughout")

HOSTILE = (
    '</script></article><img src=x onerror="document.title=1"><script>document.title=2</script>&#x3c;b>\u202egnp.\u2066'
)
RIGHT_TO_LEFT = "مرحبا، كيف يمكنني مساعدتك؟"


def side(text, seed):
    return Candidate(text, "lstm", seed, "last")


def pair(n, **more):
    a, b = (side("short", n % 2), side(f"a longer {HOSTILE if n == 3 else 'one'} {'word ' * n}", 1 - n % 2))
    context = [Utterance(("user", HOSTILE)[k % 2], RIGHT_TO_LEFT if n == 4 else "Hello") for k in range(n % 5)]
    extra = {"domain": ("hotel", "train")[n % 2], "page": str(n % 3), "weights": [1, 2]}
    return Pair(f"p{n}{HOSTILE if n == 5 else ''}", f"d{n // 2}:{n}", context, a, b, dialogue=f"d{n // 2}", extra=extra)


def vote(n, k):
    choice = ("a", "a", "b", "tie", "a")[(n * 3 + k * (1 + n % 2)) % 5]
    more = {"comment": HOSTILE} if (n, k) == (2, 1) else {"comment": ""}
    return Vote(pair(n).pair, f"rater-{(n + k) % 7}", choice, k, left="ab"[(n + k) % 2], seconds=4.5,
                source="local", dialogue=f"d{n // 2}", extra=more)  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """24 pairs of two systems, a pair without votes, a control and one that compares a system with itself."""
    folder = tmp_path_factory.mktemp("browsed")
    pairs = [pair(n) for n in range(24)]
    same = replace(pair(24), b=side("again", 0), a=side("again", 0))
    control = replace(pair(25), kind="control", contrast="within-seed")
    votes = [vote(n, k) for n in range(23) for k in (1, 2, 3)] + [vote(24, 1), replace(vote(25, 1), kind="control")]
    late = replace(vote(1, 4), counted=False, round=0, choice="tie", extra={"comment": "too late"})
    write_records(folder / "pairs.jsonl", [*pairs, same, control], signature="p", kind=Pair)
    write_records(folder / "votes.jsonl", [*votes, late], signature="v", kind=Vote)
    return folder


@pytest.fixture(scope="module")
def found(study):
    votes, controls = (
        read_votes(study / "votes.jsonl", also=("comment",), kinds=(kind,)) for kind in ("real", "control")
    )
    return answer(votes, list(read_records(study / "pairs.jsonl", Pair)), controls)


@pytest.fixture(scope="module")
def page(found):
    return browse_page(found, "Ours & theirs")


def test_live_conversations_stand_with_the_vote_they_led_to(study):
    said = [Utterance("user", HOSTILE), Utterance("system", "An answer.")]
    talk = HeldConversation(pair(0).pair, "rater-1", said, [*said, *said], 2, "voted")
    votes = read_votes(study / "votes.jsonl")
    judged = answer(votes, [pair(0)], talks={(talk.pair, talk.rater): talk, ("p0", "nobody"): talk})
    (shown,) = [one for one in judged.pairs if one.pair == "p0"]
    assert [vote.talk for vote in shown.votes if vote.talk] == [talk]
    text = browse_page(judged, "t")
    assert text.count("An answer.") == 3
    assert "<img" not in text
    assert "rater-1" not in text


def test_the_numbers_are_those_of_preference(study, found):
    told = preference(study).document["contrasts"][0]
    whole, *rest = found.nets
    assert whole.counts == tuple(told["sign_test"][key] for key in ("first", "second", "ties"))
    assert (whole.net.value, whole.net.low, whole.net.high) == tuple(
        told["net"][key] for key in ("value", "low", "high")
    )
    for name in {one.slice for one in rest}:
        parts = [one for one in rest if one.slice == name]
        assert [sum(column) for column in zip(*(one.counts for one in parts), strict=True)] == [*whole.counts]
    assert json.dumps(document(found), allow_nan=False)


def test_a_slice_has_the_interval_of_its_votes_alone(study, found, tmp_path):
    hotels = [one for one in read_records(study / "pairs.jsonl", Pair) if one.extra["domain"] == "hotel"]
    kept = {one.pair for one in hotels}
    votes = [one for one in read_records(study / "votes.jsonl", Vote) if one.pair in kept]
    write_records(tmp_path / "pairs.jsonl", hotels, signature="p", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="v", kind=Vote)
    told = preference(tmp_path).document["contrasts"][0]["net"]
    mine = next(one for one in found.nets if (one.slice, one.value) == ("field-domain", "hotel"))
    assert (mine.net.value, mine.net.low, mine.net.high) == (told["value"], told["low"], told["high"])


def test_every_pair_is_there_with_its_counted_votes_and_no_rater(found, page):
    assert [len(one.votes) for one in found.pairs] == [3] * 23 + [0, 1, 1]
    assert page.count("<article") == 26 and "No counted vote." in page
    assert "rater-" not in page and "too late" not in page


@pytest.mark.parametrize(
    ("choices", "agreement", "winner"),
    [("", "single", ""), ("a", "single", "a"), ("aa", "all", "a"), ("ab", "split", ""), ("aab", "most", "a"),
     ("abt", "split", ""), ("tta", "most", "tie"), ("aabt", "split", "a")],
)  # fmt: skip
def test_how_far_raters_agree_and_what_leads(found, choices, agreement, winner):
    cast = found.pairs[0].votes[0]
    votes = tuple(replace(cast, choice={"t": "tie"}.get(one, one)) for one in choices)
    one = replace(found.pairs[0], votes=votes)
    assert (one.agreement, one.winner) == (agreement, winner)


def test_recorded_ties_are_nobodys_agreement(found):
    recorded = replace(found.pairs[0].votes[0], choice="tie", automatic=True)
    assert replace(found.pairs[0], votes=(recorded,) * 3).agreement == "single"


def test_slices_part_every_pair_and_take_the_fields_that_are_words():
    cuts = {one.name: one for one in slices_of([pair(n) for n in range(12)])}
    assert set(cuts) == {"length", "turn", "field-domain", "field-page"}
    assert all(min(one.codes) >= 0 for one in cuts.values())
    assert slices_of([pair(1), pair(1)]) == () == slices_of([None])


def test_hostile_texts_stay_texts(page):
    body = page.split("</style>")[1]
    assert body.count("<script>") == body.count("</script>") == 1 and "<img" not in body
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1))
    assert "default-src 'none'" in policy and "unsafe-inline" not in policy and "http" not in policy


def test_half_a_character_does_not_stop_the_page(found, tmp_path):
    half = replace(found.pairs[0], source=replace(found.pairs[0].source, a=side("half \ud83d", 0)))
    assert "half ?" in browse_page(replace(found, pairs=(half,)), "t")


def test_the_command_writes_the_page_and_its_numbers(study, tmp_path):
    told = typed("analysis", "browse", study, "--out", tmp_path / "all.html", "--json", tmp_path / "n.json")
    assert "Written:" in told.stdout and (tmp_path / "all.html").read_text(encoding="utf-8").count("<article") == 26
    assert len(json.loads((tmp_path / "n.json").read_text())["nets"]) > 5


def test_votes_alone_make_a_page_that_says_what_is_missing(tmp_path):
    table = tmp_path / "votes.csv"
    table.write_text("pair,rater,choice\n" + "".join(f"q{n},r{n % 3},{'ab'[n % 2]}\n" for n in range(9)))
    typed("analysis", "browse", table)
    page = (tmp_path / "browse.html").read_text(encoding="utf-8")
    assert page.count("<article") == 9 and "their texts are not known" in page


def test_the_report_leads_to_the_pairs_behind_its_numbers(tmp_path):
    typed("analysis", "report", add_votes(tmp_path))
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    keys = {"system", "against", "kind", "winner", "agreement"}
    addresses = re.findall(r'href="browse\.html#([^"]+)"', written)
    assert len(addresses) == 3 + 1 + 2
    assert {part.split("=")[0] for one in addresses for part in one.replace("&amp;", "&").split("&")} <= keys
    assert (tmp_path / "browse.html").exists() and "browse.html#agreement=split" in (tmp_path / "report.md").read_text()


@pytest.fixture
def opened(chromium, page, tmp_path):
    """Opens the page at an address; nothing but the file may be asked for, and no error may be said."""
    path, views = tmp_path / "browse.html", []
    path.write_text(page, encoding="utf-8")

    def at(where="", **options):
        context = chromium.new_context(**options)
        view, wrong = context.new_page(), []
        view.on("pageerror", lambda error: wrong.append(error))
        view.on("console", lambda said: wrong.append(said.text))
        view.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(path.as_uri()) else None)
        view.goto(path.as_uri() + where)
        views.append((context, wrong))
        return view

    yield at
    for context, wrong in views:
        assert wrong == []
        context.close()


def kept(view):
    return view.evaluate("[...document.querySelectorAll('article')].filter(e => !e.hidden).length")


def await_that(view, expression):
    """Playwright's own waiting evaluates text inside the page, which the page's policy forbids."""
    wait_for(lambda: view.evaluate(expression))


@pytest.mark.browser
def test_filters_search_and_addresses_keep_what_they_say(opened, found):
    view = opened(address_of({"system": "lstm-0", "against": "lstm-1", "kind": "real"}))
    first, second, ties = found.nets[0].counts
    told = view.locator("#told").text_content()
    assert f"{first} for lstm-0, {second} for lstm-1, {ties} ties" in told and kept(view) == 24
    assert f"{100 * found.nets[0].net.value:+.1f}".lstrip("+").replace("-", "\u2212") + " points" in told
    for one in found.nets[1:]:
        cut = {one.slice: one.value, "system": one.first, "against": one.second, "kind": "real"}
        view.evaluate(f"location.hash = {address_of(cut)!r}")
        await_that(view, f"document.getElementById('told').textContent.includes(' {one.votes} votes: ')")
        assert f" {one.counts[0]} for lstm-0, {one.counts[1]} for lstm-1, {one.counts[2]} ties" in (
            view.locator("#told").text_content()
        )
    view.get_by_role("button", name="Show all").click()
    await_that(view, "document.getElementById('told').textContent.startsWith('26 of 26')")
    view.get_by_label("Search").fill("ONERROR longer")
    assert kept(view) == sum(n % 5 > 1 or n == 5 for n in range(24))  # speakers' names, and a pair's
    view.get_by_label("Search").fill("")
    view.get_by_label("with comments").check()
    assert kept(view) == 1 and "comments=yes" in view.url
    view.get_by_label("with comments").uncheck()
    view.get_by_label("Agreement").select_option("split")
    assert kept(view) == sum(one.agreement == "split" for one in found.pairs)
    assert "say nothing of other pairs" in view.locator("#told").text_content()
    assert view.title() == "Ours & theirs: every pair"  # no text has run


@pytest.mark.browser
def test_keys_go_through_the_list_and_a_place_is_found_behind_a_filter(opened):
    view = opened("#comments=yes")
    view.evaluate("location.hash = '#n9'")
    await_that(view, "!document.getElementById('n9').hidden && !location.hash.includes('=')")
    view.locator("#n9").focus()
    view.keyboard.press("j")
    assert view.evaluate("document.activeElement.id") == "n10"
    view.keyboard.press("k")
    assert view.evaluate("document.activeElement.id") == "n9"
    view.get_by_label("Search").focus()
    view.keyboard.press("j")
    assert view.get_by_label("Search").input_value() == "j"


@pytest.mark.browser
def test_the_list_is_read_page_by_page_and_print_has_all_of_it(opened, found):
    on_screen = "[...document.querySelectorAll('article')].filter(e => e.checkVisibility()).map(e => e.id).join()"
    first, second = (",".join(f"n{k}" for k in range(*ends)) for ends in ((1, 21), (21, 27)))
    view = opened()
    assert view.evaluate(on_screen) == first and view.get_by_role("button", name="Previous").is_disabled()
    view.get_by_role("button", name="Next").click()
    assert view.evaluate(on_screen) == second and view.url.endswith("#page=2")
    assert view.get_by_role("button", name="Next").is_disabled()
    view.emulate_media(media="print")
    assert view.evaluate(on_screen) == f"{first},{second}"
    view.emulate_media(media="screen")
    view.evaluate("location.hash = '#n20'")
    await_that(view, f"{on_screen} === '{first}'")
    view.locator("#n20").focus()
    view.keyboard.press("j")
    assert view.evaluate("document.activeElement.id") == "n21" and view.evaluate(on_screen) == second
    view.evaluate("location.hash = '#kind=real&page=2'")
    await_that(view, f"{on_screen} === 'n21,n22,n23,n24,n25'")
    view.get_by_label("Agreement").select_option("split")
    assert kept(view) < 20 and not view.get_by_role("button", name="Next").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_browse_shows_slices_without_scrolling_sideways(opened, found, width):
    view = opened(viewport={"width": width, "height": 900})
    ends = view.evaluate("[...document.querySelectorAll('[scope=row] + td')].map(e => e.getBoundingClientRect().right)")
    assert len(ends) == len(found.nets) and 0 < max(ends) <= width


@pytest.mark.browser
@LOOKS
def test_the_page_has_no_barrier_and_fits(opened, screens):
    view = opened()
    assert [one for scheme, width in screens for one in barriers(view, scheme, width)] == []


@pytest.mark.browser
def test_without_script_it_is_a_list(opened):
    view = opened(java_script_enabled=False)
    assert view.locator("article").count() == 26 and view.locator("form").is_hidden()
    assert view.get_by_text("filters and search need script").is_visible()
