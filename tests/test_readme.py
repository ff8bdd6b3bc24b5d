"""README's commands work as written."""

import re
import shutil
import subprocess
import sys

import pytest

SHELL = re.compile(r"```sh\n(.*?)```", re.S)


def commands(root):
    for block in SHELL.findall((root / "README.md").read_text(encoding="utf-8")):
        yield from (line.split("  #")[0].strip() for line in block.splitlines() if line.strip() and line[0] != "#")


def test_make_targets_that_readme_names_exist(pytestconfig):
    targets = [line.split()[1] for line in commands(pytestconfig.rootpath) if line.startswith("make ")]
    assert {"demo", "hit", "test"} <= set(targets)
    for target in targets:
        subprocess.run(["make", "-n", target], cwd=pytestconfig.rootpath, check=True, capture_output=True)


def test_every_python_command_of_readme_runs(pytestconfig, tmp_path):
    root = pytestconfig.rootpath
    for name in ("analyze_ties.py", "analysis", "dialogue", "examples", "generation", "crowd", "probes", "templates"):
        (tmp_path / name).symlink_to(root / name)
    lines = [
        line for line in commands(root) if line.startswith("python ") and "demo" not in line and "serve" not in line
    ]
    assert lines
    for line in lines:
        done = subprocess.run(
            [sys.executable, *line.split()[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def script_commands(root):
    for script in (root / "examples").glob("*.sh"):
        text = script.read_text(encoding="utf-8").replace("\\\n", " ")
        for package, name, rest in re.findall(r"python -m (\w+) ([a-z-]+)([^\n|>#]*)", text):
            yield script.name, package, name, frozenset(re.findall(r"--[a-z-]+", rest))


def test_every_command_and_option_in_the_shell_examples_exists(pytestconfig):
    found = set(script_commands(pytestconfig.rootpath))
    assert {script for script, *_ in found} >= {"study.sh"}
    for package, name in {(package, name) for _, package, name, _ in found}:
        command = [sys.executable, "-m", package, name, "--help"]
        told = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True)
        assert told.returncode == 0, f"{package} {name}: {told.stderr}"
        options = set(re.findall(r"--[a-z-]+", told.stdout))
        for script, of, called, used in found:
            assert (of, called) != (package, name) or used <= options, f"{script}: {package} {name} {used - options}"


def test_links_of_the_documents_lead_somewhere(pytestconfig):
    root = pytestconfig.rootpath
    for document in [*root.glob("*.md"), *(root / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_those_without_make_find_the_same_commands(pytestconfig):
    readme = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    makefile = (pytestconfig.rootpath / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"\$\(BIN\)/python ((?:examples/demo|-m crowd serve)[^\n]*)", makefile):
        assert command in readme
