"""What must be right before a launch: read from the study and the running server, and printed first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import sqlalchemy as sa

from crowd.hit import Hit
from crowd.marketplaces.mturk.entrance import MTURK_PREVIEW
from crowd.store.tables import pairs as pairs_table
from crowd.study_folder import opened
from crowd.watching.progress import progress, sittings_needed
from dialogue.errors import InputError
from dialogue.files import digest

DESCRIPTION = "Read short conversations and say which of two responses is more relevant."
Lines = list[tuple[str, str]]  # of a checklist: the point, and what was found


@dataclass(frozen=True, slots=True)
class Planned:
    """What a launch has to know of a served study."""

    folder: Path
    pairs: Path
    hit: Hit
    sittings: int  # that are still needed
    checks: int
    digest: str


def read_planned(folder: Path, hit: Hit, database: str | None) -> Planned:
    """Read what a launch needs; the study must have been served once, so that its store exists."""
    pairs = folder / "pairs.jsonl"
    with opened(folder, database) as store, store.read() as connection:
        now = progress(connection, hit.votes_per_pair)
        kinds = sa.select(sa.func.count()).select_from(pairs_table).where(pairs_table.c.kind == "check")
        checks = connection.scalar(kinds) or 0
    if not pairs.exists():
        raise InputError(
            f"{pairs} does not exist, so nobody could check later what was launched. Put the pairs file there."
        )
    sittings = sittings_needed(now.pairs, hit.votes_per_pair, hit.pairs_per_sitting, now.counted)
    return Planned(folder, pairs, hit, sittings, checks, digest(pairs))


def check_page(public_url: str, frame: str = "", door: Mapping[str, str] | None = None) -> str:
    """Ask the public address whether our server is there, lets people in, and may be framed by the marketplace.

    The page is asked for as the marketplace would announce somebody (`door`), or as an MTurk preview: a server of
    invited raters refuses everybody else. Neither stores anything.
    """
    try:
        health = httpx.get(f"{public_url}/health", timeout=15, trust_env=False)
        page = httpx.get(f"{public_url}/", params=door or {"assignmentId": MTURK_PREVIEW}, timeout=15, trust_env=False)
    except httpx.HTTPError as error:
        raise InputError(
            f"{public_url} does not answer ({type(error).__name__}). Start `python -m crowd serve` there first."
        ) from error
    if door and page.status_code == 403:
        raise InputError(f"{public_url} answers, but it does not admit these people. Serve the study with --prolific.")
    if health.status_code != 200 or page.status_code != 200 or "Content-Security-Policy" not in page.headers:
        raise InputError(f"{public_url} answers, but it is not our server. Is the path prefix missing?")
    if frame and frame not in page.headers["Content-Security-Policy"]:
        raise InputError(
            f"{public_url} does not let {frame} frame it, so workers would see an empty box. Serve the study with "
            "--mturk live or --mturk sandbox, whichever you launch on."
        )
    return f"{public_url} answers" + (f"; {frame} may frame it" if frame else "")


def common_points(study: Planned) -> Lines:
    """The points that are the same for every marketplace."""
    hit = study.hit
    counted = {"row": "in a row", "total": "in total"}[hit.count_failures]
    gate = (
        f"no more work after {hit.max_failures} failed {counted}"
        if study.checks
        else "every vote counts, even careless ones"
    )
    text = ", the default text: show it to your ethics board" if hit.consent_text == Hit().consent_text else ""
    return [
        ("consent", f"version {hit.consent_version}{text}"),
        ("task", f"{hit.pairs_per_sitting} pairs a sitting, {hit.votes_per_pair} raters a pair"),
        (
            "checks",
            f"{hit.first_checks} at the start, {hit.later_checks} more a sitting, out of {study.checks}; {gate}",
        ),
        ("sittings", f"{study.sittings} give every pair its votes; blocked raters make more necessary (crowd extend)"),
    ]


def hourly(pay: float, minutes: int) -> str:
    """What the pay means in an hour.

    >>> hourly(2.0, 10)
    '12.00 an hour at 10 minutes a sitting'
    """
    return f"{pay * 60 / minutes:.2f} an hour at {minutes} minutes a sitting"
