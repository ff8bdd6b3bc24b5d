"""Preference data: majorities, ties apart, soft labels, roles of a chat, and files that a data-set loader opens."""

import dataclasses
import json

import datasets
import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.exchange.preference_data import preference_data, write_preferences
from seedvote.crowd.store import tables
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, OptionChoice, Pair, ResponseRating, ResponseSet, Utterance, Vote
from tests.crowd.sets import SETS, desk_of_sets, judge
from tests.crowd.study import SHORT, desk_of, make_pairs, seated, vote

TALK = (Utterance("user", "Hello."), Utterance("system", "Yes?"), Utterance("user", "Which train?"))
PAIR = Pair("p", "d:3", TALK, Candidate("The 9:05.", "large", 0), Candidate("Blue.", "small"), dialogue="d")


def exported(votes, shown, form="pairs"):
    from seedvote.crowd.exchange.exporting import Export

    return Export(votes, [], "votes:3|v:0", form, records={one.pair: one for one in shown})


def votes(choices, pair="p", **more):
    return [Vote(pair, f"r{n}", choice, 1, source="local", **more) for n, choice in enumerate(choices)]


@pytest.mark.parametrize(
    ("choices", "split", "label", "chosen"),
    [
        ("aab", "preferences", 2 / 3, "The 9:05."),
        ("bb", "preferences", 1.0, "Blue."),
        (("a", "tie", "tie"), "preferences", 2 / 3, "The 9:05."),
        (("a", "b", "tie"), "ties", 0.5, "The 9:05."),
        (("tie", "tie"), "ties", 0.5, "The 9:05."),
    ],
)
def test_preference_label_is_the_share_of_votes(choices, split, label, chosen):
    data = preference_data(exported(votes(choices), [PAIR]))
    (row,) = data.rows(split)
    assert row["soft_label"] == pytest.approx(label)
    assert row["chosen"] == [{"role": "assistant", "content": chosen}]
    assert len(data.preferences) + len(data.ties) == 1
    assert row["votes_chosen"] + row["votes_rejected"] + row["votes_tie"] == len(choices) == len(row["raters"])


def test_swapping_the_responses_and_their_votes_gives_the_same_preference():
    swapped = dataclasses.replace(PAIR, a=PAIR.b, b=PAIR.a)
    (first,) = preference_data(exported(votes("aab"), [PAIR])).preferences
    (second,) = preference_data(exported(votes("bba"), [swapped])).preferences
    assert first == second
    assert [one["choice"] for one in first["raters"]] == ["chosen", "chosen", "rejected"]
    assert (first["chosen_model"], first["rejected_model"]) == ("large-0", "small")


@pytest.mark.parametrize(
    "left_out",
    [
        {"counted": False},
        {"source": "simulated"},
        {"kind": "control"},
        {"extra": {"auto": True}},
    ],
)
def test_what_no_person_preferred_is_left_out_and_counted(left_out):
    void = dataclasses.replace(votes("b")[0], rater="other", **left_out)
    data = preference_data(exported([*votes("a"), void], [PAIR]))
    (row,) = data.preferences
    assert (row["votes_chosen"], row["votes_rejected"]) == (1, 0)
    assert len(data.omitted) == 1 and data.omitted[0].endswith(" (1)")


@pytest.mark.parametrize(
    ("speakers", "roles"),
    [
        (("user", "system", "user"), ["user", "assistant", "user"]),
        (("partner", "self", "partner"), ["user", "assistant", "user"]),
        (("Ann", "Ben", "Ann"), ["user", "assistant", "user"]),
        (("user", "Assistant"), ["user", "assistant"]),
        (("guest",), ["user"]),
        ((), []),
    ],
)
def test_speakers_become_the_roles_of_a_chat(speakers, roles):
    pair = dataclasses.replace(PAIR, context=[Utterance(speaker, "x") for speaker in speakers])
    (row,) = preference_data(exported(votes("a"), [pair])).preferences
    assert [turn["role"] for turn in row["prompt"]] == roles


