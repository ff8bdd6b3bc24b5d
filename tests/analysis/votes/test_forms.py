"""What a command that reads votes says of a study whose raters gave none."""

import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.questions.ratings.sets_study import make_sets_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_sets_study(tmp_path_factory.mktemp("sets") / "study")


@pytest.mark.parametrize(
    "command", ["preference", "agreement", "plan", "ties", "worth", "compare", "leaderboard", "choose"]
)
def test_votes_readers_refuse_sets_and_name_commands(study, command):
    for given in (study, study / "ratings.jsonl"):
        if given.is_file() and command in ("leaderboard", "choose"):
            continue
        with pytest.raises(InputError) as refused:
            dispatch("analysis", "", COMMANDS, [command, str(given)])
        said = str(refused.value)
        for words in ("no votes", f"ranks {given} --question order", f"ratings {given} --question fluent"):
            assert words in said, (command, said)
        assert "crowd export" not in said


@pytest.mark.parametrize(
    "command", ["preference", "agreement", "plan", "ties", "ratings", "ranks", "report", "variance"]
)
def test_what_reads_votes_refuses_picks_of_options_and_names_choose(tmp_path, command):
    (tmp_path / "choices.jsonl").write_text('{"format": "choices", "version": 1, "signature": "t"}\n')
    with pytest.raises(InputError, match=f"picks of options and no votes on pairs; type: .* choose {tmp_path}$"):
        dispatch("analysis", "", COMMANDS, [command, str(tmp_path)])


def test_ratings_and_ranks_of_votes_name_preference(tmp_path):
    (tmp_path / "votes.jsonl").write_text('{"pair": "p", "rater": "r", "choice": "a", "rater_status": "passed"}\n')
    for command in ("ratings", "ranks"):
        with pytest.raises(InputError, match=f"no ratings or ranks: .* preference {tmp_path}"):
            dispatch("analysis", "", COMMANDS, [command, str(tmp_path)])
    with pytest.raises(InputError, match=r"no questions.jsonl.* preference"):
        dispatch("analysis", "", COMMANDS, ["choose", str(tmp_path)])
