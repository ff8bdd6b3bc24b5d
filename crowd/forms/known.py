"""The forms of HIT that there are. To add one: its file here, its row below, its fragment in templates/hit/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from crowd.forms import choice, conversations, pairs, responses
from crowd.forms.form import HitForm

FormName = Literal["pairs", "choice", "conversations", "responses"]
FORMS: Mapping[FormName, HitForm] = {
    "pairs": pairs,
    "choice": choice,
    "conversations": conversations,
    "responses": responses,
}
