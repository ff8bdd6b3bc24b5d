"""Groups of raters: joined by id, coarse, never fewer than five people, and intervals that hold."""

import numpy as np
import pytest

from seedvote.analysis.notebook import agreement, preference
from seedvote.analysis.stats.disparity import compare_groups
from seedvote.dialogue.errors import InputError
from tests.analysis import worlds_tables as worlds

PROLIFIC = ("Submission id", "Participant id", "Status", "Started at", "Completed at", "Time taken", "Completion code",
            "Total approvals", "Age", "Sex", "Ethnicity simplified", "Country of residence")  # fmt: skip


def prolific(path, sexes, ages=range(20, 40)):
    """Prolific's demographic export of the twenty people of the one truth."""
    rows = [dict(zip(PROLIFIC, (f"s{k}", f"person-{k:02}", "APPROVED", "2026", "2026", 60, "C", 9, age, sex, "x", "y"),
                     strict=True)) for k, (sex, age) in enumerate(zip(sexes, ages, strict=True))]  # fmt: skip
    return worlds.write(path, rows)


@pytest.fixture
def votes(tmp_path):
    return worlds.write(tmp_path / "plain.csv", worlds.plain())


def test_groups_stand_beside_the_whole_and_their_votes_add_up(tmp_path, votes):
    people = prolific(tmp_path / "prolific.csv", ["Female", "Male"] * 10)
    result = preference(votes, raters=people, by="sex")
    groups = result.document["strata"]["groups"]
    assert [(one["group"], one["people"], one["votes"]) for one in groups] == [("Female", 10, 100), ("Male", 10, 100)]
    assert np.mean([one["net"]["value"] for one in groups]) == pytest.approx(0.32)
    assert groups[0]["apart"]["value"] == pytest.approx(-groups[1]["apart"]["value"])
    assert "Net preference by sex" in str(result)
    assert result.document["net"] == preference(votes).document["net"]


def test_agreement_within_groups(tmp_path):
    rows = [{"pair": f"p{n}", "rater": f"person-{k:02}", "choice": "a" if k < 10 or n % 2 else "b"}
            for n in range(12) for k in range(20)]  # fmt: skip
    file = worlds.write(tmp_path / "votes.csv", rows)
    people = prolific(tmp_path / "prolific.csv", ["F"] * 10 + ["M"] * 10)
    groups = agreement(file, raters=people, by="Sex").document["strata"]["groups"]
    assert groups[1]["alpha"]["value"] == pytest.approx(1.0)


def test_ages_become_bands_and_small_groups_are_hidden_never_one_alone(tmp_path, votes):
    people = prolific(tmp_path / "p.csv", ["Female"] * 9 + ["Male"] * 8 + ["CONSENT_REVOKED"] * 3)
    strata = preference(votes, raters=people, by="Sex").document["strata"]
    assert [one["group"] for one in strata["groups"]] == ["Female"]  # the second smallest would give the smallest away
    assert strata["warnings"][0].startswith("2 groups of together 11 people (110 votes) not shown")
    groups = preference(votes, raters=people, by="age").document["strata"]["groups"]
    assert [one["group"] for one in groups] == ["18 to 24", "25 to 34", "35 to 44"]


def test_a_table_that_does_not_fit_is_refused_in_a_sentence(tmp_path, votes):
    people = prolific(tmp_path / "p.csv", ["F", "M"] * 10)
    with pytest.raises(InputError, match=r"has 0 columns called 'gender'"):
        preference(votes, raters=people, by="gender")
    with pytest.raises(InputError, match=r"say which of its columns .* --by COLUMN"):
        preference(votes, raters=people)
    with pytest.raises(InputError, match=r"holds none of the 20 raters .*crowd demographics STUDY FILE"):
        preference(votes, raters=worlds.write(tmp_path / "x.csv", [{"id": "nobody", "Sex": "F"}]), by="Sex")
    many = [{"id": f"person-{k:02}", "town": f"t{k}"} for k in range(30)]
    with pytest.raises(InputError, match=r"town has 30 different answers"):
        preference(votes, raters=worlds.write(tmp_path / "y.csv", many), by="town")


