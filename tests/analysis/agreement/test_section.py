"""What the report says of who was blocked and who was excluded."""

import dataclasses

from analysis.agreement.section import gate_sentence
from analysis.votes.study import read_study
from tests.analysis.report_study import add_votes


def test_raters_who_were_excluded_are_told_apart_from_those_whom_the_checks_blocked(tmp_path):
    study = read_study(add_votes(tmp_path))
    assert "Excluded" not in gate_sentence(study)
    out = [dataclasses.replace(rater, status="excluded") for rater in study.raters[1:3]]
    sentence = gate_sentence(dataclasses.replace(study, raters=(study.raters[0], *out, *study.raters[3:])))
    assert "1 rater was blocked, by failing too many of them or by hand, and got no further work" in sentence
    assert sentence.endswith(
        "Excluded by a stated rule or by hand: 2 raters; 20 votes of theirs are kept and marked but not counted."
    )
