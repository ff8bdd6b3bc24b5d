"""What a page of 10,000 pairs costs a browser, beside a page that holds the same texts and nothing else.

Both are loaded in one browser in turn, three times; printed are the medians of the main thread's busy time and the
ratios. A filter and a search are timed the same way, from the event to the next frame.

  python benchmarks/bench_browse.py
"""

from __future__ import annotations

import itertools
import random
import shutil
import statistics
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.analysis.questions.browse.answer import answer
from seedvote.analysis.questions.browse.page import browse_page
from seedvote.analysis.votes.votes import read_votes
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance, Vote

PAIRS, VOTES, TIMES = 10_000, 3, 3
WORDS = ["the", "hotel", "is", "cheap", "shall", "I", "book", "a", "table", "for", "two", "people", "at", "seven"]
FILTER = "document.querySelector('[name=agreement]').value = 'split'"
SEARCH = "document.getElementById('filter').reset(); document.querySelector('[name=find]').value = 'cheap table'"
CHANGE = "; document.getElementById('filter').dispatchEvent(new Event('input')); document.body.offsetHeight"


def study(folder: Path, rng: random.Random) -> list[Pair]:
    """Pairs of two systems with up to nine utterances before them, and three votes each."""

    def said(least: int, most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(least, most)))

    pairs = [
        Pair(
            f"p{n}", f"d{n // 4}:{n}", [Utterance("user", said(6, 18)) for _ in range(rng.randint(1, 9))],
            Candidate(said(4, 25), "one"), Candidate(said(4, 25), "other"), dialogue=f"d{n // 4}",
        )
        for n in range(PAIRS)
    ]  # fmt: skip
    votes = [
        Vote(pair.pair, f"r{rng.randrange(200)}", rng.choice(("a", "b", "tie")), k + 1)
        for pair in pairs
        for k in range(VOTES)
    ]
    write_records(folder / "votes.jsonl", votes, signature="votes", kind=Vote)
    return pairs


def plain(pairs: list[Pair]) -> str:
    """The same texts, a paragraph each."""
    texts = (text for pair in pairs for text in (*(line.text for line in pair.context), pair.a.text, pair.b.text))
    return "<!doctype html><title>plain</title>" + "".join(f"<p>{escape(text)}</p>" for text in texts)


def loaded(browser: Any, path: Path, *steps: str) -> list[float]:
    """Busy seconds of loading, then of each step."""
    view = browser.new_page(viewport={"width": 1280, "height": 900})
    session = view.context.new_cdp_session(view)
    session.send("Performance.enable")

    def now() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    view.goto(path.as_uri())
    view.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    marks = [now()]
    for step in steps:
        view.evaluate(step + CHANGE)
        marks.append(now())
    view.close()
    return [marks[0], *(after - before for before, after in itertools.pairwise(marks))]


def main() -> None:
    """Write both pages, load them in turn."""
    folder = Path(tempfile.mkdtemp())
    pairs = study(folder, random.Random(0))
    page, beside = folder / "browse.html", folder / "plain.html"
    page.write_text(browse_page(answer(read_votes(folder / "votes.jsonl"), pairs), "study"), encoding="utf-8")
    beside.write_text(plain(pairs), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        found = [[*loaded(browser, beside), *loaded(browser, page, FILTER, SEARCH)] for _ in range(TIMES)]
        browser.close()
    plain_load, load, narrowed, searched = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"{PAIRS:,} pairs, {page.stat().st_size / 1e6:.1f} MB; plain page {beside.stat().st_size / 1e6:.1f} MB")
    print(f"load: {load:.2f} s of the main thread, {load / plain_load:.1f} times the plain page's {plain_load:.2f} s")
    print(f"filter: {narrowed:.2f} s, {narrowed / plain_load:.2f} times; search: {searched / plain_load:.2f} times")


if __name__ == "__main__":
    main()
