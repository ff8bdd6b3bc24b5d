"""Votes from other tools: the files are in those tools' own forms, their content is invented."""

import argparse
import json

import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.commands import import_votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.importing import tools as other_tools
from seedvote.dialogue.records import Candidate, Pair, Utterance, Verdict, Vote
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.shell.command_line import dispatch

MTURK = (
    "HITId,HITTypeId,Title,Description,Keywords,Reward,CreationTime,MaxAssignments,RequesterAnnotation,"
    "AssignmentDurationInSeconds,AutoApprovalDelayInSeconds,Expiration,NumberOfSimilarHITs,LifetimeInSeconds,"
    "AssignmentId,WorkerId,AssignmentStatus,AcceptTime,SubmitTime,AutoApprovalTime,ApprovalTime,RejectionTime,"
    "RequesterFeedback,WorkTimeInSeconds,LifetimeApprovalRate,Last30DaysApprovalRate,Last7DaysApprovalRate,"
)


def pairs_file(folder, *, same=False):
    def candidate(model, text):
        return Candidate(text=text, model=model)

    pairs = [
        Pair(
            pair=f"p{n}",
            item=f"d{n}:1",
            context=(Utterance("user", "hello"),),
            a=candidate("tortoise", f"slow {n}"),
            b=candidate("hare", f"slow {n}" if same else f"fast {n}"),
            kind="check" if n == 3 else "real",
            dialogue=f"d{n}",
            identical=same,
        )
        for n in (1, 2, 3)
    ]
    write_records(folder / "pairs.jsonl", pairs, signature="test", kind=Pair)
    return folder / "pairs.jsonl"


def run(folder, *arguments):
    parser = argparse.ArgumentParser()
    import_votes.add_arguments(parser)
    out = folder / "study" / "votes.jsonl"
    import_votes.run(parser.parse_args([*map(str, arguments), "--out", str(out)]))
    return out


@pytest.fixture
def imported(capsys):
    def imported(folder, *arguments):
        return read_records(run(folder, *arguments), Vote), capsys.readouterr().out

    return imported


def refused(folder, *arguments):
    with pytest.raises(InputError) as complaint:
        run(folder, *arguments)
    assert not (folder / "study").exists()  # nothing half imported, no key either
    return str(complaint.value)


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def mturk_row(n, worker, time, pair, left, answer, status="Approved"):
    return (
        f"H{pair},T1,Compare,Compare,text,$0.10,{time},3,Batch,600,3600,{time},,,"
        f"A{n},{worker},{status},{time},{time},{time},,,,12,100% (5/5),100% (5/5),100% (5/5),{pair},{left},{answer},,\n"
    )


def mturk_file(path, *rows):
    return written(path, MTURK + "Input.pair,Input.left,Answer.better,Approve,Reject\n" + "".join(rows))


SMALL = ("--values", "left=a,right=b")
PLACES = ("--values", "left=A,right=B")  # what the letters of this batch are
NOON, LATER = "Mon Nov 16 12:00:00 PST 2020", "Mon Nov 16 12:05:00 PST 2020"


def test_import_turns_sides_into_responses_and_rounds(tmp_path, imported):
    file = mturk_file(
        tmp_path / "batch.csv",
        mturk_row(1, "WORKER1", LATER, "p1", "b", "A"),
        mturk_row(2, "WORKER2", NOON, "p1", "a", "A"),
        mturk_row(3, "WORKER1", NOON, "p2", "b", "tie"),
    )
    assert "as the response: a 2, tie 1" in refused(tmp_path, file, "--from", "mturk").lower()
    votes, said = imported(tmp_path, file, "--from", "mturk", "--pairs", pairs_file(tmp_path), *PLACES)
    assert [(v.pair, v.round, v.choice, v.left) for v in votes] == [
        ("p1", 1, "a", "a"),
        ("p2", 1, "tie", "b"),
        ("p1", 2, "b", "b"),
    ]
    assert votes[0].submitted == "2020-11-16T20:00:00.000Z"
    assert votes[0].seconds == 12
    assert votes[0].dialogue == "d1"
    assert "Next: python analyze_ties.py" in said


