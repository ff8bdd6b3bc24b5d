"""`analysis choose` and its section of the report as a user meets them."""

import json

import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.questions.choice.made import made_answers, made_questions, write_choice_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    questions = made_questions(40, ("toy", "other"))
    return write_choice_study(tmp_path_factory.mktemp("study"), questions, made_answers(questions))


@pytest.fixture
def say(capsys):
    def call(*words):
        assert dispatch("analysis", "", COMMANDS, [*map(str, words)]) == 0
        return capsys.readouterr().out

    return call


def test_strata_models_and_differences(say, study):
    out = say("choose", study, "--by", "knowledge")
    for name in ("all", "expert", "novice", "m, log p", "shortest", "chance"):
        assert f"\n{name} " in out
    assert "People less models on the same questions, in points" in out
    assert "No stratum of knowledge is shown to differ" in out or "Raters of knowledge" in out
    assert "The median answer took" in out


def test_the_papers_form_its_cells_and_who_took_part(say, study):
    out = say("choose", study, "--as-published", "--published", "--participants")
    assert "± 5.2*" in out
    assert "98.4 % ± 2.7*" in out
    assert "n min(p, 1 - p) < 5" in out
    assert "knowledge  expert" in out


def test_report_json_latex_and_figure_say_the_same(say, study, tmp_path):
    out = say("choose", study, "--json", tmp_path / "c.json", "--latex", tmp_path / "c.tex", "--figure", tmp_path / "c")
    found = json.loads((tmp_path / "c.json").read_text())
    assert (tmp_path / "c.png").exists()
    assert r"\begin{tabular}" in (tmp_path / "c.tex").read_text()
    say("report", study, "--out", tmp_path / "report.html")
    assert json.loads((tmp_path / "report.json").read_text())["choice"] == found
    assert "Who picks what was really said" in (tmp_path / "report.html").read_text()
    share = next(cell for cell in found["rows"][0]["cells"] if cell["metric"] == "R@1")
    assert f"{100 * share['value']:.1f}" in out
    assert f"{100 * share['value']:.1f}" in (tmp_path / "report.tex").read_text()


def test_models_alone_and_people_alone(say, tmp_path):
    questions = made_questions(12)
    folder = write_choice_study(tmp_path, questions, [])
    out = say("choose", folder)
    assert "m, log p" in out
    assert "\nall " not in out
    (folder / "nuc.parquet").unlink()
    with pytest.raises(InputError, match="Nobody has answered"):
        say("choose", folder)
    write_choice_study(folder, questions, made_answers(questions), models=False, know=False)
    assert "\nall " in say("choose", folder)
    with pytest.raises(InputError, match="nobody was asked that in raters"):
        say("choose", folder, "--by", "knowledge")
