"""README's first block works as written on a fresh clone, and a Python without the packages says what to type."""

import re
import subprocess
import sys
import sysconfig

import pytest

from tests.house.doc_blocks import ROOT, blocks, lines
from tests.house.installed import newcomers_copy


@pytest.fixture
def clone(tmp_path):
    """The checkout as a newcomer has it: no environment, nothing made."""
    return newcomers_copy(tmp_path / "clone")


def set_up(folder):
    """What `make setup` makes, without fetching a wheel: an environment that sees the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    site = next((folder / ".venv" / "lib").glob("python3*/site-packages"))
    seen = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "seen.pth").write_text("\n".join(seen), encoding="utf-8")
    for mark in ("torch", "installed"):  # in this order: make compares their times
        (folder / ".venv" / mark).touch()


def test_the_first_block_of_readme_works_as_written(clone):
    first = next(blocks(ROOT / "README.md"))
    assert lines(first)[0] == "make setup", "nothing can run before the set-up"
    planned = subprocess.run(["make", "-n", "setup"], cwd=clone, check=True, capture_output=True, text=True).stdout
    assert "-m venv .venv" in planned and "-e '.[all,mephisto]' -c constraints.txt" in planned
    set_up(clone)
    done = subprocess.run(["bash", "-euc", first], cwd=clone, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / "runs" / "first" / "ties.png").exists()
    assert re.findall(r"^Next: python -m analysis agreement examples/votes.csv$", done.stdout, re.M)


@pytest.mark.parametrize(
    "command",
    ["analyze_ties.py examples/votes.csv", "-m analysis agreement examples/votes.csv", "-m generation train runs/x"],
)
def test_a_python_without_the_packages_says_what_to_type(command, clone):
    done = subprocess.run(  # -S: without site-packages
        [sys.executable, "-S", *command.split()], cwd=clone, capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(
        r"error: (numpy|pyarrow|torch|tqdm) is not installed for \S+\. Type `make setup`, then "
        r"`\. \.venv/bin/activate` "
        r"\(without make: pip install -r requirements\.txt -c constraints\.txt\), and run the command again\.\n",
        done.stderr,
    )


def test_any_other_missing_module_is_not_explained_away():
    from seedvote.dialogue.shell.command_line import exit_with

    def broken():
        raise ModuleNotFoundError("No module named 'seedvote.analysis.nothing'", name="seedvote.analysis.nothing")

    with pytest.raises(ModuleNotFoundError):
        exit_with(broken)