def test_import_hashes_workers_the_same_each_time(tmp_path, imported):
    rows = [mturk_row(n, f"WORKER{n}", NOON, "p1", "a", "A") for n in (1, 2)]
    votes, _ = imported(tmp_path, mturk_file(tmp_path / "batch.csv", *rows), "--from", "mturk")
    out = tmp_path / "study" / "votes.jsonl"
    assert "WORKER" not in out.read_text(encoding="utf-8")
    assert len({vote.rater for vote in votes}) == 2
    assert (out.parent / "rater.key").stat().st_mode & 0o777 == 0o600
    out.unlink()
    again, _ = imported(tmp_path, tmp_path / "batch.csv", "--from", "mturk")
    assert [vote.rater for vote in again] == [vote.rater for vote in votes]


def test_rejected_blank_repeated_and_check_answers_are_dropped_and_counted(tmp_path, imported):
    file = mturk_file(
        tmp_path / "batch.csv",
        mturk_row(1, "W1", NOON, "p1", "a", "A"),
        mturk_row(1, "W1", NOON, "p1", "a", "A"),
        mturk_row(2, "W1", LATER, "p1", "a", "B"),
        mturk_row(3, "W2", NOON, "p1", "a", "B", "Rejected"),
        mturk_row(4, "W3", NOON, "p1", "a", ""),
        mturk_row(5, "W3", NOON, "p3", "a", "A"),
    )
    assert "Is an empty answer a tie, or no vote?" in refused(tmp_path, file, "--from", "mturk")
    blank = ("--values", '""=-')
    votes, said = imported(tmp_path, file, "--from", "mturk", "--pairs", pairs_file(tmp_path), *blank)
    assert [(vote.pair, vote.choice) for vote in votes] == [("p1", "a")]
    assert "6 judgements read" in said
    assert "Dropped: 1 (the same submission again)." in said
    assert "Dropped: 1 (a later vote of the same rater on the same pair)." in said
    assert "Dropped: 1 (rejected, or skipped by the rater)." in said
    assert "Dropped: 1 ('', stated as no vote)." in said
    assert "Dropped: 1 (an answer to a hidden check)." in said
    assert "1 of 2 pairs have no vote" in said


def test_several_pairs_a_hit_are_read_by_number_and_give_no_seconds(tmp_path, imported):
    head = MTURK + "Input.pair1,Input.left1,Input.pair2,Input.left2,Answer.q1,Answer.q2,Approve,Reject\n"
    row = mturk_row(1, "W1", NOON, "p1", "b", "p2,a,right,right")
    columns = "pair=Input.pair{n},left=Input.left{n},choice=Answer.q{n}"
    votes, _ = imported(tmp_path, written(tmp_path / "b.csv", head + row), "--from", "mturk", "--columns", columns)
    assert [(v.pair, v.choice, v.seconds) for v in votes] == [("p1", "a", None), ("p2", "b", None)]


def test_answers_of_a_crowd_form_and_of_radio_buttons_are_read(tmp_path, imported):
    row = mturk_row(1, "W1", NOON, "p1", "b", '"[{""better"":{""a"":true,""b"":false,""tie"":false}}]"')
    form = written(tmp_path / "form.csv", MTURK + "Input.pair,Input.left,Answer.taskAnswers,Approve,Reject\n" + row)
    assert [vote.choice for vote in imported(tmp_path, form, "--from", "mturk", *SMALL)[0]] == ["b"]
    row = mturk_row(1, "W1", NOON, "p1", "b", "false,true")
    radio = written(tmp_path / "r.csv", MTURK + "Input.pair,Input.left,Answer.x.a,Answer.x.b,Approve,Reject\n" + row)
    (tmp_path / "study" / "votes.jsonl").unlink()
    assert [vote.choice for vote in imported(tmp_path, radio, "--from", "mturk", *SMALL)[0]] == ["a"]


POTATO = [
    {"instance_id": "p1", "user_id": "ann@x", "labels": {"better": {"selection": "A"}}, "spans": {}, "links": {}},
    {"instance_id": "p1", "user_id": "bob@x", "labels": {"better": {"selection": "tie"}}, "spans": {}, "links": {}},
]


def potato_lines(folder):
    return written(folder / "annotations.jsonl", "".join(json.dumps(row) + "\n" for row in POTATO))


