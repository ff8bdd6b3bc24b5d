"""Calls of tools in imported chats: asked about, dropped as before, or shown with what the tools gave."""

import json

import pytest

from seedvote.crowd.exchange.answer_tables import answer_table, join_answers, pairs_of_answers, read_answer_file
from seedvote.dialogue.conversations.reading import read_conversations
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair, Part, Utterance
from seedvote.dialogue.tables.reading import read_table
from tests.crowd.exchange.test_answer_files import lines

ASKED = {"role": "user", "content": "Where can I sleep?"}
CALL = Part("tool_call", name="find_hotel", arguments='{"area": "north"}')
RESULT = Part("tool_result", text="Ritz")
SAID = Part("text", text="The Ritz.")
FUNCTION = {"name": "find_hotel", "arguments": CALL.arguments}
OPENAI = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]},
    {"role": "tool", "tool_call_id": "c1", "content": "Ritz"},
    {"role": "assistant", "content": "The Ritz."},
]
LEGACY = [
    {"role": "assistant", "content": None, "function_call": FUNCTION},
    {"role": "function", "name": "find_hotel", "content": "Ritz"},
    {"role": "assistant", "content": "The Ritz."},
]
USE = {"type": "tool_use", "id": "c1", "name": "find_hotel", "input": {"area": "north"}}
GIVEN = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "Ritz"}]}
ANTHROPIC = [
    {"role": "assistant", "content": [USE]},
    {"role": "user", "content": [GIVEN]},
    {"role": "assistant", "content": [{"type": "text", "text": "The Ritz."}]},
]
RESPONSES = [
    {"type": "function_call", "call_id": "c1", **FUNCTION},
    {"type": "function_call_output", "call_id": "c1", "output": "Ritz"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "The Ritz."}]},
]
CHATS = {"OpenAI": OPENAI, "legacy": LEGACY, "Anthropic": ANTHROPIC, "Responses": RESPONSES}


@pytest.mark.parametrize("form", CHATS)
def test_chats_show_calls_or_drop_them_as_before_or_ask(tmp_path, form):
    files = [
        lines(tmp_path / "ours.jsonl", [{"messages": [ASKED, *CHATS[form]]}]),
        lines(tmp_path / "theirs.jsonl", [{"messages": [ASKED, {"role": "assistant", "content": "No."}]}]),
    ]
    with pytest.raises(Unclear, match=r"ours\.jsonl:1: .*calls of tools.*--tool-calls show, or --tool-calls drop"):
        read_answer_file(files[0], tool_calls="")
    (row,) = join_answers([read_answer_file(file, tool_calls="show") for file in files]).table.rows
    assert row.context == (Utterance("user", "Where can I sleep?"),)
    assert row.parts == {"ours": (CALL, RESULT, SAID)}
    assert row.texts["ours"].startswith("[tool call: find_hotel(")
    (row,) = join_answers([read_answer_file(file, tool_calls="drop") for file in files]).table.rows
    assert row.texts == {"ours": "The Ritz.", "theirs": "No."}
    assert not row.parts


@pytest.mark.parametrize("form", ["OpenAI", "legacy", "Anthropic"])
def test_conversations_show_calls_and_come_back_from_the_file(tmp_path, form):
    thanks = [{"role": "user", "content": "Thanks."}, {"role": "assistant", "content": "Bye."}]
    path = lines(tmp_path / "ours.jsonl", [{"messages": [ASKED, *CHATS[form], *thanks]}])
    how = {"stated": {}, "judged": "system"}
    with pytest.raises(Unclear, match="calls of tools"):
        read_conversations(path, tool_calls="", **how)
    (talk,) = read_conversations(path, tool_calls="show", **how)
    assert [turn.speaker for turn in talk.turns] == ["user", "system", "user", "system"]
    assert talk.turns[1].parts == (CALL, RESULT, SAID)
    (dropped,) = read_conversations(path, tool_calls="drop", **how)
    assert [turn.text for turn in dropped.turns] == ["Where can I sleep?", "The Ritz.", "Thanks.", "Bye."]
    pair = Pair("p", "i:1", (), talk.as_side(), dropped.as_side())
    write_records(tmp_path / "pairs.jsonl", [pair], signature="test", kind=Pair)
    assert read_records(tmp_path / "pairs.jsonl", Pair) == [pair]