def test_without_a_disparity_95_of_100_intervals_hold_zero():
    """Ten and ten people who all vote on the same items, each with a lean of their own: the clusters must be seen."""
    rng, missed, sets = np.random.default_rng(3), 0, 400
    item, rater = np.repeat(np.arange(25), 20), np.tile(np.arange(20), 25)
    for _ in range(sets):
        values = rng.normal(0, 0.5, 20)[rater] + rng.normal(0, 0.5, 25)[item] + rng.normal(size=500)
        found = compare_groups(values, rater < 10, {"item": item, "rater": rater})
        missed += not found.low <= 0 <= found.high
    assert 0.015 < missed / sets < 0.08


def test_differences_in_agreement_are_corrected_for_their_number(tmp_path):
    """Three groups: one nearly of one mind, two that answer by a coin."""
    rng = np.random.default_rng(5)
    right = [[k < 10 and rng.random() < 0.9 for k in range(30)] for _ in range(40)]
    rows = [{"pair": f"p{n}", "rater": f"person-{k:02}", "choice": "ab"[n % 2] if right[n][k] else rng.choice([*"ab"])}
            for n in range(40) for k in range(30)]  # fmt: skip
    people = [{"id": f"person-{k:02}", "town": f"t{k // 10}"} for k in range(30)]
    tables = worlds.write(tmp_path / "votes.csv", rows), worlds.write(tmp_path / "people.csv", people)
    found = agreement(tables[0], raters=tables[1], by="town")
    groups = found.document["strata"]["groups"]
    plain = [one["apart"]["p"] for one in groups]
    ranked = sorted(plain)
    steps = [min(1.0, (3 - k) * p) for k, p in enumerate(ranked)]
    slow = [max(steps[: ranked.index(p) + 1]) for p in plain]
    assert [one["p_holm"] for one in groups] == pytest.approx(slow)
    assert "p (Holm)" in str(found) and "Raters of the group 't0' agree more with each other" in str(found)
    assert "'t1'" in str(found) or slow[1] >= 0.05


def test_two_groups_are_tested_once_and_named_once(tmp_path):
    """One group against the other is one difference, however it is turned: Holm must not double its p."""
    rows = [{**row, "choice": "a" if k % 3 else "b"} if int(row["rater"][-2:]) % 2 else row
            for k, row in enumerate(worlds.plain())]  # fmt: skip
    votes = worlds.write(tmp_path / "votes.csv", rows)
    people = prolific(tmp_path / "p.csv", ["Female", "Male"] * 10)
    found = preference(votes, raters=people, by="sex")
    groups = found.document["strata"]["groups"]
    assert [one["p_holm"] for one in groups] == pytest.approx([one["apart"]["p"] for one in groups])
    assert str(found).count("prefers otherwise than the others") == (groups[0]["p_holm"] < 0.05)
    three = prolific(tmp_path / "three.csv", ["Female"] * 8 + ["Male"] * 7 + ["Other"] * 5)
    groups = preference(votes, raters=three, by="sex").document["strata"]["groups"]
    least = min(one["apart"]["p"] for one in groups)
    assert len(groups) == 3 and min(one["p_holm"] for one in groups) == pytest.approx(min(1, 3 * least))


def test_two_groups_that_agree_differently_are_tested_once(tmp_path):
    rng = np.random.default_rng(8)
    rows = [{"pair": f"p{n}", "rater": f"person-{k:02}",
             "choice": "ab"[n % 2] if k < 10 and rng.random() < 0.9 else rng.choice([*"ab"])}
            for n in range(40) for k in range(20)]  # fmt: skip
    people = prolific(tmp_path / "p.csv", ["F"] * 10 + ["M"] * 10)
    found = agreement(worlds.write(tmp_path / "votes.csv", rows), raters=people, by="Sex")
    groups = found.document["strata"]["groups"]
    assert [one["p_holm"] for one in groups] == pytest.approx([one["apart"]["p"] for one in groups])
    assert groups[0]["p_holm"] < 0.05 and str(found).count("agree more with each other than the others") == 1
    assert "agree less" not in str(found)


def test_beside_hidden_people_two_groups_are_two_tests(tmp_path, votes):
    people = prolific(tmp_path / "p.csv", ["A"] * 7 + ["B"] * 6 + ["C"] * 4 + ["D"] * 3)
    groups = preference(votes, raters=people, by="sex").document["strata"]["groups"]
    assert [one["group"] for one in groups] == ["A", "B"]
    assert [one["p_holm"] for one in groups] != pytest.approx([one["apart"]["p"] for one in groups])
