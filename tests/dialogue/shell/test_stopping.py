"""A real Ctrl-C ends every kind of command by itself: one sentence, exit code 130, nothing left running."""

import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.shell.stopping import SENTENCE
from tests.analysis.report_study import add_votes
from tests.house.doc_blocks import ROOT
from tests.house.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks at processes in /proc")


def many_votes(path):
    """So many that no machine is done before it is stopped."""
    draw = random.Random(0)
    rows = (f"p{n // 3},r{draw.randrange(400)},{draw.choice(('a', 'b', 'tie'))},{n % 3 + 1}" for n in range(150_000))
    path.write_text("\n".join(["pair,rater,choice,round", *rows]), encoding="utf-8")
    return path


def agreement(folder):
    return ["analysis", "agreement", many_votes(folder / "votes.csv")], loaded("scipy")


def report(folder):
    return ["analysis", "report", add_votes(folder)], loaded("pyarrow")


def simulate(folder):
    pairs = ("--pairs", ROOT / "examples" / "pairs.jsonl")
    words = ["crowd", "simulate", folder, *pairs, "--raters", 400, "--seed", 0, "--concurrency", 4]
    return words, lambda process: (folder / "crowd.sqlite").exists() and len(threads(process)) > 4


def train(folder):
    write_toy(folder / "corpus", 60, seed=0)
    sizes = ("--models", "seq2seq", "--seeds", 0, "--preset", "small", "--epochs", 5000, "--valid", 0, "--jobs", 1)
    return ["generation", "train", folder, *sizes], lambda _: list(folder.glob("models/*/epoch-1.safetensors"))


def loaded(name):
    return lambda process: f"/{name}/" in Path(f"/proc/{process.pid}/maps").read_text()


def threads(process):
    return os.listdir(f"/proc/{process.pid}/task")


def children(process):
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return found.read_text().split() if found.exists() else []


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def begin(words, **more):
    """The command in a session of its own: Ctrl-C in a terminal goes to all of its processes."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, words)], cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command", [agreement, simulate, *(pytest.param(one, marks=pytest.mark.slow) for one in (report, train))]
)
def test_ctrl_c_ends_it_with_one_sentence(command, tmp_path):
    words, at_work = command(tmp_path)
    process = begin(words)
    try:
        wait_for(lambda: process.poll() is not None or at_work(process))
        assert process.poll() is None, process.communicate()
        kin = children(process)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, said
        assert [line for line in said.splitlines() if line.strip()] == [SENTENCE]
        wait_for(lambda: all(map(gone, kin)))
    finally:
        process.kill()


def test_a_server_answers_what_it_has_received_and_then_ends_so_too(tmp_path):
    pairs = ROOT / "examples" / "pairs.jsonl"
    process = begin(["crowd", "serve", tmp_path, "--pairs", pairs, "--port", 0, "--quiet"])
    try:
        while "Stop with Ctrl-C" not in process.stdout.readline():
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        out, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, said
        assert said.strip().splitlines()[-1] == SENTENCE and said.count(SENTENCE) == 1
        assert re.search(r"^Next: python -m crowd export", out, re.M)
    finally:
        process.kill()


def test_threads_that_do_not_stop_do_not_hold_it_up():
    """As the simulated raters did, who wait up to a minute for a server that is gone."""
    script = """
import signal, threading, time
from seedvote.dialogue.shell.command_line import exit_with
def main():
    threading.Thread(target=lambda: [time.sleep(1) for _ in range(10_000)]).start()
    print("ready", flush=True)
    try:
        time.sleep(10_000)
    finally:
        time.sleep(10_000)
exit_with(main)
"""
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and said.strip() == SENTENCE
