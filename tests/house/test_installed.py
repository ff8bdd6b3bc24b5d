"""`pip install .` gives one command that works outside the checkout, with its data files, and no torch to rate."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.house.doc_blocks import PACKAGES, ROOT, blocks
from tests.house.installed import Installed, beside_present_packages, build_wheel

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
WHEEL = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
PARTS = ("rate", "markets", "models")  # the stages of a study


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"), "--no-build-isolation")


@pytest.fixture(scope="module")
def seedvote(wheel, tmp_path_factory):
    return beside_present_packages(wheel, tmp_path_factory.mktemp("installed"))


def test_the_wheel_holds_every_module_and_every_data_file(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = [path for name in (*PACKAGES, "templates") for path in (ROOT / name).rglob("*")]
    files = [path for path in tracked if path.is_file() and "__pycache__" not in path.parts]
    assert {f"seedvote/{path.relative_to(ROOT)}" for path in files} <= held
    assert {f"seedvote/{name}/py.typed" for name in PACKAGES} | {"seedvote/py.typed"} <= held
    assert set(WHEEL["force-include"].values()) <= held
    tops = {name.split("/")[0] for name in held}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"seedvote"}


def test_metadata_gives_each_requirement_to_its_parts(wheel):
    told = zipfile.ZipFile(wheel).read("seedvote-0.3.0.dist-info/METADATA").decode()
    for part, lines in EXTRAS.items():
        for line in lines:
            assert line.startswith("seedvote[") or f"Requires-Dist: {line}; extra == '{part}'\n" in told, line
    assert set(re.findall(r"^Requires-Dist: ([^;\n]+)$", told, re.M)) == set(PROJECT["project"]["dependencies"])
    whole = {line for part in PARTS for line in EXTRAS[part]}
    assert set(re.findall(r"^Requires-Dist: (.+); extra == 'all'$", told, re.M)) == whole
    for former in ("train", "probe"):
        assert set(re.findall(rf"^Requires-Dist: (.+); extra == '{former}'$", told, re.M)) == set(EXTRAS["models"])
    assert "Provides-Extra: analyse\n" in told


def test_who_only_analyses_gets_nothing_to_serve_pay_or_train_with():
    others = "torch|scikit-learn|safetensors|mephisto|flask|sqlalchemy|psycopg|gunicorn|boto3|botocore|babel"
    assert not [line for line in PROJECT["project"]["dependencies"] if re.match(others, line, re.IGNORECASE)]


def test_make_hit_installs_the_requirements_of_rating():
    """As does the Dockerfile, with those of marketplaces; each reads them by a program of its own."""
    makefile, dockerfile = ((ROOT / name).read_text() for name in ("Makefile", "examples/server/Dockerfile"))
    program = re.search(r"^EXTRA := python (.*\\\n.*)$", makefile, re.M)[1]
    other = re.search(r"&& python (-c '.*\\\n.*') >", dockerfile)[1]
    for words, parts in ((f"{program} rate", ["rate"]), (other, ["rate", "markets"])):
        shell = ["sh", "-c", f"{sys.executable} {words}"]
        read = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert read.split() == [line for part in parts for line in EXTRAS[part]]


def test_version_and_help_load_nothing_heavy(seedvote):
    assert seedvote.run("--version") == f"seedvote {PROJECT['project']['version']}\n"
    shown = seedvote.ask("--help", python=[sys.executable, "-X", "importtime"])
    assert shown.returncode == 0
    assert re.findall(r"^  ([a-z]+) ", shown.stdout, re.M) == ["rate", "analyze", "study"]
    assert "python -m" not in shown.stdout
    everything = seedvote.run("--all")
    assert all(f"  {name} " in everything for name in ("report", "ties", "agreement", "crowd", "generation"))
    heavy = ("numpy", "argparse._", "flask", "torch", "pyarrow", "sqlalchemy", "pandas")
    assert not [name for name in heavy if re.search(rf"\| +{name}$", shown.stderr, re.M)]
    nothing = seedvote.ask("reprot")
    assert nothing.returncode == 2 and "reprot is no command of seedvote. There are: " in nothing.stderr


def test_help_and_next_commands_name_seedvote(seedvote):
    assert seedvote.run("crowd", "serve", "--help").startswith("usage: seedvote crowd serve")
    assert seedvote.run("report", "--help").startswith("usage: seedvote report")
    made = seedvote.run("dialogue", "examples")
    assert "Next: seedvote ties examples/votes.csv --out runs/first" in made
    assert "Already there, and left alone: votes.csv" in seedvote.run("dialogue", "examples")
    wrong = seedvote.ask("crowd", "status", "runs/nowhere")
    assert wrong.returncode == 2 and "python -m" not in wrong.stderr and "seedvote crowd serve" in wrong.stderr


def test_votes_are_analysed_outside_the_checkout(seedvote):
    seedvote.run("dialogue", "examples")
    told = seedvote.run("ties", "examples/votes.csv", "--out", "runs/first", "--sets", 200)
    assert "Next: seedvote agreement examples/votes.csv" in told
    assert (seedvote.folder / "runs" / "first" / "ties.png").exists()


def test_the_rating_page_is_served_outside_the_checkout(seedvote):
    seedvote.run("dialogue", "examples")
    words = ("runs/hit", "--pairs", "examples/pairs.jsonl", "--hit", "examples/hit.toml", "--port", 0, "--walk-in")
    server = seedvote.start("crowd", "serve", *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        address, said = None, ""
        while address is None:
            line = server.stdout.readline()
            assert line, said
            said += line
            address = re.search(r"Raters begin at (http\S+)", said)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        page = browser.open(f"{address[1]}?rater=me").read().decode()
        style = re.search(r'href="([^"]+\.css[^"]*)"', page)[1]
        assert browser.open(urllib.parse.urljoin(address[1], style)).status == 200
    finally:
        server.terminate()
        server.communicate()


@pytest.mark.parametrize(
    ("module", "command", "extra"),
    [
        ("torch", "generation train runs/mine", "[models]"),
        ("sqlalchemy", "crowd serve runs/hit --pairs examples/pairs.jsonl", "[rate]"),
        pytest.param("boto3", "crowd launch runs/small --mturk", "[markets]", marks=pytest.mark.slow),
        ("numpy", "ties examples/votes.csv", ""),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(seedvote, tmp_path, module, command, extra):
    seedvote.run("dialogue", "examples")
    if not (seedvote.folder / "runs/mine/corpus").exists():
        seedvote.run("dialogue", "toy", "runs/mine/corpus", "--dialogues", 20)
    if module == "boto3":
        seedvote.run("crowd", "simulate", "runs/small", "--pairs", "examples/pairs.jsonl", "--raters", 2, "--seed", 0)
        shutil.copy(seedvote.folder / "examples/pairs.jsonl", seedvote.folder / "runs/small")
    lacking = f"raise ModuleNotFoundError(\"No module named '{module}'\", name={module!r})"
    (tmp_path / f"{module}.py").write_text(lacking)
    path = os.pathsep.join([str(tmp_path), seedvote.environ["PYTHONPATH"]])
    program = Installed(seedvote.program, seedvote.folder, PYTHONPATH=path)
    answer = program.ask(*command.split())
    assert answer.returncode == 2 and answer.stdout == "", answer.stdout + answer.stderr
    sentence = f"error: {module} is not installed for "
    assert answer.stderr.startswith(sentence) and f"Type: pip install 'seedvote{extra}' (with pipx" in answer.stderr


def test_the_doctor_looks_at_the_installed_package(seedvote):
    answer = seedvote.ask("doctor")
    assert answer.returncode == 0 and answer.stderr == "", answer.stdout + answer.stderr
    assert re.search(r"^Seedvote +\S+, installed$", answer.stdout, re.M)
    assert re.search(r"^analysis +.*\bnumpy 2", answer.stdout, re.M)
    assert "Next: seedvote dialogue examples" in answer.stdout


def test_fresh_machine_has_what_the_readme_names():
    named = re.search(r"`apt-get install ([\w. -]+)`", (ROOT / "README.md").read_text())[1].split()
    built = re.search(r"^NAMED=(\S+)", (ROOT / "tests/fresh.sh").read_text(), re.M)[1].split(",")
    assert sorted(named) == sorted(built)


@pytest.mark.slow
def test_the_notebook_page_works_with_the_installed_package(seedvote):
    """Every cell, in a folder with nothing but the example files."""
    seedvote.run("dialogue", "examples")
    (seedvote.folder / "runs" / "first").mkdir(parents=True, exist_ok=True)
    (seedvote.folder / "cells.txt").write_text("\n".join(blocks(ROOT / "docs" / "notebooks.md", "pycon")))
    script = (
        "import doctest, seedvote, sys; assert seedvote.__file__.startswith(sys.argv[1]); "
        "sys.exit(doctest.testfile('cells.txt', module_relative=False).failed)"
    )
    site = str(seedvote.program.parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script, site], cwd=seedvote.folder, env=seedvote.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def add(own, pip, extra, *words):
    """The extra that a refused command asks for, installed as the refusal says; pip knows the installed package."""
    refused = own.ask(*words)
    sentence = re.search(r"pip install '(seedvote\[\w+\])'", refused.stderr)
    assert refused.returncode == 2 and sentence and sentence[1] == f"seedvote[{extra}]", refused.stderr
    subprocess.run([*pip, sentence[1]], check=True)


@pytest.mark.slow
def test_from_nothing_an_empty_environment_rates_analyses_and_trains(wheel, tmp_path):
    """Packages come by name from wherever pip takes them; torch only when it is asked for."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = [tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, wheel], check=True)
    own = Installed(tmp_path / "venv" / "bin" / "seedvote", tmp_path / "elsewhere")
    site = next((tmp_path / "venv" / "lib").glob("python3*/site-packages"))
    assert not (site / "torch").exists()
    own.run("dialogue", "examples")
    own.run("ties", "examples/votes.csv", "--out", "runs/first")
    own.run("agreement", "examples/votes.csv")
    own.run("dialogue", "toy", "runs/mine/corpus", "--dialogues", 20)
    train = ("generation", "train", "runs/mine", "--models", "seq2seq", "--seeds", 0, "--preset", "small")
    assert not [name for name in ("flask", "sqlalchemy", "boto3", "babel", "gunicorn") if (site / name).exists()]
    add(own, pip, "models", *train, "--epochs", 1, "--jobs", 1)
    own.run(*train, "--epochs", 1, "--jobs", 1)
    assert list((own.folder / "runs" / "mine" / "models").glob("*/*.safetensors"))
    own.run("crowd", "serve", "--help")
    study = Path("runs/hit")
    simulate = ("crowd", "simulate", study, "--pairs", "examples/pairs.jsonl", "--raters", 4, "--seed", 0)
    add(own, pip, "rate", *simulate)
    own.run(*simulate)
    own.run("crowd", "export", study)
    own.run("report", study)
    assert (own.folder / study / "report.html").exists()
