"""One file gives the same votes at every door: notebook, commands, `import-votes`, the page to browse."""

import json

import pytest

from seedvote.analysis.__main__ import COMMANDS as ANALYSIS
from seedvote.analysis.votes.inputs import matches_of
from seedvote.crowd.__main__ import COMMANDS as CROWD
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.shell.command_line import dispatch
from tests.dialogue.importing.layouts import LAYOUTS, TRUE
from tests.dialogue.importing.test_shaping import read, tally, written

pytestmark = pytest.mark.usefixtures("hasty_throughout")
AT_COMMANDS = ["letters", "places by names", "left and right", "swapped", "mturk", "rankings", "winner and loser"]


def call(package, commands, *words):
    return dispatch(package, "", commands, [str(word) for word in words])


def settled(source, layout):
    """The votes of the notebook, and what had to be typed for them."""
    try:
        return read(source, layout.options), [*layout.options]
    except Unclear as doubt:
        for way in doubt.ways:
            typed = [*layout.options, *(word for pair in way.items() for word in pair)]
            try:
                matches, known = read(source, typed)
            except InputError:
                continue
            if tally(matches, known) == TRUE:
                return (matches, known), typed
        raise


def winners(matches):
    """Who won each vote, in order."""
    sides = [(matches.systems[a], matches.systems[b], "tie") for a, b in zip(matches.a, matches.b, strict=True)]
    return [names[choice] for names, choice in zip(sides, matches.votes.choice, strict=True)]


# Every third layout; tests/dialogue/importing/test_shaping.py reads each of them.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if number % 3 else [])
        for number, name in enumerate(name for name, layout in LAYOUTS.items() if not layout.key)
    ],
)
def test_import_votes_gives_the_votes_of_the_notebook(tmp_path, name):
    layout = LAYOUTS[name]
    source = written(tmp_path, layout.rows(), next(form for form in layout.formats if form != "frame"))
    (matches, known), typed = settled(source, layout)
    out = tmp_path / "study" / "votes.jsonl"
    words = ["import-votes", source, *typed, "--file-order", "--out", out]
    if matches.votes.rater is None:
        with pytest.raises(InputError, match=r"rater is empty; every judgement needs one"):
            call("crowd", CROWD, *words)
        return
    assert call("crowd", CROWD, *words) == 0
    imported, still_known = matches_of(out, None)
    assert still_known == known and winners(imported) == winners(matches)
    assert len(imported.votes.raters) == len(matches.votes.raters)


@pytest.mark.parametrize("name", [name for name in AT_COMMANDS if name in LAYOUTS])
@pytest.mark.parametrize("command", ["preference", "agreement", "browse"])
def test_every_command_counts_the_votes_of_the_notebook(tmp_path, capsys, name, command):
    layout = LAYOUTS[name]
    source = written(tmp_path, layout.rows(), layout.formats[0])
    (matches, _), typed = settled(source, layout)
    more = ["--out", tmp_path / "page.html"] if command == "browse" else []
    assert call("analysis", ANALYSIS, command, source, *typed, *more, "--json", "-") == 0
    reading = json.loads(capsys.readouterr().out)["reading"]
    labels = matches.votes.labels
    assert reading["choices"] == {label: int((matches.votes.choice == k).sum()) for k, label in enumerate(labels)}
    assert reading["systems"] == list(matches.systems)
    assert reading["raters"] == (None if matches.votes.rater is None else len(matches.votes.raters))


def test_votes_of_seedvote_are_not_imported_again(tmp_path):
    source = written(tmp_path, LAYOUTS["letters"].rows(), "csv")
    assert call("crowd", CROWD, "import-votes", source, "--file-order", "--out", tmp_path / "study/votes.jsonl") == 0
    with pytest.raises(InputError, match=r"holds votes of Seedvote, which the analysis reads as they are"):
        call("crowd", CROWD, "import-votes", tmp_path / "study/votes.jsonl", "--out", tmp_path / "again.jsonl")
