"""Imported models of Hugging Face's form, made here with random weights: what is asked for is what is decoded."""

import json
import os
import pickle

import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Response
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.decoding import parse_decoding
from seedvote.generation.imports.sources import answer_prompts
from tests.generation.imports.toy_models import PLAIN, save, tokenizer_of

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

STRICT = """{% if messages[0].role == 'system' %}{{ raise_exception('no system message') }}{% endif %}
{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('roles must alternate, the user first') }}{% endif %}{{ m.role }} : {{ m.content }}
{% endfor %}assistant :"""


def generation(*arguments):
    return dispatch("generation", "", COMMANDS, [str(argument) for argument in arguments])


KINDS = {"causal": ("causal", None), "causal with a chat template": ("causal", PLAIN),
         "sequence to sequence": ("sequence to sequence", PLAIN)}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def folder(request, tmp_path_factory):
    kind, template = KINDS[request.param]
    return save(tmp_path_factory.mktemp("model"), kind, template)


@pytest.fixture(scope="module")
def gpt(tmp_path_factory):
    return save(tmp_path_factory.mktemp("gpt"), "causal")


def loaded(folder, precision="float64", **more):
    from seedvote.generation.imports.hugging_face import HuggingFace

    return HuggingFace(str(folder), precision=precision, **more)


def writing(how="greedy", seed=0, longest=8):
    from seedvote.generation.imports.hugging_face import Writing

    return Writing(parse_decoding(how), seed, longest)


def answers(model, contexts, how):
    return model.answer(model.prompts(contexts, how.longest), [one.item for one in contexts], how)


@pytest.mark.parametrize("how", ["greedy", "beam:2", "temperature:1.5", "nucleus:0.9+top_k:9"])
def test_an_answer_is_the_same_whatever_else_is_in_the_batch(folder, contexts, how):
    model, how = loaded(folder), writing(how)
    whole = answers(model, contexts, how)
    assert len({len(one.tokens) for one in model.prompts(contexts, 8)}) > 1, "nothing was padded"
    assert answers(model, contexts[::-1], how) == whole[::-1]
    assert [answers(model, [one], how)[0] for one in contexts] == whole


def test_greedy_takes_the_likeliest_token(folder, contexts):
    model = loaded(folder)
    assert model.set_aside() == {"repetition_penalty": 5.0, "no_repeat_ngram_size": 2}
    found = answers(model, contexts, writing())
    for prompt, reply in zip(model.prompts(contexts, 8), found, strict=True):
        ids, said = torch.tensor([prompt.tokens]), []
        while len(said) < 8 and 1 not in said:
            with torch.inference_mode():
                if model.encodes:
                    before = torch.tensor([[0, *said]])
                    logits = model.model(input_ids=ids, decoder_input_ids=before).logits
                else:
                    logits = model.model(input_ids=torch.cat([ids, torch.tensor([said], dtype=torch.long)], 1)).logits
            said.append(int(logits[0, -1].argmax()))
        assert reply.finish == ("stop" if 1 in said else "length") and reply.tokens_out == len(said)
        assert reply.text == model.tokenizer.decode(said, skip_special_tokens=True).strip()


def test_what_is_drawn_follows_from_seed_and_item(folder, contexts):
    model = loaded(folder)
    runs = [answers(model, contexts, writing("temperature:1.5", seed, 12)) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    same = model.prompts(contexts[:1] * 2, 12)
    first, second = model.answer(same, ["one", "another"], writing("temperature:3", 0, 12))
    assert first.text != second.text


def test_long_context_loses_its_oldest_turns(tmp_path, contexts):
    from seedvote.generation.imports.prompting import CUT, SHORTENED, describe_changes

    model = loaded(save(tmp_path, "causal", n_positions=40))
    prompts = model.prompts(contexts, 10)
    assert all(len(prompt.tokens) <= 30 for prompt in prompts) and any(
        SHORTENED in prompt.changes for prompt in prompts
    )
    for example, prompt in zip(contexts, prompts, strict=True):
        last = example.context[-1].text.split()[-1]
        assert prompt.text.endswith("Assistant:") and last in prompt.text.splitlines()[-2]
    assert any("of 6 contexts: the oldest turns were left out" in told for told in describe_changes(prompts))
    answers(model, contexts, writing(longest=10))
    tiny = model.prompts(contexts, 34)
    assert all(len(prompt.tokens) <= 6 for prompt in tiny) and any(CUT in prompt.changes for prompt in tiny)
    with pytest.raises(InputError, match="The model reads 0 tokens besides its answer"):
        model.prompts(contexts, 40)


TURNS = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hotel please"},
         {"role": "assistant", "content": "where"}, {"role": "user", "content": "in the train"}]  # fmt: skip
