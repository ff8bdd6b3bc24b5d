"""Write every page of a HIT as a file, without a server or a store: consent, examples, pairs, messages.

Open OUT/index.html in a browser. The buttons do nothing there; `make hit` serves the whole HIT.
"""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.crowd.forms.form import HitForm
    from seedvote.crowd.hit.hit import Hit
    from seedvote.crowd.rating.personal_data import KnownRater
    from seedvote.dialogue.records import Pair, Question, ResponseSet

SAMPLE = Path("examples/pairs.jsonl")
TALKS = Path("examples/conversations")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The HIT, the pairs and the folder to write to."""
    parser.add_argument("--hit", type=Path, metavar="FILE", help="hit.toml (default: the paper's HIT)")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help=f"what to show (default: {SAMPLE}, or of its form)")
    parser.add_argument("--questions", type=Path, metavar="FILE", help="questions to show instead: the form choice")
    parser.add_argument("--number", type=int, default=8, help="how many pairs to show (default: 8)")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("runs/preview"), help="default: runs/preview")


def run(args: argparse.Namespace) -> None:
    """Write the pages and say where they are."""
    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.hit.hit import hit_from, read_hit
    from seedvote.crowd.web import page
    from seedvote.dialogue.files import atomic

    hit = hit_from({"form": "choice"}, "preview") if args.questions and not args.hit else read_hit(args.hit)
    records = (
        _sample_pairs(args)
        if hit.form in ("conversations", "live") and not args.pairs
        else _read_records(args, FORMS[hit.form])
    )
    media = _copy_media(records, (args.questions or args.pairs or SAMPLE).parent, args.out)
    pages = {name: text for language in hit.languages for name, text in _name_pages(hit, records, language, media)}
    links = "".join(f'<li><a href="{name}.html">{name}</a></li>\n' for name in pages)
    pages["index"] = f"<!doctype html><html lang=en><title>Preview</title><h1>Preview</h1>\n<ul>\n{links}</ul>\n"
    for name, text in pages.items():
        with atomic(args.out / f"{name}.html") as file:
            file.write(text)
    shutil.copytree(page.STATIC, args.out / "static", dirs_exist_ok=True)
    print(f"{len(pages)} pages: open {args.out / 'index.html'}")
    if hit.form in ("conversations", "live") and not args.pairs:
        tell_next("python -m crowd conversations-from", *sorted(TALKS.glob("*.jsonl")), "--out", "runs/talks")
    else:
        tell_next("python -m crowd serve", "runs/hit", *repeat_options(args, "pairs", "questions", "hit"), "--open")


def _read_records(args: argparse.Namespace, form: HitForm) -> list[Any]:
    """The records of the file that is named, or of the form's sample, which is then the one that was named."""
    if not (args.questions or args.pairs):
        setattr(args, form.option, SAMPLE.with_name(form.file))
    return [form.record_of(row.body) for row in form.read_rows(args.questions or args.pairs)[: args.number]]


def _sample_pairs(args: argparse.Namespace) -> list[Pair]:
    """Pairs of the conversations in examples/."""
    from seedvote.dialogue.conversations.pairing import pairs_of_systems
    from seedvote.dialogue.conversations.reading import read_conversations

    files = sorted(TALKS.glob("*.jsonl"))
    conversations = [
        conversation for file in files for conversation in read_conversations(file, stated={}, judged="system")
    ]
    if not conversations:
        raise InputError(f"{TALKS} is not here: name pairs of whole conversations with --pairs.")
    return pairs_of_systems(conversations, args.number, seed=0)


def _copy_media(records: Sequence[Any], folder: Path, out: Path) -> Mapping[str, str]:
    """Put the files that are shown beside the pages; hash -> the name of its copy."""
    from seedvote.dialogue.media import media_of

    names = {sha256: f"{sha256[:16]}{Path(name).suffix}" for record in records for name, _, sha256 in media_of(record)}
    for name, _, sha256 in [media for record in records for media in media_of(record)]:
        (out / "media").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, out / "media" / names[sha256])
    return names


