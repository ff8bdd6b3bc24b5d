"""Votes of every tool: one truth in their forms gives one answer, or a sentence whose advice gives it."""

import json
import shlex

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.votes.cautions import reading_of, told_of_reading
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.inputs import matches_of, study_of_table, votes_of
from seedvote.analysis.votes.systems import contrasts
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.reading import parse_names
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis import worlds_tables as worlds

pytestmark = pytest.mark.usefixtures("hasty_throughout")


def reading(path, *options):
    """What the commands read with these options: system -> votes won, and the ties."""
    typed = dict(zip(options[::2], options[1::2], strict=True))
    asked = {"columns": parse_names(typed.pop("--columns", ""), "--columns"),
             "values": parse_names(typed.pop("--values", ""), "--values")}  # fmt: skip
    asked |= {{"--from": "tool"}.get(name, name.removeprefix("--")): value for name, value in typed.items()}
    matches, known = matches_of(path, None, **asked)
    assert known
    return matches


def counted(matches):
    (one,) = contrasts(matches)
    return {one.first: int((one.votes.choice == 0).sum()), one.second: int((one.votes.choice == 1).sum()),
            "ties": int(one.votes.tie.sum())}  # fmt: skip


TRUE = {"alpha": 101, "beta": 37, "ties": 62}


@pytest.mark.parametrize(
    ("name", "rows", "form"),
    [
        ("arena.json", worlds.arena, "arena table"),
        ("arena.jsonl", worlds.arena, "arena table"),
        ("arena.csv", worlds.arena, "arena table"),
        ("arena.parquet", worlds.arena, "arena table"),
        ("both_bad.json", lambda: worlds.arena(("tie", "both_bad")), "arena table"),
        ("arena3.csv", worlds.arena_in_three_columns, "arena table"),
        ("label_studio.json", worlds.label_studio, "label-studio table"),
        ("label_studio.csv", worlds.label_studio_csv, "label-studio table"),
        ("places.csv", lambda: worlds.mturk(("Input.left_model", "Input.right_model"), ("left", "right", "same")), ""),
        ("argilla.json", worlds.argilla, "argilla table"),
        ("argilla_flat.jsonl", worlds.argilla_flat, "argilla table"),
        ("ranks.csv", worlds.ranks, "ranks"),
        ("plain.csv", worlds.plain, "table of votes"),
        ("plain.csv.gz", worlds.plain, "table of votes"),
        ("plain.tsv", worlds.plain, "table of votes"),
        ("plain.json", worlds.plain, "table of votes"),
        ("plain.xlsx", worlds.plain, "table of votes"),
        ("plain.dta", worlds.plain, "table of votes"),
        ("plain.parquet", worlds.plain, "table of votes"),
    ],
)
def test_every_form_of_one_truth_gives_the_truth(tmp_path, name, rows, form):
    matches = reading(worlds.write(tmp_path / name, rows()))
    assert counted(matches) == TRUE
    line, counts = told_of_reading(matches.votes)
    assert line.startswith(f"Read as: {form}") and "system_a=" in line
    assert "alpha 101, beta 37, 62 ties. Left out: nothing." in counts
    assert "200 votes" in counts and len(matches.votes) == 200


@pytest.mark.parametrize("words", [("A", "B", "Tie"), ("Response A", "Response B", "About the same")])
def test_letters_of_a_batch_are_asked_about(tmp_path, words):
    file = worlds.write(tmp_path / "batch.csv", worlds.mturk(words=words))
    as_columns, _ = ways(file)
    assert counted(reading(file, "--values", as_columns["--values"])) == TRUE


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "utf-8-sig"])
@pytest.mark.parametrize("delimiter", [";", "|", "\t", ","])
def test_any_dialect_and_encoding_of_a_table_is_read(tmp_path, encoding, delimiter):
    rows = worlds.plain(note='Größe, "gut"; oder\nnicht | so')
    (tmp_path / "plain.csv").write_bytes(worlds.as_csv(rows, delimiter).encode(encoding))
    assert counted(reading(tmp_path / "plain.csv")) == TRUE


