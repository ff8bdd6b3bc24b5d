"""What `python -m analysis agreement` says: the document for machines and its tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.reading.votes import Votes
from analysis.showing.tables import Table
from analysis.showing.words import count, number
from analysis.stats.agreement import Agreement, landis_koch
from analysis.stats.dawid_skene import DawidSkene

SHOWN = 10  # raters in the table; --json has them all


def bounds(found: Any) -> dict[str, Any] | None:
    """Value and interval of a coefficient that has them."""
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high}


def as_document(found: Agreement) -> dict[str, Any]:
    """The stable keys of `--json`."""
    return {
        "pairs": found.items,
        "votes": found.votes,
        "agreement": bounds(found.percent),
        "fleiss_kappa": bounds(found.fleiss_kappa),
        "krippendorff_alpha": {
            "nominal": bounds(found.alpha_nominal),
            "ordinal": bounds(found.alpha_ordinal),
            "interval": bounds(found.alpha_interval),
        },
        "gwet_ac1": bounds(found.gwet_ac1),
        "cohen_kappa": None,
        "split_half": None,
        "labels": {c.label: {"share": c.share, "agreement": c.agreement, "kappa": c.kappa} for c in found.categories},
        "raters": [],
        "dawid_skene": None,
    }


def hidden_truth(model: DawidSkene, labels: Sequence[str]) -> dict[str, Any]:
    """Dawid and Skene's model in short."""
    return {
        "prior": dict(zip(labels, model.prior, strict=True)),
        "sure": (model.posterior.max(1) > 0.95).mean(),
        "steps": model.steps,
        "converged": model.converged,
    }


def warnings_of(votes: Votes, found: Agreement) -> list[str]:
    """What the reader must know before trusting the numbers."""
    said = []
    if votes.rater is None:
        said.append("The votes name no rater, so there is no rater table and no model of the raters.")
    elif again := len(votes) - len({*zip(votes.pair.tolist(), votes.rater.tolist(), strict=True)}):
        said.append(f"{again} votes are by a rater who had judged the same pair before; they count as another rater's.")
    if found.usable_items < found.items:
        said.append(f"{found.items - found.usable_items} pairs have one vote only and say nothing about agreement.")
    if found.percent.value in (0.0, 1.0) and found.usable_items > 1:
        said.append("All pairs agree alike, so resampling them shows no spread: the intervals are too narrow.")
    return said


def agreement_parts(document: Mapping[str, Any]) -> list[Table | str]:
    """Coefficients, categories, raters, Dawid and Skene, warnings and the recipe."""
    parts: list[Table | str] = [_coefficients(document), _categories(document)]
    if document["raters"]:
        parts += _raters(document["raters"])
    if document["dawid_skene"]:
        parts.append(_hidden(document["dawid_skene"]))
    return [*parts, *document["warnings"], document["signature"]]


def _coefficients(document: Mapping[str, Any]) -> Table:
    alpha = document["krippendorff_alpha"]
    rows = [
        ("votes that agree", document["agreement"], False),
        ("Fleiss' kappa", document["fleiss_kappa"], True),
        ("Krippendorff's alpha, nominal", alpha["nominal"], True),
        ("Krippendorff's alpha, ordinal", alpha["ordinal"], True),
        ("Krippendorff's alpha, interval", alpha["interval"], True),
        ("Gwet's AC1", document["gwet_ac1"], True),
        ("split-half, Spearman-Brown (95 % of splits)", document["split_half"], False),
    ]
    if document["cohen_kappa"]:
        rows.insert(1, ("Cohen's kappa of the two raters", document["cohen_kappa"], True))
    shown = [[name, *_numbers(found), _words(found) if named else ""] for name, found, named in rows]
    head = ["coefficient", "value", "low", "high", "Landis and Koch's word"]
    return Table(head, shown, f"{count(document['votes'], 'vote')} on {count(document['pairs'], 'pair')}")


def _numbers(found: Mapping[str, Any] | None) -> list[str]:
    return ["-"] * 3 if found is None else [number(found[key]) for key in ("value", "low", "high")]


def _words(found: Mapping[str, Any] | None) -> str:
    return landis_koch(found["value"]) if found and found["value"] is not None else ""


def _categories(document: Mapping[str, Any]) -> Table:
    rows = [
        [label, number(row["share"]), number(row["agreement"]), number(row["kappa"])]
        for label, row in document["labels"].items()
    ]
    return Table(["label", "share", "chosen again", "kappa"], rows)


def _raters(raters: list[dict[str, Any]]) -> list[Table | str]:
    keys = ("tie_rate", "left_rate", "left_p", "with_rest", "expected")
    rows = [[row["rater"], row["votes"], *(number(row[key]) for key in keys)] for row in raters[:SHOWN]]
    head = ["rater", "votes", "ties", "left", "left p", "agrees with rest", "by chance"]
    more = [f"({len(raters) - SHOWN} more raters: --json)"] if len(raters) > SHOWN else []
    return [Table(head, rows), *more]


def _hidden(found: Mapping[str, Any]) -> str:
    prior = ", ".join(f"{label} {number(share)}" for label, share in found["prior"].items())
    return (
        f"Dawid and Skene: shares of the hidden truth {prior}; the model is surer than 95 % of "
        f"{found['sure']:.0%} of the pairs ({found['steps']} steps{'' if found['converged'] else ', not converged'})."
    )
