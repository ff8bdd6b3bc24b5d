"""States belong to the weights that made them."""

import json

import numpy as np
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest
from seedvote.probes.states import find_states


def test_states_of_weights_that_are_no_more_are_refused(tmp_path):
    weights, path = tmp_path / "models" / "hred-0" / "last.safetensors", tmp_path / "states" / "hred-0-last.npy"
    for folder in (weights.parent, path.parent):
        folder.mkdir(parents=True)
    weights.write_bytes(b"of three epochs")
    np.save(path, np.ones((2, 3), np.float32))
    told = {"model": "hred", "seed": 0, "checkpoint": "last", "ids": ["a", "b"], "weights": digest(weights)}
    path.with_suffix(".json").write_text(json.dumps(told))
    assert [who.name for who in find_states(tmp_path, None, "")] == ["hred-0-last"]
    weights.write_bytes(b"of five epochs")
    with pytest.raises(InputError, match=r"hred-0-last\.npy was made with other weights than .* holds now"):
        find_states(tmp_path, None, "")
    assert find_states(tmp_path, [path], "")  # whoever names a file means it
    weights.unlink()  # weights may be put away once they are encoded
    assert find_states(tmp_path, None, "")
