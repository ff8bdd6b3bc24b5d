"""Responses from elsewhere: tables, Hugging Face models made here, and a real HTTP server that speaks the protocol."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialogue.command_line import dispatch
from dialogue.corpora.examples import examples
from dialogue.corpora.reading import read_corpus
from dialogue.corpora.toy.write import write_toy
from dialogue.errors import InputError
from dialogue.files import read_records
from dialogue.records import Response
from generation.__main__ import COMMANDS
from generation.decoding import parse_decoding
from generation.imports.endpoint import calls_for
from generation.imports.tables import messages_of, parse_columns, read_responses
from tests.dialogue.engines.chat_server import ChatServer

ROWS = [{"id": "TOY00009:1", "answer": "hello, you", "run": 3}, {"id": "TOY00009:3", "answer": "bye", "run": 4}]


def generation(*arguments):
    return dispatch("generation", "", COMMANDS, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_toy(folder, 20, seed=0)
    return folder


@pytest.fixture(scope="module")
def contexts(corpus):
    return list(examples(read_corpus(corpus).split("test")))[:6]


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
    item = next(examples(read_corpus(corpus).split("test"))).item
    rows = "".join(json.dumps({"item": name, "model": "m", "text": "x"}) + "\n" for name in (item, "nowhere:1", "no:2"))
    (tmp_path / "t.jsonl").write_text(rows)
    sentence = r"2 of its 3 items are not in .*, e.g. 'nowhere:1', 'no:2'. The corpus has items such as '"
    with pytest.raises(InputError, match=sentence):
        generation("import", tmp_path, tmp_path / "t.jsonl", "--corpus", corpus)
    assert not (tmp_path / "responses.jsonl").exists()


def test_responses_without_text_or_context_are_counted_aloud(tmp_path, corpus, capsys):
    item = next(examples(read_corpus(corpus).split("test"))).item
    path = tmp_path / "answers.csv"
    path.write_text(f"item,model,text\n{item},m,\nnowhere:1,m,hello\n")
    generation("import", tmp_path, path)
    assert "1 of them have no text: raters will see an empty box" in capsys.readouterr().out
    generation("score", tmp_path, "--corpus", corpus)
    assert "1 responses have no context in this corpus and get no score" in capsys.readouterr().out


def test_a_second_import_replaces_its_own_responses_and_keeps_the_others(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"item": "d:1", "text": "one"}) + "\n")
    generation("import", tmp_path, path, "--model", "ours")
    path.write_text(json.dumps({"item": "d:1", "text": "two"}) + "\n")
    generation("import", tmp_path, path, "--model", "ours")
    generation("import", tmp_path, path, "--model", "theirs")
    assert [(r.model, r.text) for r in read_records(tmp_path / "responses.jsonl", Response)] == [
        ("ours", "two"),
        ("theirs", "two"),
    ]


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


def tiny_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [
        "<pad>",
        "</s>",
        "<unk>",
        "user",
        "assistant",
        ":",
        "hotel",
        "train",
        "please",
        "yes",
        ".",
        "?",
        "i",
        "the",
    ]
    raw = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"), len(
        words
    )


@pytest.fixture(scope="module", params=["causal", "causal with a chat template", "sequence to sequence"])
def folder(request, tmp_path_factory):
    """A tiny model with random weights, in a local folder."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    path = tmp_path_factory.mktemp("model")
    tokenizer, words = tiny_tokenizer()
    if "template" in request.param:
        tokenizer.chat_template = "{% for m in messages %}{{ m.role }} : {{ m.content }}\n{% endfor %}assistant :"
    tokenizer.save_pretrained(path)
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(1)
        if "causal" in request.param:
            config = GPT2Config(
                vocab_size=words,
                n_positions=600,
                n_embd=16,
                n_layer=1,
                n_head=2,
                initializer_range=2.0,
                eos_token_id=1,
                bos_token_id=1,
            )
            model = GPT2LMHeadModel(config)
        else:
            config = T5Config(
                vocab_size=words,
                d_model=16,
                d_ff=16,
                num_layers=1,
                num_heads=2,
                d_kv=8,
                decoder_start_token_id=0,
                pad_token_id=0,
                eos_token_id=1,
                initializer_factor=1.0,
            )
            model = T5ForConditionalGeneration(config)
    model.save_pretrained(path)
    return path


def test_a_hugging_face_model_answers_each_context_alone(folder, contexts):
    from generation.imports.hugging_face import HuggingFace

    model = HuggingFace(str(folder))
    for how in ("greedy", "beam:2", "temperature:1.5", "nucleus:0.9"):
        options = {"how": parse_decoding(how), "seed": 0, "longest": 8, "tell": lambda: None}
        whole = model.respond(contexts, **options)
        assert len(whole) == 6
        assert model.respond(contexts[::-1], **options) == whole[::-1]
        assert model.respond(contexts[2:3], **options) == whole[2:3]


