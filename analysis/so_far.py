"""What a running study shows so far, in one small file beside its votes: preference, agreement, and whether to stop.

The numbers are those of `preference`, `agreement` and `plan`. The rule for stopping is kept as it was first stated,
with the number of votes that were known by then: one that is stated after looking was not planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seedvote.analysis import notebook
from seedvote.analysis.arguments import check_margin, check_ranges
from seedvote.analysis.showing.words import to_plain
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, write_json

SO_FAR = "so_far.json"
DIFFERENCE = 0.16  # the default of `plan`


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Stop when a difference or, with a margin, an equivalence is shown; sharpest for this `difference`."""

    difference: float = DIFFERENCE
    margin: float | None = None
    stated_at: int | None = None  # votes known when somebody stated it; None: nobody did, these are the defaults


def stated_rule(folder: Path, difference: float | None, margin: float | None, votes: int) -> StoppingRule:
    """The rule that is given now, else the one kept in the folder; the same one said again is not new."""
    rule = _kept_rule(folder)
    if difference is None and margin is None:
        return rule
    check_margin(margin)
    check_ranges({"difference": difference}, difference=(0.001, 1))
    wanted_rule = StoppingRule(DIFFERENCE if difference is None else difference, margin, votes)
    same = (rule.difference, rule.margin) == (wanted_rule.difference, wanted_rule.margin) and rule.stated_at is not None
    return rule if same else wanted_rule


def _kept_rule(folder: Path) -> StoppingRule:
    path = folder / SO_FAR
    try:
        return StoppingRule(**read_json(path)["rule"]) if path.exists() else StoppingRule()
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is no file of ours. Move it away: analysis watch writes it anew.") from error


def write_so_far(folder: Path, votes: Any, number: int, rule: StoppingRule, **reading: Any) -> None:
    """Ask the three questions and write the answers; a question without one says why."""
    preference = _asked(notebook.preference, votes, **reading)
    agreement = _asked(notebook.agreement, votes, **reading)
    plan = _asked(notebook.plan, votes, difference=rule.difference, margin=rule.margin, **reading)
    alpha = agreement.get("krippendorff_alpha") or {}
    document = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "votes": number,
        "rule": asdict(rule),
        "contrasts": [_contrast(row) for row in preference.get("contrasts", ())],
        "agreement": {
            "Fleiss' kappa": agreement.get("fleiss_kappa"),
            "Krippendorff's alpha, nominal": alpha.get("nominal"),
            "Gwet's AC1": agreement.get("gwet_ac1"),
        },
        "running": [
            {key: row.get(key) for key in ("first", "second", "votes", "decision", "reason", "low", "high")}
            for row in plan.get("running", ())
        ],
        "refusals": [part["refusal"] for part in (preference, agreement, plan) if "refusal" in part],
    }
    write_json(folder / SO_FAR, to_plain(document))


def write_rule(folder: Path, rule: StoppingRule) -> None:
    """The rule alone, before there are votes."""
    empty: dict[str, Any] = {"contrasts": [], "agreement": {}, "running": [], "refusals": []}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(folder / SO_FAR, {"written": now, "votes": 0, "rule": asdict(rule), **empty})


def _asked(question: Any, votes: Any, **options: Any) -> Mapping[str, Any]:
    try:
        document: Mapping[str, Any] = question(votes, **options).document
    except InputError as error:
        return {"refusal": str(error)}
    return document


def _contrast(row: Mapping[str, Any]) -> dict[str, Any]:
    net, counts = row["net"] or {}, row["sign_test"]
    return {
        "first": row["first"],
        "second": row["second"],
        "votes": row["votes"],
        "for_first": counts["first"],
        "for_second": counts["second"],
        "ties": counts["ties"],
        "net": net.get("value"),
        "low": net.get("low"),
        "high": net.get("high"),
        "reason": row["reason"],
    }
