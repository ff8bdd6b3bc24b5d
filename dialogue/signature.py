"""The recipe line that goes with every number: built from the values used, never typed in by hand.

>>> signature(votes=6000, unit="pair", set=200, replace=False, seed=0)
'votes:6000|unit:pair|set:200|replace:no|seed:0|v:0.3.0'
"""

from __future__ import annotations

VERSION = "0.3.0"


def signature(**parts: object) -> str:
    """Join the named values in the order given and close with the version."""
    return "|".join([f"{name}:{_format_value(value)}" for name, value in parts.items()] + [f"v:{VERSION}"])


def _format_value(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # Twelve digits: 0.1 + 0.2 and 0.3 are one setting.
        return f"{value:.12g}"
    if isinstance(value, (list, tuple)):
        return ",".join(_format_value(part) for part in value)
    return str(value).replace("|", "/")
