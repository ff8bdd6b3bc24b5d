"""Marks that raters would see: said where they are Markdown, and not of a star, a hash or a number."""

import pytest

from seedvote.crowd.rating.leaks import markup_warning
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Option, Pair, Question, ResponseSet, Utterance
from seedvote.dialogue.shell.command_line import dispatch


def pair(text, kind="real"):
    return Pair("p", "i:0", (), Candidate(text, "x"), Candidate("plain", "y"), kind)


@pytest.mark.parametrize("text", ["Take the **blue** line", "```\nx = 1\n```", "use `ls -l`", "# Answer\nyes",
                                  "see [here](https://a.org)"])  # fmt: skip
def test_markdown_is_pointed_out_with_what_to_write(text):
    assert 'rendering = "markdown"' in markup_warning([pair(text)])
    assert markup_warning([pair(text)]).startswith("warning: 1 of 2 texts hold Markdown, e.g. ")


@pytest.mark.parametrize("text", ["2 * 3 * 4", "platform #4", "**", "a_b_c", "[no link] (really)", "1. first"])
def test_a_mark_alone_is_none(text):
    assert markup_warning([pair(text)]) == ""


def test_contexts_turns_and_options_are_looked_at_too():
    bold = Utterance("user", "Is **this** it?")
    plain = Candidate("plain", "x")
    talk = Candidate("t", "y", turns=(bold,), speaker="user")
    options = (Option("no", "i"), Option("a `b` c", "j"))
    asked = Question("q", "i:0", (), options, 0, "real", None, "made", 1)
    in_set = ResponseSet("s", "i:0", (bold,), (plain,), "real", False, None)
    for record in (
        Pair("p", "i:0", (bold,), plain, plain, "real"),
        Pair("p", "i", (), talk, talk, "real"),
        asked,
        in_set,
    ):
        assert "hold Markdown" in markup_warning([record])


def test_lint_asks_how_markdown_is_shown_until_hit_toml_says_so(tmp_path, capsys):
    write_records(tmp_path / "pairs.jsonl", [pair("Take the **blue** line")], signature="test", kind=Pair)
    commands = {"lint": ""}
    assert dispatch("crowd", "", commands, ["lint", str(tmp_path)]) == 1
    assert 'rendering = "markdown"' in capsys.readouterr().out
    for rendering in ("markdown", "literal"):
        (tmp_path / "hit.toml").write_text(f'rendering = "{rendering}"\n', encoding="utf-8")
        assert dispatch("crowd", "", commands, ["lint", str(tmp_path)]) == 0
        assert "Markdown" not in capsys.readouterr().out


def test_checks_are_no_systems_answers():
    assert markup_warning([pair("a **b** c", "check")]) == ""