def test_potatos_letters_are_refused_until_the_order_is_stated(tmp_path, imported):
    file = potato_lines(tmp_path)
    assert "--file-order" in refused(tmp_path, file, "--from", "potato", "--fixed-order")
    assert "--fixed-order" in refused(tmp_path, file, "--from", "potato", "--file-order")
    votes, _ = imported(tmp_path, file, "--from", "potato", "--fixed-order", "--file-order")
    assert [(v.choice, v.left, v.round, v.submitted) for v in votes] == [("a", "a", 1, None), ("tie", "a", 2, None)]
    assert "ann@x" not in (tmp_path / "study" / "votes.jsonl").read_text(encoding="utf-8")


def test_potatos_csv_and_its_lines_say_the_same(tmp_path, imported):
    table = written(tmp_path / "x.csv", "instance_id,user_id,better.selection\np1,ann@x,A\np1,bob@x,tie\n")
    stated = ("--from", "potato", "--fixed-order", "--file-order")
    from_table, _ = imported(tmp_path, table, *stated)
    (tmp_path / "study" / "votes.jsonl").unlink()
    assert imported(tmp_path, potato_lines(tmp_path), *stated)[0] == from_table


def test_potatos_own_state_holds_order_and_time(tmp_path, imported):
    for user, end, order in (("ann", 1706500045.0, [1, 0]), ("bob", 1706500001.5, [0, 1])):
        state = {
            "user_id": user,
            "instance_id_to_label_to_value": {"p1": [[{"schema": "better", "name": "selection"}, "A"]]},
            "instance_id_to_presentation_order": {"p1": {"better": order}},
            "instance_id_to_behavioral_data": {"p1": {"session_end": end, "total_time_ms": 4500}},
        }
        written(tmp_path / "annotation_output" / user / "user_state.json", json.dumps(state))
    votes, _ = imported(tmp_path, tmp_path / "annotation_output", "--from", "potato")
    assert [(v.choice, v.left, v.round, v.seconds) for v in votes] == [("a", "a", 1, 4.5), ("b", "b", 2, 4.5)]


def annotation(n, who, result, *, cancelled=False):
    made = f"2021-03-09T22:16:0{n}.728353Z"
    one = {"id": n, "completed_by": who, "result": result, "was_cancelled": cancelled, "ground_truth": False}
    return one | {"created_at": made, "updated_at": made, "lead_time": 4.288, "task": 1, "result_count": 1}


def selected(side):
    return [{"id": "x", "from_name": "pw", "to_name": "one,two", "type": "pairwise", "value": {"selected": side}}]


def chosen(word):
    return [{"id": "y", "from_name": "pw", "to_name": "one", "type": "choices", "value": {"choices": [word]}}]


def test_label_studio_is_read_with_ties_without_skips(tmp_path, imported):
    task = {
        "id": 1,
        "data": {"pair": "p1", "one": "fast 1", "two": "slow 1"},
        "annotations": [
            annotation(1, 7, selected("left")),
            annotation(2, {"id": 8, "email": "c@example.org"}, selected("right")),
            annotation(3, 9, chosen("Tie")),
            annotation(4, 10, [], cancelled=True),
        ],
    }
    file = written(tmp_path / "export.json", json.dumps([task]))
    assert "names the side" in refused(tmp_path, file, "--from", "label-studio")
    stated = ("--from", "label-studio", "--columns", "left_text=one", "--pairs", pairs_file(tmp_path))
    votes, said = imported(tmp_path, file, *stated)
    assert [(v.choice, v.left) for v in votes] == [("b", "b"), ("a", "b"), ("tie", "b")]
    assert "Dropped: 1 (rejected, or skipped" in said
    assert "example.org" not in (tmp_path / "study" / "votes.jsonl").read_text(encoding="utf-8")


def test_label_studios_table_is_read_in_both_of_its_spellings(tmp_path, imported):
    head = "annotation_id,annotator,created_at,id,lead_time,left,pair,pw,updated_at\n"
    rows = (
        '1,7,2021-03-09T22:16:08Z,1,4.2,b,p1,"[{""selected"": ""left""}]",2021-03-09T22:16:08Z\n'
        "2,8,2021-03-09T22:17:08Z,1,4.2,b,p1,[{'selected': 'right'}],2021-03-09T22:17:08Z\n"
    )
    votes, _ = imported(tmp_path, written(tmp_path / "ls.csv", head + rows), "--from", "label-studio")
    assert [vote.choice for vote in votes] == ["b", "a"]