def test_the_line_says_how_a_file_had_to_be_read(tmp_path):
    text = worlds.as_csv(worlds.plain(note="Größe"), ";")
    (tmp_path / "old.csv").write_bytes(text.encode("cp1252"))
    line, _ = told_of_reading(reading(tmp_path / "old.csv").votes)
    assert line.endswith("[Windows-1252, as it is no UTF-8, semicolons].")


@pytest.mark.parametrize(("name", "rows", "columns"), [
    ("qualtrics.csv", worlds.qualtrics, [f"Q{k + 1}" for k in range(10)]),
    ("titles.csv", worlds.qualtrics, [f"Which is better, {k}?" for k in range(10)]),
    ("forms.csv", worlds.google_forms,
     [f"Which response is better?{f' ({k + 1})' if k else ''}" for k in range(10)]),
])  # fmt: skip
def test_a_survey_is_refused_with_advice_that_gives_the_truth(tmp_path, name, rows, columns):
    file = worlds.write(tmp_path / name, rows())
    with pytest.raises(InputError, match=r"one row a person, one column a question .*10 columns.* --wide key.csv"):
        reading(file)
    key = worlds.write(tmp_path / "key.csv", worlds.survey_key(columns))
    matches = reading(file, "--wide", str(key))
    assert counted(matches) == TRUE
    line, counts = told_of_reading(matches.votes)
    assert 'a="Response 1"' in line.replace("a=Response 1", 'a="Response 1"')
    if name != "forms.csv":
        assert "Left out: 10 (a preview or spam); 10 (the survey was not finished)." in counts
    assert len(np.unique(matches.votes.rater)) == worlds.RATERS


def ways(file, *options):
    with pytest.raises(Unclear) as doubt:
        reading(file, *options)
    return doubt.value.ways


def test_a_place_beside_letters_is_a_doubt_whose_way_out_gives_the_truth(tmp_path):
    file = worlds.write(tmp_path / "ls.json", worlds.label_studio_letters())
    way, turned = ways(file)
    assert way == {"--values": "a=left,b=right"} and turned == {"--values": "b=left,a=right"}
    assert counted(reading(file, *[word for pair in way.items() for word in pair])) == TRUE
    file = worlds.write(tmp_path / "b.csv", worlds.mturk(("Input.model_left", "Input.model_right"), ("A", "B", "Tie")))
    way, turned = ways(file)
    assert way == {"--values": "a=A,b=B"}
    assert counted(reading(file, *[word for pair in way.items() for word in pair])) == TRUE


def test_a_doubt_is_printed_as_whole_commands_that_can_be_pasted(tmp_path, capsys):
    rows = [{**row, "choice": "a", "pair": row["question_id"]} for row in worlds.arena()]
    file = worlds.write(tmp_path / "two.json", rows)
    with pytest.raises(InputError) as refusal:
        dispatch("analysis", "", COMMANDS, ["agreement", str(file), "--clusters", "vote"])
    sentence, *commands = str(refusal.value).splitlines()
    assert "has the columns of arena and also pair and choice" in sentence
    typed, results = zip(
        *(command.split(f"agreement {file} --clusters vote ")[1].split("  # ") for command in commands), strict=True
    )
    assert typed == ("--from arena", "--from plain --columns choice=choice", "--from plain --columns choice=winner")
    assert results == ("alpha 101, beta 37, tie 62", "alpha 106, beta 94", "alpha 101, beta 37, tie 62")
    assert dispatch("analysis", "", COMMANDS, shlex.split(commands[0], comments=True)[4:]) == 0
    assert "alpha 101, beta 37, 62 ties" in capsys.readouterr().out