WRITTEN = {
    "transcript": "Be kind.\nUser: hotel please\nAssistant: where\nUser: in the train\nAssistant:",
    "dialogpt": "Be kind.\n\nhotel please</s>where</s>in the train</s>",
    "blenderbot": "Be kind.\n\nhotel please  where  in the train",
    "godel": "Be kind. [CONTEXT] hotel please EOS where EOS in the train",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_named_template_writes_a_dialogue_as_its_family_reads_it(name):
    from seedvote.generation.imports.prompting import TEMPLATES, Prompter

    assert set(TEMPLATES) == set(WRITTEN)
    assert Prompter(tokenizer_of(PLAIN), None, template=TEMPLATES[name]).prompt(TURNS).text == WRITTEN[name]
    if name == "godel":
        text = Prompter(tokenizer_of(), None, template=TEMPLATES[name]).prompt(TURNS[1:]).text
        assert text.startswith(
            "Instruction: given a dialog context, you need to response empathically. [CONTEXT] hotel"
        )


def test_a_family_without_a_known_template_is_refused_until_one_is_named(tmp_path, contexts):
    folder = save(tmp_path / "t5", "sequence to sequence")
    with pytest.raises(
        InputError, match=r"has no chat template, and none is known for models of type t5\. .*--template"
    ):
        loaded(folder)
    with pytest.raises(
        InputError, match=r"--template is 'other'\. Choose from transcript, dialogpt, blenderbot, godel"
    ):
        loaded(folder, template="other")
    assert loaded(folder, template="godel").facts()["template"] == "godel"
    own = tmp_path / "own.jinja"
    own.write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}")
    model = loaded(folder, template=str(own))
    assert model.prompts(contexts[:1], 8)[0].text.startswith("[") and len(model.facts()["template"]) == 16
    assert "written by the template own.jinja." in model.template.describe()


def test_dialogpt_is_known_by_its_settings_and_a_chat_template_goes_first(tmp_path):
    folder = save(tmp_path, "causal")
    assert loaded(folder).template.name == "transcript"
    change(folder, task_specific_params={"conversational": {"max_length": 1000}})
    assert loaded(folder).template.name == "dialogpt" and loaded(folder).stops == ()
    tokenizer_of(PLAIN).save_pretrained(folder)
    assert loaded(folder).template.describe() == "" and loaded(folder, template="transcript").stops == ("\n",)


@pytest.mark.parametrize("how", ["greedy", "temperature:1.5", "beam:2"])
def test_a_reply_ends_before_a_stop(gpt, contexts, how):
    how = writing(how, longest=12)
    free = answers(loaded(gpt), contexts, how)
    word = next(word for reply in free for word in reply.text.split()[1:] if reply.text.split()[0] != word)
    stopped = answers(loaded(gpt, stops=[word]), contexts, how)
    assert not any(word in reply.text for reply in stopped) and any(reply.text for reply in stopped)
    assert any(reply.tokens_out < whole.tokens_out for reply, whole in zip(stopped, free, strict=True))
    for reply, whole in zip(stopped, free, strict=True):
        if not how.how.beam:  # else another beam may win
            assert reply.text == whole.text.partition(word)[0].strip() and reply.tokens_out <= whole.tokens_out
            assert reply.finish == ("stop" if word in whole.text else whole.finish)


