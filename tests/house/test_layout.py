"""The rules of the house, held by reading the source."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dialogue", "generation", "crowd", "analysis", "probes")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "common.py"}
LIGHT = ["torch", "mephisto", "matplotlib", "statsmodels", "boto3", "scipy", "numpy", "flask", "sqlalchemy", "sklearn"]
LIGHT += ["ray", "submitit"]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def package_of(path):
    return path.relative_to(ROOT).parts[0]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_imports_itself_and_the_leaf_only(path):
    others = set(PACKAGES) - {package_of(path), "dialogue"}
    assert not {name for name in imported(path) if name.split(".")[0] in others}


ENGINES = {"on_ray.py": {"ray"}, "on_slurm.py": {"submitit"}}  # each in one module, imported when it is asked for


@pytest.mark.parametrize("path", sorted((ROOT / "dialogue").rglob("*.py")), ids=lambda path: path.name)
def test_the_leaf_uses_the_standard_library_only_and_each_engine_in_a_module_of_its_own(path):
    allowed = ENGINES.get(path.name, set()) if path.parent.name == "engines" else set()
    roots = {name.split(".")[0] for name in imported(path)}
    assert roots <= set(sys.stdlib_module_names) | {"dialogue"} | allowed


def test_nothing_shadows_the_standard_library_or_hides_behind_a_name_that_says_nothing():
    names = {path.name for path in SOURCES}
    assert not names & FORBIDDEN_NAMES
    top_level = {path.stem for path in ROOT.glob("*.py")} | set(PACKAGES) | {"tests", "benchmarks", "examples"}
    assert not top_level & set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_small(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    limit = 150 if path.name == "__main__.py" or path.parent.name == "commands" else 400
    assert lines <= limit
    if path.name == "__init__.py":
        assert [type(node) for node in ast.parse(path.read_text(encoding="utf-8")).body] == [ast.Expr]


@pytest.mark.parametrize("package", PACKAGES)
def test_help_is_light(package):
    command = f"""
import runpy, sys
sys.argv = [{package!r}, "--help"]
try:
    runpy.run_module({package!r}, run_name="__main__")
except SystemExit as stop:
    assert stop.code == 0, stop.code
heavy = [name for name in {LIGHT!r} if name in sys.modules]
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "commands:" in done.stdout


def test_one_version_everywhere():
    from dialogue.signature import VERSION

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
    assert f"version: {VERSION}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_requirement_has_a_lower_bound_a_reason_and_a_lock():
    locked = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    for name in ("requirements.txt", "requirements-scale.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if line.startswith(("#", "-r")) or not line.strip():
                continue
            requirement, _, reason = line.partition("#")
            assert ">=" in requirement and reason.strip(), line
            assert requirement.split(">=")[0].split("[")[0].strip().lower() in locked, line


IMPORT_NAMES = {"scikit-learn": "sklearn"}  # where a package is imported by another name than it is installed by
OPTIONAL = {"transformers"}  # says so in a sentence where it is absent


def test_every_package_that_is_imported_is_a_requirement():
    files = [ROOT / f"requirements{name}.txt" for name in ("", "-scale", "-mephisto")]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    names = {re.split(r"[>=\[]", line)[0].strip() for line in lines if line and line[0] not in "#-"}
    known = {IMPORT_NAMES.get(name, name) for name in names} | set(sys.stdlib_module_names) | set(PACKAGES) | OPTIONAL
    assert not {name for path in SOURCES for name in imported(path) if name.split(".")[0] not in known}