def test_usual_names_are_taken_and_said(tmp_path):
    rows = [{"item_id": r["pair"], "annotator": r["rater"], "preferred": r["choice"], "system_a": r["system_a"],
             "system_b": r["system_b"]} for r in worlds.plain()]  # fmt: skip
    file = worlds.write(tmp_path / "named.csv", rows)
    matches = reading(file)
    assert counted(matches) == TRUE
    assert "pair=item_id, rater=annotator" in told_of_reading(matches.votes)[0].replace("choice=preferred, ", "")


@pytest.mark.parametrize(
    ("more", "sentence", "option"),
    [
        ({"left": "yes"}, "left is 'yes'", "left=-"),
        ({"kind": "chat"}, "kind is 'chat'", "kind=-"),
        ({"round": "first half"}, "round is 'first half'", "round=-"),
    ],
)
def test_misused_column_name_is_a_doubt(tmp_path, more, sentence, option):
    file = worlds.write(tmp_path / "odd.csv", worlds.plain(**more))
    with pytest.raises(InputError, match=sentence):
        reading(file)
    matches = reading(file, "--columns", option)
    assert counted(matches) == TRUE
    assert option in told_of_reading(matches.votes)[0]


def test_labels_with_commas_are_mapped_in_quotes(tmp_path):
    words = {"a": "Yes, the first", "b": "No ", "tie": "Same; really"}
    rows = [{**row, "choice": words[row["choice"]]} for row in worlds.plain()]
    file = worlds.write(tmp_path / "words.csv", rows)
    typed = "a=\"Yes, the first\",b='No ',tie=Same; really"
    assert counted(reading(file, "--values", typed)) == TRUE
    table = worlds.write(tmp_path / "map.csv", [{"ours": ours, "theirs": word} for ours, word in words.items()])
    assert counted(reading(file, "--values", str(table))) == TRUE
    table = worlds.write(tmp_path / "map.json", {ours: [word] for ours, word in words.items()})
    assert counted(reading(file, "--values", str(table))) == TRUE


def test_the_name_of_a_system_is_an_answer_and_a_stranger_is_refused(tmp_path):
    rows = [{**row, "choice": won} for row, (_, _, won, _) in zip(worlds.plain(), worlds.truth(), strict=True)]
    assert counted(reading(worlds.write(tmp_path / "named.csv", rows))) == TRUE
    rows[3]["system_a"] = rows[3]["system_b"] = "gamma"
    rows[3]["choice"] = "alpha"
    with pytest.raises(InputError, match=r"swapped.csv:5: the answer is 'alpha', and this row compares gamma with gam"):
        reading(worlds.write(tmp_path / "swapped.csv", rows))
    rows = [{**row, "system_a": "a", "system_b": "b"} for row in worlds.plain()]
    with pytest.raises(InputError, match=r"name of a system and of a side\. Rename"):
        reading(worlds.write(tmp_path / "ab.csv", rows))


def test_left_and_right_are_read_by_the_column_that_tells_who_stood_there(tmp_path):
    rng = np.random.default_rng(3)
    rows = []
    for row in worlds.plain():
        left = "ab"[rng.integers(2)]
        side = "tie" if row["choice"] == "tie" else "left" if row["choice"] == left else "right"
        rows.append({**row, "choice": side, "left": left})
    assert counted(reading(worlds.write(tmp_path / "placed.csv", rows))) == TRUE


def test_several_questions_are_never_pooled(tmp_path):
    rows = [{**row, "question": name} for name in ("fluent", "useful") for row in worlds.plain()]
    file = worlds.write(tmp_path / "two.csv", rows)
    assert ways(file) == ({"--question": "fluent"}, {"--question": "useful"})
    matches = reading(file, "--question", "useful")
    assert counted(matches) == TRUE and "question useful" in told_of_reading(matches.votes)[0]
    rows = [{**row, "Answer.polite": "A"} for row in worlds.mturk()]
    file = worlds.write(tmp_path / "batch.csv", rows)
    assert ways(file) == ({"--columns": "choice=Answer.better"}, {"--columns": "choice=Answer.polite"})
    assert counted(reading(file, "--question", "better", "--values", "a=A,b=B")) == TRUE
    twice = [{**row, "turn": turn} for turn in (1, 2) for row in worlds.arena()]
    assert ways(worlds.write(tmp_path / "bench.json", twice)) == ({"--question": "turn 1"}, {"--question": "turn 2"})


