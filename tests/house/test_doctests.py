"""Every example in a docstring is true."""

import doctest
import importlib

import pytest

from tests.house.doc_blocks import PACKAGES, ROOT

FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
MODULES = [
    ".".join(("seedvote", *path.relative_to(ROOT).with_suffix("").parts))
    for path in FILES
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_are_true(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
