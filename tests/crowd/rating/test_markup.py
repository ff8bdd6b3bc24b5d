"""Marks that raters would see: said where they are Markdown, and not of a star, a hash or a number."""

import pytest

from seedvote.crowd.rating.leaks import markup_warning
from seedvote.dialogue.records import Candidate, Pair


def pair(text, kind="real"):
    return Pair("p", "i:0", (), Candidate(text, "x"), Candidate("plain", "y"), kind)


@pytest.mark.parametrize("text", ["Take the **blue** line", "```\nx = 1\n```", "use `ls -l`", "# Answer\nyes",
                                  "see [here](https://a.org)"])  # fmt: skip
def test_markdown_is_pointed_out_with_what_to_write(text):
    assert 'rendering = "markdown"' in markup_warning([pair(text)])
    assert markup_warning([pair(text)]).startswith("warning: 1 of 2 responses hold Markdown, e.g. ")


@pytest.mark.parametrize("text", ["2 * 3 * 4", "platform #4", "**", "a_b_c", "[no link] (really)", "1. first"])
def test_a_mark_alone_is_none(text):
    assert markup_warning([pair(text)]) == ""


def test_checks_are_no_systems_answers():
    assert markup_warning([pair("a **b** c", "check")]) == ""
