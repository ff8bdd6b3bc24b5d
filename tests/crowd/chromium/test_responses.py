"""Sets of responses in a real Chromium: by keyboard alone, on a phone and without a script; axe on each."""

import subprocess
from pathlib import Path

import pytest

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.study_folder import opened, prepare_study
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import ResponseSet
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.chromium.test_hit import BLIND, READ, TWO_WAYS, WAYS, awaited, follow
from tests.crowd.marketplaces.study import served as at_a_port
from tests.crowd.sets import make_sets
from tests.house.barriers import SHARED, barriers_of
from tests.house.waiting import PATIENCE
from tests.house.warm import SERVING, warm

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "examples" / "response_sets.jsonl"
RULES = """
form = "responses"
pairs_per_sitting = 2
first_checks = 0
later_checks = 0
votes_per_pair = 90

[[questions]]
name = "order"
ask = "Which rank does this response deserve?"
kind = "ranking"
tie = "none"

[[questions]]
name = "fluent"
ask = "How natural is each response?"
kind = "likert"
labels = ["not at all", "very"]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a study of the sample, and its folder."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "hit.toml").write_text(RULES)
    command = [*warm(SERVING), "-m", "crowd", "serve", str(folder), "--pairs", str(SAMPLE), "--port", "0"]
    command += ["--rate", "0", "--quiet", "--simulated", "--stop-with-stdin"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1].rstrip("/"), folder
    finally:
        process.stdin.close()
        process.wait(PATIENCE)
        process.stdout.close()


def checked(page, name):
    return page.locator(f"input[name={name}]:checked").evaluate_all("all => all.map(one => one.value)")


def until_keys_count(page):
    """A key in the first moment of a page is no answer."""
    page.evaluate("new Promise((go) => setTimeout(go, BOUNCE + 1 - performance.now() + shownAt))")


def answer(page, way, ranks, scores):
    """Rank and rate by place, and save, as this way does."""
    if way == "keyboard":
        until_keys_count(page)
        for place, both in enumerate(zip(ranks, scores, strict=True)):  # under each text, one after the other
            for name, value in zip(("order", "fluent"), both, strict=True):
                page.keyboard.press(str(value))
                page.locator(f"input[name=q-{name}-{place}][value='{value}']:checked").wait_for(state="attached")
        page.evaluate(READ, PATIENCE)
        page.keyboard.press("Enter")
        return
    for place, (rank, score) in enumerate(zip(ranks, scores, strict=True)):
        for name, value in {"order": rank, "fluent": score}.items():
            label = page.locator(f"label:has(input[name=q-{name}-{place}][value='{value}'])")
            label.tap() if way == "phone" else label.click()
    if way == "phone":
        assert page.evaluate(READ, PATIENCE) == [True, False]
    save = page.locator(".answers button.save")
    if way != "no JavaScript":
        page.evaluate(READ, PATIENCE)
    save.tap() if way == "phone" else save.click()


@pytest.mark.parametrize("way", TWO_WAYS)
def test_stored_ranks_do_not_depend_on_places(chromium, served, way):
    url, folder = served
    tall = {"viewport": {"width": 1280, "height": 1600}}
    context = chromium.new_context(**{**WAYS[way], **({} if way == "phone" else tall)})
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{url}/?rater={way.replace(' ', '-')}&source=simulated")
    follow(page, way, "button.go")
    asked = {}
    for number in (1, 2):
        page.get_by_role("heading", name=f"Conversation {number} of 2").wait_for()
        shown = page.locator(".response .said").all_inner_texts()
        ranks, scores = ((3, 1, 4, 2), (2, 5, 1, 4)) if number == 1 else ((1, 2, 3, 4), (5, 4, 3, 2))
        asked |= {text: told for text, *told in zip(shown, ranks, scores, strict=True)}
        answer(page, way, ranks, scores)
    page.get_by_role("heading", name="Thank you").wait_for()
    with opened(folder, None) as store, store.read() as connection:
        found = export(connection, votes_per_pair=90)
    mine = [one for one in found.votes if one.rater == found.raters[-1].rater]
    texts = {one.set: [response.text for response in one.responses] for one in read_records(SAMPLE, ResponseSet)}
    stored = {}
    for one in mine:
        stored.setdefault(texts[one.set][one.response], [0, 0])[one.rank is None] = one.score or one.rank
    assert stored == asked and complaints == []
    context.close()


def test_no_rank_is_given_twice_and_u_takes_back(chromium, served):
    url, _ = served
    page = chromium.new_context(viewport={"width": 1280, "height": 1600}).new_page()
    page.add_init_script(BLIND)
    page.goto(f"{url}/?rater=keys&source=simulated")
    page.locator("button.go").click()
    page.get_by_role("heading", name="Conversation 1").wait_for()
    assert awaited(page, ".response") == 4
    ranks = lambda: [checked(page, f"q-order-{place}") for place in range(4)]  # noqa: E731
    assert ranks() == [[]] * 4  # nothing is ranked before the rater ranks it
    until_keys_count(page)
    page.keyboard.press("2")
    page.keyboard.press("5")  # the scale under the same text
    page.keyboard.press("1")
    assert ranks() == [["2"], ["1"], [], []] and checked(page, "q-fluent-0") == ["5"]
    page.locator("label:has(input[name=q-order-3][value='1'])").click()  # the later choice holds
    assert ranks() == [["2"], [], [], ["1"]]
    page.locator("input[name=q-order-3]:checked").focus()
    page.keyboard.press("ArrowRight")  # as in every group of radio buttons
    assert ranks() == [[], [], [], ["2"]]
    page.locator("h1").focus()
    page.keyboard.press("u")
    assert checked(page, "q-fluent-0") == []
    page.context.close()


def test_ranks_stand_under_their_texts_and_the_page_is_low(chromium, tmp_path):
    """One control for a ranking, in the card of its response; what fits a window needs no scrolling to and fro."""
    dispatch("crowd", "", {"preview": ""}, ["preview", "--hit", "examples/ranking.toml", "--out", str(tmp_path)])
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "response-2.html").as_uri())
    cards = page.locator(".rated")
    assert cards.count() == 4 and page.locator("[data-group]").count() == cards.locator("[data-group]").count()
    for card in cards.all():
        text, scale = card.locator(".said").bounding_box(), card.locator("[data-group]").first.bounding_box()
        assert 0 <= scale["y"] - text["y"] - text["height"] < 60
    page.close()


def test_instructions_say_what_a_ranking_allows():
    ask = {"name": "order", "ask": "Which comes next?", "kind": "ranking"}
    said = {
        tie: hit_from({"form": "responses", "questions": [{**ask, "tie": tie}]}, "t").instructions
        for tie in ("one", "none")
    }
    assert "equally good share a rank" in said["one"] and "no two responses share a rank" in said["none"]
    assert not any("same rating" in text for text in said.values())
    rate = {"name": "good", "ask": "How good?", "kind": "likert"}
    both = hit_from({"form": "responses", "questions": [rate, {**ask, "tie": "none"}]}, "t").instructions
    assert "same rating" in both and "no two responses share a rank" in both


@SHARED
def test_no_page_of_sets_has_a_barrier(chromium, tmp_path, by_turns):
    one = [r for r in read_records(SAMPLE, ResponseSet) if r.kind == "real"][:2]
    alone = [f'{{"format": "response_sets", "version": 1, "signature": "t"}}\n{line}' for line in _alone(one)]
    (tmp_path / "alone.jsonl").write_text("\n".join(alone[:1]) + "\n")
    (tmp_path / "alone.toml").write_text('form = "responses"\nfirst_checks = 0\nlater_checks = 0\n')
    several = ["--hit", "examples/ranking.toml"]
    single = ["--hit", str(tmp_path / "alone.toml"), "--pairs", str(tmp_path / "alone.jsonl")]
    addresses = {}
    for name, words in (("several", several), ("single", single)):
        dispatch("crowd", "", {"preview": ""}, ["preview", *words, "--number", "1", "--out", str(tmp_path / name)])
        for shown in ("consent", "response-1", "message-wait"):
            addresses[f"{name} {shown}"] = (tmp_path / name / f"{shown}.html").as_uri()
    assert barriers_of(chromium, addresses, (("light", 1280, 720), ("dark", 320, 720)), by_turns) == []


def _alone(sets):
    import json

    from seedvote.dialogue.files import as_json

    return [json.dumps({**as_json(one), "responses": as_json(one)["responses"][:1]}) for one in sets]


def test_one_response_alone_is_rated_by_keyboard_alone(chromium, tmp_path):
    one = {"name": "natural", "ask": "How natural?", "kind": "likert", "points": 10}
    why = {"name": "why", "ask": "Why?", "kind": "comment"}
    rules = {"form": "responses", "first_checks": 0, "later_checks": 0, "pairs_per_sitting": 2}
    hit = hit_from({**rules, "questions": [one, {**one, "name": "useful", "points": 5}, why]}, "test")
    write_records(tmp_path / "response_sets.jsonl", make_sets(2, size=1), signature="test", kind=ResponseSet)
    app = create_app(ServerConfig(prepare_study(tmp_path, None, hit, None, seed=0, simulated=False), hit, rate=0))
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    with at_a_port(app) as url:
        page.goto(f"{url}/?rater=ann")
        follow(page, "keyboard", "button.go")
        for number in (1, 2):
            page.get_by_role("heading", name=f"Conversation {number} of 2").wait_for()
            page.evaluate(READ, PATIENCE)
            until_keys_count(page)
            page.keyboard.press("0")  # the tenth
            page.keyboard.press("4")
            page.locator("input[name=q-useful-0][value='4']:checked").wait_for(state="attached")
            if number == 1:
                while page.evaluate("document.activeElement.tagName") != "TEXTAREA":
                    page.keyboard.press("Shift+Tab")
                page.keyboard.type("u 1 2")  # letters and digits of a text are no keys
                page.keyboard.press("Control+Enter")
            else:
                page.keyboard.press("Enter")
        page.get_by_role("heading", name="Thank you").wait_for()
    page.close()
    with app.extensions["desk"].store.read() as connection:
        found = export(connection, votes_per_pair=90)
    assert [(one.question, one.score) for one in found.votes] == [("natural", 10), ("useful", 4)] * 2
    assert [one.text for one in found.comments] == ["u 1 2"]
    app.extensions["desk"].store.close()
