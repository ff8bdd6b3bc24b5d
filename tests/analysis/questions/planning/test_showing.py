"""What is typed to `analysis plan`: nothing is ignored in silence."""

import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch


@pytest.mark.parametrize("words", [["--from", "potato"], ["--question", "fluent"], ["--uncounted"]])
def test_how_votes_are_to_be_read_is_refused_where_there_are_none(words):
    with pytest.raises(InputError, match=f"^{' '.join(words)} says how votes are to be read: name their table too"):
        dispatch("analysis", "", COMMANDS, ["plan", *words])
