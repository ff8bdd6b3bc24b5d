"""Draw the pictures of docs/hit.md, crowd.md, questions.md, conversations.md, live.md, and of report.md after the demo.

Needs Chromium and what `make setup-dev` installs.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.crowd.commands import preview  # noqa: E402 (the checkout is not installed)
from seedvote.dialogue.shell.command_line import dispatch  # noqa: E402

GERMAN = [
    f"--{name}={ROOT / 'examples/german' / file}" for name, file in (("hit", "hit.toml"), ("pairs", "pairs.jsonl"))
]
TALKS = [f"{name}={ROOT / f'examples/conversations/{name}.jsonl'}" for name in ("careful", "brisk")]
PICTURES = {
    "hit.png": {"viewport": {"width": 1280, "height": 720}},
    "hit-phone.png": {"viewport": {"width": 390, "height": 720}, "is_mobile": True, "has_touch": True},
}


MUSEUM = {
    "context": [{"speaker": "user", "text": "When does the museum open on Sundays, and what does it cost?"}],
    "a": "The museum opens at ten on Sundays and costs 12 euros; children under six go in free.",
    "b": "The museum opens at nine on Sundays and costs 12 euros; children under twelve go in free.",
}
CHART = {
    "context": [{"speaker": "user", "text": ["Tell me what this shows.", {"type": "image", "file": "rising.png"}]}],
    "a": [
        {"type": "tool_call", "name": "read_chart", "arguments": '{"image": "the last one"}'},
        {"type": "tool_result", "text": "[30, 55, 80, 100]"},
        "Sales that grow every year, from 30 to 100.",
    ],
    "b": ["Listen:", {"type": "audio", "file": "up.wav", "captions": "up.vtt"}],
}
KINDS = {  # of pages that show more than two texts: the pair, and what hit.toml says
    "media": (CHART, ""),
    "marks": (MUSEUM, '[marks]\ncategories = ["wrong fact", "off topic", "language"]\n'),
    "differences": (MUSEUM, 'differences = "on"\n'),
}


REPORT = {
    "report.png": {"viewport": {"width": 1280, "height": 800}},
    "report-dark.png": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "report-phone.png": {"viewport": {"width": 390, "height": 844}},
}


def draw_kinds(browser: Browser, folder: Path) -> None:
    """The pictures of docs/crowd.md."""
    for name, (pair, rules) in KINDS.items():
        study = folder / name
        shutil.copytree(ROOT / "examples/media", study)
        sides = {side: {"model": f"system-{side}", "text": pair[side]} for side in ("a", "b")}
        line = {"pair": "1", "item": "1:1", "context": pair["context"], **sides}
        (study / "pairs.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        (study / "hit.toml").write_text(rules, encoding="utf-8")
        files = ["--hit", str(study / "hit.toml"), "--pairs", str(study / "pairs.jsonl"), "--out", str(study / "out")]
        dispatch("crowd", "", {"preview": ""}, ["preview", *files])
        height = 940 if name == "media" else 640
        page = browser.new_context(viewport={"width": 1100, "height": height}, reduced_motion="reduce").new_page()
        page.goto((study / "out/pair-1.html").as_uri())
        page.wait_for_timeout(1000)
        if name == "marks":
            mark_words(page, "at ten")
        page.screenshot(path=(path := ROOT / "docs/pictures" / f"{name}.png"))
        Image.open(path).convert("RGB").quantize(64, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def mark_words(page: Page, words: str) -> None:
    """By the first pen."""
    page.locator(".pen").first.click()
    for word in words.split():
        page.locator(".word", has_text=word).first.click()


def main() -> None:
    """Show the second pair of the sample, so that undo and progress are visible."""
    sample = ["--hit", str(ROOT / "examples/hit.toml"), "--pairs", str(ROOT / preview.SAMPLE)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        dispatch("crowd", "", {"preview": ""}, ["preview", *sample, "--out", folder])
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        dispatch("crowd", "", {"preview": ""}, ["preview", *GERMAN, "--out", f"{folder}/german"])
        page = browser.new_context(viewport={"width": 1280, "height": 960}, reduced_motion="reduce").new_page()
        page.goto((Path(folder) / "german/pair-2.html").as_uri())
        page.locator("#note").evaluate("note => note.remove()")
        page.screenshot(path=ROOT / "docs/pictures/questions.png", full_page=True)
        talks = Path(folder) / "talks"
        dispatch("crowd", "", {"conversations-from": ""}, ["conversations-from", *TALKS, "--out", str(talks)])
        talk_options = ["--hit", str(talks / "hit.toml"), "--pairs", str(talks / "pairs.jsonl"), "--out", str(talks)]
        dispatch("crowd", "", {"preview": ""}, ["preview", *talk_options])
        page = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce").new_page()
        page.goto((talks / "conversation-2.html").as_uri())
        page.wait_for_timeout(1000)
        page.screenshot(path=ROOT / "docs/pictures/conversations.png")
        live = ["--hit", str(ROOT / "examples/live/hit.toml"), "--number", "1", "--out", f"{folder}/live"]
        dispatch("crowd", "", {"preview": ""}, ["preview", *live])
        page = browser.new_context(viewport={"width": 1280, "height": 760}, reduced_motion="reduce").new_page()
        page.goto((Path(folder) / "live/live-choose.html").as_uri())
        page.wait_for_timeout(1000)
        page.screenshot(path=ROOT / "docs/pictures/live.png")
        draw_kinds(browser, Path(folder))
        for name, options in PICTURES.items():
            page = browser.new_context(**options, reduced_motion="reduce").new_page()
            page.goto((Path(folder) / "pair-2.html").as_uri())
            page.screenshot(path=ROOT / "docs/pictures" / name)
        if (report := ROOT / "runs/demo/report.html").exists():
            for name, look in REPORT.items():
                page = browser.new_page(**look)
                page.goto(report.as_uri())
                page.screenshot(path=(path := ROOT / "docs/pictures" / name))
                few = Image.open(path).convert("RGB").quantize(96, method=Image.Quantize.MAXCOVERAGE)
                few.save(path, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
