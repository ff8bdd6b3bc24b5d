"""What the Prolific of this machine refuses in a draft, by the pages of docs.prolific.com."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
CODE_TYPES = (
    "COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE", "NO_CONSENT",
    "OTHER", "FIXED_SCREENOUT",
)  # fmt: skip
ACTIONS: Mapping[str, tuple[str, ...]] = {  # what each needs besides its name
    "AUTOMATICALLY_APPROVE": (),
    "MANUALLY_REVIEW": (),
    "DYNAMIC_PAYMENT": (),
    "REQUEST_RETURN": ("return_reason",),
    "ADD_TO_PARTICIPANT_GROUP": ("participant_group",),
    "REMOVE_FROM_PARTICIPANT_GROUP": ("participant_group",),
    "FIXED_SCREEN_OUT_PAYMENT": ("fixed_screen_out_reward", "slots"),
}
STUDY_FIELDS = {
    "name": str, "internal_name": str, "description": str, "external_study_url": str, "prolific_id_option": str,
    "completion_codes": list, "total_available_places": int, "estimated_completion_time": int, "reward": int,
    "device_compatibility": list, "filters": list, "submissions_config": dict, "study_type": str, "project": str,
}  # fmt: skip
NEEDED = ("name", "description", "prolific_id_option", "completion_codes", "estimated_completion_time", "reward")


class RefusedCall(Exception):
    """What Prolific answers with an error and does not do."""

    def __init__(self, status: int, title: str, detail: object = "") -> None:
        super().__init__(title)
        self.status, self.body = status, {"error": {"title": title, "detail": detail, "status": status}}


def query_number(text: str, least: int) -> int:
    """A number of a query."""
    if not text.isdecimal() or int(text) < least:
        raise RefusedCall(400, "Error", f"{text!r} is not a whole number, {least} or more")
    return int(text)


def is_whole(value: object, least: int) -> bool:
    """Whether it is a whole number, and no less."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_filled(value: object) -> bool:
    """Whether it is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def refuse_bad_draft(body: Row) -> None:
    """Refuse it with everything that is wrong in it."""
    if complaints := list(_find_complaints(body)):
        raise RefusedCall(400, "Error creating", complaints)


def _find_complaints(body: Row) -> Iterator[str]:
    """Everything in the body of a draft that the documentation does not allow."""
    yield from (f"{name} is missing" for name in NEEDED if name not in body)
    yield from (f"{name} is not known" for name in body if name not in STUDY_FIELDS)
    for name, kind in STUDY_FIELDS.items():
        if name in body and (not isinstance(body[name], kind) or isinstance(body[name], bool)):
            yield f"{name} is not of its type"
            return
    for name in ("total_available_places", "estimated_completion_time"):
        if name in body and body[name] < 1:
            yield f"{name} is below 1"
    yield from _code_complaints(body.get("completion_codes", []), body.get("reward", 0))
    filters = body.get("filters", [])
    yield from (complaint for entry in filters for complaint in _filter_complaints(entry))
    if any("weightings" in entry for entry in filters) != (body.get("study_type", "SINGLE") == "QUOTA"):
        yield "weightings and study_type QUOTA go together"
    if body.get("study_type", "SINGLE") not in ("SINGLE", "QUOTA", "UK_REP_SAMPLE", "US_REP_SAMPLE"):
        yield "study_type is not known"


def _code_complaints(codes: Sequence[Row], reward: int) -> Iterator[str]:
    if not codes or len({code.get("code") for code in codes}) < len(codes):
        yield "completion_codes must differ, and there must be one"
    actions = [action for code in codes for action in code.get("actions", [])]
    if sum(action.get("action") == "FIXED_SCREEN_OUT_PAYMENT" for action in actions) > 1:
        yield "one code may screen out"
    for code in codes:
        if set(code) != {"code", "code_type", "actions"} or code["code_type"] not in CODE_TYPES or not code["actions"]:
            yield "a completion code has code, code_type and actions"
    for action in actions:
        needed = ACTIONS.get(action.get("action", ""))
        if needed is None or set(action) != {"action", *needed} or not all(action[name] for name in needed):
            yield f"action {action.get('action')} needs {needed}"
        elif action.get("fixed_screen_out_reward", 0) >= max(reward, 1):
            yield "the screen-out reward must be below the reward"


def _filter_complaints(entry: Row) -> Iterator[str]:
    ends, values = entry.get("selected_range"), entry.get("selected_values")
    if not is_filled(entry.get("filter_id")) or (ends is None) == (values is None):
        yield "a filter has filter_id, and selected_values or selected_range"
    elif ends is not None and not all(name in ("lower", "upper") and is_whole(end, 0) for name, end in ends.items()):
        yield "selected_range has whole numbers"
    elif values is not None and (not values or not all(map(is_filled, values))):
        yield "selected_values has texts"
    weights = entry.get("weightings")
    if weights is not None and (set(weights) != set(values or ()) or not all(is_whole(n, 1) for n in weights.values())):
        yield "weightings are whole numbers, one for each selected value"
