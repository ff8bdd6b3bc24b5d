"""Mephisto 1.1.1 on Python 3.11, inside one folder."""

import dataclasses
import os
import subprocess
import sys

import pytest

from seedvote.crowd.marketplaces.mephisto import shim as mephisto_shim
from seedvote.dialogue.errors import InputError
from tests.house.warm import SERVING, warm


def test_what_stands_in_for_distutils_copies_a_folder_over_another(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distutils", None)
    monkeypatch.delitem(sys.modules, "distutils.dir_util", raising=False)
    mephisto_shim.stand_in_for_distutils()
    from distutils.dir_util import copy_tree

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text(name)
    assert {path.rpartition("/")[2] for path in copy_tree(str(tmp_path / "a"), str(tmp_path / "b"))} == {"a", "b"}
    assert (tmp_path / "b" / "a").read_text() == "a"
    monkeypatch.delitem(sys.modules, "distutils.dir_util", raising=False)


def python(code, *command, **environment):
    done = subprocess.run(
        [*(command or warm(SERVING)), "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_the_shim_it_cannot_be_imported(tmp_path):
    code = "try:\n import mephisto\nexcept ValueError as error:\n print(error)"
    assert "mutable default" in python(code, HOME=str(tmp_path))


@pytest.mark.parametrize("before", ["", "sys.modules['distutils'] = None"], ids=["as it is", "as Python 3.12"])
def test_shim_writes_nothing_outside_its_folder(tmp_path, before):
    code = f"""
import os, sys
{before}
from pathlib import Path
from seedvote.crowd.marketplaces.mephisto.shim import settle_in
settle_in(Path({str(tmp_path / "study")!r}))
import seedvote.crowd.marketplaces.mephisto.task
from mephisto.utils.dirs import get_root_data_dir
from mephisto.data_model.task_run import TaskRunArgs
from mephisto.operations.hydra_config import MephistoConfig
assert MephistoConfig().task is not MephistoConfig().task
print(get_root_data_dir(), os.environ["HOME"])
"""
    home = tmp_path / "home"
    home.mkdir()
    fresh = [] if before else [sys.executable]  # once with nothing loaded before
    said = python(code, *fresh, HOME=str(home)).split()
    assert said == [str(tmp_path / "study" / "data"), str(home)]
    assert list(home.iterdir()) == []


def test_python_is_as_it_was_when_the_import_is_over():
    before = dataclasses.dataclass
    with mephisto_shim._lenient_dataclasses():
        assert dataclasses.dataclass is not before
    assert dataclasses.dataclass is before


def test_where_it_is_not_installed_the_command_to_install_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install --no-deps mephisto==1\.1\.1"):
        mephisto_shim.settle_in(tmp_path)