CHATEVAL = "model_1,model_2,evaluationdataset_id,prompt_id,worker_id,HIT,submit_datetime,results_path,value\n"


def test_chateval_values_stand_for_models(tmp_path, imported):
    rows = "hare,tortoise,1,d1:1,W1,H1,2019-01-01 10:00:00,x,0\ntortoise,hare,1,d1:1,W2,H1,2019-01-01 10:01:00,x,-1\n"
    file = written(tmp_path / "chateval.csv", CHATEVAL + rows)
    votes, _ = imported(tmp_path, file, "--from", "chateval", "--pairs", pairs_file(tmp_path))
    assert [(v.pair, v.choice, v.left, v.round) for v in votes] == [("p1", "b", None, 1), ("p1", "tie", None, 2)]
    (tmp_path / "study" / "votes.jsonl").unlink()
    votes, _ = imported(tmp_path, file, "--from", "chateval")
    assert [(v.pair, v.choice) for v in votes] == [("d1:1|hare|tortoise", "a"), ("d1:1|hare|tortoise", "tie")]


def test_a_side_that_nobody_ever_chose_is_pointed_out(tmp_path, imported):
    rows = "".join(f"hare,tortoise,1,q{n},W1,H1,2019-01-01,x,0\n" for n in range(20))
    _, said = imported(tmp_path, written(tmp_path / "c.csv", CHATEVAL + rows), "--from", "chateval")
    assert "Nobody chose b" in said


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"pair": "p9"}, ["--pairs"], "not in the pairs file"),
        ({"answer": "maybe"}, [], "--values"),
        ({"left": "left"}, [], "the response shown first is expected"),
        ({"left": "b"}, ["--fixed-order"], "does not hold"),
        ({"time": "yesterday"}, [], "is not a time"),
        ({"time": "1706500045000"}, [], "is not a time"),
        ({"time": "nan"}, [], "is not a time"),
        ({"time": ""}, [], "so the order of the votes is unknown"),
        ({"worker": ""}, [], "rater is empty"),
        ({"status": "Rejected"}, [], "None of the 1 judgements can be used"),
    ],
)
def test_what_the_file_does_not_say_is_refused_in_one_sentence(tmp_path, change, options, sentence):
    known = {"worker": "W1", "time": NOON, "pair": "p1", "left": "a", "answer": "A"} | change
    file = mturk_file(tmp_path / "batch.csv", mturk_row(1, **known))
    extra = [pairs_file(tmp_path)] if "--pairs" in options else []
    assert sentence in refused(tmp_path, file, "--from", "mturk", *options, *extra)


@pytest.mark.parametrize(
    ("name", "text", "options", "sentence"),
    [
        ("a.csv", "instance_id,user_id,one.selection,two.selection\np1,u,A,B\n", [], "Candidates: one, two"),
        ("a.csv", "instance_id,user_id\np1,u\n", [], "Candidates: none"),
        ("a.csv", "item,user_id,one.selection\np1,u,A\n", [], "--columns left="),
        ("a.csv", "instance_id,user_id,x.A,x.B\np1,u,true,true\n", [], "several answers at once"),
        ("a.csv", "instance_id,instance_id\np1,u\n", [], "two columns called"),
        ("a.csv", "instance_id,user_id\np1\n", [], "has 1 cell, and the header has 2"),
        ("a.csv", "instance_id,user_id\n", [], "holds no judgements"),
        ("a.jsonl", '{"instance_id": "p1"\n', [], "not a JSON object"),
        ("a.json", "[]", [], "holds no judgements"),
        ("a.csv", "instance_id,user_id,x.A\np1,u,true\n", ["--columns", "pear=x"], "is not one of pair"),
        ("a.csv", "instance_id,user_id,x.A\np1,u,true\n", ["--values", "a=1,b=1"], "two meanings"),
        ("folder/none", "", [], "user_state.json"),
    ],
)
def test_files_that_are_not_what_they_should_be_are_refused(tmp_path, name, text, options, sentence):
    file = written(tmp_path / name, text)
    file = file.parent if name.startswith("folder") else file
    assert sentence in refused(tmp_path, file, "--from", "potato", *options)


