"""How many files one vote, one training seed and one report pass through, by call trace.

A file is entered when one of its functions is called; a return is a call from another file into one that was entered
before and left. The same call in a loop is one return. Fewer of both make code that can be followed.

    python benchmarks/walk.py            # the built-in corpus, a minute
    python benchmarks/walk.py --files    # and the files, in the order in which they are entered
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import runpy
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
HOUSE = ROOT / "seedvote"  # the root of every import, whose packages are links
PACKAGES = tuple(
    f"{HOUSE}{os.sep}{name}{os.sep}" for name in ("dialogue", "generation", "crowd", "analysis", "probes", "evaluators")
)


class Walk:
    """The files whose functions were called, in order, while it was open."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []  # file and line of the function

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        # Comprehensions are part of the function that holds them; bodies of modules and classes are no calls.
        named = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and named and code.co_filename.startswith(PACKAGES):
            self.calls.append((os.path.relpath(code.co_filename, HOUSE), code.co_firstlineno))

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Trace every thread begun from here on, and this one."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @property
    def entered(self) -> list[str]:
        """Files in the order in which they are first entered."""
        return list(dict.fromkeys(file for file, _ in self.calls))

    @property
    def returns(self) -> int:
        """Different calls from one file into another that was entered before and left."""
        seen: set[str] = set()
        found: set[tuple[str, str, int]] = set()
        last = ""
        for file, line in self.calls:
            if file != last and file in seen:
                found.add((last, file, line))
            seen.add(file)
            last = file
        return len(found)


def command(package: str, *words: str) -> None:
    """`python -m PACKAGE WORDS` in this process, its words thrown away."""
    before = sys.argv
    sys.argv = [package, *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_module(package, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.argv = before


def vote(folder: Path, walk: Walk) -> None:
    """A rater answers a pair: from the POST to the reply that says it is saved."""
    from seedvote.crowd.hit.hit import Hit
    from seedvote.crowd.simulation.browser import PageForm
    from seedvote.crowd.study_folder import prepare_study
    from seedvote.crowd.web.app import ServerConfig, create_app

    hit = Hit(examples=(), first_checks=0, later_checks=0)
    url = prepare_study(folder, ROOT / "examples" / "pairs.jsonl", hit, None, seed=0, simulated=False)
    app = create_app(ServerConfig(url, hit, rate=0))
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/?rater=r").text).fields)
    answers = []
    for _ in range(2):  # the first answer fills caches; the second is the one that is walked
        fields = PageForm(client.get("/task").text).fields | {"choice": "left", "seconds": "2.5"}
        answers.append(fields)
        with walk.open() if len(answers) == 2 else contextlib.nullcontext():
            reply = client.post("/answer", data=fields, headers={"X-Requested-With": "fetch"})
        assert reply.status_code == 200 and reply.json["saved"], reply
    app.extensions["desk"].store.close()


def seed(folder: Path, walk: Walk) -> None:
    """One seed of one architecture: from the command to weights on disk."""
    corpus = str(folder / "corpus")
    command("dialogue", "toy", corpus, "--dialogues", "40")
    options = ["--models", "seq2seq", "--seeds", "0", "--preset", "tiny", "--epochs", "1", "--jobs", "1"]
    with walk.open():
        command("generation", "train", str(folder / "study"), "--corpus", corpus, *options)


def report(folder: Path, walk: Walk) -> None:
    """The report of the demo: from the command to the page."""
    study = folder / "demo"
    shutil.copytree(ROOT / "runs" / "demo", study)
    with walk.open():
        command("analysis", "report", str(study))


WALKS: dict[str, Callable[[Path, Walk], None]] = {"vote": vote, "seed": seed, "report": report}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="print the files too")
    parser.add_argument("--only", choices=list(WALKS), help="this one only")
    asked = parser.parse_args()
    if not (ROOT / "runs" / "demo" / "votes.jsonl").exists() and asked.only in (None, "report"):
        sys.exit("The report is walked on the demo's study, which is not here yet: make demo")
    for name, carry_out in WALKS.items():
        if asked.only not in (None, name):
            continue
        walk = Walk()
        with tempfile.TemporaryDirectory() as folder:
            carry_out(Path(folder), walk)
        print(
            f"{name:<8} {len(walk.entered):>3} files entered, {walk.returns:>6,} returns, {len(walk.calls):>8,} calls"
        )
        if asked.files:
            print("\n".join(f"  {file}" for file in walk.entered))


if __name__ == "__main__":
    main()
