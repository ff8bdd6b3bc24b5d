"""`python -m evaluators perturb` as a user meets it."""

import json

import pytest

from seedvote.dialogue.conditions import condition_folder, condition_folders, condition_of
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import parser_of
from seedvote.evaluators.commands import perturb
from seedvote.evaluators.perturbing.kinds import ChangedTurn, Condition
from seedvote.evaluators.perturbing.writing import differences_page, mark_differences
from tests.dialogue.engines.chat_server import ChatServer


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "corpus"
    write_toy(folder, dialogues=60, seed=0)
    return folder


@pytest.fixture
def run(corpus, tmp_path, capsys):
    def call(*words):
        parser = parser_of(perturb, "python -m evaluators perturb")
        perturb.run(parser.parse_args([str(tmp_path), "--corpus", str(corpus), *map(str, words)]))
        return capsys.readouterr().out

    return call


def test_conditions_are_written_and_read_like_any_corpus(run, corpus, tmp_path):
    said = run("--kinds", "typos,speech", "--doses", "0,.5", "--wer", ".2")
    assert "typos at 0.5" in said and "Next: python -m webbrowser" in said
    folders = condition_folders(tmp_path)
    assert [folder.name for folder in folders] == ["speech@0.2-0", "typos@0-0", "typos@0.5-0"]
    plain = read_corpus(corpus)
    zero, half = (read_corpus(folder / "corpus") for folder in folders[1:])
    assert zero.dialogues == plain.split("test") and zero.databases == plain.databases
    assert zero.version == plain.version and half.dialogues != zero.dialogues
    assert condition_of(folders[2] / "corpus") == "typos@0.5-0" and condition_of(corpus) == ""
    assert condition_folder(tmp_path, "typos@0.5-0") == folders[2]
    assert json.loads((folders[2] / "condition.json").read_text())["protected_intact"] > 0
    with pytest.raises(InputError, match=r"has no condition 'typos@0\.9'; it has speech@0\.2-0, typos@0-0"):
        condition_folder(tmp_path, "typos@0.9")


def test_the_page_marks_what_was_changed_and_shows_texts_literally(run, tmp_path):
    run("--kinds", "typos,simple", "--doses", ".5")
    page = (tmp_path / "perturbed.html").read_text("utf-8")
    assert page.count("<h2>") == 2 and "<del>" in page and "<ins>" in page and "<u>" in page
    before, after = mark_differences(ChangedTurn("i", "cheap hotel", "cheap hostel now", ("cheap",)))
    assert before[0] == ("u", "cheap") and "".join(text for _, text in before) == "cheap hotel"
    assert "".join(text for _, text in after) == "cheap hostel now" and ("u", "cheap") in after


def test_letters_are_marked_and_no_text_is_taken_for_html():
    turn = ChangedTurn("i", "<b>hotel</b>", "<b>hostel</b>", ())
    assert mark_differences(turn)[1] == [*(("", sign) for sign in "<b>"), ("", "ho"), ("ins", "s"), ("", "tel"),
                                    *(("", sign) for sign in "</b>")]  # fmt: skip
    one = Condition("typos", 0.5, 0, (), {}, [turn], 1, 0, 1, 1, 0, 0)
    page = differences_page([one], ["<i>said</i>"], "recipe")
    assert "&lt;b&gt;ho<ins>s</ins>tel" in page and "<b>" not in page and "<i>" not in page


def test_again_is_the_same_and_another_corpus_under_the_name_is_refused(run, tmp_path):
    first = run("--kinds", "typos", "--doses", ".5", "--json")
    written = (tmp_path / "conditions" / "typos@0.5-0" / "corpus" / "data.json").read_bytes()
    assert run("--kinds", "typos", "--doses", ".5", "--json") == first
    assert (tmp_path / "conditions" / "typos@0.5-0" / "corpus" / "data.json").read_bytes() == written
    with pytest.raises(InputError, match="holds another condition"):
        run("--kinds", "typos", "--doses", ".5", "--split", "valid", "--replace")