def test_an_answer_in_another_control_is_no_blank(tmp_path):
    tasks = worlds.label_studio()
    for task in tasks[:3]:
        task["annotations"][0]["result"] = [{"from_name": "why", "value": {"choices": ["Bad grammar"]}}]
    file = worlds.write(tmp_path / "why.json", tasks)
    with pytest.raises(InputError, match="Candidates: "):
        reading(file)
    with pytest.raises(InputError, match="says both"):
        tasks = worlds.label_studio()
        tasks[0]["annotations"][0]["result"] += [
            {"from_name": "tie", "value": {"choices": ["Tie"]}}, {"from_name": "pw", "value": {"selected": "left"}}
        ]  # fmt: skip
        reading(worlds.write(tmp_path / "both.json", tasks))


@pytest.mark.parametrize(("one", "lost"), [("pw", 62), ("same", 138)])
def test_one_control_of_two_is_refused_with_the_command_that_reads_both(tmp_path, capsys, one, lost):
    file = worlds.write(tmp_path / "ls.csv", worlds.label_studio_csv())
    with pytest.raises(InputError, match=rf"{lost} of 200 answers would be lost") as doubt:
        dispatch("analysis", "python -m analysis", COMMANDS, ["preference", str(file), "--columns", f"choice={one}"])
    advice = str(doubt.value).splitlines()[-1]
    command = f"Type: python -m analysis preference {file} --columns choice=control.pw+same"
    assert advice == f"{command}  # alpha 101, beta 37, tie 62"
    assert counted(reading(file, *shlex.split(advice, comments=True)[-2:])) == TRUE


def test_two_controls_that_are_both_answered_stay_two_questions(tmp_path):
    rows = worlds.label_studio_csv()
    rows[0] |= {"pw": "left", "same": "Tie"}
    file = worlds.write(tmp_path / "both.csv", rows)
    with pytest.raises(InputError, match="which column holds the choice"):
        reading(file)


def test_ranks_and_scores_of_a_metric_are_sent_to_their_commands(tmp_path):
    ranks, scores = tmp_path / "ranks.csv", tmp_path / "scores.csv"
    rows = [f"i{n},r{n % 3},{system},{place}" for n in range(9) for place, system in enumerate(("x", "y", "z"), 1)]
    ranks.write_text("\n".join(["item,rater,system,rank", *rows]) + "\n")
    with pytest.raises(InputError, match=rf"look like ranks. Compare them: python -m analysis ranks {ranks}"):
        votes_of(ranks)
    assert study_of_table(ranks).ratings.ranks
    scores.write_text("system,seed,item,value\nx,0,i1,0.5\ny,0,i1,0.7\n")
    with pytest.raises(InputError, match=rf"scores of a metric\? .* compare-runs {scores}"):
        votes_of(scores)


def test_three_winner_columns_that_contradict_each_other_are_refused(tmp_path):
    rows = worlds.arena_in_three_columns()
    rows[4] |= {"winner_model_a": 1, "winner_model_b": 1, "winner_tie": 0}
    with pytest.raises(InputError, match=r"2 of winner_model_a, .* are 1; one is expected"):
        reading(worlds.write(tmp_path / "three.csv", rows))


def test_ratings_are_sent_to_their_own_command(tmp_path):
    file = worlds.write(tmp_path / "likert.csv", worlds.likert())
    with pytest.raises(InputError, match=rf"ratings on a scale. Compare them: python -m analysis ratings {file}"):
        reading(file)


