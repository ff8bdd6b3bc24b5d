"""The rules of the house, held by reading the source."""

import ast
import functools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dialogue", "generation", "crowd", "analysis", "probes", "evaluators")
FACE = "seedvote"  # runs the commands of every package, and imports none of them
SOURCES = sorted(path for package in (*PACKAGES, FACE) for path in (ROOT / package).rglob("*.py"))  # no links
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "common.py"}
LIGHT = ["torch", "mephisto", "matplotlib", "statsmodels", "boto3", "scipy", "numpy", "flask", "sqlalchemy", "sklearn"]
LIGHT += ["ray", "submitit", "httpx"]


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imported(path):
    return set(names_imported(path))


def names_imported(path):
    for node in imports(path):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        yield from (name.removeprefix("seedvote.") for name in names)


@functools.cache
def imports(path):
    """Its import statements, wherever they stand. No expression holds one, and expressions are most of a file."""
    left, found = [parsed(path)], []
    while left:
        node = left.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, inside, [])
    return found


# A room (a folder, or a file that stands alone in its package) may import the rooms named here, itself and dialogue.
# docs/house.md says what each promises. A file that is not named here is a door or a tool of its package: it may import
# every room, and the tests below still forbid circles and anything that imports a command.
BELOW = {"stats", "showing", "votes"}
ROOMS = {
    "analysis": {
        "stats": set(),
        "showing": {"stats"},
        "votes": {"stats", "showing"},
        "questions": {*BELOW, "arguments"},
        "report": {*BELOW, "questions"},
    },
    "crowd": {
        "forms": set(),
        "hit": {"forms"},
        "store": set(),
        "rating": {"forms", "hit", "store"},
        "watching": {"forms", "hit", "store"},
        "study_folder": {"forms", "hit", "store", "rating"},
        "web": {"forms", "hit", "store", "rating", "watching"},
        "exchange": {"forms", "store", "rating", "watching"},
        "marketplaces": {"forms", "hit", "store", "rating", "watching", "web", "study_folder"},
        "simulation": {"forms", "hit", "web"},
    },
    "generation": {
        "speaking": {"decoding", "models", "numbering", "vocabulary"},
        "models": {"batches", "vocabulary"},
        "metrics": {"batches", "decoding", "models", "numbering", "vocabulary"},
        "pairing": {"metrics", "vocabulary"},
        "imports": {"decoding", "numbering", "ranking", "same_corpus", "sampling"},
    },
    "probes": {"tasks": set(), "classifiers": {"scoring", "tasks"}},
    "evaluators": {"task": set(), "perturbing": set(), "detection": set(), "judging": set(), "choosing": {"detection"}},
    "dialogue": {
        "corpora": {"errors", "files", "records", "seeds", "signature", "tables"},
        "engines": {"errors", "files", "jobs", "signature", "shell"},
        "conversations": {"corpora", "errors", "importing", "records", "seeds", "tokens", "validity"},
        "domains": {"records"},
        "formulas": set(),
        "shell": {"errors", "importing"},
        "tables": {"errors", "files"},
        "importing": {"tables", "errors", "files", "judges", "media", "parts", "records", "validity"},
    },
}


