"""What a person may say about the door of a panel; the rest is the table `[panel]` of hit.toml."""

from __future__ import annotations

from dataclasses import dataclass

from crowd.marketplaces.options import LaunchOptions


@dataclass(frozen=True, slots=True)
class PanelOptions(LaunchOptions):
    """Nothing of its own."""
