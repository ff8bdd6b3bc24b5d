"""What several tests of the analysis need."""

from contextlib import contextmanager

import pytest

from seedvote.analysis.questions.preference import models
from seedvote.analysis.report.paper import kit
from seedvote.analysis.showing import plots
from seedvote.analysis.stats import error_law, power
from seedvote.analysis.stats.paired import bayes_davidson
from tests.house.corpora import toy_corpora_are_read_once  # noqa: F401 (a fixture)
from tests.house.curves import curves_are_empty  # noqa: F401 (a fixture)


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    """Reports without the kit's pictures, and others sketched; who looks at pictures asks for `drawn`."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(kit, "_draw_figures", lambda figures: iter(()))
        request.getfixturevalue("sketched")


@pytest.fixture
def drawn():
    """Pictures as users get them, those of the kit among them."""


@pytest.fixture
def coarse(tmp_path, monkeypatch):
    """Pixels four times as large: letters and PNG take less to make."""
    style = plots.STYLE.read_text(encoding="utf-8")
    assert "savefig.dpi: 200" in style
    (tmp_path / "coarse.mplstyle").write_text(style.replace("savefig.dpi: 200", "savefig.dpi: 50"), encoding="utf-8")
    monkeypatch.setattr(plots, "STYLE", tmp_path / "coarse.mplstyle")


@contextmanager
def _laws_of_their_own():
    """What a plan remembers of other numbers of draws is forgotten before and after."""
    remembering = (
        error_law.unequal_raters,
        power._error_law,
        power._edges_of_difference,
        power._limits_of_equals,
        power.votes_for_difference,
        power.votes_for_margin,
    )
    for function in remembering:
        function.cache_clear()
    yield
    for function in remembering:
        function.cache_clear()


@contextmanager
def _haste():
    """Few simulated studies and few draws: what they give is no measure of anything, but every door shows the same."""
    with pytest.MonkeyPatch.context() as patch, _laws_of_their_own():
        patch.setitem(power.plan_anytime.__kwdefaults__, "studies", 300)
        patch.setattr(error_law, "DEVIATIONS", 200)
        for name, number in (("chains", 4), ("warm_up", 12), ("draws", 12)):
            patch.setitem(bayes_davidson.hierarchical_davidson.__kwdefaults__, name, number)
        for module in (bayes_davidson, models):  # so few seldom agree: they are neither drawn anew nor warned of
            patch.setattr(module, "AGREED", float("inf"))
        yield


@pytest.fixture
def hasty():
    """For a test that compares what was simulated with itself, and with no truth."""
    with _haste():
        yield


@pytest.fixture(scope="module")
def hasty_throughout():
    """For a file of such tests, with the studies and reports that they share."""
    with _haste():
        yield