@pytest.mark.parametrize(("roles", "told"), [
    ("ua", []), ("uau", []), ("uua", ["joined"]), ("au", ["empty turn"]), ("aau", ["empty turn", "joined"]),
])  # fmt: skip
def test_a_template_that_wants_two_speakers_in_turn_gets_them(roles, told):
    from seedvote.generation.imports.prompting import Prompter

    prompter = Prompter(tokenizer_of(STRICT), None)
    names = {"u": "user", "a": "assistant"}
    messages = [{"role": names[role], "content": f"{role}{n}"} for n, role in enumerate(roles)]
    for system in ([], [{"role": "system", "content": "Be brief."}]):
        found = prompter.prompt([*system, *messages])
        assert all(one["content"] in found.text for one in (*system, *messages))
        expected = [*(word for word in told if word != "empty turn"), "system message"] if system else told
        assert len(found.changes) == len(expected)
        assert all(any(word in change for change in found.changes) for word in expected)


@pytest.mark.parametrize(("kind", "sentence"), [
    ("BertModel", "has no weights for .*: they would be random"),
    ("BertForMaskedLM", "is an encoder: what it says of a word depends on the words behind it"),
])  # fmt: skip
def test_a_model_that_writes_no_text_is_refused(tmp_path, kind, sentence):
    with pytest.raises(InputError, match=sentence):
        loaded(save(tmp_path, kind))


def test_a_folder_without_a_model_is_said(tmp_path):
    with pytest.raises(InputError, match="holds no Hugging Face model"):
        loaded(tmp_path)
    with pytest.raises(InputError, match=r"is neither a local folder nor a downloaded model\. .* add --fetch"):
        loaded("no-such-model-anywhere")


def test_what_was_answered_before_a_run_was_broken_off_is_not_asked_again(gpt, contexts, tmp_path, monkeypatch):
    model, how, journal = loaded(gpt), writing(), tmp_path / "journal.jsonl"
    prompts, items = model.prompts(contexts, 8), [one.item for one in contexts]
    whole, asked, until = answers(model, contexts, how), [], 4
    real = type(model).answer

    def answer(self, some, of, how):
        if len(asked) == until:
            raise KeyboardInterrupt
        asked.extend(of)
        return real(self, some, of, how)

    monkeypatch.setattr(type(model), "answer", answer)
    told = []
    ask = {"journal": journal, "batch": 2, "tell": told.append}
    with pytest.raises(KeyboardInterrupt):
        answer_prompts(model, prompts, items, how, **ask)
    with journal.open("a") as file:
        file.write('{"sent": "cut off in mid-l')
    until = -1
    asked.clear()
    assert answer_prompts(model, prompts, items, how, **ask) == whole
    assert len(asked) == 2 and told == [0, 2, 2, 4, 2]
    asked.clear()
    answer_prompts(model, prompts, items, writing(longest=7), **ask)
    assert len(asked) == 6, "shorter answers are other answers"


def tiny_import(study, corpus, folder, *more):
    generation("import", study, "--corpus", corpus, "--hugging-face", folder, "--limit", "3", "--longest", "5",
               "--model", "tiny", *more)  # fmt: skip


def test_the_command_writes_what_the_model_answers_and_what_it_is(gpt, corpus, tmp_path, capsys):
    tiny_import(tmp_path, corpus, gpt, "--keep-cut", "--precision", "float64")
    found = read_records(tmp_path / "responses.jsonl", Response)
    assert [(r.model, r.decoding) for r in found] == [("tiny", "greedy")] * 3
    told = capsys.readouterr().out
    assert "own settings of decoding are not used: no_repeat_ngram_size = 2, repetition_penalty = 5.0" in told
    assert (
        "Contexts are written by the template transcript (one line a turn, for models that continue any text), " in told
    )
    assert r"and a reply ends before '\n'." in told
    card = json.loads((tmp_path / "imports" / "tiny.json").read_text())
    assert card["architecture"] == "GPT2LMHeadModel" and card["template"] == "transcript" and len(card["weights"]) == 16
    before = (tmp_path / "responses.jsonl").read_bytes()
    tiny_import(tmp_path, corpus, gpt, "--keep-cut", "--precision", "float64")
    assert (tmp_path / "responses.jsonl").read_bytes() == before


