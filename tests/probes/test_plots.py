"""What the pictures of probe scores show, read from the drawn marks."""

import pytest

from probes.comparisons import DifficultyGroup
from probes.plots import difficulty_bars


def test_a_bar_is_as_high_as_its_group_and_stands_with_its_model():
    groups = [
        DifficultyGroup("hred", "easy", ("IsMultiTopic", "UtteranceLoc"), 71.0, 4.0),
        DifficultyGroup("seq2seq", "easy", ("IsMultiTopic", "UtteranceLoc"), 64.0, 3.0),
        DifficultyGroup("hred", "hard", ("ActionSelect",), 40.0, float("nan")),
    ]
    panel = difficulty_bars(groups, "").axes[0]
    bars = {round(bar.get_x() + bar.get_width() / 2): [] for bar in panel.patches}
    for bar in panel.patches:
        bars[round(bar.get_x() + bar.get_width() / 2)].append(bar.get_height())
    assert [text.get_text() for text in panel.get_xticklabels()] == ["hred", "seq2seq"]
    assert bars == {0: [71.0, 40.0], 1: [64.0]}
    whiskers = [line.get_segments()[0][:, 1].tolist() for line in panel.collections]
    assert whiskers[0] == pytest.approx([67.0, 75.0]) and whiskers[-1] == pytest.approx([40.0, 40.0])
