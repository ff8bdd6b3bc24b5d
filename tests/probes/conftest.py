"""What the tests of probes have in common: a toy corpus is read once."""

from tests.house.corpora import toy_corpora_are_read_once  # noqa: F401 (a fixture)
