"""Intents, acts and states that a model names with its replies: asked for, read, and scored by `evaluators task`."""

import json

import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Response
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.evaluators.__main__ import COMMANDS as EVALUATORS
from seedvote.generation.__main__ import COMMANDS as GENERATION
from seedvote.generation.imports.named_fields import FieldRequest, request_fields
from tests.dialogue.engines.chat_server import ChatServer

REQUEST = FieldRequest({"intents": ["Hotel-Inform", "Taxi-Request"], "state": ["hotel-area"]})


def imported(corpus, study, server, *words):
    command = ["import", study, "--corpus", corpus, "--endpoint", server.url, "--model", "agent", "--concurrency", "1"]
    dispatch("generation", "", GENERATION, [str(word) for word in (*command, *words)])


def scored(corpus, study):
    dispatch("evaluators", "", EVALUATORS, ["task", str(study), "--corpus", str(corpus)])
    return json.loads((study / "task.json").read_text())["systems"][0]


def named(example, field):
    turn = example.target if field == "acts" else example.context[-1]
    return list(turn.acts or ())


def test_named_intents_and_acts_are_scored_and_loose_replies_count_as_wrong(corpus, tmp_path, capsys):
    examples = list(iterate_examples(read_corpus(corpus).split("test")))
    right = {"intents": [], "acts": []}
    with ChatServer() as server:
        for n, example in enumerate(examples):
            value = {field: named(example, field) for field in ("intents", "acts")} | {"response": "All right."}
            if n % 4 == 1:
                value["intents"] = ["Hotel-Sing"]
            content = json.dumps(value)
            if n % 4 == 2:
                content = f"<think>A hotel?</think>Here it is:\n```json\n{content}\n```"
            if n % 4 == 3:
                content = content[:-9]
            for field, its in right.items():
                if named(example, field):
                    its.append(n % 4 != 3 and (field == "acts" or n % 4 != 1))
            server.script.append({"content": content})
        imported(corpus, tmp_path / "s", server, "--name-fields", "intents,acts", "--longest", "300", "--system", "Hi.")
        system = server.asked[0][1]["messages"][0]["content"]
    assert system.startswith("Hi.\n\nAnswer with one JSON object") and '"intents": what the user wants' in system
    told = capsys.readouterr().out
    loose, strange = len(examples[3::4]), len(examples[1::4])
    assert f"{loose} of {len(examples)} replies are no JSON object with intents, acts, response" in told
    assert f"{strange} of {len(examples)} replies name what the corpus does not know: Hotel-Sing." in told
    responses = read_records(tmp_path / "s" / "responses.jsonl", Response)
    assert [response.text for response in responses if "{" not in response.text] == ["All right."] * (
        len(examples) - loose
    )
    rates = scored(corpus, tmp_path / "s")["rates"]
    for field, rate in (("intents", "intent_accuracy"), ("acts", "act_accuracy")):
        assert rates[rate]["value"] == pytest.approx(100 * sum(right[field]) / len(right[field]))
    assert "inform" not in rates and "jga" not in rates
    assert "agent-last: no reply has a placeholder such as [hotel_name], so it has neither" in capsys.readouterr().out


def test_a_named_state_is_the_belief_that_joint_goal_accuracy_reads(corpus, tmp_path, capsys):
    examples = list(iterate_examples(read_corpus(corpus).split("test")))
    with ChatServer() as server:
        server.script = [{"content": json.dumps({"state": {}, "response": "Sure."})} for _ in examples]
        imported(corpus, tmp_path / "s", server, "--name-fields", "state")
    system = scored(corpus, tmp_path / "s")
    empty = [not example.context[-1].belief for example in examples]
    assert system["rates"]["jga"]["value"] == pytest.approx(100 * sum(empty) / len(empty))
    assert "nothing that it offers counts" in capsys.readouterr().out


@pytest.mark.parametrize(
    "reply",
    [
        "I have none.",
        '{"intents": ["Hotel-Inform"], "state": {}}',
        '{"intents": ["Hotel-Inform"], "state": {}, "response": ""}',
        '{"intents": ["Hotel-Inform"], "state": [], "response": "ok"}',
        '{"intents": [{"name": "Hotel-Inform"}], "state": {}, "response": "ok"}',
        '{"intents": {"Hotel-Inform": []}, "state": {}, "response": "ok"}',
        '{"intents": ["Hotel-Inform"], "state": {"hotel": "north"}, "response": "ok"}',
        '{"intents": ["Hotel-Inform"], "state": {"hotel": {"area": null}}, "response": "ok"}',
        '{"intents": ["Hotel-Inform"], "intents": [], "state": {}, "response": "ok"}',
        '{"intents": ["Hotel-Inform"], "state": {}, "response": "ok"} {"intents": [], "state": {}, "response": "ok"}',
        '{"example": {"intents": ["Hotel-Inform"], "state": {}, "response": "ok"}, "response": "ok',
        "[" * 100_000 + '{"a":' * 100_000,
        '{"intents": ["Hotel-Inform"], "state": {"hotel": {"stars": 1' + "0" * 5000 + '}}, "response": "ok"}',
    ],
)
def test_a_reply_that_leaves_the_form_names_nothing(reply):
    answer = REQUEST.read(reply)
    assert (answer.is_read, answer.fields, answer.text) == (False, {"intents": [], "state": {}}, reply)


def test_a_reply_in_the_form_is_read_whatever_is_around_it():
    reply = (
        'Gern! {"intents": "taxi-request", "state": {"hotel": {"area": "north", "stars": 4}}, "response": " Ja. "} :}'
    )
    answer = REQUEST.read(reply)
    assert answer.is_read and answer.text == "Ja." and answer.unknown == ("hotel-stars",)
    assert answer.fields == {"intents": ["taxi-request"], "state": {"hotel": {"area": "north", "stars": "4"}}}


def test_the_names_come_from_other_splits_and_strange_fields_are_refused(corpus, tmp_path):
    known = read_corpus(corpus)
    request = request_fields("acts,intents", known, "test")
    assert [*request.names] == ["intents", "acts"] and "Hotel-Inform" in request.names["intents"]
    others = {name for dialogue in known.dialogues if dialogue.split != "test" for turn in dialogue.turns
              for name in turn.acts or ()}  # fmt: skip
    assert {name for names in request.names.values() for name in names} == others
    with pytest.raises(InputError, match="write some of intents, acts, state"):
        request_fields("moods", known, "test")
    with ChatServer() as server, pytest.raises(InputError, match="for a model that answers a corpus"):
        imported(corpus, tmp_path, server, "--name-fields", "acts", "--prompts", tmp_path / "none.jsonl")
