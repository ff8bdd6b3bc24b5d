"""What `crowd export` says of what it wrote."""

from seedvote.crowd.__main__ import COMMANDS
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.study import SHORT, desk_of, make_pairs, seated, vote


def test_raters_who_only_came_are_told_apart_from_those_who_answered(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/crowd.sqlite"
    with desk_of(url, tmp_path, SHORT, make_pairs(3)) as desk:
        for name in ("ann", "bob", "cem"):
            seat = seated(desk, name)
        vote(desk, seat)
    assert dispatch("crowd", "", COMMANDS, ["export", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith(f"1 votes of 1 rater (3 came): {tmp_path}/votes.jsonl\n")
