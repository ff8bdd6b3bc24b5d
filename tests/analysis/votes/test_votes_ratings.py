"""Our own ratings, of pairs and of sets: whose they are, and which count."""

import csv
import json

import pytest

from analysis.votes.ratings import scored_sides
from dialogue.errors import InputError
from dialogue.tables.reading import read_table

SET = {
    "set": "s1",
    "item": "i1",
    "dialogue": "d1",
    "kind": "real",
    "of": 2,
    "question": "fluent",
    "rank": "",
    "counted": True,
}


def sets(folder, *raters):
    rows = [
        SET | {"rater": rater, "source": source, "system": system, "score": score}
        for rater, source in raters
        for system, score in (("one", 4), ("two", 2))
    ]
    with (folder / "ratings.csv").open("w", newline="") as handle:
        table = csv.DictWriter(handle, [*rows[0]])
        table.writeheader()
        table.writerows(rows)
    return read_table(folder / "ratings.csv")


@pytest.mark.parametrize("source", ["judge", "LLM", "judge:gpt-x"])
def test_a_rating_that_a_judge_gave_stops_the_reading_with_its_row(tmp_path, source):
    assert len([*scored_sides(sets(tmp_path, ("ann", "local"), ("bob", "prolific"))).rows()]) == 4
    with pytest.raises(InputError, match=r"ratings.csv.*4.*: this rating is a judge's\. Only people's are read here"):
        scored_sides(sets(tmp_path, ("ann", "local"), ("gpt-x", source)))


def test_a_rater_with_the_name_of_a_judge_beside_is_that_judge_whatever_the_source(tmp_path):
    verdict = {"pair": "p", "judge": "gpt-x", "prompt": "1", "order": "ab", "draw": 0, "choice": "a"}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(verdict) + "\n")
    with pytest.raises(InputError, match=r"this rating is a judge's \(its rater is 'gpt-x', a judge in"):
        scored_sides(sets(tmp_path, ("GPT-X", "local")))
