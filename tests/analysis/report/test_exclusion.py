"""The report shows the main numbers with and without the rules of [exclude], each as its own room computes it."""

import dataclasses

import pytest

from seedvote.analysis.questions.preference.answer import answer as prefer
from seedvote.analysis.questions.ties.answer import answer as ties
from seedvote.analysis.report.assembly import as_markdown, build_report, render_page
from seedvote.analysis.showing.words import percent, signed
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.study import read_study
from seedvote.analysis.votes.votes import read_votes
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Rater, Vote
from tests.analysis.report_study import add_votes

pytestmark = pytest.mark.usefixtures("hasty_throughout")

OUT = "clicker"


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """A study in which a rule left a rater out who always said tie, and the same study without the rule."""
    ruled, plain = (add_votes(tmp_path_factory.mktemp(name), source="local") for name in ("ruled", "plain"))
    votes = list(read_records(ruled / "votes.jsonl", Vote))
    kept, bare = [], []
    for one in votes:
        if one.kind == "real" and one.round == 3:  # the clicker's vote came before it and would be the third
            first = dataclasses.replace(one, rater=OUT, choice="tie", extra={})
            out = {"counted_without_rules": True, "round_without_rules": 3, "excluded_by": "same"}
            kept.append(dataclasses.replace(first, rater_status="excluded", counted=False, round=0, extra=out))
            bare += [first, dataclasses.replace(one, counted=False, round=0)]
        else:
            bare.append(one)
        would = one.kind != "real" or one.round < 3
        said = {"counted_without_rules": would, "round_without_rules": one.round * would, "excluded_by": ""}
        kept.append(dataclasses.replace(one, extra=said))
    raters = [*read_records(ruled / "raters.jsonl", Rater), Rater(OUT, "local", "excluded", 5, 0, 30)]
    for folder, cast in ((ruled, kept), (plain, bare)):
        write_records(folder / "votes.jsonl", cast, signature="test", kind=Vote)
        write_records(folder / "raters.jsonl", raters, signature="test", kind=Rater)
    return ruled, plain


def test_both_columns_are_what_the_rooms_say_of_either_study(studies):
    ruled, plain = studies
    found = build_report(read_study(ruled))
    excluded = found.document["excluded"]
    assert (excluded["raters"], excluded["votes"], excluded["rules"]) == (1, 30, {"same": 1})
    rows = {row["number"]: row for row in excluded["numbers"]}
    for folder, key in ((ruled, "with_rules"), (plain, "without_rules")):
        pooled = ties(read_votes(folder / "votes.jsonl"), size=20).pooled
        share = rows["share of ties"][key]
        assert share.startswith(percent(pooled.share)) and percent(pooled.interval.low) in share
        nets = {(one.first, one.second): one.net.value for one in prefer(matches_of(folder, None)[0]).preferences}
        for (first, second), net in nets.items():
            names = {
                f"net preference for {a} over {b}, points": s for a, b, s in ((first, second, 1), (second, first, -1))
            }
            (name,) = names.keys() & rows.keys()
            assert rows[name][key].startswith(signed(100 * net * names[name]))
    assert rows["votes"] == {"number": "votes", "with_rules": "90", "without_rules": "90"}


def test_page_and_markdown_say_it_and_name_nobody(studies):
    found = build_report(read_study(studies[0]))
    for text in (render_page(found), as_markdown(found)):
        assert "1 rater with 30 votes that would count otherwise; the rules broken: same (1 rater)" in text
        assert OUT not in text


def test_a_study_without_such_rules_has_no_such_section(studies):
    found = build_report(read_study(studies[1]))
    assert found.document["excluded"] is None and "without the rules" not in as_markdown(found)