def test_a_whole_conversation_is_a_list_of_messages():
    talk = dataclasses.replace(PAIR.a, turns=TALK[:2], speaker="system")
    pair = dataclasses.replace(PAIR, context=(), a=talk, b=dataclasses.replace(talk, text="other"))
    (row,) = preference_data(exported(votes("a"), [pair], "conversations")).preferences
    assert [turn["role"] for turn in row["chosen"]] == ["user", "assistant"] and row["prompt"] == []


def test_a_ranking_gives_each_two_responses_that_a_rater_compared():
    responses = [Candidate("one", "x"), Candidate("two", "y"), Candidate("three", "z")]
    shown = {"s": ResponseSet("s", "d:3", TALK, responses)}

    def ranks(rater, heights):
        return [
            ResponseRating("s", rater, "best", "m", "d:3", n, rank=rank, source="local")
            for n, rank in enumerate(heights)
        ]

    sheets = [*ranks("r1", (1.0, 2.5, 2.5)), *ranks("r2", (2.0, 1.0, 3.0))]
    data = preference_data(dataclasses.replace(exported(sheets, [], "responses"), records=shown))
    labels = {row["pair"]: (row["chosen_model"], row["soft_label"]) for row in [*data.preferences, *data.ties]}
    assert labels == {"s:0-1": ("x", 0.5), "s:0-2": ("x", 1.0), "s:1-2": ("y", 0.75)}


def test_next_utterances_are_no_preferences():
    choice = OptionChoice("q", "r", 0)
    with pytest.raises(InputError, match="not the better response"):
        preference_data(exported([choice], [], "choice"))


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_loader_of_data_sets_opens_what_was_rated(tmp_path, form, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    with desk_of(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, SHORT, made=make_pairs(4, 1)) as desk:
        for worker, choice in (("w1", "a"), ("w2", "a"), ("w3", "tie")):
            seat = seated(desk, worker)
            while desk.next_step(seat).stage == "task":
                vote(desk, seat, choice)
        with desk.store.read() as connection:
            data = preference_data(export(connection, votes_per_pair=3))
    write_preferences(tmp_path / "p", data, form=form, licence="cc-by-4.0", title="a study")
    opened = datasets.load_dataset(str(tmp_path / "p"), cache_dir=str(tmp_path / "cache"))
    assert list(opened) == ["preferences"] and opened["preferences"].num_rows == 4
    for row, before in zip(opened["preferences"], data.preferences, strict=True):
        assert row == before
    card = (tmp_path / "p" / "README.md").read_text()
    assert 'license: "cc-by-4.0"' in card and "c0" not in json.dumps(list(opened["preferences"]))


def test_sets_of_a_store_give_preferences_too(tmp_path):
    with desk_of_sets(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, SETS) as desk:
        judge(desk, seated(desk, "w1"))
        with desk.store.read() as connection:
            data = preference_data(export(connection, votes_per_pair=3))
    assert {row["question"] for row in data.preferences} == {"order", "fluency"}
    assert len(data.preferences) == 2 * 6  # questions x pairs of four responses


def test_the_command_writes_both_tables_and_says_what_it_left_out(tmp_path, capsys):
    from seedvote.crowd.__main__ import COMMANDS
    from seedvote.dialogue.shell.command_line import dispatch

    with desk_of(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, SHORT, made=make_pairs(2)) as desk:
        seat = seated(desk, "w1")
        vote(desk, seat, "a")
        vote(desk, seat, "tie")
        with desk.store.write() as connection:
            connection.execute(sa.update(tables.votes).where(tables.votes.c.choice == "tie").values(late=1, counted=0))
        vote(desk, seat := seated(desk, "w2"), "tie")
        vote(desk, seat, "tie")
    assert dispatch("crowd", "", COMMANDS, ["export", str(tmp_path), "--preferences", "--format", "parquet"]) == 0
    printed = capsys.readouterr().out
    assert "1 preference and 1 pair without one" in printed and "Left out: votes that do not count (1)." in printed
    assert "licence: unknown" in printed
    assert sorted(path.name for path in (tmp_path / "preferences").iterdir()) == [
        "README.md", "preferences.parquet", "ties.parquet"
    ]  # fmt: skip
    with pytest.raises(InputError, match="give --preferences as well"):
        dispatch("crowd", "", COMMANDS, ["export", str(tmp_path), "--licence", "mit"])
