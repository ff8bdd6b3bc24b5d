"""What a person may say about a run through Mephisto."""

from __future__ import annotations

from dataclasses import dataclass

from seedvote.crowd.marketplaces.options import LaunchOptions, option


@dataclass(frozen=True, slots=True)
class MephistoOptions(LaunchOptions):
    """Who brings the workers, and where this process serves the page."""

    provider: str = option("mock", "who brings workers (default: mock)", choices=("mock", "mturk_sandbox", "mturk"))
    requester: str = option("MOCK_REQUESTER", "AWS profile that pays, for the MTurk providers")
    host: str = option("127.0.0.1", "address to listen on (default: this machine only)")
    port: int = option(8765, "port, 0 for a free one (default: 8765)")