def test_replies_that_were_cut_off_are_no_responses_unless_they_are_wanted(gpt, corpus, tmp_path, capsys):
    model = loaded(gpt, "float32")
    contexts = list(iterate_examples(read_corpus(corpus).split("test")))
    from seedvote.generation.numbering import evenly_spread

    cut = sum(one.finish == "length" for one in answers(model, evenly_spread(contexts, 3), writing(longest=5)))
    assert cut, "nothing was cut off"
    if cut == 3:
        with pytest.raises(InputError, match=r"No reply is a response\. 3 of 3 replies were cut off after 5 tokens"):
            tiny_import(tmp_path, corpus, gpt)
    else:
        tiny_import(tmp_path, corpus, gpt)
        assert f"{cut} of 3 replies were cut off after 5 tokens and give no response" in capsys.readouterr().out
    tiny_import(tmp_path, corpus, gpt, "--keep-cut", "--replace")
    assert f"{cut} of 3 responses end where they were cut off, after 5 tokens" in capsys.readouterr().out
    assert len(read_records(tmp_path / "responses.jsonl", Response)) == 3


def test_a_name_stands_for_one_system(gpt, corpus, tmp_path, tmp_path_factory):
    tiny_import(tmp_path, corpus, gpt, "--keep-cut")
    before = (tmp_path / "responses.jsonl").read_bytes()
    with pytest.raises(InputError, match=r"are another system's: system message was none, now 'Be kind\.'"):
        tiny_import(tmp_path, corpus, gpt, "--keep-cut", "--system", "Be kind.")
    other = save(tmp_path_factory.mktemp("other"), "causal", n_positions=500)
    with pytest.raises(InputError, match=r"another system's: weights was '\w+', now '\w+'\."):
        tiny_import(tmp_path, corpus, other, "--keep-cut")
    table = tmp_path / "t.jsonl"
    item = json.loads(before.splitlines()[1])["item"]
    table.write_text(json.dumps({"item": item, "model": "tiny", "text": "x"}) + "\n")
    with pytest.raises(InputError, match=r"architecture was 'GPT2LMHeadModel', now none"):
        generation("import", tmp_path, table, "--corpus", corpus)
    assert (tmp_path / "responses.jsonl").read_bytes() == before
    tiny_import(tmp_path, corpus, other, "--keep-cut", "--replace", "--decoding", "beam:2")
    assert {r.decoding for r in read_records(tmp_path / "responses.jsonl", Response)} == {"beam:2"}


def test_another_corpus_is_refused_before_anything_is_asked(gpt, corpus, tmp_path, tmp_path_factory):
    tiny_import(tmp_path, corpus, gpt, "--keep-cut")
    other = tmp_path_factory.mktemp("another") / "corpus"
    write_toy(other, 20, seed=1)
    for command in (["import", tmp_path, "--hugging-face", gpt, "--limit", "3"], ["score", tmp_path]):
        with pytest.raises(InputError, match="answers another corpus than the one given"):
            generation(*command, "--corpus", other)


def test_a_split_without_contexts_is_refused(gpt, tmp_path):
    (tmp_path / "train.jsonl").write_text('{"dialogue": "d", "split": "train", "turns": ["hello", "yes"]}\n')
    with pytest.raises(InputError, match=r"no contexts in its split test \(dialogues: train 1\)\. Name another"):
        generation("import", tmp_path, "--corpus", tmp_path / "train.jsonl", "--hugging-face", gpt)


def test_an_imported_model_ranks_options_as_if_each_were_read_alone(folder):
    import torch

    from seedvote.generation.imports.hugging_face import HuggingFace

    model = HuggingFace(str(folder))
    messages = [{"role": "user", "content": "hello you"}, {"role": "assistant", "content": "bye"}]
    options = ["hello", "bye bye hello you", "you"]
    together = model.likelihoods(messages, options)
    for text, (found, tokens) in zip(options, together, strict=True):
        assert model.likelihoods(messages, [text]) == [(pytest.approx(found, abs=1e-4), tokens)]
        assert found == pytest.approx(slow_likelihood(model, messages, text, torch), abs=1e-4)


