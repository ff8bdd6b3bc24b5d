"""What hit.toml says where it says nothing and `form = "responses"`: each response is rated, on five points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowd.hit_questions import AskedQuestion

CONSENT_TO_RATE = """\
You are invited to take part in a research study about computer programs that hold a conversation. You will read short \
conversations and judge one or several responses to each. We want to know what you think.

We store your answers and the time each one took under a scrambled form of your worker id. The id itself is kept \
apart from them and serves only to pay you. We store no name, no network address and nothing about your browser. The \
answers, without your id, may be published for other researchers.

Taking part is voluntary. You may stop at any time by closing this page; what you have answered until then is kept. \
The responses were written by computer programs, and now and then one may be odd or unpleasant."""

HOW_TO_RATE = """\
You will see a conversation and one or several responses that could come next. Judge each response by itself: does it \
fit what was just said, and does it help the conversation along?

Use the whole scale. Two responses that are equally good or equally poor get the same rating. Ignore small slips of \
grammar, capital letters and length. The sign <unk> stands for a word that the program did not know."""

QUALITY = AskedQuestion(
    "quality",
    "How good is each response as the next turn of this conversation?",
    kind="likert",
    labels=("very poor", "very good"),
)

RESPONSES: Mapping[str, Any] = {
    "title": "How good are these responses?",
    "consent_text": CONSENT_TO_RATE,
    "instructions": HOW_TO_RATE,
    "examples": (),
    "questions": (QUALITY,),
}
