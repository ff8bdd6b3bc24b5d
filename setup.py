"""What pyproject.toml cannot say: the extras, read from requirements.txt, so that no dependency is typed twice, and the
files of the checkout's root that the installed tool needs (dialogue/shipped.py finds them)."""

import re
import shutil
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PARTS = ("rate", "markets", "models")
FORMER = {"analyse": (), "train": ("models",), "probe": ("models",)}  # names of extras that still work
SHIPPED = (
    "CITATION.cff",
    "examples/votes.csv",
    "examples/pairs.jsonl",
    "examples/questions.jsonl",
    "examples/hit.toml",
)


def requirements(name: str) -> list[tuple[str, str]]:
    """Each requirement of a file, with its reason."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    split = [re.split(r"\s+#\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#-"]
    return [(requirement, reason) for requirement, reason in split]


def core() -> list[str]:
    """What every installation brings: enough for every question of the analysis."""
    return [requirement for requirement, reason in requirements("requirements.txt") if "core" in needed_by(reason)]


def needed_by(reason: str) -> list[str]:
    """Who needs a requirement: `core`, or extras."""
    return reason.partition(":")[0].split()


def extras() -> dict[str, list[str]]:
    """The requirements of every extra; `all` is what a whole study needs on one machine."""
    members: dict[str, list[str]] = {
        part: [requirement for requirement, reason in requirements("requirements.txt") if part in needed_by(reason)]
        for part in PARTS
    }
    members |= {name: [line for part in parts for line in members[part]] for name, parts in FORMER.items()}
    members["all"] = sorted({line for part in PARTS for line in members[part]})
    # Mephisto itself pins versions that nothing else can meet: docs/install.md says how it is put on top.
    pinned = [line for line, _ in requirements("requirements-mephisto.txt") if not line.startswith("mephisto")]
    members["mephisto"] = sorted({*pinned, *members["rate"], *members["markets"]})
    for part in ("scale", "judge"):
        members[part] = [line for line, _ in requirements(f"requirements-{part}.txt")]
    return members


class BuildWithShipped(build_py):
    """Puts them into the wheel as seedvote/dialogue/shipped/."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # the checkout has them
            return
        for name in SHIPPED:
            target = Path(self.build_lib, "seedvote", "dialogue", "shipped", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)


if __name__ == "__main__":
    # Built outside the checkout: a build/ that stays behind would bring deleted files into the next wheel.
    with tempfile.TemporaryDirectory() as folder:
        setup(
            install_requires=core(),
            extras_require=extras(),
            cmdclass={"build_py": BuildWithShipped},
            options={"build": {"build_base": folder}},
        )