def slow_likelihood(model, messages, text, torch):
    """Every token predicted from all before it, without anything kept."""
    blank = "" if model.tokenizer.chat_template else " "
    target = [*model.tokenizer(blank + text, add_special_tokens=False)["input_ids"], model.tokenizer.eos_token_id]
    inputs, total = model._make_inputs(messages), 0.0
    for k, token in enumerate(target):
        before = torch.tensor([target[:k]], dtype=torch.long)
        with torch.inference_mode():
            if model.model.config.is_encoder_decoder:
                logits = model.model(**inputs, decoder_input_ids=torch.cat([torch.tensor([[0]]), before], 1)).logits
            else:
                logits = model.model(input_ids=torch.cat([inputs["input_ids"], before], 1)).logits
        total += float(logits[0, -1].log_softmax(0)[token])
    return total


# Folders as strangers have them: whatever is wrong with one is a sentence, and nothing of it runs.


def change(path, **settings):
    config = json.loads((path / "config.json").read_text()) | settings
    (path / "config.json").write_text(json.dumps(config))


def cut_weights(path):
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:500])


def no_tokenizer(path):
    for file in path.glob("token*"):
        file.unlink()


def another_tokenizer(path):
    made = tokenizer_of()
    made.add_tokens(
        [f"w{n}" for n in range(30)] + ["need", "want", "looking", "north", "cheap", "like", "need", "book"]
    )
    made.save_pretrained(path)


def no_numbers(path):
    from safetensors.torch import load_file, save_file

    weights = load_file(path / "model.safetensors")
    for part in weights.values():
        part[:] = float("nan")
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})


class Planted:
    def __init__(self, leaves):
        self.leaves = leaves

    def __reduce__(self):
        return os.mkdir, (str(self.leaves),)


def pickled(path):
    (path / "model.safetensors").unlink()
    torch.save({"x": Planted(path / "ran")}, path / "pytorch_model.bin", pickle_module=pickle)


def own_code(path):
    change(path, model_type="planted", auto_map=dict.fromkeys(("AutoConfig", "AutoModel"), "code.Planted"))
    (path / "code.py").write_text(f"import os\nos.mkdir({str(path / 'ran')!r})\n")


def template(text):
    return lambda path: (path / "chat_template.jinja").write_text(text)


HOSTILE = {
    "weights that were cut off": (cut_weights, "holds no Hugging Face model"),
    "settings that were cut off": (lambda path: (path / "config.json").write_text('{"model'), "holds no Hugging Face"),
    "an architecture nobody knows": (lambda path: change(path, model_type="none"), "holds no Hugging Face model"),
    "weights of another size": (lambda path: change(path, n_embd=32), "holds no Hugging Face model"),
    "a tokenizer that is gone": (no_tokenizer, "makes no token of a context"),
    "a tokenizer of another model": (another_tokenizer, "they do not belong together"),
    "weights that are no numbers": (no_numbers, "No reply is a response|are no numbers"),
    "weights that run code": (pickled, "holds no Hugging Face model"),
    "code of its own": (own_code, "holds no Hugging Face model"),
    "a template without the context": (template("assistant:"), r"leaves out \d+ of \d+ turns"),
    "a template without the last turn": (
        template("{% for m in messages[:-1] %}{{ m.content }}{% endfor %}you"), "leaves out 1 of"),
    "a template that cannot be read": (template("{% for m in %}"), "template takes no such dialogue"),
    "a template that reaches out": (template("{{ ''.__class__.__mro__ }}"), "template takes no such dialogue"),
    "a window of four tokens": (lambda path: None, "too few for one word of a context"),
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_toy(folder, 10, seed=0)
    return folder


@pytest.mark.parametrize("what", HOSTILE)
def test_a_folder_with(what, tmp_path, corpus):
    spoil, sentence = HOSTILE[what]
    folder = save(tmp_path / "model", "causal", **({"n_positions": 4} if "window" in what else {}))
    spoil(folder)
    for command in (("import", "--longest", "3"), ("encode", "--splits", "test")):
        words = [command[0], tmp_path / "study", "--corpus", corpus, "--hugging-face", folder, "--limit", "2"]
        with pytest.raises(InputError, match=sentence):
            dispatch("generation", "", COMMANDS, [str(word) for word in (*words, *command[1:])])
    assert not (folder / "ran").exists() and not list(tmp_path.rglob("*.npy"))
