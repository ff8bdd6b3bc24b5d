"""How far raters agree: Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, per category, per rater, with intervals.

Intervals resample whole pairs (or dialogues: --unit). With --labels any every value is a label of its own; numbers are
ordered as numbers, and --labels low,middle,high gives an order to words, without which ordinal and interval alpha are
not defined. With a, b and tie the order is a, tie, b.
"""

from __future__ import annotations

import argparse
import csv
from typing import TYPE_CHECKING, Any

from analysis.arguments import add_json_argument, add_vote_arguments, deliver, votes_from

if TYPE_CHECKING:
    from analysis.agreement import Agreement
    from analysis.votes import Votes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The votes, how labels are read, how intervals are drawn."""
    add_vote_arguments(parser)
    parser.add_argument(
        "--labels", default="tie", metavar="tie|any|L1,L2", help="a, b and tie (default), any, or labels in order"
    )
    parser.add_argument("--unit", choices=("pair", "dialogue"), default="pair", help="what the intervals resample")
    parser.add_argument("--sets", type=int, default=2000, help="bootstrap sets (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap (default 0)")
    parser.add_argument("--posteriors", metavar="FILE", help="write Dawid and Skene's posterior of every pair as CSV")
    parser.add_argument(
        "--figure", metavar="STEM", help="draw coefficients (STEM.png, .pdf) and raters (STEM-raters.*)"
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    import numpy as np

    from analysis.agreement import agreement, count_table, label_order, two_raters
    from analysis.agreement_report import agreement_text
    from analysis.plain import plain
    from analysis.raters import rater_table, rows, split_half
    from dialogue.seeds import child_seed
    from dialogue.signature import signature

    votes = votes_from(args, labels="tie" if args.labels == "tie" else "any")
    order, values = label_order(votes.labels, args.labels)
    place, labels = np.argsort(order)[votes.choice], [votes.labels[code] for code in order]
    generator = np.random.default_rng(child_seed(args.seed, "agreement"))
    counts, unit = count_table(votes.pair, place, len(labels)), unit_of_pair(votes, args.unit)
    found = agreement(counts, labels, values=values, generator=generator, sets=args.sets, cluster=unit)
    document = as_document(found)
    if values is not None:
        document["split_half"] = bounds(split_half(votes.pair, np.asarray(values)[place], generator=generator))
    if votes.rater is not None:
        tie, left = (2, votes.left) if args.labels == "tie" else (None, None)
        each = rater_table(votes.pair, votes.rater, votes.choice, len(labels), tie=tie, left=left)
        document["raters"] = rows(each, votes.raters)
        document["cohen_kappa"] = bounds(
            two_raters(votes.pair, votes.rater, votes.choice, len(labels), generator=generator, sets=args.sets)
        )
        document["dawid_skene"] = hidden_truth(votes, args.posteriors)
    document["warnings"] = [*votes.warnings, *warnings_of(votes, found)]
    document["signature"] = signature(
        votes=len(votes), pairs=found.items, unit=args.unit, sets=args.sets, seed=args.seed, labels=args.labels
    )
    document = plain(document)
    if args.figure:
        from analysis.figures import draw_agreement

        draw_agreement(document, args.figure)
    deliver(args, agreement_text(document), document)


def unit_of_pair(votes: Votes, unit: str) -> Any:
    """Code of every pair's dialogue, or None where pairs themselves are resampled."""
    import numpy as np

    if unit == "pair":
        return None
    of_pair = np.zeros(len(votes.pairs), dtype=np.int64)
    of_pair[votes.pair] = votes.need("dialogue", "--unit dialogue")
    return of_pair


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


def hidden_truth(votes: Votes, path: str | None) -> dict[str, Any]:
    """Dawid and Skene's model, with one imaginary vote a cell because a crowd's raters have few votes each."""
    from analysis.dawid_skene import dawid_skene
    from dialogue.files import atomic

    model = dawid_skene(
        votes.pair, votes.need("rater", "Dawid and Skene's model"), votes.choice, len(votes.labels), smoothing=1.0
    )
    if path:
        with atomic(path) as handle:
            table = csv.writer(handle, lineterminator="\n")
            table.writerow(["pair", *votes.labels])
            table.writerows([name, *row] for name, row in zip(votes.pairs, model.posterior.round(6), strict=True))
    return {
        "prior": dict(zip(votes.labels, model.prior, strict=True)),
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
    return said