def test_the_page_of_another_run_is_not_written_over_unasked(run, tmp_path):
    run("--kinds", "typos", "--doses", ".5")
    page = tmp_path / "perturbed.html"
    before = page.read_bytes()
    with pytest.raises(InputError, match=r"shows the conditions of an earlier run.*--replace"):
        run("--kinds", "simple", "--doses", ".5")
    assert page.read_bytes() == before and [one.name for one in condition_folders(tmp_path)] == ["typos@0.5-0"]
    run("--kinds", "simple", "--doses", ".5", "--replace")
    assert page.read_bytes() != before and len(condition_folders(tmp_path)) == 2


def test_what_there_is_to_change_is_described(run, tmp_path):
    said = run("--describe")
    assert "test: 6 dialogues" in said and "stand verbatim" in said and not (tmp_path / "conditions").exists()


def test_paraphrases_by_people(run, corpus, tmp_path):
    dialogue = read_corpus(corpus).split("test")[0]
    path = tmp_path / "rewrites.jsonl"
    path.write_text(json.dumps({"item": f"{dialogue.dialogue}:1", "text": "no value is here"}) + "\n")
    said = run("--kinds", "paraphrase", "--doses", "1", "--rewrites", path)
    assert "1 of the rewrites had lost a protected value" in said
    text = f"Right: {dialogue.turns[0].text}"
    path.write_text(json.dumps({"item": f"{dialogue.dialogue}:1", "text": text}) + "\n")
    assert "1 of " in run("--kinds", "paraphrase", "--doses", "1", "--rewrites", path, "--seed", "1", "--replace")


def test_paraphrases_by_an_endpoint_are_asked_again_where_a_value_was_lost(run, tmp_path):
    with ChatServer() as server:
        said = run("--kinds", "paraphrase", "--doses", ".2", "--endpoint", server.url, "--model", "m", "--json")
        calls = len(server.asked)
        one = json.loads(said)["conditions"][0]
        assert one["protected_intact"] == one["protected"] and one["changed"] + one["unchanged"] <= calls
        run("--kinds", "paraphrase", "--doses", ".2", "--endpoint", server.url, "--model", "m")
        assert len(server.asked) == calls  # the journal answers


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--kinds", "noise"], "'noise', which is not one of typos"),
        (["--doses", "2"], "shares from 0 to 1"),
        (["--doses", ".1,.1"], "each once"),
        (["--wer", "much"], "--wer is 'much'"),
        (["--kinds", "typos,outside"], "outside needs another corpus"),
        (["--endpoint", "http://x"], "go together"),
        (["--rewrites", "no.jsonl"], "cannot be read"),
    ],
)
def test_what_cannot_be_done_gets_a_sentence_before_anything_is_written(run, tmp_path, words, sentence):
    with pytest.raises(InputError, match=sentence):
        run(*words)
    assert not (tmp_path / "conditions").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "holds no rewrite"), ("{}\n", "expected"), ('{"item": 1, "text": "x"}\n', "must be texts"),
     ('{"item": "no:1", "text": "x"}\n', "None of the 1 rewrites")],
)  # fmt: skip
def test_rewrites_that_fit_nothing_are_refused(run, tmp_path, text, sentence):
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(InputError, match=sentence):
        run("--kinds", "paraphrase", "--rewrites", tmp_path / "r.jsonl")


def test_a_corpus_without_users_or_databases_is_refused(tmp_path, capsys):
    write_toy(tmp_path / "chats", dialogues=10, seed=0, kind="personachat")
    parser = parser_of(perturb, "x")
    with pytest.raises(InputError, match="has no user turn"):
        perturb.run(parser.parse_args([str(tmp_path), "--corpus", str(tmp_path / "chats")]))
    (tmp_path / "plain").mkdir()
    lines = [json.dumps({"split": "test", "id": str(n), "turns": ["I want a room.", "Yes."]}) for n in range(3)]
    (tmp_path / "plain" / "all.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match="entities needs databases"):
        perturb.run(parser.parse_args([str(tmp_path), "--corpus", str(tmp_path / "plain")]))
    perturb.run(parser.parse_args([str(tmp_path), "--corpus", str(tmp_path / "plain"), "--describe"]))
    assert "No states are annotated" in capsys.readouterr().out
