"""The whole line: a tiny demo, run again, killed half-way, and its report on screen."""

import json
import os
import signal
import subprocess
import sys

import pytest

from seedvote.commands import study as command
from tests.house.barriers import barriers
from tests.house.waiting import PATIENCE, wait_for
from tests.house.warm import warm, warm_python

ANSWERS = ("pair", "rater", "choice", "round", "left", "kind", "counted", "rater_status", "identical", "dialogue")


# The demo, whose commands are forked from a Python that has loaded torch: to load it anew takes half of the time.
WARM = """
import runpy, sys
sys.executable, *sys.argv = {words}
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def demo(study):
    return ["seedvote", "study", str(study), "--size", "tiny"]


def run(root, study, sketched="without the kit"):
    """What a demo prints. Its pictures are sketched, as those on the page are of another kind."""
    words = [warm_python(), *demo(study)]
    done = subprocess.run(
        [*warm(), "-"],
        input=WARM.format(words=words),
        cwd=root,
        env={**os.environ, "OMP_NUM_THREADS": "1", "SKETCHED": sketched},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answers(study):
    lines = (study / "votes.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    return [{name: json.loads(line)[name] for name in ANSWERS} for line in lines]


@pytest.fixture(scope="module")
def study(pytestconfig, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "study"
    folder.parent.joinpath("printed").write_text(run(pytestconfig.rootpath, folder))
    return folder


def test_each_stage_of_the_full_demo_reads_what_earlier_ones_wrote():
    """The tiny demo leaves out the discriminators, so their place is held here."""
    written = set()
    for stage in command.stages("study", command.SIZES["full"]):
        assert set(stage.reads) <= written, stage.title
        written |= set(stage.writes)
    assert {"adversarial.json", "discriminator.png"} <= set(stage.reads), "the report shows the discriminators"
    assert "discriminate" not in str(command.stages("study", command.SIZES["tiny"]))


def test_the_time_is_told_by_what_took_most_of_it():
    seconds = {"Train two architectures": 60.2, "Probe the encoders": 30.4, "Export the votes": 1.0}
    assert command.split_of(seconds) == "92 s: train two architectures 60, probe the encoders 30, the rest 1"


def test_the_demo_ends_with_a_report_and_what_it_found(study):
    printed = (study.parent / "printed").read_text()
    assert f"The report is in {study}/report.html. It found:\n- " in printed and "\nTime " in printed
    for name in ("votes.jsonl", "raters.jsonl", "ties.json", "ties.png", "ties.pdf", "scores.parquet", "report.html"):
        assert (study / name).stat().st_size > 0


def test_every_pair_has_exactly_three_votes_of_three_raters(study):
    votes = [vote for vote in answers(study) if vote["counted"]]
    for pair in {vote["pair"] for vote in votes}:
        mine = [vote for vote in votes if vote["pair"] == pair]
        assert sorted(vote["round"] for vote in mine) == [1, 2, 3]
        assert len({vote["rater"] for vote in mine}) == 3


def test_the_report_says_in_large_letters_that_its_raters_were_simulated(study):
    counted = sum(vote["counted"] and vote["kind"] == "real" for vote in answers(study))
    page = (study / "report.html").read_text(encoding="utf-8")
    assert f"<strong>All {counted} votes are simulated: programs cast them, not people.</strong>" in page


def test_a_second_demo_changes_nothing(study, pytestconfig):
    before = {path: path.stat().st_mtime_ns for path in study.rglob("*") if path.is_file()}
    printed = run(pytestconfig.rootpath, study)
    assert printed.count("done before") == 14
    assert {path: path.stat().st_mtime_ns for path in study.rglob("*") if path.is_file()} == before


def kill_at(root, study, signs):
    """Kill a demo as soon as a file is there that shows what it is at."""
    process = subprocess.Popen(
        [sys.executable, "-m", *demo(study)], cwd=root, stdout=subprocess.DEVNULL, start_new_session=True
    )
    wait_for(lambda: any(study.glob(signs)) or process.poll() is not None)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow  # that killed training and killed raters go on is held by their own tests; this is the whole line
def test_demo_killed_twice_ends_with_the_same_result(study, pytestconfig, tmp_path):
    other = tmp_path / "study"
    for signs in ("models/*/resume.safetensors", "crowd.sqlite"):
        kill_at(pytestconfig.rootpath, other, signs)
        assert not (other / "report.html").exists()
    run(pytestconfig.rootpath, other, sketched="all")  # those of the kit for papers too
    assert answers(other) == answers(study)
    numbers, again = (json.loads((folder / "report.json").read_text()) for folder in (study, other))
    assert numbers["methods"] == again["methods"] and numbers["findings"] == again["findings"]


@pytest.mark.browser
def test_the_report_opens_without_an_error_or_an_outside_request(study, chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    errors, requests = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((study / "report.html").as_uri())
    assert errors == []
    screens = "document.documentElement.scrollHeight / 800"
    assert page.locator(".screen").bounding_box()["height"] < 800 and page.evaluate(screens) <= 10
    page.click("#unfold")
    assert page.evaluate(screens) <= 25
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    page.close()


@pytest.mark.browser
@pytest.mark.slow  # axe reads it for seconds; test_report.py has every part of such a page looked at
@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_has_no_barrier(study, chromium, width):
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.goto((study / "report.html").as_uri())
    page.click("#unfold")
    assert barriers(page, "light", width, 900) == []
    page.close()
