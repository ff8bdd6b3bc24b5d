"""Task success by the published rules, each of them a named file: what a system offered, told and believed."""
