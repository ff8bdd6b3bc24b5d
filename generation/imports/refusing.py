"""Which replies are responses: one without a text, one that was cut off and a call of a tool are none."""

from __future__ import annotations

from collections.abc import Sequence

from dialogue.engines.chat import Reply
from dialogue.errors import InputError

CUT = {"length", "max_tokens", "content_filter"}
CALLS = {"tool_calls", "function_call"}


def usable(replies: Sequence[Reply], *, longest: int, keep_cut: bool) -> tuple[list[bool], list[str]]:
    """Which replies are kept, and what to say of the others."""
    empty = [reply.empty for reply in replies]
    calls = [not none and reply.finish in CALLS for none, reply in zip(empty, replies, strict=True)]
    cut = [not none and reply.finish in CUT for none, reply in zip(empty, replies, strict=True)]
    said, many = [], len(replies)
    if any(empty):
        why = (
            ", ".join(sorted({reply.finish for reply in replies if reply.empty and reply.finish})) or "no reason given"
        )
        said.append(
            f"{sum(empty)} of {many} replies hold no text ({why}) and give no response. If the model ran out of "
            "tokens, allow more: --longest."
        )
    if thought := sum(reply.spoken != reply.text and not reply.empty for reply in replies):
        said.append(f"{thought} of {many} replies begin with the model's thoughts, which are no part of the response.")
    if any(calls):
        said.append(f"{sum(calls)} of {many} replies call a tool instead of answering and give no response.")
    if any(cut) and keep_cut:
        said.append(f"{sum(cut)} of {many} responses end where they were cut off, after {longest} tokens.")
    elif any(cut):
        said.append(
            f"{sum(cut)} of {many} replies were cut off after {longest} tokens and give no response. Allow more "
            "(--longest), or keep them as they are (--keep-cut)."
        )
    if silent := sum(reply.tokens_in is None or reply.tokens_out is None for reply in replies):
        said.append(f"{silent} of {many} replies do not say how many tokens they took; they are counted as 0.")
    kept = [not (none or call or (short and not keep_cut)) for none, call, short in zip(empty, calls, cut, strict=True)]
    if not any(kept):
        raise InputError(" ".join(["No reply is a response.", *said]))
    return kept, said
