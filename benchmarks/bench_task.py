"""Inform and Success of the three published systems, against the same rule in the plainest code.

The plain code asks the database row by row, slot by slot, aligns every text with difflib and remembers nothing; it is
slow, so it gets every tenth dialogue, and ours gets the same. Reading is not counted. Processor time, the least of
several runs (one of the plain code).
Run: python benchmarks/bench_task.py [FOLDER OF THE REAL DATA]
"""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.dialogue.domains.database import ALIKE, FUZZY, UNKNOWN, DomainTable, partial_ratio  # noqa: E402  # noqa: E402
from seedvote.dialogue.domains.spelling import NO_MATTER, count_minutes  # noqa: E402
from seedvote.evaluators.task import success  # noqa: E402
from seedvote.evaluators.task.predictions import read_predictions  # noqa: E402
from seedvote.evaluators.task.rates import world_of  # noqa: E402
from seedvote.evaluators.task.success import active_domains, possible_rules  # noqa: E402

RUNS, EVERY = 5, 10


class PlainTable:
    """The same answers as `DomainTable`, row by row."""

    def __init__(self, table):
        self.rows, self.columns, self.offers = table.rows, table.columns, table.offers

    def matching(self, state):
        return sum(1 << n for n, row in enumerate(self.rows) if all(self._fits(row, *pair) for pair in state.items()))

    def _fits(self, row, name, wanted):
        found = row.get(name, UNKNOWN)
        if name not in self.columns or wanted in NO_MATTER or found == UNKNOWN:
            return True
        if name == "arrive":
            return count_minutes(found) <= count_minutes(wanted)
        if name == "leave":
            return count_minutes(found) >= count_minutes(wanted)
        return partial_ratio(found, wanted) >= ALIKE if name in FUZZY else found == wanted


def evaluated(given, active, world, tables, every):
    """Seconds of processor time, and what came out."""
    began = time.process_time()
    found = [
        (one.inform, one.success)
        for predictions, domains in zip(given, active, strict=True)
        for name, answers in list(predictions.dialogues.items())[::every]
        for one in [success.goal_reached(world.goals[name], answers, domains[name], tables)]
    ]
    return time.process_time() - began, found


def main():
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"
    if not (data / "multiwoz_predictions").is_dir():
        print(f"{data} holds no multiwoz_predictions. Give the folder of the real data.")
        return
    began = time.process_time()
    given = [read_predictions(path) for path in sorted((data / "multiwoz_predictions").glob("[dls]*.json.xz"))]
    world = world_of(data / "multiwoz21_valtest", data / "multiwoz_db", "test", None)
    reading = time.process_time() - began
    active = [active_domains(one, possible_rules(one)[0]) for one in given]
    fresh = [
        {name: DomainTable(table.rows) for name, table in world.tables.items()} for _ in range(RUNS + 1)
    ]  # none remembers
    whole, all_found = evaluated(given, active, world, fresh[0], 1)
    runs = [evaluated(given, active, world, tables, EVERY) for tables in fresh[1:]]
    tables = {name: PlainTable(table) for name, table in world.tables.items()}
    plain, same = evaluated(given, active, world, tables, EVERY)
    if any(found != same for _, found in runs):
        raise SystemExit("The two disagree.")
    ours = min(seconds for seconds, _ in runs)
    print(f"{len(given)} systems, {len(all_found):,} dialogues: {whole:.2f} s, and {reading:.2f} s of reading before")
    print(
        f"{len(same):,} of them: plain code {plain:.1f} s, ours {ours:.2f} s: {plain / ours:.0f} times as fast (bar 60)"
    )


if __name__ == "__main__":
    main()
