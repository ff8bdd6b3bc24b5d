"""`crowd serve` as a process of its own, if need be with a clock that is wrong, and people who come to it over HTTP."""

import contextlib
import re
import socket
from pathlib import Path

import httpx

from seedvote.crowd.simulation.browser import PageForm
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.study import make_pairs
from tests.house.forked import PIPE, Forked
from tests.house.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
# The clock of the process, and so of everything in it, is wrong by so many seconds.
SKEWED = """
import sys, time
right, wrong = time.time, float(sys.argv.pop(1))
if wrong:
    time.time = lambda: right() + wrong
    for name in [name for name in sys.modules if name.partition(".")[0] == "seedvote"]:
        del sys.modules[name]  # what has been loaded has the right clock in its defaults
from seedvote.crowd.__main__ import COMMANDS
from seedvote.dialogue.shell.command_line import dispatch
dispatch("crowd", "", COMMANDS, sys.argv[1:])
"""


def free_port():
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_study(folder, rules="", **pairs):
    """A study folder."""
    folder.mkdir(exist_ok=True)
    write_records(folder / "pairs.jsonl", make_pairs(**pairs), signature="test", kind=Pair)
    (folder / "hit.toml").write_text(rules, encoding="utf-8")
    return folder


@contextlib.contextmanager
def serving(study, *options, clock=0.0, told=None):
    """The server's address while it runs; `told` is a dictionary that gets its process id."""
    command = ["-c", SKEWED, str(clock), "serve", str(study), "--port", "0", "--quiet"]
    command += ["--rate", "0", "--stop-with-stdin", *options]
    with Forked(command, cwd=ROOT, stdin=PIPE, stdout=PIPE) as process:
        if told is not None:
            told["pid"] = process.pid
        yield re.search(r"http://[\w.:]+", process.stdout.readline())[0]


class Browser(httpx.Client):
    """Keeps cookies, follows redirects, and fills in our forms."""

    def __init__(self):
        super().__init__(follow_redirects=True, trust_env=False, timeout=PATIENCE)

    def arrive(self, url, examples=4):
        """Open an address; consent and the worked examples if they are asked for."""
        page = self.get(url)
        root = f"{page.url.scheme}://{page.url.netloc.decode()}"
        if "I have read this" in page.text:
            page = self.post(f"{root}/consent", data=PageForm(page.text).fields | {"agree": "yes"})
            for number in range(1, examples + 1):
                self.post(f"{root}/instructions/{number}", data=PageForm(page.text).fields | {"choice": "left"})
                page = self.get(f"{root}/task")
        return page

    def answer(self, page, wanted="a"):
        """Choose the response whose text ends with `wanted` and go on to the next page."""
        form = PageForm(page.text)
        side = "left" if form.shown_texts()[1].endswith(f"text {wanted}") else "right"
        return self.post(page.url.join("/answer"), data=form.fields | {"choice": side})
