"""What `pip install .` and each extra bring: packages and megabytes, as docs/install.md says.

    .venv/bin/python benchmarks/bench_install.py [EXTRA ...]

Every extra is installed in an environment of its own, in the versions of constraints.txt; pip and setuptools, which an
environment begins with, are not counted. Nothing is timed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("", "rate", "markets", "models", "all")


def install(folder: Path, extra: str) -> tuple[int, float]:
    """The number of packages and their megabytes, the checkout's own wheel among them."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    packages, size = count_packages(site), measure(site)
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    if extra in ("models", "all"):  # first, so that pip keeps the build for processors where it offers one
        torch = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
        subprocess.run([*pip, torch], check=True)
    subprocess.run([*pip, f"{ROOT}[{extra}]" if extra else ROOT], check=True)
    return count_packages(site) - packages, measure(site) - size


def count_packages(site: Path) -> int:
    return len(list(site.glob("*.dist-info")))


def measure(site: Path) -> float:
    return sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def main() -> None:
    for extra in sys.argv[1:] or EXTRAS:
        with tempfile.TemporaryDirectory() as folder:
            packages, size = install(Path(folder) / "venv", extra)
        name = f"'.[{extra}]'" if extra else "."
        print(f"| `pip install {name}` | {packages} packages | {size:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
