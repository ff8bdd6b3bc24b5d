"""Keep ties.json, ties.png, ties.pdf and so_far.json of a study up to date while votes come in.

Looks at STUDY/votes.jsonl every few seconds and redraws the figures when it has changed; `--once` draws them once.
Until each HumanExp has more votes than a set, sets are sampled with replacement. Beside them so_far.json tells the
researcher's page preference, agreement and whether the study may stop. State your rule for stopping before votes come:
--difference, --margin.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seedvote.analysis import notebook
from seedvote.analysis.arguments import (
    CLUSTERS,
    READING,
    STATED,
    VOTES,
    add_options,
    check_margin,
    check_ranges,
    repeat_clusters,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.shell.command_line import repeat_options, tell_next

LASTING = True  # runs until it is stopped
SO_FAR = "so_far.json"
DIFFERENCE = 0.16  # the default of `plan`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and how often to look."""
    add_options(parser, VOTES, *READING)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: beside the votes)")
    parser.add_argument("--size", type=int, default=200, help="votes in a set (default 200)")
    add_options(parser, CLUSTERS)
    parser.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="time between two checks (default 5)"
    )
    parser.add_argument(
        "--difference", type=float, metavar="D", help="rule for stopping: net preference to be shown (default .16)"
    )
    parser.add_argument(
        "--margin", type=float, metavar="M", help="rule for stopping: net preference below which two count as alike"
    )
    parser.add_argument("--once", action="store_true", help="draw once and stop")


def run(args: argparse.Namespace) -> int | None:
    """Draw whenever the votes changed since the last drawing; stop with Ctrl-C."""
    path = args.votes if args.votes.suffix else args.votes / "votes.jsonl"
    _state_rule(args, path)
    last_stamp: object = "nothing yet"
    while True:
        stamp = _read_stamp(path)
        if stamp != last_stamp or args.once:
            try:
                print(draw_results(args, path), flush=True)
            except InputError as error:
                if args.once:
                    raise
                print(f"waiting: {error}", flush=True)
            last_stamp = stamp
        if args.once:
            options = [*repeat_options(args, *STATED), *repeat_clusters(args)]
            tell_next("python -m analysis agreement", args.votes, *options)
            return 0
        time.sleep(args.every)


def draw_results(args: argparse.Namespace, path: Path) -> str:
    """Write the files; the sentence tells what they show."""
    from seedvote.analysis.arguments import read_votes_of, reading
    from seedvote.analysis.questions.ties.answer import answer, smallest_experiment
    from seedvote.analysis.questions.ties.picture import laws_figure
    from seedvote.analysis.questions.ties.showing import document
    from seedvote.analysis.showing.plots import save_figure
    from seedvote.analysis.showing.words import percent
    from seedvote.analysis.votes.cautions import not_people, with_reading

    votes = read_votes_of(args)
    replace = smallest_experiment(votes) <= args.size
    answer_found = answer(votes, size=args.size, replace=replace, clusters=args.clusters)
    out = args.out or path.parent
    write_json(out / "ties.json", with_reading(document(answer_found), votes))
    save_figure(laws_figure(answer_found), out / "ties")
    rule = _stated_rule(out, args.difference, args.margin, len(votes))
    _write_so_far(out, args.votes, len(votes), rule, clusters=args.clusters, **reading(args))
    line = f"{len(votes):,} votes, {percent(answer_found.pooled.share)} ties: {out / 'ties'}.json, .png, .pdf"
    return " ".join([line, *not_people(answer_found.voters)])


def _state_rule(args: argparse.Namespace, path: Path) -> None:
    """Keep a rule that is stated before there are votes."""
    if path.exists() or (args.difference is None and args.margin is None):
        return
    rule = _stated_rule(args.out or path.parent, args.difference, args.margin, 0)
    _write_rule(args.out or path.parent, rule)
    margin = "none" if rule.margin is None else f"{rule.margin:g}"
    print(f"Stated before any vote: stop by a difference of {rule.difference:g}, margin {margin}.", flush=True)


def _read_stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Stop when a difference or, with a margin, an equivalence is shown; sharpest for this `difference`."""

    difference: float = DIFFERENCE
    margin: float | None = None
    stated_at: int | None = None  # votes known when somebody stated it; None: nobody did, these are the defaults


def _stated_rule(folder: Path, difference: float | None, margin: float | None, votes: int) -> StoppingRule:
    """The rule that is given now, else the one kept in the folder; the same one said again is not new."""
    rule = _kept_rule(folder)
    if difference is None and margin is None:
        return rule
    check_margin(margin)
    check_ranges({"difference": difference}, difference=(0.001, 1))
    wanted_rule = StoppingRule(DIFFERENCE if difference is None else difference, margin, votes)
    same = (rule.difference, rule.margin) == (wanted_rule.difference, wanted_rule.margin) and rule.stated_at is not None
    return rule if same else wanted_rule


def _kept_rule(folder: Path) -> StoppingRule:
    path = folder / SO_FAR
    try:
        return StoppingRule(**read_json(path)["rule"]) if path.exists() else StoppingRule()
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is no file of ours. Move it away: analysis watch writes it anew.") from error


def _write_so_far(folder: Path, votes: Any, number: int, rule: StoppingRule, **reading: Any) -> None:
    """Ask the three questions and write the answers; a question without one says why."""
    from seedvote.analysis.showing.words import to_plain

    preference = _asked(notebook.preference, votes, **reading)
    agreement = _asked(notebook.agreement, votes, **reading)
    plan = _asked(notebook.plan, votes, difference=rule.difference, margin=rule.margin, **reading)
    alpha = agreement.get("krippendorff_alpha") or {}
    document = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "votes": number,
        "rule": asdict(rule),
        "contrasts": [_contrast(row) for row in preference.get("contrasts", ())],
        "agreement": {
            "Fleiss' kappa": agreement.get("fleiss_kappa"),
            "Krippendorff's alpha, nominal": alpha.get("nominal"),
            "Gwet's AC1": agreement.get("gwet_ac1"),
        },
        "running": [
            {key: row.get(key) for key in ("first", "second", "votes", "decision", "reason", "low", "high")}
            for row in plan.get("running", ())
        ],
        "refusals": [part["refusal"] for part in (preference, agreement, plan) if "refusal" in part],
    }
    write_json(folder / SO_FAR, to_plain(document))


def _write_rule(folder: Path, rule: StoppingRule) -> None:
    """The rule alone, before there are votes."""
    empty: dict[str, Any] = {"contrasts": [], "agreement": {}, "running": [], "refusals": []}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(folder / SO_FAR, {"written": now, "votes": 0, "rule": asdict(rule), **empty})


def _asked(question: Any, votes: Any, **options: Any) -> Mapping[str, Any]:
    try:
        document: Mapping[str, Any] = question(votes, **options).document
    except InputError as error:
        return {"refusal": str(error)}
    return document


def _contrast(row: Mapping[str, Any]) -> dict[str, Any]:
    net, counts = row["net"] or {}, row["sign_test"]
    return {
        "first": row["first"],
        "second": row["second"],
        "votes": row["votes"],
        "for_first": counts["first"],
        "for_second": counts["second"],
        "ties": counts["ties"],
        "net": net.get("value"),
        "low": net.get("low"),
        "high": net.get("high"),
        "reason": row["reason"],
    }
