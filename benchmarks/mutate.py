"""Do the tests notice wrong programs? Changes one place of the code at a time and runs the tests that cover it.

    python benchmarks/mutate.py --sample 150            150 places of all rooms below, drawn by --seed
    python benchmarks/mutate.py probes/scoring.py       every place of one file
    python benchmarks/mutate.py probes/scoring.py:41    the places of one line

A change turns a comparison, an operator, `and` or a truth value round, moves a whole number by one, leaves a call out,
or swaps the first two arguments of a call. It is caught where a test fails (which passes without the change), or where
the tests take more than --timeout seconds of processor time: an endless loop. What no test notices is listed: a missing
test, or a change that means the same. Tests are those that import the module, those of its package first, and those of
other packages that run its package's commands and so read its files. They run up to the first that fails, without slow
ones, browsers and whole studies; so commands are not changed either. All happens in copies of the checkout. Every run
is a fork of a process that has loaded the libraries, so it costs little more than the tests do.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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
          "flask", "sklearn.linear_model", "hypothesis")  # fmt: skip
FLIPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SAME = ("max", "min", "where", "and_", "or_")  # of two arguments that may be swapped; where: of a query
FAR = ("commands", "chromium", "marketplaces", "report", "showing", "web")  # rooms whose tests take long
STILL = 120  # seconds without any processor time after which tests wait for what never comes


class Place(NamedTuple):
    """A change of one file: where it stands in the text, and what stands there then."""

    file: str
    line: int
    column: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {' '.join(self.before.split())}  ->  {self.after}"

    def applied(self) -> str:
        """The changed file."""
        text = text_of(self.file)
        return text[: self.start] + self.after + text[self.end :]


@cache
def text_of(file: str) -> str:
    """The text of a file as it is."""
    return (HOUSE / file).read_text(encoding="utf-8")


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
        case ast.Call(func=func) if ast.unparse(func).rpartition(".")[2] in SAME and len(new.args) == 2:
            return None
        case ast.Call(args=[one, two, *rest]) if not isinstance(one, ast.Starred) and not isinstance(two, ast.Starred):
            new.args = [two, one, *rest]
        case _:
            return None
    return new


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that computes something; no type, no decorator, no text."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params") or isinstance(tree, ast.JoinedStr):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST):
                yield node
                yield from nodes(node)


def mutants(file: str) -> Iterator[Place]:
    """Every place of this file that has another meaning to take."""
    text = text_of(file)
    lines = text.splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))

    def place_of(line: int, column: int) -> int:  # columns of the tree count bytes
        return begins[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in nodes(ast.parse(text)):
        new = changed(node)
        if new is None or not isinstance(node, ast.expr | ast.stmt):
            continue
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        start, end = place_of(node.lineno, node.col_offset), place_of(end_line, end_column)
        said = ast.unparse(new)
        after = f"({said})" if isinstance(new, ast.expr) and not isinstance(new, ast.Constant) else said
        yield Place(file, node.lineno, node.col_offset + 1, start, end, text[start:end], after)


def files(names: Iterable[str]) -> list[str]:
    """The modules of these folders and files."""
    return [name for name in tracked(*names) if name.endswith(".py") and not re.search("__|/commands/", name)]


def tracked(*names: str) -> list[str]:
    """What git knows of these names, as it stands now, with what is new."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *names]
    told = subprocess.run(words, cwd=HOUSE, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in set(told.split()) if (HOUSE / name).is_file() or (HOUSE / name).is_symlink())


@cache
def covering(file: str) -> list[str]:
    """The tests of a module: its own, those of its room (all where none imports it), of its package, of others."""
    module = file.removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    imports = re.compile(rf"\b{re.escape(module)}\b|from (seedvote\.)?{re.escape(package)} import .*\b{name}\b")
    stage = file.partition("/")[0]
    runs = re.compile(rf"\bseedvote\.{stage}\.__main__\b|from seedvote\.{stage} import __main__")
    room = Path("tests") / Path(file).parent
    while not any((HOUSE / room).rglob("test_*.py")):
        room = room.parent
    every = [Path(name) for name in tracked("tests") if Path(name).name.startswith("test_")]
    texts = {path: (HOUSE / path).read_text(encoding="utf-8") for path in every if path.parent.name not in FAR}
    chosen = [path for path, text in texts.items() if imports.search(text)]
    own = [path for path in texts if path.stem == f"test_{name}" and room in path.parents]
    near = [path for path in chosen if room in path.parents]
    room_tests = own + near or [path for path in texts if room in path.parents]
    within = [path for path in chosen if path.parts[1] == stage]
    readers = [path for path, text in texts.items() if path.parts[1] not in (stage, "house") and runs.search(text)]
    return [str(path) for path in dict.fromkeys([*room_tests, *within, *chosen, *readers])]


class Plugin:
    """Of pytest: makes Hypothesis the same every time, and writes down which test failed first."""

    def __init__(self, told: Path) -> None:
        self.told = told

    def pytest_configure(self) -> None:
        import hypothesis

        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]  # none made smaller: that one fails is enough
        usual = hypothesis.settings.default
        hypothesis.settings.register_profile("mutants", usual, phases=phases, derandomize=True, database=None)
        hypothesis.settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.told.exists():
            self.told.write_text(report.nodeid)


