"""Draw the studies behind every claim of the analysis, and write docs/claims.md: a line a claim, with its worst world.

`python benchmarks/sim_claims.py` runs all rows of tests/analysis/claims; with words, the rows whose names hold one of
them, and writes their lines alone anew.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: threads would wait for each other
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.analysis.claims.registry import Claim, Rate, all_claims, is_kept, measure, worst_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "claims.md"
HEAD = "| claim | what is promised | worlds | nominal | allowed | worst | in the world | no answer |"


def lines_of(text: str) -> dict[str, str]:
    """Claim -> its line of the table."""
    rows = text[text.index(HEAD) :].splitlines()[2:]
    end = next((n for n, row in enumerate(rows) if not row.startswith("|")), len(rows))
    return {row.split("|")[1].strip(): row for row in rows[:end]}


def line_of(claim: Claim, rates: list[Rate]) -> str:
    """Its line: the worst world, and in how many worlds some studies get no answer."""
    worst, mute = worst_of(claim, rates), [rate for rate in rates if rate.answered < 1]
    least = min((rate.answered for rate in mute), default=1.0)
    silent = f"{len(mute)} worlds, up to {1 - least:.0%}" if mute else "-"
    share, cell = (f"{worst.share:.3f}", worst.cell) if worst else ("-", "-")
    allowed = f"{'at most' if claim.is_error else 'at least'} {claim.worst:g}"
    cells = (claim.name, claim.promise, str(len(claim.cells)), f"{claim.nominal:g}", allowed, share, cell, silent)
    return f"| {' | '.join(cells)} |"


def write(name: str, line: str, known: set[str]) -> None:
    """The page as it is now with this line, without lines of claims that are gone."""
    text = PAGE.read_text(encoding="utf-8")
    lines = {other: row for other, row in lines_of(text).items() if other in known} | {name: line}
    before, _, after = text.partition(HEAD)
    rest = after.splitlines()[2 + len(lines_of(text)) :]
    table = [HEAD, "|---" * (HEAD.count("|") - 1) + "|", *(lines[other] for other in sorted(lines))]
    PAGE.write_text(before + "\n".join([*table, *rest]) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", help="rows whose names hold one of these (default: all)")
    parser.add_argument("--studies", type=int, help="studies a world (default: what the row says)")
    parser.add_argument("--keep", action="store_true", help="print, and leave docs/claims.md as it is")
    args = parser.parse_args()
    claims, broken = all_claims(), 0
    names = {claim.name for claim in claims}
    for claim in claims:
        if args.words and not any(word in claim.name for word in args.words):
            continue
        rates = []
        for cell in claim.cells:
            rates.append(rate := measure(claim, cell, args.studies))
            kept = is_kept(claim, rate)
            broken += not kept
            print(f"{claim.name}: {cell}: {rate.share:.3f}, {rate.answered:.0%} answered{'' if kept else '  BROKEN'}",
                  flush=True)  # fmt: skip
        if not args.keep:
            write(claim.name, line_of(claim, rates), names)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
