"""The HIT in a real Chromium: every way through it, what is stored at the end, and what is said when it fails."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.study_folder import opened
from seedvote.crowd.web.rendering import show_literally
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance
from tests.house.waiting import PATIENCE, wait_for
from tests.house.warm import SERVING, warm

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "examples" / "pairs.jsonl"
WIDE, PHONE, SMALL = {"width": 1280, "height": 720}, {"width": 390, "height": 844}, {"width": 320, "height": 568}
RULES = """
pairs_per_sitting = 3
first_checks = 1
later_checks = 1
max_failures = 2
votes_per_pair = 90
completion_code = "CODE-DONE"
"""
WAYS = {
    "mouse": {"viewport": WIDE},
    "keyboard": {"viewport": WIDE},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
    "no JavaScript": {"viewport": WIDE, "java_script_enabled": False},
}
# Every way through the page of a pair; where other forms share its script, two of them, the others in make test-slow.
TWO_WAYS = [pytest.param(way, marks=[] if way in ("keyboard", "no JavaScript") else pytest.mark.slow) for way in WAYS]
SEAT = re.compile('name="seat" value="([^"]+)"')
HOSTILE = [
    "you <unk> me",
    "<script>document.title = 'taken over'</script><img src=x onerror=alert(1)>",
    "${b} {{ 7*7 }} %s &amp;",
    "one\ntwo\n\n  three, indented",
    "emoji \U0001f469\u200d\U0001f4bb, accents é",
    "שלום עולם 12",
    "word " * 999 + "end",
    "x" * 5000,
    "null \0 and escape \x1b",
]


@dataclass(frozen=True)
class Server:
    """A served study."""

    url: str
    folder: Path
    study: str

    def votes(self, rater_number=-1):
        """What the store holds of the rater who came last (or of another), with the text that was chosen."""
        with opened(self.folder, None) as store, store.read() as connection:
            found = export(connection, votes_per_pair=90)
        pairs = {pair.pair: pair for pair in read_records(self.folder / "pairs.jsonl", Pair)}
        rater = found.raters[rater_number]
        chosen = []
        for vote in found.votes:
            if vote.rater == rater.rater:
                pair = pairs[vote.pair]
                texts = {"a": pair.a.text, "b": pair.b.text, "tie": "tie"}
                chosen.append((pair.context[-1].text, texts[vote.choice], vote))
        return chosen, rater


def serve(folder, pairs, rules=RULES):
    """Start `python -m crowd serve` (simulated: order and sides follow from the seed) and read where it listens."""
    (folder / "pairs.jsonl").write_bytes(pairs.read_bytes())
    (folder / "hit.toml").write_text(rules, encoding="utf-8")
    command = [*warm(SERVING), "-m", "crowd", "serve", str(folder), "--port", "0", "--rate", "0", "--quiet"]
    process = subprocess.Popen(
        [*command, "--simulated", "--stop-with-stdin"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    url, study = (process.stdout.readline().split()[-1] for _ in range(2))
    try:
        yield Server(url.rstrip("/"), folder, study)
    finally:
        process.stdin.close()
        process.wait(PATIENCE)
        process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    yield from serve(tmp_path_factory.mktemp("study"), SAMPLE)


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    said = Candidate("the other response", "sample")
    pairs = [
        Pair(f"p{n}", f"d:{n}", (Utterance("user", text),), Candidate(text, "sample"), said)
        for n, text in enumerate(HOSTILE)
    ]
    write_records(folder / "given.jsonl", pairs, signature="test", kind=Pair)
    rules = f"pairs_per_sitting = {len(HOSTILE)}\nfirst_checks = 0\nlater_checks = 0\nvotes_per_pair = 90\n"
    yield from serve(folder, folder / "given.jsonl", rules)


@pytest.fixture
def arrive(chromium):
    """Opens a page as a new rater; at the end of the test no page may have complained or asked another host."""
    opened_here, complaints = [], []

    def go(server, rater, **options):
        context = chromium.new_context(**({"viewport": WIDE} | options))
        opened_here.append(context)
        page = context.new_page()
        page.scripted = options.get("java_script_enabled", True)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        page.on("request", lambda sent: None if sent.url.startswith(server.url) else complaints.append(sent.url))
        page.goto(f"{server.url}/?rater={rater}&source=simulated")
        return page

    go.complaints = complaints
    yield go
    for context in opened_here:
        context.close()
    assert complaints == []


def press(page, way, choice):
    """Answer as this way does: a click, a tap or a key, once it is taken."""
    look(page)
    if way == "keyboard":
        page.keyboard.press({"left": "1", "right": "b", "tie": "3"}[choice])
    elif way == "phone":
        page.locator(f"button[value={choice}]").tap()
    else:
        page.locator(f"button[value={choice}]").click()


def follow(page, way, selector):
    """Take the one link or button of a page; by keyboard it must be reached with the Tab key."""
    target = page.locator(selector)
    target.wait_for()
    if way != "keyboard":
        target.tap() if way == "phone" else target.click()
        return
    for _ in range(12):
        if target.evaluate("element => element === document.activeElement"):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by the Tab key")


def learn(page, hands):
    """Consent and a worked example for each way; without a script the last one, too."""
    way, shown = hands[-1], len(hands)
    follow(page, way, "button.go")
    for number, hand in enumerate(hands, 1):
        page.get_by_role("heading", name=f"Example {number}").wait_for()
        seat = page.locator("input[name=seat]").get_attribute("value")
        press(page, hand, "left")
        page.locator(".feedback").wait_for()
        follow(page, hand, "a.go")
    page.get_by_role("heading", name=f"Example {shown + 1}").wait_for()
    if way == "no JavaScript":
        skip(page, seat, shown + 1, 3)
        page.get_by_role("heading", name="Example 4").wait_for()
        press(page, way, "left")
        page.locator(".feedback").wait_for()
        follow(page, way, "a.go")  # the one page of this kind whose link leads to a pair
    else:
        skip(page, seat, shown + 1)
    page.locator("button[value=tie]").wait_for()


def begin(page):
    """To the first pair without looking at consent and examples."""
    seat = page.locator("input[name=seat]").get_attribute("value")
    reply = page.request.post(f"{root_of(page)}/consent", form={"seat": seat, "agree": "yes"})
    skip(page, SEAT.search(reply.text())[1], 1)


def skip(page, seat, first, last=4):
    """Past the worked examples from number `first` to `last`, by default to the first pair."""
    for number in range(first, last + 1):
        form = {"seat": seat, "choice": "tie"}
        page.request.post(f"{root_of(page)}/instructions/{number}", form=form)
    page.goto(f"{root_of(page)}/task")  # by the cookie


def root_of(page):
    return "/".join(page.url.split("/")[:3])


def texts(page):
    return page.locator(".said").all_inner_texts()


def number_of(page):
    return int(page.locator("#pair h1").inner_text().split()[1])


# Each part is brought on the screen and stays until it counts as seen. One call: to ask from outside, every few
# milliseconds, whether it does takes more processor time than all the rest of a walk.
READ = """async (patience) => {
    if (document.readyState !== "complete") await new Promise((go) => addEventListener("load", go));
    const seconds = () => performance.now() / 1000, until = seconds() + patience;
    for (const part of [...unseen.keys()]) {
        part.scrollIntoView({block: "center"});
        while (unseen.has(part)) {
            if (seconds() > until) throw new Error("a response is never seen");
            await new Promise((go) => setTimeout(go, 50));
        }
    }
    const buttons = [...document.querySelectorAll(".answers button")];
    return [buttons.length > 0, buttons.some((one) => one.hasAttribute("aria-disabled"))];
}"""


BLIND = "IntersectionObserver.prototype.observe = () => {}"  # from here on nothing counts as seen


def awaited(page, selector):
    """How many of these the answers wait for beside the turns of the conversation, each from its head to its end.

    None where they wait for anything else.
    """
    return page.evaluate(
        """selector => {
            const all = [...document.querySelectorAll(selector)];
            const turns = [...document.querySelectorAll(".chat li")];
            const parts = [
                ...turns.flatMap((turn) => [turn.querySelector(".who"), turn.lastElementChild.lastChild]),
                ...all.flatMap((one) => [one.querySelector("h3"), one.querySelector(".said").lastChild]),
            ];
            return unseen.size === parts.length && parts.every((part) => unseen.has(part)) ? all.length : null;
        }""",
        selector,
    )


def look(page):
    """Both responses on the screen, from the head to the end of each, until the answers are unlocked."""
    if not page.scripted:
        time.sleep(0.2)  # nobody answers sooner, and nothing keeps a test from it here
        return
    assert page.evaluate(READ, PATIENCE) == [True, False]


@pytest.mark.parametrize("hands", [("mouse", "keyboard"), ("phone",), ("no JavaScript",)], ids=" and ".join)
def test_stored_choice_is_the_chosen_response(arrive, server, hands):
    """By mouse and keyboard by turns: they share a page."""
    way = hands[-1]
    page = arrive(server, f"{way.replace(' ', '-')}-5", **WAYS[way])  # to whom both sides come
    begun = time.monotonic()
    learn(page, hands)
    asked = []
    for number in range(1, 6):
        page.get_by_role("heading", name=f"Pair {number} of 5").wait_for()
        look(page)
        left, right = texts(page)
        known = {pair.context[-1].text: pair for pair in read_records(SAMPLE, Pair)}
        last = page.locator(".chat li p").last.inner_text()
        hand, choice = hands[len(asked) % len(hands)], ("left", "right", "tie")[len(asked) % 3]
        if known[last].kind == "check":
            answer = known[last].a if known[last].answer == "a" else known[last].b
            choice = "left" if answer.text == left else "right"
        else:
            asked.append((last, {"left": left, "right": right, "tie": "tie"}[choice]))
        press(page, hand, choice)
    page.get_by_role("heading", name="Thank you").wait_for()
    assert page.locator("output").inner_text() == "CODE-DONE"
    chosen, rater = server.votes()
    assert [(context, text) for context, text, _ in chosen] == asked and len(asked) == 3
    assert (rater.status, rater.checks_seen, rater.checks_failed) == ("passed", 2, 0)
    assert {vote.left for *_, vote in chosen} == {"a", "b"}
    assert all(0.2 < vote.seconds < time.monotonic() - begun for *_, vote in chosen)
    if way != "no JavaScript":
        assert go_on(page, way) == [left, right]


def test_one_judgement_is_one_request_and_the_focus_goes_to_the_next_pair(arrive, server):
    page = arrive(server, "requests")
    begin(page)
    sent = []
    page.on("request", lambda request: sent.append((request.method, request.url.removeprefix(server.url))))
    look(page)
    page.evaluate(BLIND)
    page.keyboard.press("3")
    page.get_by_role("heading", name="Pair 2").wait_for()
    assert awaited(page, ".response") == 2
    page.get_by_role("status").filter(has_text="Saved").wait_for()
    assert [what for what in sent if "icon.svg" not in what[1]] == [("POST", "/answer")]
    assert page.evaluate("document.activeElement.textContent") == "Pair 2 of 5"
    assert page.locator("progress").get_attribute("value") == "1"
    moving = page.evaluate("document.getAnimations().map((one) => one.effect.getComputedTiming().activeDuration)")
    assert 0 < max(moving) < 1000  # while it lasts everything is drawn 60 times a second, on a rater's battery too


def test_the_last_answer_can_be_taken_back_once_and_is_then_given_anew(arrive, server):
    page = arrive(server, "undo")
    begin(page)
    look(page)
    answer_check(page)
    page.get_by_role("heading", name="Pair 2 of").wait_for()
    before = texts(page)
    look(page)
    page.keyboard.press("1")
    page.get_by_role("heading", name="Pair 3 of").wait_for()
    page.keyboard.press("u")
    page.get_by_role("status").filter(has_text="Undone").wait_for()
    assert texts(page) == before and page.locator(".undo").count() == 0
    look(page)
    page.keyboard.press("t")
    page.get_by_role("heading", name="Pair 3 of").wait_for()
    chosen, _ = server.votes()
    assert [text for _, text, _ in chosen] == ["tie"]


def test_without_script_an_answer_is_saved_and_undone(arrive, server):
    page = arrive(server, "plain-undo", java_script_enabled=False)
    begin(page)
    before = texts(page)
    page.locator("button[value=tie]").click()
    assert number_of(page) == 2 and page.get_by_role("status").inner_text() == "Saved"
    page.locator(".undo").click()
    assert number_of(page) == 1 and texts(page) == before
    assert page.get_by_role("status").inner_text().startswith("Undone")


def go_on(page, way):
    """From the end of a sitting: the last answer taken back and given again, then another sitting."""
    follow(page, way, "button:has-text('Take back the last answer')")
    page.get_by_role("heading", name="Pair 5 of 5").wait_for()
    look(page)
    again = texts(page)
    answer_check(page) if is_check(page) else press(page, way, "tie")
    page.get_by_role("heading", name="Thank you").wait_for()
    follow(page, way, "button:has-text('Begin another sitting')")
    page.get_by_role("heading", name="Pair 1 of").wait_for()
    return again


def is_check(page):
    known = {pair.context[-1].text: pair for pair in read_records(SAMPLE, Pair)}
    return known[page.locator(".chat li p").last.inner_text()].kind == "check"


def answer_check(page):
    known = {pair.context[-1].text: pair for pair in read_records(SAMPLE, Pair)}
    pair = known[page.locator(".chat li p").last.inner_text()]
    right = pair.a if pair.answer == "a" else pair.b
    page.keyboard.press("1" if texts(page)[0] == right.text else "2")


@pytest.mark.parametrize("script", [True, False])
def test_a_second_tab_cannot_change_an_answer_and_says_so(arrive, server, script):
    page = arrive(server, f"tabs-{script}", java_script_enabled=script)
    begin(page)
    second = page.context.new_page()
    second.scripted = script
    second.goto(page.url)
    for tab, choice in ((page, "tie"), (second, "left")):
        look(tab)
        tab.locator(f"button[value={choice}]").click()
        tab.get_by_role("heading", name="Pair 2 of").wait_for()
    second.get_by_role("status").filter(has_text="Saved already: the first answer stands").wait_for()


def test_a_double_click_or_a_bouncing_key_is_one_answer(arrive, server):
    page = arrive(server, "double")
    begin(page)
    look(page)
    page.clock.install()  # and stopped, so that on a slow machine too the keys come right after the new pair
    page.clock.pause_at(time.time() + 60)
    page.locator("button[value=tie]").dblclick()
    page.get_by_role("heading", name="Pair 2 of").wait_for()
    for _ in range(3):
        page.keyboard.press("3")
    page.clock.run_for(400)
    assert number_of(page) == 2


def test_single_keys_can_be_switched_off_and_stay_off(arrive, server):
    page = arrive(server, "keys-off")
    begin(page)
    page.locator("#keys").uncheck()
    page.reload()
    look(page)
    page.keyboard.press("1")
    page.wait_for_timeout(300)
    assert number_of(page) == 1 and not page.locator("#keys").is_checked()
    page.locator("#keys").check()
    page.keyboard.press("1")
    page.get_by_role("heading", name="Pair 2 of").wait_for()


def test_unreachable_server_gets_the_vote_once(arrive, server):
    page = arrive(server, "offline")
    begin(page)
    failures = iter(["abort", "503", "lost reply"])

    def break_down(route):
        kind = next(failures, None)
        if kind == "abort":
            return route.abort()
        if kind == "503":
            return route.fulfill(status=503, json={"status": "not_saved", "saved": False})
        if kind == "lost reply":
            route.fetch()
            return route.abort()
        return route.continue_()

    page.route("**/answer", break_down)
    look(page)
    page.keyboard.press("3")
    page.get_by_role("status").filter(has_text="Not saved yet").wait_for()
    page.get_by_role("heading", name="Pair 2 of").wait_for()
    page.get_by_role("status").filter(has_text="Saved").wait_for()
    page.reload()
    assert number_of(page) == 2
    expected = ("Failed to load resource", "net::ERR_FAILED")
    arrive.complaints[:] = [text for text in arrive.complaints if not text.startswith(expected)]


def test_unsaved_answer_is_told_to_the_rater(arrive, server):
    page = arrive(server, "gone")
    begin(page)
    look(page)
    page.clock.install()
    page.route("**/answer", lambda route: route.abort())
    page.keyboard.press("3")
    told = page.get_by_role("status").filter(has_text="Not saved. Check your connection")
    wait_for(lambda: page.clock.fast_forward(5000) or told.count())
    assert number_of(page) == 1 and page.locator(".chosen").count() == 0
    arrive.complaints[:] = [text for text in arrive.complaints if not text.startswith("Failed to load")]


def test_text_of_models_is_on_the_screen_to_the_letter(arrive, hostile_server):
    page = arrive(hostile_server, "reader")
    page.on("dialog", lambda dialog: pytest.fail("a response ran as a script"))
    begin(page)
    seen = set()
    for number in range(1, len(HOSTILE) + 1):
        page.get_by_role("heading", name=f"Pair {number} of").wait_for()
        look(page)
        shown = page.locator(".chat p, .said").evaluate_all("all => all.map(element => element.textContent)")
        assert shown[0] in shown[1:] and "the other response" in shown[1:]
        assert page.locator("main script, main img").count() == 0
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        seen.add(shown[0])
        page.keyboard.press("3")
    assert seen == {show_literally(text) for text in HOSTILE}
    assert "taken over" not in page.title()


def test_the_answers_are_in_the_window_and_nothing_is_wider_than_it(arrive, server):
    page = arrive(server, "sizes")
    begin(page)
    for size in (SMALL, PHONE, WIDE):
        page.set_viewport_size(size)
        page.reload()
        look(page)
        for value in ("left", "right", "tie"):
            box = page.locator(f"button[value={value}]").bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= size["height"] and box["height"] >= 44
        wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1] == size["width"]
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_a_page_with_all_it_loads_weighs_less_than_50_kb(arrive, server):
    page = arrive(server, "weight")
    entries = "performance.getEntries().filter(entry => 'encodedBodySize' in entry).map(entry => entry.encodedBodySize)"
    weights = [page.evaluate(entries)]
    begin(page)
    weights.append(page.evaluate(entries))
    assert all(len(loaded) >= 3 and 5_000 < sum(loaded) < 50_000 for loaded in weights), weights


def test_waiting_page_reloads_for_something_new_only(arrive, server, tmp_path):
    from seedvote.crowd.hit.hit import Hit
    from seedvote.crowd.web import page as pages

    page = arrive(server, "waiting")
    begin(page)
    wait = pages.message_page(Hit(), pages.Frame("", "", ""), "wait")
    page.clock.install()
    page.route("**/task", lambda route: route.fulfill(body=wait, content_type="text/html"))
    page.goto(f"{server.url}/task")
    page.clock.fast_forward(11_000)
    assert page.locator("h1").inner_text() == "One moment, please"
    page.unroute("**/task")
    page.clock.fast_forward(11_000)
    page.get_by_role("heading", name="Pair 1 of").wait_for()


def test_dashboard_switches_sorts_and_follows(arrive, server):
    page = arrive(server, "looks-only")
    page.clock.install()
    page.goto(server.study)
    assert "token" not in page.url
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("link", name="Ties").click()
    assert (
        page.get_by_role("region", name="Table of raters")
        .get_by_role("columnheader", name="Ties")
        .get_attribute("aria-sort")
        == "descending"
    )
    page.locator("h1").click()
    raters = page.get_by_role("heading", name="Raters (")
    before = raters.inner_text()
    begin(arrive(server, "somebody-new"))
    wait_for(lambda: page.clock.fast_forward(10_000) or page.wait_for_timeout(1000) or raters.inner_text() != before)


@pytest.fixture(scope="module")
def counting_server(tmp_path_factory):
    yield from serve(tmp_path_factory.mktemp("counting"), SAMPLE, RULES + "page_events = true\n")


def test_page_signals_are_counted_anew_for_each_pair(arrive, counting_server):
    page = arrive(counting_server, "copies")
    begin(page)
    sent = []
    page.on("request", lambda one: sent.append(one.post_data) if one.url.endswith("/answer") else None)
    page.locator(".said").first.click(click_count=3)  # selects
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    for _ in range(2):
        page.evaluate("dispatchEvent(new Event('blur'))")
    press(page, "mouse", "left")
    page.get_by_role("heading", name="Pair 2 of").wait_for()
    press(page, "mouse", "left")
    page.get_by_role("heading", name="Pair 3 of").wait_for()
    counts = [dict(parse_qsl(one, keep_blank_values=True)) for one in sent]
    assert [one["noticed"] for one in counts] == ["2,1,1", "0,0,0"]
    assert {*counts[0]} == {"seat", "lease", "seconds", "noticed", "view", "last", "choice"}
    assert re.fullmatch(r"desktop,\d+,\d+\.\d\d", counts[0]["view"])
