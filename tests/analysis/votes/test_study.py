"""A table of votes without a study around it, as a report."""

import csv
import json

from seedvote.analysis.__main__ import COMMANDS
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis import worlds_tables as worlds


def test_the_report_of_a_plain_table_says_what_preference_says(tmp_path, capsys):
    file = worlds.write(tmp_path / "arena.csv", worlds.arena())
    assert dispatch("analysis", "", COMMANDS, ["preference", str(file), "--json", str(tmp_path / "p.json")]) == 0
    assert f"Next: python -m analysis report {file}" in capsys.readouterr().out
    assert dispatch("analysis", "", COMMANDS, ["report", str(file)]) == 0
    said = capsys.readouterr().out
    assert "alpha 101, beta 37, 62 ties. Left out: nothing." in said
    assert "People preferred alpha to beta, by 32.0 points" in said
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["preference"] == json.loads((tmp_path / "p.json").read_text())
    assert found["title"] == "Is alpha preferred to beta?"
    assert (
        "The table names systems and no training seeds, so it is unknown what other seeds would show."
        in found["limitations"]
    )
    page = (tmp_path / "report.html").read_text()
    assert "from the files of arena.csv" in page and "person-0" not in page + (tmp_path / "report.json").read_text()
    public = counted(tmp_path / "paper" / "data" / "votes.csv")
    assert public == {"alpha": 101, "beta": 37, "tie": 62}  # whoever reads the published table finds the same


def counted(path):
    with path.open() as handle:
        rows = list(csv.DictReader(handle))
    won = [row[f"system_{row['choice']}"] if row["choice"] != "tie" else "tie" for row in rows]
    return {name: won.count(name) for name in sorted(set(won))}