def test_rankings_and_best_worst_decide_pairs_that_hang_together(tmp_path):
    matches = reading(worlds.write(tmp_path / "orders.csv", worlds.orders()))
    assert matches.systems == ("alpha", "beta", "zero") and len(matches.votes) == 600
    first = contrasts(matches)[0]
    assert [int((first.votes.choice == k).sum()) for k in range(3)] == [101, 37, 62]
    assert "200 answers taken apart into 600 pairs" in matches.votes.ledger.line
    ways = clusters_of(matches.votes)
    assert list(ways) == ["item", "rater"] and len(np.unique(ways["item"])) == 200  # an answer is drawn whole
    shown = {"option_1": "w", "option_2": "x", "option_3": "y", "option_4": "z"}
    rows = [{"item": "i1", "rater": "r", **shown, "best": "x", "worst": "z"},
            {"item": "i2", "rater": "r", **shown, "best": "z", "worst": "w"}]  # fmt: skip
    matches = reading(worlds.write(tmp_path / "bw.csv", rows))
    won = {(one.first, one.second): one.votes.choice.tolist() for one in contrasts(matches)}
    assert won[("w", "z")] == [0, 1] and won[("w", "y")] == [1] and ("x", "y") in won and len(matches.votes) == 10
    rows[0]["best"] = "q"
    with pytest.raises(InputError, match=r"bw2.csv:2: best is 'q' and worst 'z'"):
        reading(worlds.write(tmp_path / "bw2.csv", rows))


def test_where_output_is_for_programs_the_reading_is_told_aside(tmp_path, capsys):
    rows = [*worlds.arena(), {**worlds.arena()[0], "question_id": "lost", "winner": ""}]
    file = worlds.write(tmp_path / "arena.json", rows)
    assert dispatch("analysis", "", COMMANDS, ["preference", str(file), "--json", "-"]) == 0
    out, aside = capsys.readouterr()
    assert json.loads(out)["contrasts"]
    assert "Read as: arena table" in aside and "Left out: 1 (" in aside


def test_json_holds_what_was_read_and_what_was_left_out(tmp_path, capsys):
    """A program that reads standard output alone knows what its numbers rest on."""
    rows = [{**row, "kind": "check" if n < 5 else "real"} for n, row in enumerate(worlds.plain())]
    path = worlds.write(tmp_path / "votes.csv", rows)
    for words in (["agreement", path], ["preference", path, "--sets", "50"], ["plan", path],
                  ["ties", path, "--out", tmp_path, "--size", "50"]):  # fmt: skip
        assert dispatch("analysis", "", COMMANDS, [*map(str, words), "--json", "-"]) == 0
        read = json.loads(capsys.readouterr().out)["reading"]
        assert (read["rows"], read["votes"], read["left_out"]) == (200, 195, {"on check pairs": 5})
        assert read["ties"] == read["choices"]["tie"] and read["systems"] == ["alpha", "beta"]
    assert dispatch("analysis", "", COMMANDS, ["report", str(path)]) == 0
    assert "Left out: 5 (on check pairs)." in capsys.readouterr().out


def test_the_next_command_is_named_as_it_was_typed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/local/bin/seedvote", "ratings"])
    rows = [{"item": n, "rater": "one", "system": s, "score": n % 3 + k} for n in range(4) for k, s in enumerate("xy")]
    assert dispatch("analysis", "", COMMANDS, ["ratings", str(worlds.write(tmp_path / "rated.csv", rows))]) == 0
    assert capsys.readouterr().out.endswith("\nNext: seedvote plan\n")


def undecided(rows, answer, words="I don't know"):
    """The rows, and three more that were answered by words that are no vote."""
    ids = ("pair", "HITId", "AssignmentId")
    more = [{**row, **{name: f"more-{k}" for name in ids if name in row}, answer: words} for k, row in enumerate(rows)]
    return [*rows, *more[:3]]


