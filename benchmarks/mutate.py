"""Do the tests notice wrong programs? Changes one place of the code at a time and runs the tests that cover its file.

    python benchmarks/mutate.py --sample 80             80 places of all rooms below, drawn by --seed
    python benchmarks/mutate.py probes/scoring.py       every place of one file

A change turns a comparison, an operator, `and` or a truth value round, moves a whole number by one, leaves a call out,
or swaps the first two arguments of a call. It is caught where a test fails; what no test notices is listed: a missing
test, or a change that means the same. So is what runs into --timeout seconds: an endless loop, or a busy machine.
All happens in a copy of the checkout. Every run is
a fork of one process that has loaded the libraries, so it costs little more than the tests do.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HOUSE = Path(__file__).resolve().parents[1]
ROOMS = (
    "generation/models",
    "generation/decoding.py",
    "generation/training.py",
    "probes",
    "analysis/stats",
    "crowd/rating",
)
LOADED = ("numpy", "scipy.stats", "scipy.optimize", "scipy.sparse", "torch", "pyarrow.parquet", "pytest",
          "flask", "sklearn.linear_model")  # fmt: skip
FLIPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Place(NamedTuple):
    """One node of a file: its parent in the tree, the parent's field, its number there, and what it becomes."""

    file: str
    line: int
    tree: ast.AST
    parent: ast.AST
    field: str
    number: int | None
    new: ast.AST

    def put(self, node: ast.AST) -> ast.AST:
        """Put a node here; the one that stood here before."""
        if self.number is None:
            before = getattr(self.parent, self.field)
            setattr(self.parent, self.field, node)
        else:
            nodes = getattr(self.parent, self.field)
            before, nodes[self.number] = nodes[self.number], node
        return before

    def source(self) -> tuple[str, str]:
        """What changes, and the changed file."""
        before = self.put(self.new)
        changed_file = ast.unparse(self.tree)
        self.put(before)
        return f"{ast.unparse(before)}  ->  {ast.unparse(self.new)}", changed_file


def changed(node: ast.AST) -> ast.AST | None:
    """The node with another meaning, where there is a change for its kind."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op, *rest]) if type(op) in FLIPS:
            new.ops = [FLIPS[type(op)](), *rest]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in FLIPS:
            new.op = FLIPS[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value)):
            new.value = value + 1
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
        case ast.Call(args=[one, two, *rest]) if not isinstance(one, ast.Starred) and not isinstance(two, ast.Starred):
            new.args = [two, one, *rest]
        case _:
            return None
    return new


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Every node that computes something, by parent, field and number; no type, no decorator, no text."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params") or isinstance(tree, ast.JoinedStr):
            continue
        for number, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST):
                yield tree, field, number if isinstance(value, list) else None
                yield from places(node)


def mutants(file: str) -> Iterator[Place]:
    """Every place of this file that has another meaning to take."""
    tree = ast.parse((HOUSE / file).read_text(encoding="utf-8"))
    for parent, field, number in places(tree):
        holder = getattr(parent, field)
        node = holder if number is None else holder[number]
        new = changed(node)
        if new is not None and hasattr(node, "lineno"):
            yield Place(file, node.lineno, tree, parent, field, number, new)


def files(names: list[str]) -> list[str]:
    """The modules of these folders and files."""
    listed = subprocess.run(["git", "ls-files", *names], cwd=HOUSE, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split() if name.endswith(".py") and "__" not in name]


def covering(file: str) -> list[str]:
    """The tests in the file's mirrored room that import its module, quick ones first; all of the room if none does.

    Those of commands start whole studies, and are left out.
    """
    module = file.removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    says = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    room = Path("tests") / Path(file).parent
    while not any((HOUSE / room).rglob("test_*.py")):
        room = room.parent
    tests = [path for path in sorted((HOUSE / room).rglob("test_*.py")) if path.parent.name != "commands"]
    own = [path for path in tests if path.stem == f"test_{name}"]
    naming = [path for path in tests if path not in own and says.search(path.read_text(encoding="utf-8"))]
    return [str(path.relative_to(HOUSE)) for path in own + naming or tests]


def run_tests(home: Path, tests: list[str], timeout: float) -> str:
    """What became of them, in a fork of this process: passed, failed or hung."""
    child = os.fork()
    if not child:
        status = 70
        with contextlib.suppress(BaseException):  # whatever happens, this copy must not go on with the parent's work
            status = _tests_end(home, tests)
        os._exit(status)
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "passed" if status == 0 else "failed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def _tests_end(home: Path, tests: list[str]) -> int:
    import pytest

    os.setsid()  # what a test starts ends with it
    os.chdir(home)
    sys.path[:0] = [str(home)]
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    marks = "not slow and not browser"
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", marks, *tests]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=ROOMS, help="files or folders (default: the rooms that compute)")
    parser.add_argument("--sample", type=int, metavar="N", help="so many places, drawn over all files")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="for one change (default: 120)")
    args = parser.parse_args()
    drawn = [place for file in files(args.names) for place in mutants(file)]
    print(f"{len(drawn):,} places", flush=True)
    if args.sample:
        drawn = random.Random(args.seed).sample(drawn, min(args.sample, len(drawn)))
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    told: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in subprocess.run(
            ["git", "ls-files"], cwd=HOUSE, capture_output=True, text=True, check=True
        ).stdout.split():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HOUSE / name, home / name)
        sound: dict[str, bool] = {}
        for one in sorted(drawn, key=lambda place: (place.file, place.line)):
            tests, (said, source) = covering(one.file), one.source()
            if one.file not in sound:
                sound[one.file] = run_tests(home, tests, 5 * args.timeout) == "passed"
            place = home / one.file
            kept = place.read_text(encoding="utf-8")
            place.write_text(source, encoding="utf-8")
            ended = run_tests(home, tests, args.timeout) if sound[one.file] else "tests fail unchanged"
            place.write_text(kept, encoding="utf-8")
            told[ended] = told.get(ended, 0) + 1
            if ended != "failed":
                print(f"{ended}: {one.file}:{one.line}: {said}", flush=True)
    print(f"{told.get('failed', 0)} of {sum(told.values())} noticed ({told})")


if __name__ == "__main__":
    main()
