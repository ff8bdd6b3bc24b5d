"""The draft study as Prolific wants it: codes and what each does, and which participants see it.

Money in cents, time in minutes. No code approves anybody: codes can be passed around.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from seedvote.crowd.marketplaces.prolific.client import ProlificLaunch, cents
from seedvote.crowd.marketplaces.prolific.entrance import LAUNCH, PROLIFIC_IDS, code_for
from seedvote.dialogue.errors import InputError

LEAST_SCREEN_OUT = {"GBP": Decimal("0.10"), "USD": Decimal("0.14")}  # Prolific's own least pay of a screen-out
LEAST_HOURLY = {"GBP": Decimal("6.00"), "USD": Decimal("8.00")}  # Prolific's least pay, by its payment principles


@dataclass(frozen=True, slots=True)
class ProlificTerms:
    """What the researcher decides beside hit.toml."""

    title: str
    description: str
    minutes: int  # an honest guess of one sitting; Prolific holds the pay against it
    completed: str  # completion code of a finished sitting
    screened_out: str  # completion code of a rater for whom there is no more work
    filters: Sequence[Mapping[str, Any]] = ()
    group: str = ""  # participant group that whoever completes is added to


def check_codes(completed: str, screened_out: str) -> None:
    """Two codes, not one: Prolific's rules treat a finished and a screened-out person differently."""
    if not completed or not screened_out or completed == screened_out:
        raise InputError(
            "hit.toml: Prolific needs completion_code and screened_out_code, two different texts. "
            'Choose any, e.g. completion_code = "C7Q2M0XK".'
        )


def draft(launch: ProlificLaunch, terms: ProlificTerms) -> dict[str, Any]:
    """The body of the request that creates it."""
    ids = "&".join(f"{name}={{{{%{name}%}}}}" for name in PROLIFIC_IDS)
    return {
        "name": terms.title,
        "internal_name": launch.key,
        "description": terms.description,
        "external_study_url": f"{launch.public_url}/?{LAUNCH}={launch.key}&{ids}",
        "prolific_id_option": "url_parameters",
        "completion_codes": _completion_codes(launch, terms),
        "total_available_places": launch.places,
        "estimated_completion_time": terms.minutes,
        "reward": cents(Decimal(launch.reward)),
        "device_compatibility": ["desktop", "tablet", "mobile"],
        "filters": [dict(entry) for entry in terms.filters],
        **({"study_type": "QUOTA"} if launch.quota else {}),
        "submissions_config": {"max_submissions_per_participant": 1},
    }


def _completion_codes(launch: ProlificLaunch, terms: ProlificTerms) -> list[dict[str, Any]]:
    review = {"action": "MANUALLY_REVIEW"}
    done = [
        review,
        *([{"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": terms.group}] if terms.group else []),
    ]
    pay = Decimal(launch.screen_out)
    fixed = {
        "action": "FIXED_SCREEN_OUT_PAYMENT",
        "fixed_screen_out_reward": cents(pay),
        "slots": launch.screen_outs,
    }
    kind, screened = ("FIXED_SCREENOUT", fixed) if pay else ("FAILED_ATTENTION_CHECK", review)
    return [
        _completion_code(terms.completed, "COMPLETED", done),
        _completion_code(terms.screened_out, kind, [screened]),
        _completion_code(
            code_for("no consent", terms.completed), "NO_CONSENT", [_return_action("Did not consent to take part.")]
        ),
        _completion_code(
            code_for("full", terms.completed), "OTHER", [_return_action("The study had no task left for you.")]
        ),
    ]


def _completion_code(code: str, kind: str, actions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"code": code, "code_type": kind, "actions": actions}


def _return_action(reason: str) -> dict[str, Any]:
    return {"action": "REQUEST_RETURN", "return_reason": reason}


def read_filters(text: str, known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`age=18..65; sex=Male:1,Female:1` in the words of Prolific's own list of filters."""
    filters = {str(entry["filter_id"]): entry for entry in known}
    bodies = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, wanted = (piece.strip() for piece in part.partition("="))
        if not equals or name not in filters:
            near = ", ".join(sorted(filters)[:40])
            raise InputError(f"--filters: {part!r} is not FILTER=VALUES with a filter of Prolific's. They are: {near}.")
        is_range = filters[name].get("type") == "range"
        bodies.append(
            {"filter_id": name, **(_read_range(name, wanted) if is_range else _read_choices(filters[name], wanted))}
        )
    return bodies


def has_quota(filters: Sequence[Mapping[str, Any]]) -> bool:
    """Whether places are divided among choices."""
    return any("weightings" in entry for entry in filters)


def _read_range(name: str, wanted: str) -> dict[str, Any]:
    ends = re.fullmatch(r"(\d+)?\.\.(\d+)?", wanted)
    low, high = (int(end) if end else None for end in (ends.groups() if ends else (None, None)))
    if not ends or (low is None and high is None) or (low is not None and high is not None and low > high):
        raise InputError(f"--filters: {name}={wanted} is not a range such as {name}=18..65 or {name}=95..")
    return {"selected_range": {end: value for end, value in (("lower", low), ("upper", high)) if value is not None}}


def _read_choices(known: Mapping[str, Any], wanted: str) -> dict[str, Any]:
    """Choices by their names; `NAME:WEIGHT` for all of them is a quota, and a weight is a whole number."""
    choices = {str(label).casefold(): key for key, label in (known.get("choices") or {}).items()}
    values: list[str] = []
    weights: dict[str, int] = {}
    for piece in wanted.split(","):
        label, _, weight = (part.strip() for part in piece.partition(":"))
        key = choices.get(label.casefold(), label if label in choices.values() or not choices else None)
        if weight and not re.fullmatch(r"[1-9]\d{0,5}", weight):
            raise InputError(f"--filters: the weight {weight!r} of {label} is not a whole number, 1 or more.")
        if not label or key is None:
            few = ", ".join(list((known.get("choices") or {}).values())[:20])
            raise InputError(f"--filters: {known['filter_id']} has no choice {piece.strip()!r}. It has: {few}.")
        values.append(key)
        weights |= {key: int(weight)} if weight else {}
    if weights and len(weights) != len(values):
        raise InputError(f"--filters: {known['filter_id']} has a weight for some choices only; give all or none.")
    return {"selected_values": values, **({"weightings": weights} if weights else {})}
