"""A page to read pairs before anyone is asked about them: contexts, both responses, and what is known of each.

One file without scripts or links; texts of models are escaped, so none of them can act as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from seedvote.dialogue.files import atomic
from seedvote.dialogue.records import Candidate, Pair

PREVIEW_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  overflow-wrap: anywhere; }
article { border: 1px solid #bbb; border-radius: 6px; padding: 1rem; margin: 1rem 0; }
header, footer, .who { color: #595959; font-size: .875rem; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); gap: 1rem;
  margin-top: 1rem; }
.side { background: #f3f3f3; padding: .5rem 1rem; white-space: pre-wrap; }
"""


def write_page(path: Path, pairs: Sequence[Pair], recipe: str) -> None:
    """Write the page."""
    with atomic(path) as handle:
        handle.write(preview_page(pairs, recipe))


def preview_page(pairs: Sequence[Pair], recipe: str) -> str:
    """One self-contained HTML page; every text is shown as it is, never read as markup."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pairs</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{PREVIEW_STYLE}</style>'
        f"<h1>{len(pairs)} pairs</h1>{''.join(map(_article, pairs))}<footer>{escape(recipe)}</footer></html>\n"
    )


def _article(pair: Pair) -> str:
    lines = "".join(f"<div><b>{escape(line.speaker)}</b> {escape(line.text)}</div>" for line in pair.context)
    note = " · identical responses" if pair.identical else ""
    return (
        f"<article><header>{escape(f'{pair.kind} · {pair.contrast} · {pair.item}')}{note}</header>{lines}"
        f'<div class="sides">{_side("A", pair.a, pair)}{_side("B", pair.b, pair)}</div></article>'
    )


def _side(letter: str, side: Candidate, pair: Pair) -> str:
    who = side.model if side.seed is None else f"{side.model}, seed {side.seed}, {side.checkpoint}"
    verdict = ", correct" if pair.answer == letter.lower() else ""
    return f'<div class="side">{escape(side.text)}<div class="who">{letter}: {escape(who)}{verdict}</div></div>'
