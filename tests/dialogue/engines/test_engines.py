"""A whole grid on every engine: the same bits, nothing done twice, and a node killed in mid-run changes nothing."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.files import digest
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.corpora import toy_corpora_are_read_once  # noqa: F401 (a fixture)
from tests.house.curves import curves_are_empty  # noqa: F401 (a fixture)
from tests.house.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[3]
GRID = "--models seq2seq --seeds 0-1 --preset small --epochs 4 --valid 8"
COMMANDS = (
    f"generation train STUDY {GRID}",
    "generation sample STUDY --limit 10",
    "generation encode STUDY --checkpoints last --limit 20",
    "probes run STUDY --tasks IsMultiTopic --subset",
    "probes codelength STUDY --tasks IsMultiTopic --subset",
)
BRIEF = "--epochs 2 --dialogues 12"  # said behind the first command where nobody is to be killed in mid-run
DONE = (
    "2 of 2 models were already trained", "2 of 2 models had already answered", "2 of 2 matrices were already",
    "14 of 14 probes were already done", "13 of 13 code lengths were already",
)  # fmt: skip
WRITTEN = {  # by the first so many commands
    1: {"models"},
    2: {"models", "responses", "responses.jsonl"},
    3: {"models", "responses", "states", "responses.jsonl"},
    5: {"models", "responses", "states", "responses.jsonl", "scores.parquet", "probes"},
}


def run(command, study, *options):
    package, name, *words = command.replace("STUDY", str(study)).split()
    assert dispatch(package, "", {name: ""}, [name, *words, *options]) == 0


def asked_for(number, more):
    """The first so many commands, of which the first is told more."""
    return f"{COMMANDS[0]} {more}", *COMMANDS[1:number]


def results(study):
    """SHA-256 of weights, responses, states, scores, code lengths; times of day and of training are not among them."""
    found = [path for name in ("models", "responses", "states") for path in study.glob(f"{name}/**/*.*")]
    joined = ("responses.jsonl", "scores.parquet", "probes/codelength-multiwoz.csv")
    found += [study / name for name in joined if (study / name).exists()]
    return {str(path.relative_to(study)): digest(path) for path in found if path.name != "log.jsonl"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "corpus"
    write_toy(folder, 60, seed=0)
    return folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, corpus):
    """The study made by the first so many commands, one job after another in the command's own process."""
    begun = {}

    def made(number, more=""):
        if more not in begun:
            begun[more] = tmp_path_factory.mktemp("undisturbed"), list(asked_for(len(COMMANDS), more))
            (begun[more][0] / "corpus").symlink_to(corpus)
        study, left = begun[more]
        while len(COMMANDS) - len(left) < number:
            run(left.pop(0), study, "--jobs", "1")
        return study

    return made


def stamps(folder):
    """When each file was written; the tables that are joined anew from what is there do not count."""
    names = ("models", "responses", "states", "logs")
    found = [path for name in names for path in (folder / name).rglob("*") if path.is_file()]
    found += [*(folder / "probes").glob("*/*.parquet"), *(folder / "probes").glob("*/*.codelength.json")]
    return {path: path.stat().st_mtime_ns for path in found if "baselines" not in path.parts}


