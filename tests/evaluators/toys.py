"""The built-in corpus with few dialogues to train on, for tests of the held-out ones: every command reads all of it."""

import json

from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.files import write_json


def held_out_toy(folder, dialogues, *, train=8):
    """The validation and test splits of a corpus of so many dialogues, and the first of its training split."""
    write_toy(folder, dialogues=dialogues, seed=0)
    held_out = {name for split in ("test", "val") for name in (folder / f"{split}ListFile.txt").read_text().split()}
    every = json.loads((folder / "data.json").read_text("utf-8"))
    kept = {*held_out, *[name for name in every if name not in held_out][:train]}
    write_json(folder / "data.json", {name: said for name, said in every.items() if name in kept})
    return folder
