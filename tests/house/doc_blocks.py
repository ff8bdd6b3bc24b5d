"""The commands that the documents hold, and a shell that runs them beside the checkout's own files."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from seedvote.__main__ import WHERE
from seedvote.analysis.questions.table import COMMANDS as QUESTIONS
from seedvote.dialogue.shell.command_line import find_command, parser_of
from tests.house.waiting import PATIENCE
from tests.house.warm import SERVING, warm, warm_python

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.S | re.M)
PACKAGES = ("analysis", "crowd", "dialogue", "evaluators", "generation", "probes")
PARTS = (*PACKAGES, "seedvote", "analyze_ties.py", "examples", "templates", "constraints.txt")

# A server would run for ever: this one ends when it has said where raters begin. Its log is emptied before it is begun:
# what an earlier server said would end this one while it is still loading. The server that simulated raters start is
# forked too.
SIMULATED = """
import runpy, sys
sys.executable, _, *sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
SHELL = r"""
set -euo pipefail
python() {
    case " $* " in
    *" crowd serve "*)
        : >serve.log
        $WARM "$@" --port 0 >>serve.log 2>&1 & server=$!
        until grep -q "Raters begin at http" serve.log; do
            kill -0 $server || { cat serve.log; return 1; }
            sleep .1
        done
        kill -TERM $server; wait $server ;;
    *" crowd simulate "*) $WARM -c "$SIMULATED" "$PYTHON" "$@" ;;
    *) $WARM "$@" ;;
    esac
}
"""


def blocks(document, language="sh"):
    """The fenced blocks of a document in one language, without the indentation of a list."""
    for indent, found, text in FENCE.findall(document.read_text(encoding="utf-8")):
        if found == language:
            yield re.sub(f"^{indent}", "", text, flags=re.M)


def lines(block):
    """Its command lines: continued ones joined, comments and what feeds a command (<<) left out."""
    text = re.sub(r"<<'END'\n.*?^END$", "", block, flags=re.S | re.M).replace("\\\n", " ")
    return [line for line in (re.split(r"(?:^|\s)#", line)[0].strip() for line in text.splitlines()) if line]


def checkout(folder):
    """A folder in which the commands work as in the checkout."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PARTS:
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(script, folder):
    """Run a script of commands there; what it printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    told = {"OMP_NUM_THREADS": "1", "BROWSER": "true", "WARM": shlex.join(warm()), "SKETCHED": "1"}
    told |= {"SIMULATED": SIMULATED, "PYTHON": warm_python(SERVING)}
    environ = {**os.environ, "PATH": path, **told}
    command = ["bash", "-c", SHELL + script]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def parser_for(words):
    """The parser of `python -m PACKAGE COMMAND` or `python analyze_ties.py`, and the words it is to read."""
    if words[1].endswith("analyze_ties.py"):
        return parser_of(QUESTIONS["ties"], "python analyze_ties.py"), words[2:]
    package, name = words[2:4]
    if package == "seedvote":
        return parser_of(importlib.import_module(WHERE[name]), f"python -m seedvote {name}"), words[4:]
    assert package in PACKAGES, " ".join(words)
    commands = importlib.import_module(f"seedvote.{package}.__main__").COMMANDS
    assert name in commands, " ".join(words)
    module = find_command(package, name, commands)
    return parser_of(module, f"python -m {package} {name}"), words[4:]


def parse(line):
    """Let the command's own parser read a line; it exits where it would complain."""
    parser, words = parser_for(shlex.split(line))
    try:
        return parser.parse_args(words)
    except SystemExit:
        raise AssertionError(f"{parser.prog} does not take: {line}") from None
