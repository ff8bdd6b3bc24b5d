"""The page of sets: what everybody said of each response, and nothing of a rater or a hidden check."""

import json
import re

import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.browse.page import sets_page
from seedvote.analysis.questions.browse.sets import answer_sets
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, Comment, ResponseRating, ResponseSet, Utterance
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.questions.ratings.sets_study import SYSTEMS, make_sets_study

HOSTILE = '</script><img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Twelve sets of three; of s0 a blocked rater's answer too, a check, and comments that count or not."""
    told = {"item": "d0:1", "of": 3, "source": "prolific", "dialogue": "d0"}
    more = [ResponseRating("s0", "blocked", "order", name, response=n, rank=3.0 - n, counted=False, **told)
            for n, name in enumerate(SYSTEMS)]  # fmt: skip
    folder = make_sets_study(tmp_path_factory.mktemp("sets") / "study", more=more)
    path = folder / "response_sets.jsonl"
    sides = [Candidate(f"{HOSTILE} {n}", "lstm", n) for n in range(3)]
    check = ResponseSet("hidden", "d1:1", [Utterance("user", "?")], sides, kind="check", answer="best:0")
    write_records(path, [*read_records(path, ResponseSet), check], signature="test", kind=ResponseSet)
    someone = next(one.rater for one in read_records(folder / "ratings.jsonl", ResponseRating) if one.set == "s1")
    wrote = [("s1", someone, HOSTILE), ("s0", "blocked", "Blocked."), ("", someone, "At the end.")]
    comments = [Comment(name, rater, "why", text) for name, rater, text in wrote]
    write_records(folder / "comments.jsonl", comments, signature="c", kind=Comment)
    return folder


def test_every_rank_and_rating_that_counts_stands_beside_its_response(study):
    found = answer_sets(study)
    given = [one for one in read_records(study / "ratings.jsonl", ResponseRating) if one.counted]
    assert found.answers == 36 and len(found.sets) == 12 and found.question == "order"
    for one in found.sets:
        assert one.systems == SYSTEMS and one.answers == 3
        for n, name in enumerate(SYSTEMS):
            mine = [row for row in given if row.set == one.source.set and row.system == name]
            for question, told in one.values[n]:
                values = [row.rank if question == "order" else row.score for row in mine if row.question == question]
                assert told == ", ".join(f"{value:g}" for value in values) and len(values) == 3
        firsts = [row.response for row in given if row.set == one.source.set and row.rank == 1]
        most = max(map(firsts.count, firsts))
        assert one.best == tuple(sorted({n for n in firsts if firsts.count(n) == most}))
        assert one.agreement == {3: "all", 2: "most", 1: "split"}[most]
    assert any("do not count" in note for note in found.notes)
    assert answer_sets(study, uncounted=True).sets[0].answers == 4


def test_another_question_is_looked_at_by_its_own_scale(study):
    found = answer_sets(study, question="useful")
    assert {one.best for one in found.sets} == {(2,)} and {one.agreement for one in found.sets} == {"all"}
    with pytest.raises(InputError, match="the questions are order, fluent, useful"):
        answer_sets(study, question="polite")


def test_a_page_of_sets_holds_texts_as_texts_and_nobody(study):
    page = sets_page(answer_sets(study), "study")
    assert HOSTILE not in page and "&lt;img" in page and page.count("<article") == 12
    assert "hidden" not in re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>| hidden", "", page)
    assert not re.search(r"\br[0-5]\b|blocked|Blocked|At the end", page.split("</style>")[1])
    assert "order 1, 1, " in page and "; fluent " in page and "Highest by order" in page


def test_browse_finds_sets_by_itself_and_says_where_they_are_missing(study, tmp_path, capsys):
    dispatch("analysis", "", COMMANDS, ["browse", str(study), "--out", str(tmp_path / "b.html"), "--json", "-"])
    said = capsys.readouterr().out
    told = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert told["sets"] == 12 and told["answers"] == 36 and sum(told["agreement"].values()) == 12
    assert "every set" in (tmp_path / "b.html").read_text("utf-8")
    (tmp_path / "ratings.jsonl").write_bytes((study / "ratings.jsonl").read_bytes())
    with pytest.raises(InputError, match="name the file of sets: --pairs FILE"):
        dispatch("analysis", "", COMMANDS, ["browse", str(tmp_path)])
    sets = str(study / "response_sets.jsonl")
    dispatch("analysis", "", COMMANDS, ["browse", str(tmp_path), "--pairs", sets])
    assert (tmp_path / "browse.html").read_text("utf-8").count("<article") == 12
    one = read_records(study / "response_sets.jsonl", ResponseSet)[:1]
    write_records(tmp_path / "few.jsonl", one, signature="t", kind=ResponseSet)
    with pytest.raises(InputError, match="does not hold set"):
        answer_sets(study, sets=tmp_path / "few.jsonl")


@pytest.mark.browser
def test_the_filters_of_sets_keep_those_with_one_highest(study, tmp_path, chromium):
    dispatch("analysis", "", COMMANDS, ["browse", str(study), "--out", str(tmp_path / "b.html")])
    page = chromium.new_page()
    page.goto((tmp_path / "b.html").as_uri())
    page.get_by_label("Highest by order").select_option("best-1")
    wanted = sum(one.best == (2,) for one in answer_sets(study).sets)
    assert page.locator("article:visible").count() == wanted > 0
    assert page.locator("#told").inner_text().startswith(f"{wanted} of 12 sets.")
    page.close()
