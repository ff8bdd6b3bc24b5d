"""A page with several questions in a real Chromium: one key a question, undo over all, every way stores the same."""

from urllib.parse import parse_qsl

import pytest

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.study_folder import opened
from seedvote.crowd.web.page import Frame, Retry, SittingSoFar, message_page
from tests.crowd.chromium.test_hit import READ, SAMPLE, TWO_WAYS, WAYS, WIDE, serve
from tests.house.barriers import LOOKS, barriers
from tests.house.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.browser

RULES = """
examples = []
pairs_per_sitting = 2
first_checks = 0
later_checks = 0
votes_per_pair = 90

[[questions]]
name = "better"
ask = "Welche Antwort passt besser?"
strength = ["etwas besser", "viel besser"]
tie = "split"

[[questions]]
name = "fluency"
ask = "Wie flüssig ist jede Antwort?"
kind = "likert"
labels = ["gar nicht", "sehr"]

[[questions]]
name = "why"
ask = "Warum?"
kind = "comment"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    yield from serve(tmp_path_factory.mktemp("questions"), SAMPLE, RULES)


@pytest.fixture
def arrive(chromium):
    """Opens a page as a new rater who has agreed; no page may complain."""
    opened_here, complaints = [], []

    def go(server, rater, **options):
        context = chromium.new_context(**({"viewport": WIDE} | options))
        opened_here.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{server.url}/?rater={rater}&source=simulated")
        page.locator("button.go").click()
        page.get_by_role("heading", name="Pair 1 of 2").wait_for()
        return page

    yield go
    for context in opened_here:
        context.close()
    assert complaints == []


def rows(server):
    """What the rater who came last answered, pair by pair, by the place on the page."""
    with opened(server.folder, None) as store, store.read() as connection:
        found = export(connection, votes_per_pair=90)
    rater = found.raters[-1].rater
    said = [(c.text) for c in found.comments if c.rater == rater]
    return [vote for vote in found.votes if vote.rater == rater], said


def by_place(vote):
    """The answer as it was given on the page."""
    scores = (vote.score_a, vote.score_b) if vote.left == "a" else (vote.score_b, vote.score_a)
    return (vote.choice == vote.left, vote.strength, vote.tie_kind) if vote.question == "better" else scores


def fill(page, way):
    """Read both responses, then answer."""
    page.locator(".response").last.scroll_into_view_if_needed()
    page.wait_for_timeout(350)
    if way != "no JavaScript":
        page.evaluate(READ, PATIENCE)
    if way == "keyboard":
        for key in ("1", "4", "2"):
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        return
    page.locator("input[name=q-better][value=left-2]").check(force=True)
    page.locator("input[name=q-fluency-left][value='4']").check(force=True)
    page.locator("input[name=q-fluency-right][value='2']").check(force=True)
    page.locator("textarea").fill("Weil A passt. u1")
    page.locator("button.save").tap() if way == "phone" else page.locator("button.save").click()


@pytest.mark.parametrize("way", TWO_WAYS)
def test_every_way_stores_the_same_answers(arrive, server, way):
    page = arrive(server, way.replace(" ", "-"), **WAYS[way])
    for number in (1, 2):
        page.get_by_role("heading", name=f"Pair {number} of 2").wait_for()
        fill(page, way)
    page.get_by_role("heading", name="Thank you").wait_for()
    votes, said = rows(server)
    assert [by_place(vote) for vote in votes] == [(True, 2, None), (4, 2)] * 2
    assert said == ([] if way == "keyboard" else ["Weil A passt. u1"] * 2)


def test_u_takes_back_answer_by_answer_and_then_the_last_pair(arrive, server):
    page = arrive(server, "undo")
    fill(page, "keyboard")
    page.get_by_role("heading", name="Pair 2 of 2").wait_for()
    page.wait_for_timeout(350)
    page.keyboard.press("3")
    page.keyboard.press("5")
    assert page.locator("input:checked[type=radio]").count() == 2
    for left in (1, 0):
        page.keyboard.press("u")
        assert page.locator("input:checked[type=radio]").count() == left
    page.keyboard.press("u")
    page.get_by_role("heading", name="Pair 1 of 2").wait_for()
    assert rows(server)[0] == []


def chosen(page):
    """What is checked, and what is written."""
    names = page.locator("input:checked[type=radio]").evaluate_all("all => all.map(one => `${one.name}=${one.value}`)")
    return [*names, page.locator("textarea").input_value()]


@pytest.mark.parametrize("way", ["mouse", "no JavaScript"])
def test_undone_answers_come_back_filled_in(arrive, server, way):
    page = arrive(server, f"filled-{way[:2]}", **WAYS[way])
    fill(page, way)
    page.get_by_role("heading", name="Pair 2 of 2").wait_for()
    page.locator("button.undo").click()
    page.get_by_role("heading", name="Pair 1 of 2").wait_for()
    given = ["q-better=left-2", "q-fluency-left=4", "q-fluency-right=2", "Weil A passt. u1"]
    assert chosen(page) == given and rows(server) == ([], [])
    page.locator("input[name=q-fluency-right][value='1']").check(force=True)
    page.locator(".response").last.scroll_into_view_if_needed()
    if way == "mouse":
        page.evaluate(READ, PATIENCE)
    page.locator("button.save").click()
    page.get_by_role("heading", name="Pair 2 of 2").wait_for()
    assert chosen(page) == [""]
    votes, said = rows(server)
    assert [by_place(vote) for vote in votes] == [(True, 2, None), (4, 1)] and said == ["Weil A passt. u1"]


def test_number_keys_go_through_what_was_taken_back(arrive, server):
    page = arrive(server, "again")
    fill(page, "keyboard")
    page.get_by_role("heading", name="Pair 2 of 2").wait_for()
    page.keyboard.press("u")
    page.get_by_role("heading", name="Pair 1 of 2").wait_for()
    page.evaluate(READ, PATIENCE)
    page.wait_for_timeout(350)
    fill(page, "keyboard")
    page.get_by_role("heading", name="Pair 2 of 2").wait_for()
    assert [by_place(vote) for vote in rows(server)[0]] == [(True, 2, None), (4, 2)]


def test_page_without_an_answer_is_not_sent(arrive, server):
    page = arrive(server, "lacks")
    page.locator("textarea").fill("")
    page.locator("textarea").press_sequentially("u1 a2")
    assert page.locator("textarea").input_value() == "u1 a2" and page.locator("input:checked[type=radio]").count() == 0
    page.locator(".response").last.scroll_into_view_if_needed()
    page.evaluate(READ, PATIENCE)
    page.locator("button.save").click()
    assert page.get_by_role("heading", name="Pair 1 of 2").is_visible() and rows(server)[0] == []


@LOOKS
def test_the_page_has_no_barrier(arrive, server, screens):
    page = arrive(server, f"axe-{len(screens)}")
    for scheme, width in screens:
        assert barriers(page, scheme, width) == []


def answer_all(page, text):
    """Read all, answer every question, and write this."""
    page.evaluate(READ, PATIENCE)
    for name in ("q-better", "q-fluency-left", "q-fluency-right"):
        page.locator(f"input[name={name}]").first.check(force=True)
    page.locator("textarea").fill(text)


REFUSALS = {
    "out of date": (400, {"status": "bad_request"}, "Not saved: this page is out of date"),
    "too long": (413, {"status": "too_large", "said": "Not saved: a text is longer"}, "Not saved: a text is longer"),
    "busy": (429, {"status": "busy"}, "Not saved. Check your connection"),
}


@pytest.mark.parametrize("why", REFUSALS)
def test_a_save_that_is_refused_keeps_what_was_typed_and_says_why(arrive, server, why):
    status, reply, told = REFUSALS[why]
    page = arrive(server, f"refused {why}")
    answer_all(page, "你写的字 😀 stays")
    address = page.url
    page.clock.install()
    page.route("**/answer", lambda route: route.fulfill(status=status, json={"saved": False, "html": "", **reply}))
    page.locator(".save").click()
    note = page.get_by_role("status").filter(has_text=told)
    wait_for(lambda: page.clock.fast_forward(5000) or note.count())
    assert page.locator("textarea").input_value() == "你写的字 😀 stays" and page.url == address


def test_a_form_that_came_with_a_crowd_sends_itself_again(chromium, server):
    context = chromium.new_context(viewport=WIDE)
    page, sent = context.new_page(), []
    page.goto(f"{server.url}/?rater=crowded&source=simulated")

    def busy_once(route):
        sent.append(route.request.post_data)
        if len(sent) > 1:
            return route.continue_()
        fields = dict(parse_qsl(sent[0]))
        again = SittingSoFar(sent=fields, retry=Retry("/consent", 1, True))
        html = message_page(Hit(), Frame("", fields["seat"], "n"), "busy", again)
        return route.fulfill(status=429, content_type="text/html; charset=utf-8", body=html)

    page.route("**/consent", busy_once)
    page.locator("button.go").click()
    page.get_by_role("heading", name="Pair 1 of 2").wait_for()
    assert dict(parse_qsl(sent[0])).items() >= dict(parse_qsl(sent[1])).items() and len(sent) == 2
    context.close()


@pytest.fixture(scope="module")
def trapped_server(tmp_path_factory):
    yield from serve(tmp_path_factory.mktemp("trap"), SAMPLE, "program_trap = true\n" + RULES)


def test_nobody_meets_the_line_for_programs_by_eye_by_ear_or_by_tab(arrive, trapped_server):
    page = arrive(trapped_server, "person")
    field = page.locator("[name=for-programs]")
    assert field.count() == 1 and not field.is_visible()
    met_by_eye_and_ear = page.locator("body").inner_text() + page.locator("body").aria_snapshot()
    assert "This line is for programs" not in met_by_eye_and_ear and "Warum?" in met_by_eye_and_ear
    met = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        met.add(page.evaluate("document.activeElement.name ?? ''"))
    assert "q-why" in met and "for-programs" not in met
