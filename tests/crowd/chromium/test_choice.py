"""Questions with several options in a real Chromium: by mouse, by keyboard alone, on a phone and without a script."""

import subprocess
from pathlib import Path

import pytest

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.study_folder import opened
from seedvote.dialogue.questions import read_questions
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.chromium.test_hit import BLIND, READ, TWO_WAYS, WAYS, awaited, follow
from tests.house.barriers import SHARED, barriers_of
from tests.house.waiting import PATIENCE
from tests.house.warm import SERVING, warm

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "examples" / "questions.jsonl"
RULES = """
form = "choice"
pairs_per_sitting = 2
first_checks = 1
later_checks = 0
votes_per_pair = 90
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a study of the sample, and its folder."""
    folder = tmp_path_factory.mktemp("questions")
    (folder / "hit.toml").write_text(RULES)
    command = [*warm(SERVING), "-m", "crowd", "serve", str(folder), "--questions", str(SAMPLE), "--port", "0"]
    command += ["--rate", "0", "--quiet", "--simulated", "--stop-with-stdin"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1].rstrip("/"), folder
    finally:
        process.stdin.close()
        process.wait(PATIENCE)
        process.stdout.close()


def pick(page, way, first, second):
    """Choose two options and save, as this way does."""
    if way == "keyboard":
        page.keyboard.press(str(first + 1))
        page.locator(f"input[name=first][value='{first}']:checked").wait_for()
        page.keyboard.press(str(second + 1))
        page.locator(f"input[name=second][value='{second}']:checked").wait_for()
        look(page)
        page.keyboard.press("Enter")
        return
    for name, place in (("first", first), ("second", second)):
        label = page.locator(f"label:has(input[name={name}][value='{place}'])")
        label.tap() if way == "phone" else label.click()
    save = page.locator(".answers button[name=save]")
    if way != "no JavaScript":
        look(page)
    save.tap() if way == "phone" else save.click()


def true_place(shown):
    """The place of the true option among the texts shown."""
    texts = {tuple(sorted(option.text for option in one.options)): one for one in read_questions(SAMPLE)}
    question = texts[tuple(sorted(shown))]
    return shown.index(question.options[question.answer].text)


def look(page):
    """Every option on the screen, so that the answer is unlocked."""
    assert page.evaluate(READ, PATIENCE) == [True, False]


@pytest.mark.parametrize("way", TWO_WAYS)
def test_stored_options_do_not_depend_on_places(chromium, served, way):
    url, folder = served
    context = chromium.new_context(**{**WAYS[way], "viewport": {"width": 1280, "height": 900}} if way != "phone"
                                   else WAYS[way])  # fmt: skip
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
    page.goto(f"{url}/?rater={way.replace(' ', '-')}&source=simulated")
    follow(page, way, "button.go")
    page.get_by_text("a good deal").click()
    page.get_by_role("button", name="Go on").click()
    for number in (1, 2) if way == "mouse" else (1,):
        page.get_by_role("heading", name=f"Example {number}").wait_for()
        if way == "phone":
            look(page)
        pick(page, way, 2, 4)
        page.locator(".feedback").wait_for()
        follow(page, way, "a.go")
    if way != "mouse":
        form = {"seat": page.locator("input[name=seat]").get_attribute("value"), "first": "0", "second": "1"}
        page.request.post(f"{url}/instructions/2", form=form)
        page.goto(f"{url}/task")  # by the cookie
    asked = []
    for number in range(1, 4):
        page.get_by_role("heading", name=f"Question {number} of 3").wait_for()
        if way == "phone":
            look(page)
        shown = page.locator(".option .said").all_inner_texts()
        truth = true_place(shown)
        second = (truth + 1 + number % 4) % 5
        asked.append((shown[truth], shown[second]))
        pick(page, way, truth, second)
    page.get_by_role("heading", name="Thank you").wait_for()
    with opened(folder, None) as store, store.read() as connection:
        found = export(connection, votes_per_pair=90)
    mine = [one for one in found.votes if one.rater == found.raters[-1].rater]
    texts = {one.question: [option.text for option in one.options] for one in read_questions(SAMPLE)}
    stored = [(texts[one.question][one.first], texts[one.question][one.second]) for one in mine]
    assert stored == [pair for pair in asked if pair in stored] and len(stored) == 2
    assert found.raters[-1].profile == {"knowledge": "a good deal"} and found.raters[-1].status == "passed"
    assert complaints == []
    context.close()


def test_keys_correct_themselves_and_nothing_half_picked_is_sent(chromium, served):
    url, _ = served
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"{url}/?rater=keys&source=simulated")
    page.locator("button.go").click()
    page.get_by_text("Prefer not to say", exact=True).click()
    page.get_by_role("button", name="Go on").click()
    for _ in range(2):
        pick(page, "mouse", 0, 1)
        page.locator("a.go").click()
    page.get_by_role("heading", name="Question 1").wait_for()
    look(page)
    picked = lambda name: page.locator(f"input[name={name}]:checked").evaluate_all("all => all.map(one => one.value)")  # noqa: E731
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text="Choose the best option").wait_for()
    page.keyboard.press("3")
    page.keyboard.press("3")  # takes it back
    assert picked("first") == []
    page.keyboard.press("2")
    page.keyboard.press("5")
    assert (picked("first"), picked("second")) == (["1"], ["4"])
    page.locator("label:has(input[name=first][value='4'])").click()  # no option is both
    assert (picked("first"), picked("second")) == (["4"], [])
    page.keyboard.press("1")
    page.keyboard.press("4")  # both are there: begins anew
    assert (picked("first"), picked("second")) == (["3"], [])
    page.keyboard.press("4")
    truth = true_place(
        page.locator(".option .said").all_inner_texts()
    )  # it is a hidden check, and one failure ends all
    page.keyboard.press(str(truth + 1))
    page.keyboard.press(str((truth + 1) % 5 + 1))
    page.evaluate(BLIND)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Question 2").wait_for()
    assert awaited(page, ".option") == 5
    page.keyboard.press("u")
    page.get_by_role("status").filter(has_text="Undone: answer this question again").wait_for()
    page.get_by_role("heading", name="Question 1").wait_for()
    page.context.close()


@SHARED
def test_no_page_of_questions_has_a_barrier(chromium, tmp_path, by_turns):
    dispatch("crowd", "", {"preview": ""}, ["preview", "--questions", str(SAMPLE), "--out", str(tmp_path)])
    names = ("consent", "glance", "about", "example-1", "example-1-answered", "choice-1", "choice-2", "message-time")
    addresses = {name: (tmp_path / f"{name}.html").as_uri() for name in names}
    screens = [("dark", 1280), ("light", 320), *([] if by_turns else [("light", 1280), ("dark", 320), ("dark", 390)])]
    assert barriers_of(chromium, addresses, screens, by_turns) == []
