"""Rankings whose truth is known: utilities that differ by item and by rater, ranked with noise (Plackett and Luce)."""

import csv

import numpy as np


def rankings(generator, *, items, raters, per_item, worth, by_item=0.8, by_rater=0.5):
    """(item, rater, ranks of all systems) of every answer; `worth` is the mean utility of each system."""
    systems = len(worth)
    of_item = generator.normal(0, by_item, (items, systems))
    of_rater = generator.normal(0, by_rater, (raters, systems))
    found = []
    for item in range(items):
        for rater in generator.choice(raters, per_item, replace=False):
            felt = np.asarray(worth) + of_item[item] + of_rater[rater] + generator.gumbel(size=systems)
            found.append((item, int(rater), 1 + (felt[None, :] > felt[:, None]).sum(axis=1)))
    return found


def write_ranks(path, found):
    """One row a rank."""
    with path.open("w", newline="") as handle:
        rows = csv.writer(handle)
        rows.writerow(["item", "rater", "system", "rank"])
        rows.writerows((f"i{i}", f"r{r}", f"s{s}", rank) for i, r, ranks in found for s, rank in enumerate(ranks))
