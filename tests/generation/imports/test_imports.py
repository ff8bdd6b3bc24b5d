"""Responses from elsewhere: tables, Hugging Face models made here, and a real HTTP server that speaks the protocol."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.importing.answer_rows import read_answer_rows
from seedvote.dialogue.records import Response
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.imports.sources import make_calls
from seedvote.generation.imports.tables import messages_of, parse_columns, read_responses
from tests.dialogue.engines.chat_server import ChatServer

ROWS = [{"id": "TOY00009:1", "answer": "hello, you", "run": 3}, {"id": "TOY00009:3", "answer": "bye", "run": 4}]


def generation(*arguments):
    return dispatch("generation", "", COMMANDS, [str(argument) for argument in arguments])


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_table_is_read_whatever_its_form_and_column_names(tmp_path, form):
    path = tmp_path / f"answers.{form}"
    if form == "csv":
        path.write_text('id,answer,run\nTOY00009:1,"hello, you",3\nTOY00009:3,bye,4\n')
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    generation("import", tmp_path, path, "--columns", "item=id,text=answer,seed=run", "--model", "ours")
    first, second = read_records(tmp_path / "responses.jsonl", Response)
    assert (first.item, first.text, first.seed, first.model) == ("TOY00009:1", "hello, you", 3, "ours")
    assert (second.text, second.seed, second.checkpoint) == ("bye", 4, "last")


def test_two_responses_of_one_model_to_one_context_need_a_draw(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("item,model,text,draw\nd:1,m,one,0\nd:1,m,two,1\n")
    generation("import", tmp_path, path)
    found = read_records(tmp_path / "responses.jsonl", Response)
    assert [(r.text, r.extra["draw"]) for r in found] == [("one", 0), ("two", 1)]
    path.write_text("item,model,text\nd:1,m,one\nd:1,m,two\n")
    with pytest.raises(InputError, match=r"answers.csv:3: a second response of m to d:1, after .*answers.csv:2\. Tell"):
        generation("import", tmp_path, path)


def test_items_that_the_corpus_does_not_hold_are_refused_with_examples(tmp_path, corpus):
    item = next(iterate_examples(read_corpus(corpus).split("test"))).item
    rows = "".join(json.dumps({"item": name, "model": "m", "text": "x"}) + "\n" for name in (item, "nowhere:1", "no:2"))
    (tmp_path / "t.jsonl").write_text(rows)
    sentence = r"2 of its 3 items are not in .*, e.g. 'nowhere:1', 'no:2'. The corpus has items such as '"
    with pytest.raises(InputError, match=sentence):
        generation("import", tmp_path, tmp_path / "t.jsonl", "--corpus", corpus)
    assert not (tmp_path / "responses.jsonl").exists()


def test_responses_without_text_or_context_are_counted_aloud(tmp_path, corpus, capsys):
    item = next(iterate_examples(read_corpus(corpus).split("test"))).item
    path = tmp_path / "answers.csv"
    path.write_text(f"item,model,text\n{item},m,\nnowhere:1,m,hello\n")
    generation("import", tmp_path, path)
    assert "1 of them have no text: raters will see an empty box" in capsys.readouterr().out
    generation("score", tmp_path, "--corpus", corpus)
    assert "1 responses have no context in this corpus and get no score" in capsys.readouterr().out


def import_texts(study, texts, *options, seed=None):
    """Import a table of one response an item under the name `ours`; all texts of the study by model and item."""
    path = study / "answers.jsonl"
    rows = ({"item": f"d:{number}", "text": text, "seed": seed} for number, text in enumerate(texts))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    generation("import", study, path, "--model", "ours", *options)
    return [(r.seed, r.item, r.text) for r in read_records(study / "responses.jsonl", Response)]


def test_import_again_changes_nothing_and_adds_a_seed(tmp_path):
    once = import_texts(tmp_path, ["one", "two"], seed=0)
    assert import_texts(tmp_path, ["one", "two"], seed=0) == once
    assert import_texts(tmp_path, ["three", "two"], seed=1) == [*once, (1, "d:0", "three"), (1, "d:1", "two")]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["one", "two", "changed"], "1 of its 3 differ here, 0 are missing and 0 are new"),
        (["one"], "0 of its 3 differ here, 2 are missing and 0 are new"),
        (["one", "two", "three", "four"], "0 of its 3 differ here, 0 are missing and 1 are new"),
    ],
)
def test_two_systems_are_never_mixed_under_one_name(tmp_path, texts, sentence):
    before = import_texts(tmp_path, ["one", "two", "three"])
    with pytest.raises(InputError, match=sentence):
        import_texts(tmp_path, texts)
    assert [(r.seed, r.item, r.text) for r in read_records(tmp_path / "responses.jsonl", Response)] == before
    assert import_texts(tmp_path, texts, "--replace") == [(None, f"d:{n}", text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("word", ["None", "nan", "null", " N/A "])
def test_import_asks_about_a_word_for_nothing(tmp_path, word, capsys):
    with pytest.raises(InputError, match=r"1 of 2 responses are only .*--missing-words drop"):
        import_texts(tmp_path, ["hello", word])
    assert import_texts(tmp_path, ["hello", word], "--missing-words", "drop") == [(None, "d:0", "hello")]
    assert "1 of 2 rows are left out" in capsys.readouterr().out
    assert import_texts(tmp_path, ["hello", word], "--missing-words", "keep", "--replace")[1][2] == word
    with pytest.raises(InputError, match="leaves none"):
        import_texts(tmp_path, [word], "--missing-words", "drop", "--replace")


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        ("id,answer\n1,a\n", "t.csv", "t.csv:2: no item, model, text here; the columns are id, answer. Map them"),
        ('{"item": "d:1", "model": "m"', "t.jsonl", "t.jsonl:1: not a JSON object"),
        ("[1]\n", "t.jsonl", "a JSON object is expected"),
        ("item,model,text,seed\nd:1,m,a,many\n", "t.csv", "t.csv:2: seed is 'many', which is not a number"),
        ('{"item": "d:1", "model": "m", "text": 5}', "t.jsonl", "text is 5, which is not text"),
        ("", "t.csv", "t.csv is empty"),
        ("item,model,text\n", "t.csv", "holds no rows"),
        ("x", "t.parquet", "cannot be read"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_said_with_its_row(tmp_path, content, name, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_responses(tmp_path / name, {}, {})
    assert sentence in str(caught.value)


def test_columns_that_are_no_fields_are_said():
    with pytest.raises(InputError, match="which is not a field of a response"):
        parse_columns("answer=text")


def test_one_source_is_needed(tmp_path):
    with pytest.raises(InputError, match="Name one source"):
        generation("import", tmp_path)


def test_chat_call_holds_context_and_item_seed(contexts):
    calls = make_calls(contexts, system="Be brief.", temperature=0.5, seed=7, longest=20)
    assert {tuple(m["content"] for m in call.messages) for call in calls} == {
        ("Be brief.", *(turn.text for turn in e.context)) for e in contexts
    }
    assert make_calls(contexts[::-1], system="Be brief.", temperature=0.5, seed=7, longest=20) == calls[::-1]
    assert len({call.options["seed"] for call in calls}) == len(contexts)
    assert calls[0].options["max_tokens"] == 20 and calls[0].options["temperature"] == 0.5


@pytest.fixture
def server():
    with ChatServer() as made:
        yield made


def test_the_command_asks_the_endpoint_and_tells_the_cost(server, corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SEEDVOTE_API_KEY", "from the environment")
    arguments = [
        "import",
        tmp_path,
        "--corpus",
        corpus,
        "--endpoint",
        server.url,
        "--limit",
        "3",
        "--price",
        "100000,50000",
    ]
    generation(*arguments, "--model", "remote", "--seed", "7", "--system", "Be brief.")
    assert "3 replies, 30 tokens in, 6 out, cost 3.3000" in capsys.readouterr().out
    assert {(r.model, r.seed) for r in read_records(tmp_path / "responses.jsonl", Response)} == {("remote", 7)}
    assert {key for key, _ in server.asked} == {"Bearer from the environment"}
    assert server.asked[0][1]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert b"from the environment" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(InputError, match="two numbers are expected"):
        generation(*arguments[:-1], "cheap")


def test_prompts_alone_are_answered_into_a_file(server, tmp_path, capsys):
    prompts = tmp_path / "prompts.jsonl"
    rows = [{"id": "one", "prompt": "Is it open?"}, {"id": "two", "messages": [{"role": "user", "content": "Hi."}]}]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("ours", "theirs"):
        words = ["--prompts", prompts, "--endpoint", server.url, "--model", name, "--concurrency", "1"]
        generation("import", tmp_path / "study", *words)
    printed = capsys.readouterr().out
    assert f"Next: python -m crowd rate {tmp_path / 'study/theirs.jsonl'} {tmp_path / 'study/ours.jsonl'}" in printed
    assert [body["messages"] for _, body in server.asked][:2] == [
        [{"role": "user", "content": "Is it open?"}],
        [{"role": "user", "content": "Hi."}],
    ]
    read, failed = read_answer_rows(tmp_path / "study" / "ours.jsonl")
    assert [(row.name, row.context[0].text) for row in read] == [("one", "Is it open?"), ("two", "Hi.")]
    assert failed == 0 and all(row.text for row in read)
    with pytest.raises(InputError, match=r"ours\.jsonl already exists\. Give the system another name"):
        generation("import", tmp_path / "study", "--prompts", prompts, "--endpoint", server.url, "--model", "ours")


def test_an_endpoint_is_asked_without_pytorch():
    command = "import sys, generation.imports.bringing; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_whole_dialogues_are_answered_and_no_others(server, corpus, tmp_path):
    command = ["import", tmp_path, "--corpus", corpus, "--endpoint", server.url, "--model", "remote"]
    generation(*command, "--whole", "2")
    items = [response.item for response in read_records(tmp_path / "responses.jsonl", Response)]
    by_dialogue = {}
    for example in iterate_examples(read_corpus(corpus).split("test")):
        by_dialogue.setdefault(example.dialogue.dialogue, []).append(example.item)
    answered = {name: turns for name, turns in by_dialogue.items() if {*turns} & {*items}}
    assert len(answered) == 2 and sorted(items) == sorted(item for turns in answered.values() for item in turns)
    with pytest.raises(InputError, match="--limit counts contexts, --whole dialogues"):
        generation(*command, "--whole", "2", "--limit", "3")
    with pytest.raises(InputError, match="--whole is for a model"):
        generation("import", tmp_path, tmp_path / "answers.csv", "--whole", "2")


def test_another_system_message_is_asked_anew_and_the_same_one_is_not(server, corpus, tmp_path):
    command = ["import", tmp_path, "--corpus", corpus, "--endpoint", server.url, "--limit", "3", "--model", "remote"]
    generation(*command, "--system", "Be brief.")
    brief = (tmp_path / "responses.jsonl").read_bytes()
    with pytest.raises(InputError, match=r"another system's: system message was 'Be brief\.', now 'Be kind\.'\. Give"):
        generation(*command, "--system", "Be kind.")
    assert len(server.asked) == 3 and (tmp_path / "responses.jsonl").read_bytes() == brief
    generation(*command, "--system", "Be kind.", "--replace")
    assert [body["messages"][0]["content"] for _, body in server.asked] == ["Be brief."] * 3 + ["Be kind."] * 3
    generation(*command, "--system", "Be brief.", "--replace")
    assert len(server.asked) == 6 and (tmp_path / "responses.jsonl").read_bytes() == brief


@pytest.mark.parametrize("content", [None, "", "  "])
def test_a_reply_without_text_is_counted_and_no_response(server, corpus, tmp_path, capsys, content):
    server.script = [{"content": content, "finish": "length"}]
    generation("import", tmp_path, "--corpus", corpus, "--endpoint", server.url, "--limit", "3", "--concurrency", "1")
    assert "1 of 3 replies hold no text (length) and give no response" in capsys.readouterr().out
    written = read_records(tmp_path / "responses.jsonl", Response)
    assert len(written) == 2 and not {"None", ""} & {response.text for response in written}


@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_a_call_of_a_tool_is_no_reason_to_allow_more_tokens(server, corpus, tmp_path, capsys, finish):
    server.script = [{"content": None, "finish": finish, "message": {"tool_calls": [{"type": "function"}]}}]
    generation("import", tmp_path, "--corpus", corpus, "--endpoint", server.url, "--limit", "3", "--concurrency", "1")
    told = capsys.readouterr().out
    assert (
        "1 of 3 replies call a tool instead of answering and give no response. Turn tools off at the endpoint" in told
    )
    assert "--longest" not in told and "hold no text" not in told
    assert len(read_records(tmp_path / "responses.jsonl", Response)) == 2


def test_what_a_model_thinks_is_no_part_of_its_response(server, corpus, tmp_path, capsys):
    server.script = [{"content": "<think>A hotel?</think>Which area?"}, {"content": "<think>A ho", "finish": "length"}]
    generation("import", tmp_path, "--corpus", corpus, "--endpoint", server.url, "--limit", "3", "--concurrency", "1")
    said = capsys.readouterr().out
    assert "1 of 3 replies begin with the model's thoughts" in said and "1 of 3 replies hold no text (length)" in said
    written = [response.text for response in read_records(tmp_path / "responses.jsonl", Response)]
    assert len(written) == 2 and "Which area?" in written and not any("think" in text for text in written)


def test_the_one_who_answers_is_the_assistant(contexts):
    roles = [message["role"] for message in messages_of(contexts[-1])]
    assert roles == ["assistant" if turn.speaker == "system" else "user" for turn in contexts[-1].context]
    assert roles[-1] == "user"
