"""A judge is never a person: where votes are read, and where judges are counted as raters by request."""

import html
import json
import shutil
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from seedvote.analysis import notebook
from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.report.assembly import ON_VOTES, build_report
from seedvote.analysis.votes.cautions import about_names, not_people, voters
from seedvote.analysis.votes.inputs import votes_of
from seedvote.analysis.votes.keeping import NO_JUDGES
from seedvote.analysis.votes.study import read_study
from seedvote.analysis.votes.votes import read_votes, votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import as_json, read_records, write_records
from seedvote.dialogue.records import Verdict, Vote
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.report_study import add_scores, add_votes

pytestmark = pytest.mark.usefixtures("hasty_throughout")

SENTENCE = (
    "this vote is a judge's. People and judges are not counted together: keep it in verdicts.jsonl, or say "
    "--with-judges. Then judges count as raters, and every table says so."
)
VERDICT = Verdict("p0", "GPT-4 Turbo", "ab", "a")
CAPTION = "10 of 100 votes are judges' (gpt-x, gpt-y)"


def run(*words):
    return dispatch("analysis", "", COMMANDS, [str(word) for word in words])


def append(folder, votes):
    whole = [*read_records(folder / "votes.jsonl", Vote), *votes]
    write_records(folder / "votes.jsonl", whole, signature="s", kind=Vote)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A study of people with scores beside their votes."""
    return add_scores(add_votes(tmp_path_factory.mktemp("people"), source="local", controls=False))


@pytest.fixture(scope="module")
def mixed(people, tmp_path_factory):
    """The same study, to whose 90 votes somebody has appended ten of two judges."""
    folder = shutil.copytree(people, tmp_path_factory.mktemp("mixed") / "study")
    (first, *_) = read_records(folder / "votes.jsonl", Vote)
    names = ("gpt-x", "gpt-y")
    append(folder, [replace(first, pair=f"p{n}", rater=names[n % 2], choice="a", round=4, source="judge",
                            dialogue=f"d{n // 2}") for n in range(10)])  # fmt: skip
    return folder


def with_verdicts(folder, *names):
    made = [replace(VERDICT, judge=name) for name in names]
    write_records(folder / "verdicts.jsonl", made, signature="s", kind=Verdict)
    return folder


COMMANDS_ON_VOTES = {
    "ties": ["ties", "votes.jsonl", "--size", "10"],
    "agreement": ["agreement", "votes.jsonl"],
    "preference": ["preference", "votes.jsonl"],
    "plan": ["plan", "votes.jsonl"],
    "variance": ["variance", "votes.jsonl", "--score", "tie"],
    "variance of a study": ["variance", "."],
    "compare": ["compare", "."],
    "report": ["report", "."],
    "watch": ["watch", "votes.jsonl", "--once", "--size", "10"],
}


@pytest.mark.parametrize("words", COMMANDS_ON_VOTES.values(), ids=list(COMMANDS_ON_VOTES))
def test_votes_readers_refuse_a_judges_vote(mixed, words, monkeypatch):
    monkeypatch.chdir(mixed)
    with pytest.raises(InputError) as refused:
        run(*words)
    assert str(refused.value) == f"votes.jsonl:92: {SENTENCE}"


def test_the_notebook_refuses_it_too_in_files_and_in_memory(mixed):
    rows = read_records(mixed / "votes.jsonl", Vote)
    for ask in (notebook.ties, notebook.agreement, notebook.preference, notebook.plan):
        for votes in (mixed, mixed / "votes.jsonl", rows, [as_json(row) for row in rows]):
            with pytest.raises(InputError, match="this vote is a judge's"):
                ask(votes)
    for study, more in ((mixed, {}), (None, {"votes": rows, "pairs": mixed / "pairs.jsonl"})):
        with pytest.raises(InputError, match="this vote is a judge's"):
            notebook.compare(study, **more)


@pytest.mark.parametrize("word", ["judge", "Judge", " JUDGE "])
@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_a_column_of_any_file_that_says_judge_is_enough(tmp_path, word, form):
    rows = [{"pair": "p", "rater": f"r{n}", "choice": "a", "source": word if n == 2 else "local"} for n in range(3)]
    path = tmp_path / f"votes.{form}"
    if form == "csv":
        path.write_text("pair,rater,choice,source\n" + "".join(",".join(row.values()) + "\n" for row in rows))
    elif form == "parquet":
        import pyarrow as pa

        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"votes\.(csv:4|parquet: row 3|json: row 3): this vote is a judge's"):
        read_votes(path)
    read = read_votes(path, with_judges=True)
    assert read.source == {"local": 2, "judge": 1}


@pytest.mark.parametrize("name", ["GPT-4 Turbo", "gpt-4 turbo", "  GPT-4   turbo ", "ｇｐｔ-4 Turbo"])
def test_rater_with_a_judges_name_is_refused(tmp_path, name):
    folder = with_verdicts(tmp_path, "other", "GPT-4 Turbo")
    (folder / "votes.csv").write_text(f"pair,worker,choice\np,ann,a\np,{name},b\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_votes(folder / "votes.csv", columns={"rater": "worker"})
    assert f"votes.csv:3: this vote is a judge's (its rater is 'GPT-4 Turbo', a judge in {folder}" in str(refused.value)
    assert read_votes(folder / "votes.csv", columns={"rater": "worker"}, with_judges=True).source == {
        "unknown": 1,
        "judge": 1,
    }


def test_verdicts_count_for_votes_in_the_study_folder(people, tmp_path):
    study = with_verdicts(shutil.copytree(people, tmp_path / "study"), "r3")
    (study / "export").mkdir()
    shutil.move(study / "votes.jsonl", study / "export" / "votes.jsonl")
    with pytest.raises(InputError, match=r"its rater is 'r3', a judge in .*study/verdicts\.jsonl"):
        notebook.agreement(study / "export" / "votes.jsonl")
    elsewhere = shutil.move(study / "export" / "votes.jsonl", tmp_path / "votes.jsonl")
    assert notebook.agreement(elsewhere).document["voters"]["judges"] == 0
    with pytest.raises(InputError, match="its rater is 'r3', a judge in"):
        notebook.preference(elsewhere, pairs=study / "pairs.jsonl")


@pytest.mark.parametrize("content", ["", '{"format": "verdicts", "version": 1, "signature": "s"}\n', "\n\n"])
def test_an_empty_file_of_verdicts_names_nobody(people, tmp_path, content):
    study = shutil.copytree(people, tmp_path / "study")
    (study / "verdicts.jsonl").write_text(content)
    assert len(read_votes(study / "votes.jsonl")) == 90


def test_a_broken_file_of_verdicts_beside_votes_is_said_not_passed_over(people, tmp_path):
    study = shutil.copytree(people, tmp_path / "study")
    (study / "verdicts.jsonl").write_text('{"pair": "p0", "judge": "gpt')
    with pytest.raises(InputError, match=r"verdicts\.jsonl:1: not a JSON object"):
        read_votes(study / "votes.jsonl")


@pytest.mark.parametrize("form", ["jsonl", "bare.jsonl", "csv", "parquet", "json"])
def test_verdicts_given_as_votes_are_told_what_they_are(tmp_path, form):
    rows = [as_json(replace(VERDICT, pair=f"p{n}")) for n in range(3)]
    path = tmp_path / f"verdicts.{form}"
    if form == "jsonl":
        write_records(path, [VERDICT], signature="s", kind=Verdict)
    elif form == "bare.jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "csv":
        path.write_text("pair,judge,order,choice\np0,gpt-x,ab,a\n")
    elif form == "json":
        path.write_text(json.dumps(rows))
    else:
        import pyarrow as pa

        pq.write_table(pa.table({name: [row[name] for row in rows] for name in ("pair", "judge", "order", "choice")}),
                       path)  # fmt: skip
    for more in ({}, {"with_judges": True}):
        with pytest.raises(InputError, match="holds verdicts, which are a judge's answers and not the votes of"):
            read_votes(path, columns={} if form == "jsonl" else {"rater": "judge"}, **more)


def test_a_person_whose_column_is_called_judge_is_no_verdict():
    read = votes_from_columns({"pair": ["p", "p"], "judge": ["ann", "bob"], "choice": ["a", "b"]},
                              columns={"rater": "judge"})  # fmt: skip
    assert read.raters == ("ann", "bob")


@pytest.mark.parametrize("words", [w for w in COMMANDS_ON_VOTES.values() if w[0] not in ("report", "watch")],
                         ids=[n for n, w in COMMANDS_ON_VOTES.items() if w[0] not in ("report", "watch")])  # fmt: skip
def test_with_judges_every_table_sentence_document_and_recipe_says_so(mixed, words, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(mixed)
    run(
        *words, "--with-judges", "--json", tmp_path / "found.json", *(["--out", tmp_path] if words[0] == "ties" else [])
    )
    printed = capsys.readouterr().out
    tables = [block for block in printed.split("\n\n") if "  " in block and "Next:" not in block]
    of_votes = tables[: next((k for k, block in enumerate(tables) if block.startswith("probe")), None)]
    assert of_votes and all(CAPTION in block for block in of_votes)
    assert not any(CAPTION in block for block in tables[len(of_votes) :])  # probes were not asked of anybody
    assert f"{CAPTION} and counted as raters' (--with-judges)" in printed
    document = json.loads((tmp_path / "found.json").read_text())
    assert document["voters"] == {"votes": 100, "simulated": 0, "judges": 10, "names": ["gpt-x", "gpt-y"]}
    assert "|judges:gpt-x,gpt-y|judge_votes:10" in document["signature"]
    next_line = next(line for line in printed.splitlines() if line.startswith("Next:"))
    assert "--with-judges" in next_line


def test_asking_for_judges_where_there_are_none_is_said(people):
    found = notebook.preference(people, with_judges=True)
    assert NO_JUDGES in found.document["warnings"] and found.document["voters"]["judges"] == 0


def test_people_give_the_same_numbers_beside_verdicts(people, tmp_path):
    study = with_verdicts(shutil.copytree(people, tmp_path / "study"), "gpt-x", "gpt-y")
    for ask in (notebook.agreement, notebook.preference):
        assert ask(study).document == ask(people).document


def test_report_names_judges_everywhere(mixed, tmp_path, capsys):
    run("report", mixed, "--with-judges", "--out", tmp_path / "report.html")
    page, markdown = ((tmp_path / f"report.{end}").read_text() for end in ("html", "md"))
    said = f"{CAPTION} and counted as raters' (--with-judges), so the numbers are not about people alone."
    assert html.unescape(page).count(said) == 2 and markdown.count(said) == 2  # on top, and in the draft for a paper
    assert json.loads((tmp_path / "report.json").read_text())["ties"]["voters"]["judges"] == 10

    found = build_report(read_study(mixed, with_judges=True))
    shown = {one.key: [*one.tables, *one.inline, *one.figures] for one in found.sections}
    on_votes = [key for key in ON_VOTES if key in shown]
    assert {"preferred", "ties", "raters", "variance", "compare"} <= set(on_votes)
    assert all(CAPTION in part.caption for key in on_votes for part in shown.pop(key))
    assert not any(CAPTION in part.caption for parts in shown.values() for part in parts)  # probes asked nobody
    assert found.picture is not None and CAPTION in found.picture.caption


def test_a_study_that_is_watched_says_who_voted(mixed, tmp_path, capsys):
    run("watch", mixed / "votes.jsonl", "--once", "--size", 10, "--with-judges", "--out", tmp_path)
    assert f"{CAPTION} and counted as raters'" in capsys.readouterr().out


SIMULATED = "All 90 votes are simulated: programs cast them, not people."


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return add_votes(tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("words", [["ties", "--size", "10"], ["agreement"], ["preference"], ["plan"],
                                   ["variance", "--score", "net"]], ids=lambda words: words[0])  # fmt: skip
def test_simulated_votes_are_named_once_by_every_command(programs, words, capsys, tmp_path):
    name, *more = words
    out = ["--out", tmp_path] if name == "ties" else []
    run(name, programs / "votes.jsonl", *more, *out, "--json", tmp_path / "found.json")
    assert capsys.readouterr().out.count("are simulated") == 1
    document = json.loads((tmp_path / "found.json").read_text())
    assert document["voters"] == {"votes": 90, "simulated": 90, "judges": 0, "names": []}
    assert document["warnings"].count(SIMULATED) == 1
    assert "judge" not in document["signature"]


def test_report_names_simulated_votes_on_top(programs, tmp_path):
    run("report", programs, "--out", tmp_path / "report.html")
    for end in ("html", "md"):
        assert (tmp_path / f"report.{end}").read_text().count("are simulated: programs cast") == 2
    found = json.loads((tmp_path / "report.json").read_text())
    assert {found[room]["voters"]["simulated"] for room in ("ties", "agreement", "preference")} == {90}


def test_mixed_study_counts_its_programs_alone(people):
    rows = read_records(people / "votes.jsonl", Vote)
    mine = [replace(row, source="simulated") if n < 4 else row for n, row in enumerate(rows)]
    assert not_people(voters(votes_of(mine))) == ["4 of 90 votes are simulated: programs cast them, not people."]
    assert not_people(voters(votes_of(mine[:1]))) == ["The one vote is simulated: programs cast it, not people."]
    assert not not_people(voters(votes_of(rows))) and not not_people(None)


def test_votes_that_are_left_out_are_not_counted_as_simulated(programs):
    read = votes_of(programs)
    assert voters(read.select(read.pair < 10)).simulated == len(read.select(read.pair < 10)) == 30


def arena(folder, judge):
    rows = [f"{n},x,y,{'model_a' if n % 3 else 'tie'},{name}" for n in range(6) for name in ("ann", judge)]
    path = folder / "arena.csv"
    path.write_text("\n".join(["question_id,model_a,model_b,winner,judge", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("judge", "suspect"), [("y", True), ("claude", False), ("bob", False)])
def test_a_judge_column_that_names_a_model_is_pointed_out(tmp_path, judge, suspect):
    said = " ".join(about_names(votes_of(arena(tmp_path, judge))))
    assert ("1 rater may be no person" in said) == suspect
    if suspect:
        assert repr(judge) in said


def test_with_judges_a_rater_named_like_a_model_counts_as_one(tmp_path):
    with pytest.raises(InputError, match=r"this vote is a judge's .its rater is 'gpt-4-turbo', a judge's name"):
        votes_of(arena(tmp_path, "gpt-4-turbo"))
    votes = votes_of(arena(tmp_path, "gpt-4-turbo"), with_judges=True)
    assert sum(votes.doors[code] == "judge" for code in votes.door.tolist()) == 6
    assert "may be no person" not in " ".join(about_names(votes))
