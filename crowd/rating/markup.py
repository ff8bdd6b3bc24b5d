"""What raters would see to the letter and should not: Markdown in texts of a study that shows them as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from seedvote.dialogue.records import Pair

# Bold words, fenced or quoted code, a link, a heading; a lone star or number may be anybody's.
MARKS = re.compile(r"\*\*\S[^*\n]*\*\*|```|`[^`\n]+`|\[[^\]\n]+\]\(https?://|^#{1,4} \S", re.MULTILINE)


def markup_warning(pairs: Iterable[Pair]) -> str:
    """One sentence on responses that hold Markdown; empty where none does."""
    texts = {side.text for pair in pairs if pair.kind != "check" for side in (pair.a, pair.b)}
    marked = sorted(text for text in texts if MARKS.search(text))
    example = MARKS.search(marked[0]) if marked else None
    if example is None:
        return ""
    return (
        f"warning: {len(marked):,} of {len(texts):,} responses hold Markdown, e.g. {example.group()[:30]!r}, and "
        'raters will see its marks. To show them formatted, write rendering = "markdown" into hit.toml.'
    )
