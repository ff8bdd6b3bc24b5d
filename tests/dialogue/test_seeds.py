"""Seeds and signatures."""

import doctest

import pytest

from seedvote.dialogue import seeds, signature


@pytest.mark.parametrize("module", [seeds, signature])
def test_examples_in_the_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_children_depend_on_every_name_and_on_nothing_else():
    child = seeds.child_seed(0, "pairs", 1)
    assert child == seeds.child_seed(0, "pairs", 1)
    others = {seeds.child_seed(1, "pairs", 1), seeds.child_seed(0, "pairs", 2), seeds.child_seed(0, "pairs1"), child}
    assert len(others) == 4
    assert 0 <= child < 2**63
    assert seeds.child_random(0, "x").random() == seeds.child_random(0, "x").random()


@pytest.mark.parametrize("text", ["1,1", "2-1"])
def test_seed_lists_that_name_nothing_or_one_twice_are_refused(text):
    with pytest.raises(ValueError, match="names no seed, or names a seed twice"):
        seeds.parse_seeds(text)


@pytest.mark.parametrize("text", ["x", "0-b", "-1", "", "1.5"])
def test_what_is_no_seed_is_said_in_plain_words(text):
    with pytest.raises(ValueError, match="is not a whole number"):
        seeds.parse_seeds(text)


def test_a_signature_shows_every_kind_of_value():
    line = signature.signature(seed=None, replace=True, share=0.1, names=["a", "b"], text="x|y")
    assert line == f"seed:none|replace:yes|share:0.1|names:a,b|text:x/y|v:{signature.VERSION}"
