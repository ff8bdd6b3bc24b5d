"""Tables and numbers for people, and the document for machines."""

import argparse
import json
from dataclasses import replace

from seedvote.analysis.arguments import JSON, add_options, deliver
from seedvote.analysis.showing.result import Result


def given(*words):
    parser = argparse.ArgumentParser()
    add_options(parser, JSON)
    return parser.parse_args(words)


def result(document):
    return Result(document, ["text"], dict, ["Read as: a table."])


def test_people_get_the_text_and_machines_the_file(tmp_path, capsys):
    deliver(given("--json", str(tmp_path / "out.json")), result({"share": 0.5}))
    assert capsys.readouterr().out == "Read as: a table.\n\ntext\n"
    assert json.loads((tmp_path / "out.json").read_text()) == {"share": 0.5}


def test_a_dash_gives_the_document_alone(capsys):
    deliver(given("--json", "-"), result({"share": 0.5}))
    said = capsys.readouterr()
    assert json.loads(said.out) == {"share": 0.5} and said.err == "Read as: a table.\n"


def test_without_json_only_the_text_is_printed(capsys):
    deliver(given(), replace(result({}), written="a file"))
    assert capsys.readouterr().out == "Read as: a table.\n\ntext\n\nWritten: a file\n"
