"""What a judge's verdicts save of an adaptive study's votes, replayed on public votes: the numbers of docs/planning.md.

Run: python benchmarks/replay_with_a_judge.py DATA [REPLAYS]

DATA holds pandalm/ (five models, three votes a pair, and the verdicts of two judges). It is the only public evaluation
there with votes of people on three systems or more and a judge's verdicts on the same pairs.
"""

import csv
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from seedvote.analysis.questions.replay import replay  # noqa: E402
from seedvote.dialogue.files import write_records  # noqa: E402
from seedvote.dialogue.records import Verdict  # noqa: E402

CHOICES = {"1": "a", "2": "b", "Tie": "tie", "0": "tie"}


def main(data, replays):
    """A line for each judge and question."""
    with (data / "verdicts.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    for judge in sorted({row["judge"] for row in rows}):
        ruled = [
            Verdict(row["pair"], judge, "ab", CHOICES.get(row["result"], "unusable"))
            for row in rows
            if row["judge"] == judge
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "verdicts.jsonl"
            write_records(path, ruled, signature="pandalm", kind=Verdict)
            for aim in ("best", "ranking"):
                print(f"{judge}, {aim}", replay(data / "votes.csv", judge=path, aim=aim, replays=replays), sep="\n\n")
                print(flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "pandalm", int(sys.argv[2]) if len(sys.argv) > 2 else 60)
