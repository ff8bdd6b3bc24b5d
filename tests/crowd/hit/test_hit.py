"""hit.toml: the defaults are the paper's HIT, and every mistake is a sentence that names the key."""

import dataclasses
import json
from pathlib import Path

import pytest

from seedvote.crowd.hit.hit import CHANGES, HIT_KEYS, Hit, hit_as_kept, hit_from, hit_from_kept, read_hit
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Pair

ROOT = Path(__file__).resolve().parents[3]


def test_without_a_file_it_is_the_hit_of_the_paper():
    hit = read_hit(None)
    assert (hit.votes_per_pair, hit.first_checks, hit.max_failures, hit.count_failures) == (3, 3, 3, "total")
    assert "more relevant" in hit.question
    assert [example.answer for example in hit.examples] == ["left", "right", "tie", "tie"]


def test_a_file_speaks_only_of_what_it_changes(tmp_path):
    path = tmp_path / "hit.toml"
    path.write_text('title = "Answers"\nvotes_per_pair = 5\npay_per_sitting = 2.5\n', encoding="utf-8")
    hit = read_hit(path)
    assert (hit.title, hit.votes_per_pair, hit.pay_per_sitting) == ("Answers", 5, 2.5)
    assert hit.examples == Hit().examples


@pytest.mark.parametrize("key", HIT_KEYS)
def test_every_key_refuses_what_it_cannot_hold_and_says_what_it_can(key):
    with pytest.raises(InputError, match=rf"^hit.toml: {key} is \{{'no': 'table'\}}, which is not .*\.$"):
        hit_from({key: {"no": "table"}}, "hit.toml")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"vote_per_pair": 3}, "vote_per_pair is not a key of the HIT. Did you mean votes_per_pair?"),
        ({"zzz": 3}, "Known keys: title, question"),
        ({"votes_per_pair": True}, "votes_per_pair is True, which is not a whole number from 1 to 100."),
        ({"votes_per_pair": 0}, "votes_per_pair is 0"),
        ({"title": "  "}, "title is '  ', which is not text of 1 to 100 characters."),
        ({"identical": "hide"}, "identical is 'hide', which is not one of show, skip, tie."),
        ({"consent_text": "Hello."}, "consent_version must be given too"),
        ({"first_checks": 1, "later_checks": 1}, "nobody could fail"),
        ({"later_checks": 21}, "more than pairs_per_sitting"),
        ({"pay_per_sitting": float("nan")}, "pay_per_sitting is nan"),
        ({"examples": [{"left": "x"}] * 4}, "examples[0] needs context, left, right, answer and why"),
        ({"examples": [7] * 4}, "examples[0] needs context, left, right, answer and why"),
        ({"market_script": "https://x.org/a.js; script-src *"}, "which is not the https:// address of one script"),
        ({"market_script": "https://x.org"}, "which is not the https:// address of one script"),
        ({"exclude": {"second": 2}}, "exclude is {'second': 2}, which is not a table of after, seconds, same, left"),
        ({"exclude": {"seconds": 0}}, "exclude.seconds is 0, which is not a number above 0."),
        ({"exclude": {"left": 2}}, "exclude.left is 2, which is not a probability between 0 and 1."),
        ({"exclude": {"raters": "ann"}}, "exclude.raters is 'ann', which is not a list of ids."),
    ],
)
def test_a_mistake_is_told_in_a_sentence(values, sentence):
    with pytest.raises(InputError) as error:
        hit_from(values, "hit.toml")
    assert sentence in str(error.value)


EXAMPLE = {"context": [{"speaker": "user", "text": "hi"}], "left": "l", "right": "r", "answer": "tie", "why": "w"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"answer": "a"}, "examples[0].answer is 'a', which is not one of left, right, tie."),
        ({"left": 3}, "examples[0].left is 3, which is not text."),
        ({"context": ["hi"]}, "examples[0].context holds 'hi'"),
        ({"context": "hi"}, "examples[0].context holds 'hi'"),
    ],
)
def test_an_example_names_its_place(change, sentence):
    with pytest.raises(InputError) as error:
        hit_from({"examples": [{**EXAMPLE, **change}] + [EXAMPLE] * 3}, "hit.toml")
    assert sentence in str(error.value)


def test_own_examples_replace_the_four():
    assert [e.left for e in hit_from({"examples": [EXAMPLE] * 4}, "x").examples] == ["l"] * 4


def test_what_a_store_keeps_of_a_hit_is_that_hit():
    own = hit_from({"examples": [EXAMPLE] * 4, "exclude": {"seconds": 2, "raters": ["ann"]}}, "x")
    for hit in (Hit(), own, dataclasses.replace(own, examples=())):
        assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit


def test_no_checks_at_all_is_a_choice():
    assert hit_from({"first_checks": 0, "later_checks": 0}, "x").first_checks == 0


def test_a_file_that_cannot_be_read_or_is_not_toml_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_hit(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("title = Answers", encoding="utf-8")
    with pytest.raises(InputError, match="is not TOML"):
        read_hit(tmp_path / "bad.toml")


def documented(key):
    default = key.default
    if (isinstance(default, str) and len(default) > 60) or (isinstance(default, tuple) and default):
        shown = '`["en"]`' if default == ("en",) else "as in the preview"
    elif default in (None, ()):
        shown = "none"
    elif isinstance(default, bool):
        shown = f"`{str(default).lower()}`"  # as TOML has it
    else:
        shown = f"`{default!r}`".replace("'", '"')
    return f"| `{key.name}` | {shown} | {key.metadata['legal'].says} | {key.metadata['doc']} | {CHANGES[key.name]} |"


def test_the_documentation_lists_every_key_as_it_is():
    rows = [line for line in (ROOT / "docs/hit.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    expected = [documented(key) for key in HIT_KEYS.values()]
    assert rows == expected, "\n".join(expected)


def test_the_sample_hit_and_its_pairs_are_read():
    hit = read_hit(ROOT / "examples/hit.toml")
    pairs = read_records(ROOT / "examples/pairs.jsonl", Pair)
    checks = [pair for pair in pairs if pair.kind == "check"]
    assert len(pairs) - len(checks) == 24 and len(checks) == 8
    assert len(checks) >= hit.first_checks + hit.later_checks
    assert sorted(pair.answer for pair in checks) == ["a"] * 4 + ["b"] * 4
    assert all(pair.identical == (pair.a.text == pair.b.text) for pair in pairs)
