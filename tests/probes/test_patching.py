"""Which dialogues are patched into which: other dialogues, of the label that is asked for, of like length."""

import numpy as np
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.probes.patching import NEAREST, PatchOptions, draw_sources, write_plan
from seedvote.probes.plan import LabelledTask, SideItems
from seedvote.probes.tasks.labels import Labels


def side_of(sets, clusters, unseen=()):
    """Examples with these sets of labels, in these dialogues."""
    columns = [column for part in sets for column in part]
    missing = np.zeros(len(sets), np.int32)
    missing[list(unseen)] = 1
    starts = np.cumsum([0, *map(len, sets)])
    labels = Labels("T", True, ("a", "b", "c"), starts, np.array(columns, np.int32), missing, 0)
    side = SideItems(tuple(f"d{cluster}:{n}" for n, cluster in enumerate(clusters)), tuple(map(str, clusters)))
    return LabelledTask("T", labels, labels, labels, (), ""), side


def test_sources_are_of_other_dialogues_and_of_the_label_asked_for():
    draw = np.random.default_rng(0)
    sets = [tuple(sorted(set(draw.integers(0, 3, 2).tolist()))) for _ in range(120)]
    clusters = np.repeat(np.arange(30), 4)
    labelled, side = side_of(sets, clusters)
    turns = dict(zip(side.items, draw.integers(1, 9, 120).tolist(), strict=True))
    found = draw_sources(labelled, side, turns, PatchOptions(60, 2, 0))
    place = {item: n for n, item in enumerate(side.items)}
    assert found.targets + found.left_out == 60 and len(found.pairs) == 4 * found.targets
    assert len({pair[:3] for pair in found.pairs}) == len(found.pairs)
    for item, kind, _, source in found.pairs:
        target, other = place[item], place[source]
        assert clusters[target] != clusters[other]
        assert (sets[target] == sets[other]) == (kind == "same")
        fits = [
            abs(turns[side.items[n]] - turns[item])
            for n in range(120)
            if clusters[n] != clusters[target] and (sets[n] == sets[target]) == (kind == "same")
        ]
        assert abs(turns[source] - turns[item]) <= sorted(fits)[min(NEAREST, len(fits)) - 1]
    assert draw_sources(labelled, side, turns, PatchOptions(60, 2, 0)) == found
    assert draw_sources(labelled, side, turns, PatchOptions(60, 2, 1)) != found


def test_targets_without_enough_sources_are_left_out(tmp_path):
    labelled, side = side_of([(0,), (0,), (1,), (0,), (0,)], [0, 0, 1, 2, 3], unseen=[4])
    found = draw_sources(labelled, side, dict.fromkeys(side.items, 1), PatchOptions(None, 1, 0))
    # The second dialogue has a label of its own, and the last one a label that training lacks.
    assert {pair[0] for pair in found.pairs} == {"d0:0", "d0:1", "d2:3"} and found.left_out == 2
    assert {pair[3] for pair in found.pairs if pair[1] == "other"} == {"d1:2"}
    none = draw_sources(labelled, side, dict.fromkeys(side.items, 1), PatchOptions(None, 3, 0))
    assert (none.pairs, none.targets, none.left_out) == ((), 0, 5)
    with pytest.raises(InputError, match="no context has 3 others of its label"):
        write_plan(tmp_path, none, "test", PatchOptions(None, 3, 0))
