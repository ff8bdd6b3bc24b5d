"""One self-contained HTML page of a study: what was found in plain sentences, the pictures, the numbers, the recipes.

The page needs no script and no outside file; model text is escaped. The same facts go to report.json for machines.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from analysis import findings
from analysis.compare import Method, from_scores, from_votes
from analysis.compare_text import plain_method
from analysis.report_votes import agreement_section, preference_section
from analysis.study import Study
from dialogue.signature import VERSION

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
KINDS = {"people": 0, "token": 1, "probe": 2}
SAMPLES = 6


def methods_of(study: Study) -> list[Method]:
    """People first, then token metrics, then probes on their main split; baselines stay in their own table."""
    found: list[Method] = []
    if study.votes is not None and study.pairs:
        votes = study.votes
        net = np.where(votes.tie, 0.0, np.where(votes.choice == votes.labels.index("a"), 1.0, -1.0))
        found += from_votes([votes.pairs[code] for code in votes.pair], net, study.pairs)
    if study.scores is not None:
        found += [m for m in from_scores(study.scores) if m.kind in KINDS]
    return sorted(found, key=lambda m: (KINDS[m.kind], m.model, m.checkpoint != "last", m.name))


def render(study: Study, *, title: str) -> tuple[str, dict[str, Any]]:
    """The page, and its facts as plain values."""
    methods = methods_of(study)
    sentences = findings.found(study, methods)
    limits = findings.limitations(study, methods)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    page = environment.get_template("report/report.html").render(
        title=title,
        simulated=study.simulated,
        votes=0 if study.votes is None else len(study.votes),
        findings=sentences,
        ties=_ties(study),
        agreement=agreement_section(study),
        preference=preference_section(study),
        **_spread([m for m in methods if m.checkpoint != findings.UNSEEN]),
        probes=_probes(study),
        raters=_raters(study),
        samples=_samples(study),
        limitations=limits,
        recipes=[list(part) for part in study.recipes.items()],
        version=VERSION,
        folder=study.folder.name,
    )
    facts = {
        "title": title,
        "findings": sentences,
        "limitations": limits,
        "methods": [plain_method(m) for m in methods],
    }
    return page, facts | {"recipes": dict(study.recipes), "version": VERSION}


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _ties(study: Study) -> Mapping[str, Any] | None:
    if study.ties is None:
        return None
    picture = study.folder / "ties.png"
    return {
        "size": study.ties["recipe"]["size"],
        "head": ["experiment", "votes", "ties", "share", "95 % of sets", "P(majority of ties)"],
        "rows": [_curve(curve) for curve in [*study.ties["experiments"], study.ties["pooled"]]],
        "unit_head": ["drawn anew", "units", "95 % interval of the share", "design effect", "worth votes"],
        "units": [_unit(curve) for curve in study.ties["units"]],
        "picture": _embedded(picture) if picture.exists() else None,
        "alt": "Distributions of the tie share; the tables below hold the same numbers.",
        "warnings": study.ties["warnings"],
    }


def _curve(curve: Mapping[str, Any]) -> list[str]:
    parts = [curve["name"], str(curve["votes"]), str(curve["ties"]), _percent(curve["share"])]
    return [*parts, f"{_percent(curve['low'])} to {_percent(curve['high'])}", f"{curve['p_majority']:.2g}"]


def _unit(curve: Mapping[str, Any]) -> list[str]:
    interval = curve["interval"]
    span = f"{_percent(interval['low'])} to {_percent(interval['high'])}"
    worth = [f"{interval['design_effect']:.2f}", f"{interval['effective_n']:.0f}"]
    return [curve["unit"].replace("+", " and "), str(curve["clusters"]), span, *worth]


def _embedded(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def _spread(methods: Sequence[Method]) -> Mapping[str, Any]:
    """The rows of the table of methods, with the places of the dots on one common axis."""
    reach = max((abs(v - np.mean(m.values)) + m.noise for m in methods for v in m.values), default=1.0)
    scale = max(1.0, float(np.ceil(reach)))
    seeds = sorted({len(m.seeds) for m in methods})
    return {
        "methods": [_method(m, scale) for m in methods],
        "scale": f"{scale:.0f}",
        "seeds": " or ".join(map(str, seeds)),
    }


def _method(method: Method, scale: float) -> Mapping[str, Any]:
    over, centre = method.over_seeds, float(np.mean(method.values))
    step = 14 / max(len(method.values) - 1, 1)
    dots = []
    for number, (value, error) in enumerate(zip(method.values, method.item_se, strict=True)):
        place, half = 120 + 116 * (value - centre) / scale, 116 * (0 if math.isnan(error) else error) / scale
        dots.append(
            {
                "x": f"{place:.1f}",
                "low": f"{place - half:.1f}",
                "high": f"{place + half:.1f}",
                "y": f"{4 + number * step:.1f}",
            }
        )
    pairs = zip(method.seeds, method.values, strict=True)
    return {
        "kind": method.kind,
        "name": method.name,
        "model": method.model,
        "checkpoint": method.checkpoint,
        "dots": dots,
        "described": ", ".join(f"seed {seed}: {value:.1f}" for seed, value in pairs),
        "mean": "0 by design" if method.kind == "people" else f"{centre:.1f}",
        "sd": f"{over.sd:.1f}",
        "interval": f"{over.low:.1f} to {over.high:.1f}",
        "noise": f"{method.noise:.1f}",
    }


def _probes(study: Study) -> Mapping[str, Any] | None:
    """Mean over seeds of each task: trained checkpoints by architecture, then every baseline."""
    if study.scores is None:
        return None
    table = findings.probe_table(study.scores)
    if not table.tasks:
        return None
    rows = [
        [task, *(f"{table.value[task, c]:.1f}" if (task, c) in table.value else "" for c in table.columns)]
        for task in table.tasks
    ]
    return {"head": ["task", *table.columns], "rows": rows}


def _raters(study: Study) -> Mapping[str, Any] | None:
    if not study.raters:
        return None
    rows = []
    for status in ("passed", "incomplete", "blocked"):
        group = [r for r in study.raters if r.status == status]
        seconds = [r.median_seconds for r in group if r.median_seconds is not None]
        if group:
            pace = f"{np.median(seconds):.1f}" if seconds else ""
            rows.append([status, len(group), sum(r.votes for r in group), sum(r.checks_failed for r in group), pace])
    blocked = sum(r.status == "blocked" for r in study.raters)
    sentence = (
        f"{len(study.raters)} raters came; {blocked} failed too many hidden checks and got no further work. "
        "Their votes are kept, marked, and not counted."
    )
    head = ["status", "raters", "judgements", "checks failed", "median seconds"]
    return {"sentence": sentence, "head": head, "rows": rows}


def _samples(study: Study) -> list[Mapping[str, Any]]:
    answers: dict[str, list[Any]] = {}
    for response in study.responses:
        answers.setdefault(response.item, []).append(response)
    shown: dict[str, Mapping[str, Any]] = {}
    for pair in study.pairs:
        if pair.item in answers and pair.item not in shown and pair.kind == "real" and len(shown) < SAMPLES:
            shown[pair.item] = {"item": pair.item, "context": pair.context, "responses": answers[pair.item]}
    return list(shown.values())
