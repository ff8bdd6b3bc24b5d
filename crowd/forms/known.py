"""The forms of HIT that there are. To add one: its file here, its row below, its fragment in templates/hit/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from seedvote.crowd.forms.choice import ChoiceForm
from seedvote.crowd.forms.conversations import ConversationForm
from seedvote.crowd.forms.form import HitForm
from seedvote.crowd.forms.live import LiveForm
from seedvote.crowd.forms.pairs import PairForm
from seedvote.crowd.forms.responses import ResponseForm

FormName = Literal["pairs", "choice", "conversations", "live", "responses"]
FORMS: Mapping[FormName, HitForm] = {
    "pairs": PairForm(),
    "choice": ChoiceForm(),
    "conversations": ConversationForm(),
    "live": LiveForm(),
    "responses": ResponseForm(),
}