def tests_end(home: Path, tests: list[str], told: Path) -> int:
    """Run these tests in this process, which must end afterwards, up to the first that fails."""
    import pytest

    os.chdir(home)
    sys.path[:0] = [str(home)]
    sys.dont_write_bytecode = False  # as containers have it: every run would compile the checkout anew
    without = [word for plugin in ("cacheprovider", "xdist", "pytest_cov") for word in ("-p", f"no:{plugin}")]
    usual = ["-q", "-x", "-m", "not slow and not browser", "-W", "ignore::pytest.PytestAssertRewriteWarning", *without]
    return int(pytest.main([*usual, *tests], plugins=[Plugin(told)]))


def apart(work: Callable[[], int], limit: float) -> str:
    """What became of this work in a fork of this process: passed, failed or hung."""
    child = os.fork()
    if not child:
        status = 70
        with contextlib.suppress(BaseException):  # whatever happens, this copy must not go on with the parent's work
            os.setsid()  # what a test starts ends with it
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            quiet = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(quiet, number)
            status = work()
        os._exit(status)
    spent, since, status = -1.0, time.monotonic(), None
    while status is None:
        done, ended = os.waitpid(child, os.WNOHANG)
        if done:
            status = ended
        elif time.monotonic() - since > STILL:
            if (now := group_seconds(child)) == spent:
                os.killpg(child, signal.SIGKILL)
                status = os.waitpid(child, 0)[1]
            spent, since = now, time.monotonic()
        else:
            time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # servers that it left behind
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return "hung"
    return "passed" if status == 0 else "failed"


def group_seconds(group: int) -> float:
    """The processor time of all processes of a group."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            told = stat.read_text().rpartition(")")[2].split()
            if int(told[2]) == group:
                total += (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")
    return total


class Judge:
    """A copy of the checkout, where one place at a time is changed."""

    def __init__(self, home: Path, limit: float) -> None:
        self.home, self.limit, self.stamp = home, limit, 0
        self.told = home.parent / "failed"
        self.sound: dict[str, bool] = {}
        for name in tracked():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HOUSE / name, home / name, follow_symlinks=False)  # seedvote/ links to every package
        if (HOUSE.parent / "shared").is_dir():
            (home.parent / "shared").symlink_to((HOUSE.parent / "shared").resolve())

    def put(self, file: str, text: str) -> None:
        """Write this file."""
        (self.home / file).write_text(text, encoding="utf-8")
        self.stamp += 1
        os.utime(self.home / file, (self.stamp, self.stamp))  # a compiled file is known by its second

    def run(self, tests: list[str]) -> str:
        """What became of these tests: passed, failed or hung."""
        self.told.unlink(missing_ok=True)
        return apart(lambda: tests_end(self.home, tests, self.told), self.limit)

    def judged(self, place: Place) -> str:
        """Whether the tests notice this change."""
        self.put(place.file, place.applied())
        ended = self.run(covering(place.file))
        self.put(place.file, text_of(place.file))
        if ended != "failed":
            return ended
        # Without a test that failed something could not be imported.
        test = [self.told.read_text()] if self.told.exists() else ["--collect-only", *covering(place.file)]
        said = test[0] if len(test) == 1 else "import"
        if (key := " ".join(test)) not in self.sound:
            self.sound[key] = self.run(test) == "passed"
        return f"failed {said}" if self.sound[key] else f"fails unchanged {said}"


def worked(places: list[Place], turn: Any, limit: float, log: Path) -> None:
    """Judge one place after the other, as its turn comes, and write each verdict into the log."""
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Path(folder) / "house", limit)
        while True:
            with turn.get_lock():
                number, turn.value = turn.value, turn.value + 1
            if number >= len(places):
                return
            line = json.dumps({"place": str(places[number]), "ended": judge.judged(places[number])})
            with log.open("a", encoding="utf-8") as handle:
                handle.write(line + "\n")
            print(line, flush=True)


def chosen_places(names: list[str]) -> list[Place]:
    """The places of these files, folders and lines."""
    found = []
    for name in names:
        path, _, line = name.partition(":")
        found += [place for file in files([path]) for place in mutants(file) if line in ("", str(place.line))]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=ROOMS, help="files, folders, lines (default: all that computes)")
    parser.add_argument("--sample", type=int, metavar="N", help="so many places, drawn over all files")
    parser.add_argument("--after", type=int, default=0, metavar="N", help="leave out the first N of them")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at once (default: 1)")
    parser.add_argument("--log", type=Path, help="keep the verdicts here; what it has is not tried again")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="processor time (default: 120)")
    args = parser.parse_args()
    every = chosen_places(args.names)
    print(f"{len(every):,} places", flush=True)
    drawn = random.Random(args.seed).sample(every, min(args.sample, len(every))) if args.sample else every
    drawn = drawn[args.after :]  # a larger sample begins with the smaller one of the same seed
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    log = args.log or Path(tempfile.mkdtemp()) / "verdicts.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    new = [place for place in drawn if str(place) not in verdicts(log)]
    turn = multiprocessing.Value("i", 0)
    for _ in range(args.jobs):
        if not os.fork():
            status = 1
            try:
                worked(new, turn, args.timeout, log)
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
    for _ in range(args.jobs):
        os.wait()
    told = verdicts(log)
    print("\nNot noticed:")
    for place in sorted(drawn):
        if not (ended := told.get(str(place), "not tried")).startswith(("failed ", "hung")):
            print(f"  {ended}: {place}")
    counted = Counter(told.get(str(place), "not tried").partition(" ")[0] for place in drawn)
    print(f"{counted['failed'] + counted['hung']} of {len(drawn)} noticed ({dict(counted)})")


def verdicts(log: Path) -> dict[str, str]:
    """What a log says of each place."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return {row["place"]: row["ended"] for row in map(json.loads, lines)}


if __name__ == "__main__":
    main()
