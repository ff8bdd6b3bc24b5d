"""Every way of judging the models of one study, people first."""

from __future__ import annotations

import numpy as np

from analysis.comparison.strengths import from_votes
from analysis.reading.panel import Method, Panel, methods
from analysis.reading.study import Study
from analysis.reading.values import from_values

KINDS = {"people": 0, "token": 1, "probe": 2}


def panels_of(study: Study) -> list[Panel]:
    """People, then token metrics, then probes on their main split; baselines stay in their own table."""
    found: list[Panel] = []
    votes = study.votes
    if votes is not None and study.pairs:
        net = np.where(votes.tie, 0.0, np.where(votes.choice == votes.labels.index("a"), 1.0, -1.0))
        found += from_votes([votes.pairs[code] for code in votes.pair], net, study.pairs, votes.rater)
    found += [panel for panel in from_values(study.by_seed) if panel.kind in KINDS]
    return sorted(found, key=lambda p: (KINDS[p.kind], p.checkpoint != "last", p.checkpoint, p.name))


def methods_of(study: Study) -> list[Method]:
    """One for each architecture, checkpoint and way of judging it."""
    found = [method for panel in panels_of(study) for method in methods(panel)]
    return sorted(found, key=lambda m: (KINDS[m.kind], m.model, m.checkpoint != "last", m.name))
