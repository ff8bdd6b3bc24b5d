"""Draw the pictures of docs/hit.md, questions.md, conversations.md, live.md, and that of report.md if the demo has run.

Needs Chromium and what `make setup-dev` installs.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

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


REPORT = {
    "report.png": {"viewport": {"width": 1280, "height": 800}},
    "report-dark.png": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "report-phone.png": {"viewport": {"width": 390, "height": 844}},
}


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
