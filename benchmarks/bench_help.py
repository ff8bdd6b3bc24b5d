"""How long every --help takes, as whole processes, beside `python -c pass`.

Bar: under 0.3 s each. Prints the median of five runs of every command and its ratio to the bare interpreter.
"""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PACKAGES = ("dialogue", "generation", "crowd", "probes", "analysis", "evaluators")
BAR = 0.3


def median_seconds(arguments: list[str]) -> float:
    """Median wall time of five runs after one warm-up."""
    times = []
    for _ in range(6):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def commands() -> list[list[str]]:
    """Every command that has a --help."""
    found = [["analyze_ties.py", "--help"]]
    for package in PACKAGES:
        names = importlib.import_module(f"{package}.__main__").COMMANDS
        found += [["-m", package, "--help"], *(["-m", package, name, "--help"] for name in names)]
    return found


def main() -> None:
    """Print one line a command and fail if one misses the bar."""
    bare = median_seconds(["-c", "pass"])
    print(f"{'python -c pass':<44} {bare:.3f} s")
    slow = 0
    for arguments in commands():
        seconds = median_seconds(arguments)
        slow += seconds > BAR
        verdict = "  MISSES THE BAR" if seconds > BAR else ""
        print(f"{'python ' + ' '.join(arguments):<44} {seconds:.3f} s  {seconds / bare:.1f}x{verdict}")
    sys.exit(f"{slow} commands take over {BAR} s" if slow else 0)


if __name__ == "__main__":
    main()
