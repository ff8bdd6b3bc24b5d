"""Folders as strangers have them: whatever is wrong with one is a sentence, and nothing of it runs."""

import json
import os
import pickle

import pytest

from seedvote.dialogue.command_line import dispatch
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.generation.__main__ import COMMANDS
from tests.generation.imports.toy_models import save, tokenizer_of, torch


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