# A command knows nothing of the engine, so three of them run on one here, and every command on all of them in make
# test-slow. The fast suite asks the probes' commands with --jobs 2 in tests/probes/commands, for the same bits.
# Ray's turn there is in test_jobs: every job in a process of its own, and a killed one made good.
@pytest.mark.parametrize(
    ("on", "module", "number"),
    [
        ("local", None, 2),
        pytest.param("local", None, 5, marks=pytest.mark.slow),
        pytest.param("slurm:local", "submitit", 1, marks=pytest.mark.slow),
        pytest.param("ray", "ray", 5, marks=pytest.mark.slow),
        pytest.param("slurm:local", "submitit", 5, marks=pytest.mark.slow),
    ],
)
def test_engines_leave_equal_bits_and_repeat_no_job(on, module, number, undisturbed, tmp_path, capsys):
    if module and find_spec(module) is None:
        pytest.skip(f"{module} is not installed: pip install -e '.[scale]'")
    more = BRIEF if number < len(COMMANDS) else ""
    alone = number == 1  # a job of submitit's rehearsal loads the libraries anew, so there is but one
    commands = [one.replace("--seeds 0-1", "--seeds 0") if alone else one for one in asked_for(number, more)]
    whole = undisturbed(number, more)
    (tmp_path / "corpus").symlink_to(whole / "corpus")
    for command in commands:
        run(command, tmp_path, "--on", on, "--jobs", "2")
    expected = {name: found for name, found in results(whole).items() if Path(name).parts[0] in WRITTEN[number]}
    expected = {name: found for name, found in expected.items() if not (alone and "-1/" in name)}
    assert {Path(name).parts[0] for name in expected} == WRITTEN[number]
    assert results(tmp_path) == expected
    before = stamps(tmp_path)
    for command, sentence in zip(commands, DONE[:number], strict=True):
        run(command, tmp_path)
        assert (sentence.replace("2 of 2", "1 of 1") if alone else sentence) in capsys.readouterr().out
    assert stamps(tmp_path) == before
    assert results(tmp_path) == expected


def family(process):
    """A process and all it has started, from /proc."""
    children = []
    for thread in Path(f"/proc/{process}/task").glob("*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end while its folder is read
            children += map(int, (thread / "children").read_text().split())
    return [process, *(found for child in children for found in family(child))]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def nodes(tmp_path):
    """Two Ray nodes of one core each on this machine: (address, variables, process of the second node)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path("/tmp", f"ray-{os.getpid()}")
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "RAY_USAGE_STATS_ENABLED": "0"}
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
    ways = (
        ["--head", f"--port={port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false",
         f"--temp-dir={folder}", "--disable-usage-stats"],
        [f"--address=127.0.0.1:{port}"],
    )  # fmt: skip
    begun = []
    try:
        for way in ways:
            log = (tmp_path / f"node-{len(begun)}.txt").open("w")
            begun.append(subprocess.Popen([*start, *way], env=os.environ | variables, stdout=log, stderr=log, cwd=ROOT))
            log.close()
            wait_for(lambda: listens(port))
        yield f"127.0.0.1:{port}", variables, begun[1]
    finally:
        for process in begun:
            kill(process)
        shutil.rmtree(folder, ignore_errors=True)


def kill(process):
    if process.poll() is None:
        for member in family(process.pid):
            os.kill(member, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install -e '.[scale]'")
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes in /proc")
def test_a_node_killed_in_mid_run_changes_nothing(undisturbed, tmp_path, nodes):
    address, variables, second = nodes
    (tmp_path / "corpus").symlink_to(undisturbed(1) / "corpus")
    words = COMMANDS[0].replace("STUDY", str(tmp_path)).split()
    with subprocess.Popen(
        [sys.executable, "-m", *words, "--on", f"ray:{address}"], cwd=ROOT, env=os.environ | variables,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as grid:  # fmt: skip

        def trained_there():
            """The models in training on the second node that have an epoch behind them."""
            there = {f"process {number}," for number in family(second.pid)}
            return [
                log.stem for log in tmp_path.glob("logs/train/*.log")
                if any(process in log.read_text() for process in there)
                and (tmp_path / "models" / log.stem / "epoch-1.safetensors").exists()
            ]  # fmt: skip

        (victim,) = wait_for(trained_there)
        assert not (tmp_path / "models" / victim / "epoch-4.safetensors").exists(), "killed too late to tell"
        kill(second)
        out, complaint = grid.communicate(timeout=PATIENCE)
    assert grid.returncode == 0, complaint
    assert "0 of 2 models were already trained" in out
    assert (tmp_path / "logs" / "train" / f"{victim}.log").read_text().count(" begun on ") == 2
    expected = {name: found for name, found in results(undisturbed(1)).items() if name.startswith("models")}
    assert results(tmp_path) == expected
