"""Print the test files that belong to what has changed: `make check` runs them.

Those are the changed test files themselves; the tests that import a changed module directly, or sit at its mirrored
place (crowd/rating/gate.py: tests/crowd/rating/test_gate.py), or anywhere in the package by that name where nothing
stands at that place; and the rules of the house. What very many tests import is a tool of theirs: of those the mirrored
one is run, and the others are counted. Changed means: against the commit where this branch left its upstream (or main),
with what is not committed yet and what git does not know yet.
"""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANY = 12  # test files that import a module: more of them take minutes
ALWAYS = ("tests/house/test_layout.py",)
# Files that take longer than a coffee: whole studies, clusters, browsers. `make test` runs them.
LONG = (
    "tests/house/test_demo.py",
    "tests/crowd/chromium/",
    "tests/dialogue/engines/test_engines.py",
    "tests/crowd/marketplaces/test_mephisto.py",
    "tests/dialogue/test_jobs.py",
)


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def since():
    """The commit to compare with."""
    for other in ("@{upstream}", "main"):
        found = git("merge-base", "HEAD", other)
        if found.returncode == 0:
            return found.stdout.strip()
    return "HEAD"


def changed():
    """Paths that differ from that commit."""
    known = git("diff", "--name-only", since())
    new = git("ls-files", "--others", "--exclude-standard")
    return {line for told in (known, new) for line in told.stdout.splitlines()}


def imported(path):
    """Names of modules that a file may mean by its imports: `from a import b` may mean a.b."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def chosen(paths, root=ROOT, say=lambda words: None):
    """The tests, in the order of their names, that belong to changed paths."""
    tests = {str(test.relative_to(root)): set(imported(test)) for test in (root / "tests").rglob("test_*.py")}
    tests = {name: imports for name, imports in tests.items() if not name.startswith(LONG)}
    found = {name for name in tests if name in paths or name in ALWAYS}
    for path in filter(is_code, paths):
        found |= mirrored(path, tests)
        module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        module = module if module.startswith(("tests.", "seedvote")) else f"seedvote.{module}"
        importing = {name for name, imports in tests.items() if module in imports}
        if len(importing) > MANY:
            say(f"{len(importing)} test files import {path}: make test runs them")
        else:
            found |= importing
    return sorted(found)


def mirrored(path, tests):
    """The test file at a module's own place, or else those of its name in the package."""
    name = f"test_{Path(path).name}"
    own = str(Path("tests", path).with_name(name))
    package = f"tests/{path.split('/')[0]}/"
    return {own} if own in tests else {one for one in tests if one.startswith(package) and Path(one).name == name}


def is_code(path):
    return path.endswith(".py") and not Path(path).name.startswith("test_")


if __name__ == "__main__":
    print(*chosen(changed(), say=lambda words: print(words, file=sys.stderr)), sep="\n")