def test_import_refuses_equal_texts_and_overwriting(tmp_path, imported):
    row = mturk_row(1, "W1", NOON, "p1", "slow 1", "A")
    file = mturk_file(tmp_path / "batch.csv", row)
    columns = ("--columns", "left=Reject,left_text=Input.left")  # Reject is an empty column
    assert "names the side" in refused(
        tmp_path, file, "--from", "mturk", *columns, "--pairs", pairs_file(tmp_path, same=True)
    )
    imported(tmp_path, file, "--from", "mturk", *columns, "--pairs", pairs_file(tmp_path))
    with pytest.raises(InputError, match="already exists"):
        run(tmp_path, file, "--from", "mturk", "--fixed-order")


def test_a_column_that_is_named_for_one_purpose_is_not_used_for_another(tmp_path, imported):
    task = {"id": 1, "data": {"pair": "p1", "left": "fast 1"}, "annotations": [annotation(1, 7, selected("left"))]}
    file = written(tmp_path / "export.json", json.dumps([task]))
    stated = ("--from", "label-studio", "--columns", "left_text=left", "--pairs", pairs_file(tmp_path))
    assert [vote.choice for vote in imported(tmp_path, file, *stated)[0]] == ["b"]


def test_preference_survives_random_sides(tmp_path, imported):
    rng = child_random(0, "sides")
    truth, rows = {}, []
    for n in range(400):
        choice, left = rng.choices(["a", "b", "tie"], [6, 2, 2])[0], rng.choice("ab")
        letter = "tie" if choice == "tie" else "A" if choice == left else "B"
        truth[f"q{n}"] = choice
        rows.append(mturk_row(n, f"W{n % 20}", NOON, f"q{n}", left, letter))
    votes, _ = imported(tmp_path, mturk_file(tmp_path / "batch.csv", *rows), "--from", "mturk", *PLACES)
    assert {vote.pair: vote.choice for vote in votes} == truth
    letters = [row.rsplit(",", 3)[1] for row in rows]
    assert abs(letters.count("A") - letters.count("B")) < 60 < list(truth.values()).count("a") - 100


def test_votes_a_pair_are_told_where_they_differ(tmp_path, imported):
    rows = [mturk_row(n, f"W{n}", NOON, pair, "a", "A") for n, pair in enumerate(["p1", "p1", "p2"])]
    _, said = imported(tmp_path, mturk_file(tmp_path / "batch.csv", *rows), "--from", "mturk")
    assert "Votes a pair: 1 on 1 of them, 2 on 1 of them." in said


@pytest.mark.parametrize(
    ("name", "text", "tool", "sentence"),
    [
        ("a.json", "{}", "label-studio", "JSON-MIN is not read"),
        ("a.json", '[{"annotations": [{}]}]', "label-studio", "does not have the form"),
        ("a.csv", "prompt_id,worker_id,value,submit_datetime\nq1,W1,0,2019-01-01\n", "chateval", "needs model_1"),
        ("a.csv", CHATEVAL + "x,hare,1,d1:1,W1,H1,2019-01-01,x,0\n", "chateval", "0 pairs compare x and hare"),
        ("a.csv", MTURK + "Input.pair,Answer.taskAnswers\n" + "," * 27 + "p1,[]\n", "mturk", "one JSON object"),
        ("a.csv", "Input.pair,WorkerId,Answer.x\np1,W1,tie\n", "mturk", "so the order of the votes is unknown"),
        (
            "a.csv",
            "Input.pair,WorkerId,Answer.x,SubmitTime,WorkTimeInSeconds\np1,W,tie,0,nan\n",
            "mturk",
            "is not a number",
        ),
        ("a.csv", "\0\ud800", "mturk", "is not text in UTF-8"),
    ],
)
def test_other_tools_files_are_refused_with_a_reason_too(tmp_path, name, text, tool, sentence):
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert sentence in refused(tmp_path, tmp_path / name, "--from", tool, "--pairs", pairs_file(tmp_path))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    for name in ("none.csv", "none.jsonl"):
        assert "cannot be read" in refused(tmp_path, tmp_path / name, "--from", "potato")