def test_speaker_of_our_own_records_who_is_called_tool_is_left_out_as_before(tmp_path):
    talk = [{"speaker": "tool", "text": "x"}, ASKED, *ANTHROPIC]
    path = lines(tmp_path / "ours.jsonl", [{"messages": talk}])
    (read,) = read_conversations(path, tool_calls="show", stated={}, judged="system")
    assert [turn.speaker for turn in read.turns] == ["user", "system"]


def test_output_of_batches_shows_calls(tmp_path):
    def batch(body):
        return {"custom_id": "q", "response": {"status_code": 200, "body": body}}

    request = {"custom_id": "q", "body": {"messages": [ASKED]}}
    message = {"content": "Wait.", "tool_calls": [{"type": "function", "function": FUNCTION}]}
    output = [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "Wait."}]}]
    files = [
        lines(tmp_path / "ours.jsonl", [batch({"choices": [{"message": message}]})]),
        lines(tmp_path / "theirs.jsonl", [batch({"output": [*output, {"type": "function_call", **FUNCTION}]})]),
        lines(tmp_path / "asked.jsonl", [request]),
    ]
    for file in files[:2]:
        with pytest.raises(Unclear):
            read_answer_file(file, tool_calls="")
    (pair,) = pairs_of_answers(join_answers([read_answer_file(file, tool_calls="show") for file in files]).table)
    assert pair.a.parts == pair.b.parts == (Part("text", text="Wait."), CALL)
    assert pair.identical
    (row,) = join_answers([read_answer_file(file, tool_calls="drop") for file in files]).table.rows
    assert row.texts == {"ours": "Wait.", "theirs": "Wait."}


def test_tables_show_calls_in_contexts_and_answers(tmp_path):
    answer = [{"type": "tool_use", "name": "find_hotel", "input": {"area": "north"}}]
    row = {"id": "1", "context": [ASKED, *OPENAI, ASKED], "ours": answer, "theirs": "No."}
    (tmp_path / "answers.json").write_text(json.dumps([row]), encoding="utf-8")
    table = read_table(tmp_path / "answers.json")
    with pytest.raises(Unclear):
        answer_table(table, {}, ["ours", "theirs"], "")
    (read,) = answer_table(table, {}, ["ours", "theirs"], "show").rows
    assert [turn.speaker for turn in read.context] == ["user", "system", "user"]
    assert read.context[1].parts == (CALL, RESULT, SAID)
    assert read.parts == {"ours": (CALL,)}


ODD = {
    "no JSON": ({"name": "f", "arguments": "{not json"}, "{not json"),
    "an object": ({"name": "f", "arguments": {"a": [1, None]}}, '{"a": [1, null]}'),
    "markup": ({"name": "f", "arguments": "<script>alert(1)</script>"}, "<script>alert(1)</script>"),
    "huge": ({"name": "f", "arguments": "x" * 300_000}, "x" * 300_000),
    "half a character": ({"name": "f", "arguments": "\ud800"}, "\ud800"),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_arguments_are_shown_as_they_are(tmp_path, kind):
    function, expected = ODD[kind]
    message = {"role": "assistant", "tool_calls": [{"function": function}]}
    (row,) = read_answer_file(lines(tmp_path / "a.jsonl", [{"messages": [ASKED, message]}]), tool_calls="show").rows
    assert row.parts == (Part("tool_call", name="f", arguments=expected),)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "assistant", "tool_calls": "f()"}, "tool_calls is 'f\\(\\)'; a list of calls"),
        ({"role": "assistant", "tool_calls": ["f"]}, "a list of calls is expected"),
        ({"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}, "a tool call has no name"),
        ({"role": "assistant", "tool_calls": [{"function": None}]}, "a tool call has no name"),
    ],
)
def test_calls_without_form_are_a_sentence_with_their_place(tmp_path, message, said):
    path = lines(tmp_path / "a.jsonl", [{"messages": [ASKED, message]}])
    with pytest.raises(InputError, match=rf"a\.jsonl:1.*{said}"):
        read_answer_file(path, tool_calls="show")


def test_file_that_nests_without_end_is_a_sentence(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"messages": ' + "[" * 200_000, encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:1: no JSON"):
        read_answer_file(tmp_path / "a.jsonl")