def test_sampling_from_a_hugging_face_model_follows_the_seed(folder, contexts):
    from generation.imports.hugging_face import HuggingFace

    model = HuggingFace(str(folder))
    runs = [
        model.respond(contexts, how=parse_decoding("temperature:1.5"), seed=seed, longest=12, tell=lambda: None)
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_the_command_writes_what_a_hugging_face_model_answers(folder, corpus, tmp_path):
    generation(
        "import",
        tmp_path,
        "--corpus",
        corpus,
        "--hugging-face",
        folder,
        "--limit",
        "3",
        "--longest",
        "5",
        "--model",
        "tiny",
    )
    assert [(r.model, r.decoding) for r in read_records(tmp_path / "responses.jsonl", Response)] == [
        ("tiny", "greedy")
    ] * 3


def test_a_folder_without_a_model_is_said(tmp_path):
    from generation.imports.hugging_face import HuggingFace

    with pytest.raises(InputError, match="holds no Hugging Face model"):
        HuggingFace(str(tmp_path))
    with pytest.raises(InputError, match=r"is neither a local folder nor a downloaded model\. .* add --fetch"):
        HuggingFace("no-such-model-anywhere")


def test_a_call_holds_the_whole_context_and_a_seed_that_follows_from_the_item(contexts):
    calls = calls_for(contexts, system="Be brief.", temperature=0.5, seed=7, longest=20)
    assert {tuple(m["content"] for m in call.messages) for call in calls} == {
        ("Be brief.", *(turn.text for turn in e.context)) for e in contexts
    }
    assert calls_for(contexts[::-1], system="Be brief.", temperature=0.5, seed=7, longest=20) == calls[::-1]
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


def test_another_system_message_is_asked_anew_and_the_same_one_is_not(server, corpus, tmp_path):
    command = ["import", tmp_path, "--corpus", corpus, "--endpoint", server.url, "--limit", "3", "--model", "remote"]
    generation(*command, "--system", "Be brief.")
    brief = (tmp_path / "responses.jsonl").read_bytes()
    generation(*command, "--system", "Be kind.")
    assert len(server.asked) == 6
    assert [body["messages"][0]["content"] for _, body in server.asked] == ["Be brief."] * 3 + ["Be kind."] * 3
    generation(*command, "--system", "Be brief.")
    assert len(server.asked) == 6 and (tmp_path / "responses.jsonl").read_bytes() == brief


@pytest.mark.parametrize("content", [None, "", "  "])
def test_a_reply_without_text_is_counted_and_no_response(server, corpus, tmp_path, capsys, content):
    server.script = [{"content": content, "finish": "length"}]
    generation("import", tmp_path, "--corpus", corpus, "--endpoint", server.url, "--limit", "3", "--concurrency", "1")
    assert "1 of 3 replies hold no text (length) and give no response" in capsys.readouterr().out
    written = read_records(tmp_path / "responses.jsonl", Response)
    assert len(written) == 2 and not {"None", ""} & {response.text for response in written}


def test_the_one_who_answers_is_the_assistant(contexts):
    roles = [message["role"] for message in messages_of(contexts[-1])]
    assert roles == ["assistant" if turn.speaker == "system" else "user" for turn in contexts[-1].context]
    assert roles[-1] == "user"


def test_an_imported_model_ranks_options_as_if_each_were_read_alone(folder):
    import torch

    from generation.imports.hugging_face import HuggingFace

    model = HuggingFace(str(folder))
    messages = [{"role": "user", "content": "hello you"}, {"role": "assistant", "content": "bye"}]
    options = ["hello", "bye bye hello you", "you"]
    together = model.likelihoods(messages, options)
    for text, (found, tokens) in zip(options, together, strict=True):
        assert model.likelihoods(messages, [text]) == [(pytest.approx(found, abs=1e-4), tokens)]
        assert found == pytest.approx(slow_likelihood(model, messages, text, torch), abs=1e-4)


def slow_likelihood(model, messages, text, torch):
    """Every token predicted from all before it, without anything kept."""
    blank = "" if model.tokenizer.chat_template or model.model.config.is_encoder_decoder else " "
    target = [*model.tokenizer(blank + text, add_special_tokens=False)["input_ids"], model.tokenizer.eos_token_id]
    inputs, total = model._inputs(messages), 0.0
    for k, token in enumerate(target):
        before = torch.tensor([target[:k]], dtype=torch.long)
        with torch.inference_mode():
            if model.model.config.is_encoder_decoder:
                logits = model.model(**inputs, decoder_input_ids=torch.cat([torch.tensor([[0]]), before], 1)).logits
            else:
                logits = model.model(input_ids=torch.cat([inputs["input_ids"], before], 1)).logits
        total += float(logits[0, -1].log_softmax(0)[token])
    return total
