"""Print the test files that belong to what has changed: `make check` runs them.

Those are the changed test files themselves; the tests that import a changed module directly, or sit at its mirrored
place (crowd/rating/gate.py: tests/crowd/rating/test_gate.py); and the rules of the house. Changed means: against
the commit where this branch left its upstream (or main), with what is not committed yet and what git does not know yet.
"""

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = ("tests/house/test_layout.py",)
# Files that take longer than a coffee: whole studies, clusters, browsers. `make test` runs them.
LONG = (
    "tests/house/test_docs.py",
    "tests/house/test_tutorial.py",
    "tests/crowd/chromium/",
    "tests/dialogue/engines/test_engines.py",
    "tests/crowd/marketplaces/test_mephisto.py",
    "tests/dialogue/test_jobs.py",
    "tests/house/test_demo.py",
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


def chosen(paths, root=ROOT):
    """The tests, in the order of their names, that belong to changed paths."""
    modules = {path.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for path in paths if is_code(path)}
    mirrored = {(path.split("/")[0], f"test_{Path(path).name}") for path in paths if is_code(path)}
    found = []
    for test in sorted((root / "tests").rglob("test_*.py")):
        name = str(test.relative_to(root))
        here = (name.split("/")[1], test.name) in mirrored
        if name in paths or name in ALWAYS or here or not modules.isdisjoint(imported(test)):
            found.append(name)
    return [name for name in found if not name.startswith(LONG)]


def is_code(path):
    return path.endswith(".py") and not Path(path).name.startswith("test_")


if __name__ == "__main__":
    print(*chosen(changed()), sep="\n")
