"""A file a system: prompts and responses, chat messages, batches of an API; each in the forms in which they come."""

import json

import pytest

from seedvote.crowd.exchange.answer_tables import join_answers, read_answer_file
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Utterance

ASKED = ["Is it open?", "How far is it?"]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def chat(prompt, text):
    told = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": prompt}]
    return [*told, {"role": "assistant", "content": [{"type": "text", "text": text}]}]


def batch(name, text, status=200):
    reply = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    return {"id": "x", "custom_id": name, "response": {"status_code": status, "body": reply}, "error": None}


def request(name, prompt):
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": {"messages": chat(prompt, "")}}


def joined(tmp_path, make, **more):
    """The rows of two systems whose files `make` writes, and what was said of them."""
    files = [lines(tmp_path / f"{who}.jsonl", [make(k, ask, f"{who} {k}") for k, ask in enumerate(ASKED)])
             for who in ("ours", "theirs")]  # fmt: skip
    files += [lines(tmp_path / f"{name}.jsonl", rows) for name, rows in more.items()]
    found = join_answers([read_answer_file(file) for file in files])
    return found.table.rows, found.remarks


FORMS = {
    "prompt and response": lambda k, ask, text: {"prompt": ask, "response": text},
    "ids": lambda k, ask, text: {"id": k, "question": ask, "completion": text},
    "chat": lambda k, ask, text: {"messages": chat(ask, text)},
    "ShareGPT": lambda k, ask, text: {
        "conversations": [{"from": "human", "value": ask}, {"from": "gpt", "value": text}]
    },
    "history apart": lambda k, ask, text: {"messages": chat(ask, "")[:2], "output": text},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_contexts_and_answers(tmp_path, form):
    rows, remarks = joined(tmp_path, FORMS[form])
    assert [row.context for row in rows] == [(Utterance("user", ask),) for ask in ASKED]
    assert [row.texts for row in rows] == [{"ours": f"ours {k}", "theirs": f"theirs {k}"} for k in (0, 1)]
    assert remarks == ()


def test_batch_takes_prompts_from_its_requests(tmp_path):
    rows, remarks = joined(
        tmp_path, lambda k, ask, text: batch(f"q{k}", text, 500 if text == "ours 0" else 200),
        requests=[request(f"q{k}", ask) for k, ask in enumerate(ASKED)],
    )  # fmt: skip
    assert [(row.name, row.context, row.texts) for row in rows] == [
        ("q1", (Utterance("user", ASKED[1]),), {"ours": "ours 1", "theirs": "theirs 1"})
    ]
    assert [sentence.split(" of ")[0] for sentence in remarks] == [
        "Left out: 1 rows", "Left out: 1 contexts that only one system answered."
    ]  # fmt: skip


def test_the_responses_api_is_read_too(tmp_path):
    part = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}
    row = {"custom_id": "q", "response": {"status_code": 200, "body": {"output": [{"type": "reasoning"}, part]}}}
    (found,) = read_answer_file(lines(tmp_path / "a.jsonl", [row])).rows
    assert (found.name, found.text) == ("q", "Yes.")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda k, ask, text: batch(f"q{k}", text), r"theirs\.jsonl:1: no file says what was asked.*requests"),
        (lambda k, ask, text: {"id": text, "prompt": ask, "response": text}, "have no id in common"),
        (lambda k, ask, text: {"id": "q", "prompt": "one", "response": text}, "a second answer of ours to q"),
        (lambda k, ask, text: {"id": k, "prompt": ask + text, "response": text}, "another prompt for 0 than at"),
        (lambda k, ask, text: {"prompt": ask, "response": text * k}, r"ours\.jsonl:1: no answer here"),
        (lambda k, ask, text: {"response": text}, "neither an id .* nor a prompt"),
        (lambda k, ask, text: {"messages": chat(ask, "")[:2]}, "needs the answers of two systems"),
    ],
)
def test_what_cannot_be_joined_is_a_sentence_with_its_place(tmp_path, make, said):
    with pytest.raises(InputError, match=said):
        joined(tmp_path, make)


def test_one_system_is_no_comparison(tmp_path):
    file = read_answer_file(lines(tmp_path / "a.jsonl", [{"prompt": "p", "response": "r"}]))
    with pytest.raises(InputError, match="needs the answers of two systems"):
        join_answers([file])
    with pytest.raises(InputError, match="Two files are named a"):
        join_answers([file, file])