def modules(package):
    """Dotted name -> path of every module of a package."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def arrows(package):
    """(module, module of the same package that it imports, wherever in the file), each once."""
    known, found = modules(package), set()
    for name, path in known.items():
        for node in imports(path):
            if isinstance(node, ast.Import):
                names = [alias.name.removeprefix("seedvote.") for alias in node.names]
            elif node.module:
                module = node.module.removeprefix("seedvote.")
                full = [f"{module}.{alias.name}" for alias in node.names]
                names = [name if name in known else module for name in full]
            else:
                continue
            found |= {(name, one) for one in names if one in known and one != name}
    return found


def room_of(name):
    """`crowd.rating.gate` is in the room `rating`, `crowd.backups` in the room `backups`."""
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_imports_only_the_rooms_it_is_built_on(package):
    allowed = ROOMS[package]
    wrong = sorted(
        f"{one} imports {other}"
        for one, other in arrows(package)
        if (here := room_of(one)) in allowed and (there := room_of(other)) != here and there not in allowed[here]
    )
    assert not wrong
    assert set(allowed) <= {room_of(name) for name in modules(package)}, "the table names a room that is gone"


def test_a_question_imports_no_other_question():
    def question_of(name):
        return name.split(".")[2] if name.startswith("analysis.questions.") else ""

    both = ((question_of(importer), question_of(imported_name)) for importer, imported_name in arrows("analysis"))
    assert not {(importer, question) for importer, question in both if importer and question and importer != question}


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_imports_a_command(package):
    assert not [arrow for arrow in arrows(package) if room_of(arrow[1]) == "commands" != room_of(arrow[0])]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_runs_in_a_circle_not_even_a_late_one(package):
    left = arrows(package)
    while ends := {other for _, other in left} - {one for one, _ in left}:
        left = {(one, other) for one, other in left if other not in ends}  # what imports nothing is on no circle
    assert not left


@pytest.mark.parametrize("package", (*PACKAGES, FACE))
def test_a_package_imports_itself_and_the_leaf_only(package):
    others = set(PACKAGES) - {package, "dialogue"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package).values()
        for name in imported(path)
        if name.split(".")[0] in others
    ]
    hands_on = ("seedvote/__init__.py imports analysis", "seedvote/__init__.py imports analysis.notebook")
    assert set(wrong) <= set(hands_on)


# Each in one module, and imported when it is asked for: what runs jobs elsewhere or asks endpoints, what opens tables
# that are no text, what trains, what measures letters.
ON_DEMAND = {
    "engines": {"on_ray.py": {"ray"}, "on_slurm.py": {"submitit"}, "chat.py": {"httpx"}, "batches.py": {"httpx"}},
    "tables": {"frames.py": {"pandas", "pyarrow"}},
    "dialogue": {"adam.py": {"torch"}, "devices.py": {"torch"}, "lettering.py": {"matplotlib", "fontTools"}},
    "formulas": {"counts.py": {"numpy"}, "uncertainty.py": {"numpy", "scipy"}},
}


def test_the_leaf_imports_the_standard_library_only():
    known = set(sys.stdlib_module_names) | {"dialogue", FACE}
    wrong = []
    for path in modules("dialogue").values():
        roots = {name.split(".")[0] for name in imported(path)}
        more = roots - known - ON_DEMAND.get(path.parent.name, {}).get(path.name, set())
        wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in sorted(more)]
    assert not wrong


@pytest.mark.parametrize("name", ["seedvote.dialogue.tables.reading", "seedvote.dialogue.importing.tools"])
def test_what_is_on_demand_is_not_loaded_before(name):
    command = f"import sys, {name}; print([m for m in ('pandas', 'pyarrow', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_module_names_shadow_nothing_and_say_something():
    names = {path.name for path in SOURCES}
    assert not names & FORBIDDEN_NAMES
    top_level = {path.stem for path in ROOT.glob("*.py")} | {*PACKAGES, FACE, "tests", "benchmarks", "examples"}
    assert not top_level & set(sys.stdlib_module_names)


def test_the_file_of_a_package_or_room_holds_its_promise_and_no_code():
    for path in SOURCES:
        if path.name == "__init__.py" and path.parent.name != FACE:
            assert [type(node) for node in parsed(path).body] == [ast.Expr], path


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
    from seedvote.dialogue.signature import VERSION

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
    assert f"version: {VERSION}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_requirement_has_a_lower_bound_a_reason_and_a_lock():
    locked = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    reasons = dict(re.findall(r'^  "([^"]+)", +# (.+)$', text, re.M))
    for requirement in requirements():
        assert ">=" in requirement and reasons.get(requirement), requirement
        assert re.split(r"[>\[]", requirement)[0].lower().replace("_", "-") in locked, requirement


def requirements(without=()):
    """Every requirement of every extra; what stands twice has the same bound, so it is here once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [lines for name, lines in project["optional-dependencies"].items() if name not in without]
    every = {line for lines in [project["dependencies"], *extras] for line in lines if not line.startswith(FACE)}
    assert len({line.split(">=")[0] for line in every}) == len(every)
    return every


# Where a package is imported by another name than it is installed by.
IMPORT_NAMES = {
    "fonttools": "fontTools",
    "markdown-it-py": "markdown_it",
    "prometheus-client": "prometheus_client",
    "scikit-learn": "sklearn",
}


def test_every_package_that_is_imported_is_a_requirement():
    names = {re.split(r"[>\[]", line)[0] for line in requirements(without=("dev", "release"))}
    names |= {"mephisto", "omegaconf"}  # installed without what they ask for, or by others
    names |= {"inspect_ai"}  # imports us, never the other way round
    known = {IMPORT_NAMES.get(name, name) for name in names} | set(sys.stdlib_module_names) | {*PACKAGES, FACE}
    assert not {name for path in SOURCES for name in imported(path) if name.split(".")[0] not in known}


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.name)
def test_benchmark_imports_names_that_exist(path):
    """Nobody runs the long ones for weeks: a name that is gone would be noticed late."""
    lost = []
    for node in imports(path):
        module = getattr(node, "module", "") or ""
        if module.startswith((FACE, "tests.")):
            file = ROOT.joinpath(*module.split("."))
            names = defined(file / "__init__.py" if file.is_dir() else file.with_suffix(".py"))
            lost += [f"{module}.{alias.name}" for alias in node.names if not names & {alias.name, "*"}]
    assert lost == []


@functools.cache
def defined(path):
    """What a module binds, holds as a package, or imports when it is asked for the first time."""
    names = {file.stem for file in path.parent.iterdir()} if path.name == "__init__.py" else set()
    for node in parsed(path).body:
        names |= {alias.asname or alias.name for alias in getattr(node, "names", ())}  # of an import
        names |= {getattr(node, "name", "")}  # of a function or class
        names |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    if "__getattr__" in names:
        names |= {node.value for node in ast.walk(parsed(path)) if isinstance(node, ast.Constant)}
    return names