def test_a_new_tool_is_one_row_of_the_table(tmp_path, imported, monkeypatch):
    columns = {"pair": "task", "rater": "who", "choice": "better", "left": "first", "submitted": "at"}
    monkeypatch.setitem(
        other_tools.TOOLS, "pen-and-paper", other_tools.Tool(columns, {"top": "a", "bottom": "b", "same": "tie"})
    )
    file = written(
        tmp_path / "sheet.csv", "task,who,better,first,at\np1,Ann,Top,b,2020-01-01\np2,Ann,same,a,2020-01-01\n"
    )
    votes, printed = imported(tmp_path, file, "--from", "pen-and-paper")
    assert [(vote.pair, vote.choice, vote.left) for vote in votes] == [("p1", "b", "b"), ("p2", "tie", "a")]
    assert "2 judgements read from pen-and-paper." in printed


JUDGED = "instance_id,user_id,better,left,submitted,source\np1,ann,a,a,1,people\np2, GPT-X ,b,a,2,{source}\n"


@pytest.mark.parametrize("source", ["judge", " Judge", "people"])
def test_a_judges_answer_stops_the_import_with_its_line(tmp_path, source):
    """By its source, or by a name that stands among the judges of a verdicts.jsonl beside it."""
    table = tmp_path / "a.csv"
    table.write_text(JUDGED.format(source=source))
    verdicts = [Verdict("p1", "gpt-x", "ab", "a")]
    write_records(tmp_path / "verdicts.jsonl", verdicts, signature="s", kind=Verdict)
    said = refused(tmp_path, table, "--from", "potato", "--columns", "choice=better")
    assert f"{table}:3: this vote is a judge's (its rater is 'gpt-x', a judge in " in said
    assert "keep it in verdicts.jsonl, or say --with-judges" in said


def test_judges_that_are_asked_for_keep_their_names_and_are_marked(tmp_path, imported):
    table = tmp_path / "a.csv"
    table.write_text(JUDGED.format(source="judge"))
    votes, said = imported(tmp_path, table, "--from", "potato", "--columns", "choice=better", "--with-judges")
    assert [(vote.source, vote.rater == "GPT-X") for vote in votes] == [("imported", False), ("judge", True)]
    assert "1 of 2 votes is a judge's (GPT-X). Every analysis refuses it" in said
    assert "--with-judges" in said.splitlines()[-1]


def test_verdicts_are_no_export_of_votes(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    write_records(path, [Verdict("p1", "gpt-x", "ab", "a")], signature="s", kind=Verdict)
    assert "holds verdicts, which are a judge's answers" in refused(tmp_path, path, "--from", "potato")


def test_the_tool_is_known_by_its_columns_and_a_doubt_is_an_error(tmp_path, imported):
    batch = mturk_file(tmp_path / "batch.csv", mturk_row(1, "WORKER1", NOON, "p1", "a", "A"))
    votes, said = imported(tmp_path, batch)
    assert len(votes) == 1 and "1 judgement read from mturk." in said
    plain = written(tmp_path / "plain.csv", "pair,rater,choice\np1,ann,a\n")
    (tmp_path / "study" / "votes.jsonl").unlink()
    (tmp_path / "study" / "rater.key").unlink()
    (tmp_path / "study").rmdir()
    assert "no time of submission, so the order of the votes is unknown" in refused(tmp_path, plain)
    arena = written(tmp_path / "arena.csv", "question_id,model_a,model_b,winner,judge\n1,x,y,model_a,ann\n")
    assert "These files are of several tools" in refused(tmp_path, batch, arena)
    assert "is a folder, which only Potato writes" in refused(tmp_path, tmp_path)
    votes, said = imported(tmp_path, plain, "--file-order")
    assert [vote.choice for vote in votes] == ["a"] and "1 judgement read from a plain table." in said


def test_a_word_that_is_no_vote_is_dropped_and_counted(tmp_path, capsys):
    text = "instance_id,user_id,x\np1,u,A\np2,u,skip\np3,u,B\n"
    file = written(tmp_path / "a.csv", text)
    out = tmp_path / "votes.jsonl"
    words = ["--from", "potato", "--values", "a=A,b=B,tie=T,skip=-", "--columns", "choice=x", "--fixed-order",
             "--file-order", "--out", str(out)]  # fmt: skip
    assert dispatch("crowd", "", COMMANDS, ["import-votes", str(file), *words]) == 0
    assert "'skip', stated as no vote" in capsys.readouterr().out
    assert [vote.choice for vote in read_records(out, Vote)] == ["a", "b"]
