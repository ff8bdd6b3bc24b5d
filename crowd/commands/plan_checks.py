"""Print each kind of rater's chance of passing the gate, to help you choose the number of hidden checks.

Three kinds are shown: one who clicks at random, one who always answers tie, and one who reads carefully. The chances
are exact (from the distribution of the number of failed checks, or of the longest run of them), not simulated.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dialogue.command_line import given, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The rule, from hit.toml unless given here."""
    parser.add_argument("--hit", type=Path, metavar="FILE", help="hit.toml (default: the paper's HIT)")
    parser.add_argument("--max-failures", type=int, metavar="N", help="block at N failed checks (default: hit.toml)")
    parser.add_argument(
        "--count", choices=("total", "row"), help="count failures in total or in a row (default: hit.toml)"
    )
    parser.add_argument("--most", type=int, default=12, metavar="N", help="show 1 to N checks (default: 12)")
    parser.add_argument(
        "--error", type=float, default=0.03, help="probability that a careful rater fails a check (default: 0.03)"
    )
    parser.add_argument(
        "--tie-checks",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of checks whose answer is tie (default: 0)",
    )


def run(args: argparse.Namespace) -> None:
    """Print one line for each number of checks."""
    from crowd.hit import read_hit
    from crowd.rating.gate import GateRule, pass_probability
    from dialogue.errors import InputError
    from dialogue.signature import signature

    hit = read_hit(args.hit)
    rule = GateRule(args.max_failures or hit.max_failures, args.count or hit.count_failures, hit.first_checks)
    if not (0 <= args.error <= 1 and 0 <= args.tie_checks <= 1 and args.most >= 1 and rule.max_failures >= 1):
        raise InputError(
            "--error and --tie-checks must lie between 0 and 1; --most and --max-failures must be 1 or more."
        )
    planned = hit.first_checks + hit.later_checks
    most = max(args.most, planned)
    print(f"Chance of passing if blocked at {rule.max_failures} failures in {_words(rule.count)}")
    print(f"{'checks':>8}{'random':>10}{'always tie':>13}{'careful':>10}")
    for checks in range(1, most + 1):
        passes = [pass_probability([p] * checks, rule) for p in (2 / 3, 1 - args.tie_checks, args.error)]
        mark = "  <- a first sitting of this HIT" if checks == planned else ""
        print(f"{checks:>8}{passes[0]:>10.4f}{passes[1]:>13.4f}{passes[2]:>10.4f}{mark}")
    recipe = {"max_failures": rule.max_failures, "count": rule.count, "error": args.error, "ties": args.tie_checks}
    print(signature(**recipe))
    tell_next("python -m crowd serve", "runs/hit", "--pairs", "examples/pairs.jsonl", *given(args, "hit"), "--open")


def _words(count: str) -> str:
    return "total" if count == "total" else "a row"