def _name_pages(
    hit: Hit, pairs: Sequence[Pair | Question | ResponseSet], language: str, media: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each page with its name, which says the language where there are several."""
    for name, text in _in_language(hit, pairs, language, media):
        yield f"{language}-{name}" if hit.languages[1:] else name, text


def _in_language(
    hit: Hit, pairs: Sequence[Pair | Question | ResponseSet], language: str, media: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.rating.differing import are_differences_shown
    from seedvote.crowd.web import page
    from seedvote.dialogue.media import parts_of

    form, seat = FORMS[hit.form], "preview" if hit.languages[1:] else ""
    is_rich = any(True for pair in pairs for _ in parts_of(pair))
    frame = page.Frame(".", seat, "", language, media.__getitem__, is_rich=is_rich)
    yield "glance", page.glance_page(hit, frame)
    yield "consent", page.consent_page(hit, frame)
    yield "stored", page.stored_page(hit, frame, _invent_rater(hit), own=True)
    yield "stored-elsewhere", page.stored_page(hit, frame, None, own=False)
    if hit.asked_of_rater("before"):
        yield "about", page.about_page(hit, frame)
    for number, example in enumerate(hit.examples, 1):
        yield f"example-{number}", page.example_page(hit, frame, number, None)
        yield f"example-{number}-answered", page.example_page(hit, frame, number, form.right_answer(example))
    if form.is_live:
        yield from _live_pages(hit, frame, pairs)
        pairs = ()
    for number, pair in enumerate(pairs, 1):
        layout = form.choose_layout(pair, {}, {}, seed=0, name=(), before="a" if form.is_sided else None)
        form_page: Any = form.on_page("preview", pair, layout, number)
        if hit.differences != "off":  # as whoever is shown them sees it
            form_page = replace(form_page, differs=bool(are_differences_shown("on", "", "", cast("Pair", pair))))
        to_go = math.ceil(hit.minutes_per_sitting * (len(pairs) - number + 1) / len(pairs)) or None
        undo = "last" if number > 1 else ""
        progress = page.SittingProgress(number - 1, len(pairs), hit.lease_minutes, undo, to_go)
        yield (
            f"{hit.form.removesuffix('s')}-{number}",
            page.task_page(hit, frame, form_page, progress, "saved" if number > 1 else ""),
        )
    for kind in page.MESSAGE_KINDS:
        code = hit.screened_out_code if kind == "no_more" else hit.completion_code if kind in page.ENDINGS else ""
        over = kind in ("done", "handed_in")
        waits = kind in ("wait", "paused")
        at = page.SittingSoFar(15, code, may_hand_in=waits, more=over, undo="last" if kind == "done" else "")
        if kind in page.ENDINGS and hit.asked_of_rater("after"):
            at = replace(at, asks="told" if kind == "handed_in" else "asked")
        yield f"message-{kind.replace('_', '-')}", page.message_page(hit, frame, kind, at)


def _live_pages(hit: Hit, frame: Any, pairs: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """A live conversation in each of its stages; of a pair of whole conversations, as if one rater had held both."""
    from seedvote.crowd.forms.conversations import lines_of
    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.hit.live import LiveRule
    from seedvote.crowd.web import page

    rule, pair = hit.live or LiveRule(()), pairs[0]
    bare: Any = FORMS["live"].on_page("preview", pair, "a", 1)
    bare = replace(bare, fewest=rule.turns[0], most=rule.turns[1], characters=rule.characters)
    said = [lines_of(side.turns, side.speaker) if side.turns else () for side in (pair.a, pair.b)]
    left, right = said
    asked = iter([line.text for line in left if line.who])
    right = [replace(line, text=next(asked, line.text)) if line.who else line for line in right]
    talked = replace(bare, left=left, right=right, turn=rule.turns[0] + 1)
    stages = {
        "live-begin": bare,
        "live-wait": replace(bare, left=left[:1], right=right[:1], stage="wait"),
        "live-failed": replace(bare, left=left[:1], right=right[:1], stage="failed", may_return=True),
        "live-choose": replace(talked, stage="choose"),
        "live-spent": replace(talked, stage="choose", is_spent=True),
        "live-last": replace(talked, stage="choose", turn=rule.turns[1] + 1),
    }
    progress = page.SittingProgress(0, hit.shown_per_sitting, hit.lease_minutes, "", 20)
    for name, content in stages.items():
        yield name, page.task_page(hit, frame, content, progress, "")


def _invent_rater(hit: Hit) -> KnownRater:
    """An invented rater, for the page that says what is stored."""
    from decimal import Decimal

    from seedvote.crowd.rating.personal_data import KnownRater, KnownVisit

    begun = 1_780_000_000.0
    answers = {question.name: question.answers[0] for question in hit.about if question.answers}
    return KnownRater(
        "9f86d081884c7d65",
        begun,
        hit.consent_version,
        begun + 60,
        hit.languages[0] if hit.languages[1:] else None,
        [KnownVisit("prolific", "5f1c0a7be1", "6489c2d9aa", begun, begun + 1200)],
        answers,
        comments=2,
        shown=28,
        answered=28,
        first=begun + 120,
        last=begun + 1200,
        seconds=412.0,
        noticed=(3, 1, 0),
        devices=("phone", "desktop") if hit.page_view else (),
        followed=1 if hit.program_trap else 0,
        paid=[(Decimal(str(hit.pay_per_sitting)), hit.currency)] if hit.pay_per_sitting else [],
    )
