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
    from analysis.dawid_skene import DawidSkene
    from analysis.votes import Votes

SMOOTHING = 1.0  # imaginary votes in every cell of a rater's table: a crowd's raters have a dozen votes each


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
    from analysis.agreement_report import agreement_text, as_document, bounds, hidden_truth, warnings_of
    from analysis.dawid_skene import dawid_skene
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
    said = as_document(found)
    if values is not None:
        said["split_half"] = bounds(split_half(votes.pair, np.asarray(values)[place], generator=generator))
    if votes.rater is not None:
        columns = votes.pair, votes.rater, votes.choice, len(labels)
        tie, left = (2, votes.left) if args.labels == "tie" else (None, None)
        said["raters"] = rows(rater_table(*columns, tie=tie, left=left), votes.raters)
        said["cohen_kappa"] = bounds(two_raters(*columns, generator=generator, sets=args.sets))
        model = dawid_skene(*columns, smoothing=SMOOTHING)
        said["dawid_skene"] = hidden_truth(model, votes.labels)
        if args.posteriors:
            write_posteriors(args.posteriors, votes, model)
    elif args.posteriors:
        votes.need("rater", "--posteriors")
    said["warnings"] = [*votes.warnings, *warnings_of(votes, found)]
    said["signature"] = signature(
        votes=len(votes), pairs=found.items, unit=args.unit, sets=args.sets, seed=args.seed, labels=args.labels
    )
    said = plain(said)
    if args.figure:
        from analysis.figures import draw_agreement

        draw_agreement(said, args.figure)
    deliver(args, agreement_text(said), said)


def unit_of_pair(votes: Votes, unit: str) -> Any:
    """Code of every pair's dialogue, or None where pairs themselves are resampled."""
    import numpy as np

    if unit == "pair":
        return None
    of_pair = np.zeros(len(votes.pairs), dtype=np.int64)
    of_pair[votes.pair] = votes.need("dialogue", "--unit dialogue")
    return of_pair


def write_posteriors(path: str, votes: Votes, model: DawidSkene) -> None:
    """One line a pair: the chance of each label being its hidden truth."""
    from dialogue.files import atomic

    with atomic(path) as handle:
        table = csv.writer(handle, lineterminator="\n")
        table.writerow(["pair", *votes.labels])
        table.writerows([name, *row] for name, row in zip(votes.pairs, model.posterior.round(6), strict=True))
