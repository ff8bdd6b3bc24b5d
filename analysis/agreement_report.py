"""The agreement tables for people, from the same document that --json writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.agreement import landis_koch
from analysis.plain import number
from analysis.tables import text_table

SHOWN = 10  # raters in the table; --json has them all


def agreement_text(document: Mapping[str, Any]) -> str:
    """Coefficients, categories, raters, Dawid and Skene, warnings and the recipe."""
    parts = [_coefficients(document), _categories(document)]
    if document["raters"]:
        parts.append(_raters(document["raters"]))
    if document["dawid_skene"]:
        parts.append(_hidden(document["dawid_skene"]))
    return "\n\n".join([*parts, *document["warnings"], document["signature"]])


def _coefficients(document: Mapping[str, Any]) -> str:
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
    return f"{document['votes']} votes on {document['pairs']} pairs\n" + text_table(
        ["coefficient", "value", "low", "high", "Landis and Koch's word"], shown
    )


def _numbers(found: Mapping[str, Any] | None) -> list[str]:
    return ["-"] * 3 if found is None else [number(found[key]) for key in ("value", "low", "high")]


def _words(found: Mapping[str, Any] | None) -> str:
    return landis_koch(found["value"]) if found and found["value"] is not None else ""


def _categories(document: Mapping[str, Any]) -> str:
    rows = [
        [label, number(row["share"]), number(row["agreement"]), number(row["kappa"])]
        for label, row in document["labels"].items()
    ]
    return text_table(["label", "share", "chosen again", "kappa"], rows)


def _raters(raters: list[dict[str, Any]]) -> str:
    keys = ("tie_rate", "left_rate", "left_p", "with_rest", "expected")
    rows = [[row["rater"], row["votes"], *(number(row[key]) for key in keys)] for row in raters[:SHOWN]]
    head = ["rater", "votes", "ties", "left", "left p", "agrees with rest", "by chance"]
    more = f"\n({len(raters) - SHOWN} more raters: --json)" if len(raters) > SHOWN else ""
    return text_table(head, rows) + more


def _hidden(found: Mapping[str, Any]) -> str:
    prior = ", ".join(f"{label} {number(share)}" for label, share in found["prior"].items())
    return (
        f"Dawid and Skene: shares of the hidden truth {prior}; the model is surer than 95 % of "
        f"{found['sure']:.0%} of the pairs ({found['steps']} steps{'' if found['converged'] else ', not converged'})."
    )
