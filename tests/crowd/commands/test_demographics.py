"""A table of people put into the names of a study: by its own key, coarse, and without ids."""

import csv

import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.store.identity import rater_hash
from seedvote.crowd.store.store import open_store, settings, sqlite_url
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch

EXPORT = (
    "Submission id,Participant id,Status,Age,Sex\n"
    "s2,p2,APPROVED,64,Male\ns1,p1,APPROVED,31,Female\ns3,p3,APPROVED,DATA_EXPIRED,CONSENT_REVOKED\n"
)


def told(folder):
    with (folder / "demographics.csv").open() as handle:
        return {row.pop("rater"): row for row in csv.DictReader(handle)}


@pytest.mark.parametrize("where", ["store", "beside imported votes"])
def test_people_get_the_names_of_the_votes_and_coarse_answers(tmp_path, where, capsys):
    (tmp_path / "export.csv").write_text(EXPORT)
    if where == "store":
        store = open_store(sqlite_url(tmp_path), seed=0)
        with store.read() as connection:
            key = settings(connection)["rater_key"]
        store.close()
    else:
        key = "k" * 64
        (tmp_path / "rater.key").write_text(key + "\n")
    words = ["demographics", str(tmp_path), str(tmp_path / "export.csv"), "--columns", "age=Age,sex=Sex"]
    assert dispatch("crowd", "", COMMANDS, words) == 0
    assert told(tmp_path) == {
        rater_hash(key, "p1"): {"age": "25 to 34", "sex": "Female"},
        rater_hash(key, "p2"): {"age": "55 to 64", "sex": "Male"},
        rater_hash(key, "p3"): {"age": "not given", "sex": "not given"},
    }
    text = (tmp_path / "demographics.csv").read_text()
    rows = text.splitlines()[1:]
    answers = {cell for row in rows for cell in row.split(",")[1:]}  # a hash may hold any two digits
    assert "p1" not in text and key not in text and not any("31" in answer for answer in answers)
    assert rows == sorted(rows)  # not in the order of the export
    assert f"--raters {tmp_path / 'demographics.csv'} --by age" in capsys.readouterr().out


def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path):
    (tmp_path / "export.csv").write_text(EXPORT)
    (tmp_path / "rater.key").write_text("k\n")
    for columns, sentence in (("sex=Gender", "has 0 columns called 'Gender'"), ("", "--columns is empty")):
        with pytest.raises(InputError, match=sentence):
            dispatch("crowd", "", COMMANDS,
                     ["demographics", str(tmp_path), str(tmp_path / "export.csv"), "--columns", columns])  # fmt: skip
    assert not (tmp_path / "demographics.csv").exists()
