"""Print each kind of rater's chance of passing the gate, to help you choose the number of hidden checks.

Three kinds are shown: one who clicks at random, one who always answers tie, and one who reads carefully. The chances
are exact (from the distribution of the number of failed checks, or of the longest run of them), not simulated.

With STUDY, the rule is the one of its hit.toml; checks, and ties among them, are counted in its pairs.jsonl. A rater
meets each check once, however many sittings they come to.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The rule, from hit.toml unless given here."""
    parser.add_argument("study", nargs="?", type=Path, metavar="STUDY", help="take rule and checks from this study")
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
        metavar="SHARE",
        help="share of checks whose answer is tie (default: 0, or that of STUDY)",
    )


def run(args: argparse.Namespace) -> None:
    """Print one line for each number of checks."""
    from seedvote.crowd.hit.hit import read_hit
    from seedvote.crowd.rating.gate import GateRule, pass_probability, rule_within
    from seedvote.crowd.study_folder import hit_of
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.signature import signature

    hit = hit_of(args.study, None) if args.study and not args.hit else read_hit(args.hit)
    rule = GateRule(args.max_failures or hit.max_failures, args.count or hit.count_failures, hit.first_checks)
    planned, checks_at_hand, tied = hit.first_checks + hit.later_checks, None, 0.0
    if args.study:
        checks_at_hand, tied = _checks_of(args.study)
        rule, planned = rule_within(rule, checks_at_hand), min(planned, checks_at_hand)
    ties = tied if args.tie_checks is None else args.tie_checks
    if not (0 <= args.error <= 1 and 0 <= ties <= 1 and args.most >= 1 and rule.max_failures >= 1):
        raise InputError(
            "--error and --tie-checks must lie between 0 and 1; --most and --max-failures must be 1 or more."
        )
    marks = {planned: "a first sitting of this HIT"}
    if checks_at_hand is not None:
        marks[checks_at_hand] = " and ".join(
            [*([marks[checks_at_hand]] if checks_at_hand in marks else []), "all checks that a rater can meet"]
        )
    print(f"Chance of passing if blocked at {rule.max_failures} failures in {_count_words(rule.count)}")
    print(f"{'checks':>8}{'random':>10}{'always tie':>13}{'careful':>10}")
    for checks in range(1, (max(args.most, planned) if checks_at_hand is None else checks_at_hand) + 1):
        passes = [pass_probability([p] * checks, rule) for p in (2 / 3, 1 - ties, args.error)]
        mark = f"  <- {marks[checks]}" if checks in marks else ""
        print(f"{checks:>8}{passes[0]:>10.4f}{passes[1]:>13.4f}{passes[2]:>10.4f}{mark}")
    recipe = {"max_failures": rule.max_failures, "count": rule.count, "error": args.error, "ties": ties}
    print(signature(**recipe))
    if args.study:
        tell_next("python -m crowd serve", args.study)
    else:
        tell_next(
            "python -m crowd serve",
            "runs/hit",
            "--pairs",
            "examples/pairs.jsonl",
            *repeat_options(args, "hit"),
            "--open",
        )


def _checks_of(study: Path) -> tuple[int, float]:
    """How many checks the study's file holds, and the share of them whose answer is tie."""
    from seedvote.crowd.study_folder import pairs_file
    from seedvote.dialogue.files import read_records
    from seedvote.dialogue.records import Pair

    answers = [pair.answer for pair in read_records(pairs_file(study, None), Pair) if pair.kind == "check"]
    return len(answers), answers.count("tie") / len(answers) if answers else 0.0


def _count_words(count: str) -> str:
    return "total" if count == "total" else "a row"
