"""The report's sections on votes: how far raters agree, which seed they prefer, what the controls and a plan say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.agreement import Agreement, agreement, count_table, landis_koch
from analysis.planning import Crowd, smallest_difference, votes_for_difference
from analysis.preference import Preference, prefer
from analysis.study import Study
from analysis.systems import Matches, contrasts, match
from dialogue.errors import InputError
from dialogue.seeds import child_seed

SEED, SETS = 0, 2000


def agreement_section(study: Study) -> Mapping[str, Any] | None:
    """Coefficients with intervals from 2,000 bootstrap samples of the pairs."""
    votes = study.votes
    if votes is None or len(votes) == len(np.unique(votes.pair)):
        return None
    generator = np.random.default_rng(child_seed(SEED, "report", "agreement"))
    counts = count_table(votes.pair, votes.choice, len(votes.labels))
    found = agreement(counts, votes.labels, values=None, generator=generator, sets=SETS)
    named = {
        "share of agreeing vote pairs": found.percent,
        "Fleiss' kappa": found.fleiss_kappa,
        "Krippendorff's alpha, nominal": found.alpha_nominal,
        "Gwet's AC1": found.gwet_ac1,
    }
    rows = [[name, f"{c.value:.3f}", f"{c.low:.3f} to {c.high:.3f}"] for name, c in named.items()]
    return {"sentence": _agreement_sentence(found), "head": ["coefficient", "value", "95 % interval"], "rows": rows}


def _agreement_sentence(found: Agreement) -> str:
    kappa = found.fleiss_kappa
    return (
        f"Fleiss' kappa is {kappa.value:.2f} ({landis_koch(kappa.value)} in the words of Landis and Koch): 0 is what "
        "votes without regard to the pair would give, 1 is complete agreement. Intervals resample pairs."
    )


def preference_section(study: Study) -> Mapping[str, Any] | None:
    """Net preference of every contrast with its clustered interval, the controls, and what more votes would show."""
    matches = _matches(study)
    if matches is None:
        return None
    found = [prefer(contrast, margin=None) for contrast in contrasts(matches)]
    head = ["comparison", "votes", "first", "second", "ties", "net preference", "95 % interval", "p, sign test"]
    return {
        "head": head,
        "rows": [_row(one) for one in found],
        "controls": _controls(study, matches),
        "control_head": ["control pairs", "votes", "ties"],
        "plan": _plan(study, found),
    }


def _matches(study: Study) -> Matches | None:
    path = study.folder / "pairs.jsonl"
    if study.votes is None or not path.exists():
        return None
    try:
        return match(study.votes, path)
    except InputError:  # no vote compares two different systems: the tie distributions stand alone
        return None


def _row(found: Preference) -> list[str]:
    sign, net = found.sign, found.net
    counts = [str(sign.a + sign.b + sign.ties), str(sign.a), str(sign.b), str(sign.ties)]
    interval = f"{100 * net.low:+.1f} to {100 * net.high:+.1f}"
    return [f"{found.first} against {found.second}", *counts, f"{100 * net.value:+.1f}", interval, f"{sign.p:.2g}"]


def _controls(study: Study, matches: Matches) -> list[list[str]]:
    """Tie shares of the control pairs beside that of the real ones: the scale on which to read it."""
    rows = [["real pairs", str(len(matches.votes)), f"{100 * np.mean(matches.votes.tie):.1f} %"]]
    if study.controls is not None:
        names = {pair.pair: pair.contrast for pair in study.pairs}
        contrast = np.array([names.get(name, "") for name in study.controls.pairs])[study.controls.pair]
        for name in np.unique(contrast):
            tie = study.controls.tie[contrast == name]
            rows.append([str(name), str(len(tie)), f"{100 * np.mean(tie):.1f} %"])
    return rows


def _plan(study: Study, found: list[Preference]) -> str:
    """What this many votes can show, and how many would show half of it."""
    votes = study.votes
    if votes is None or not found:
        return ""
    most = max(found, key=lambda one: one.net.n)
    effect, ties = max(most.net.design_effect, 1.0), float(np.mean(votes.tie))
    crowd = Crowd(ties=ties, per_pair=2.0, pair_icc=effect - 1)  # a crowd with the observed design effect
    reach = smallest_difference(most.net.n, crowd)
    more = votes_for_difference(reach / 2, crowd) - most.net.n
    return (
        f"The {most.net.n} votes on {most.first} against {most.second}, of which pairs and raters leave "
        f"{most.net.n / effect:.0f} votes' worth, show a net preference of {100 * reach:.0f} points or more with power "
        f".80; half of that would take {more:,} more votes of the same kind."
    )