@pytest.mark.parametrize("name", ["votes.csv", "votes.jsonl"])
@pytest.mark.parametrize("typed", ["I don't know=-", '-="I don\'t know"', '"I don\'t know"=-'])
def test_words_that_are_no_vote_are_left_out_and_counted(tmp_path, name, typed):
    file = worlds.write(tmp_path / name, undecided(worlds.plain(), "choice"))
    matches = reading(file, "--values", typed)
    assert counted(matches) == TRUE
    said = " ".join([*told_of_reading(matches.votes, alone=True), *matches.votes.warnings])
    assert "I don't know" in said and said.count("stated as no vote") == 1
    assert reading_of(matches.votes)["left_out"] == {'"I don\'t know", stated as no vote': 3}


def test_the_advice_for_a_strange_word_leaves_it_out_where_it_is_no_vote(tmp_path):
    file = worlds.write(tmp_path / "votes.csv", undecided(worlds.plain(), "choice", "N/A, really"))
    with pytest.raises(InputError, match="if it is no vote: --values ") as doubt:
        reading(file)
    advice = str(doubt.value).partition("if it is no vote: --values ")[2].partition(" (found:")[0]
    assert counted(reading(file, "--values", shlex.split(advice)[0])) == TRUE
    batch = worlds.write(tmp_path / "batch.csv", undecided(worlds.mturk(), "Answer.better", "skip"))
    with pytest.raises(InputError, match=r"Is it no vote, or a tie\? Add one of: .*skip=-"):
        reading(batch)
    words = reading(batch, "--values", "a=A,b=B,tie=Tie,skip=-")
    assert counted(words) == TRUE and words.votes.ledger.dropped == {"'skip', stated as no vote": 3}


def test_a_dash_may_still_mean_a_tie(tmp_path):
    rows = [{**row, "choice": "-" if row["choice"] == "tie" else row["choice"]} for row in worlds.plain()]
    assert counted(reading(worlds.write(tmp_path / "dash.csv", rows), "--values", "tie=-")) == TRUE


def seeded(column_a="seed_a", column_b="seed_b", seeds=(0, 1)):
    """Votes on two models of two seeds each: one seed of alpha always loses, the other always wins."""
    return [
        {"pair": f"p{n}", "rater": f"r{n % 7}", "system_a": "alpha", "system_b": "beta", column_a: seeds[n % 2],
         column_b: seeds[n // 2 % 2], "choice": "b" if n % 2 else "a"}
        for n in range(40)
    ]  # fmt: skip


@pytest.mark.parametrize("names", [("seed_a", "seed_b"), ("system_a_seed", "system_b_seed"), ("a_seed", "b_seed")])
def test_seeds_of_one_model_are_systems_of_their_own_as_in_a_study(names, tmp_path):
    matches = reading(worlds.write(tmp_path / "seeds.csv", seeded(*names)))
    assert matches.systems == ("alpha-0", "alpha-1", "beta-0", "beta-1")
    won = {(one.first, one.second): (one.votes.choice == 0).mean() for one in contrasts(matches)}
    assert {share for (first, _), share in won.items() if first == "alpha-0"} == {1.0}
    assert {share for (first, _), share in won.items() if first == "alpha-1"} == {0.0}


def test_one_seed_each_leaves_the_names_and_seeds_of_places_are_asked_about(tmp_path):
    rows = seeded(seeds=(5, 5))
    assert reading(worlds.write(tmp_path / "one.csv", rows)).systems == ("alpha", "beta")
    winners = {"a": "alpha", "b": "beta"}
    rows = [{**row, "choice": winners[row["choice"]]} for row in seeded("left_seed", "right_seed")]
    with pytest.raises(InputError, match="left_seed and right_seed are seeds, and nobody knows"):
        reading(worlds.write(tmp_path / "places.csv", rows))
