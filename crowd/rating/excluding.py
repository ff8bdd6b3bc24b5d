"""The rules of `[exclude]` in hit.toml: which raters are excluded after the fact, computed from all their answers.

They are stated before the votes come, so that an analysis can be registered with them; no rater is ever told. They
speak when a server starts, at an export and at `crowd exclude STUDY`, always about everybody anew, so that it does
not matter how often they have spoken before.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import sqlalchemy as sa

from seedvote.crowd.forms.form import HitForm, decisive_part
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.tables import Exclusion
from seedvote.crowd.rating import standing
from seedvote.crowd.rating.deciding import tell
from seedvote.crowd.rating.moment import kept_hit, rules_in_force
from seedvote.crowd.store.identity import FORGOTTEN, rater_hash
from seedvote.crowd.store.store import Store, append_event, settings
from seedvote.crowd.store.tables import raters, votes
from seedvote.dialogue.formulas.chances import binomial_tail


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One judgement of a real or control pair, in the order in which they came."""

    pair: str
    choice: str
    pressed: str
    """The button."""
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Others:
    """What all raters but one did: answers to each pair, and the share of ties."""

    answers: Mapping[str, Counter[str]]
    ties: float


def broken_rule(judgements: Sequence[JudgedPair], peers: Others, rules: Exclusion) -> str | None:
    """The first rule that these judgements break, as a clause with its numbers; None if they keep all."""
    if len(judgements) < rules.after:
        return None
    return (
        _too_fast(judgements, rules.seconds)
        or _in_a_row(judgements, rules.same)
        or _too_many_left(judgements, rules.left)
        or _too_many_ties(judgements, peers.ties, rules.ties)
        or _too_far_from_others(judgements, peers.answers, rules.agreement)
    )


def _too_fast(judgements: Sequence[JudgedPair], least: float | None) -> str | None:
    taken = [judgement.seconds for judgement in judgements if judgement.seconds is not None]
    if least is None or not taken or (median := statistics.median(taken)) >= least:
        return None
    return f"seconds: the median of {len(taken)} is {median:.2f} s, below {least:g} s"


def _in_a_row(judgements: Sequence[JudgedPair], most: int | None) -> str | None:
    run = max(len(list(group)) for _, group in groupby(judgement.pressed for judgement in judgements))
    return None if most is None or run < most else f"same: the same button {run} times in a row"


def _too_many_left(judgements: Sequence[JudgedPair], bound: float | None) -> str | None:
    decided = [judgement.pressed for judgement in judgements if judgement.pressed != "tie"]
    left_count = decided.count("left")
    if bound is None or (p := binomial_tail(left_count, len(decided), 0.5)) > bound:
        return None
    return f"left: {left_count} of {len(decided)} on the left, probability {p:.1g}"


def _too_many_ties(judgements: Sequence[JudgedPair], share: float, bound: float | None) -> str | None:
    ties = sum(judgement.pressed == "tie" for judgement in judgements)
    if bound is None or (p := binomial_tail(ties, len(judgements), share)) > bound:
        return None
    return f"ties: {ties} of {len(judgements)} where others have {share:.0%}, probability {p:.1g}"


def _too_far_from_others(
    judgements: Sequence[JudgedPair], answers: Mapping[str, Counter[str]], least: float | None
) -> str | None:
    same = sum(answers[judgement.pair][judgement.choice] for judgement in judgements if judgement.pair in answers)
    met = sum(answers[judgement.pair].total() for judgement in judgements if judgement.pair in answers)
    if least is None or not met or same / met >= least:
        return None
    return f"agreement: {same / met:.0%} of {met} answers of others are the same, below {least:.0%}"


def broken_rules(connection: sa.Connection, rules: Exclusion | None) -> dict[str, str]:
    """Who breaks a rule, and which; the gate's blocked raters are no measure for others and need no second reason."""
    if rules is None:
        return {}
    key = settings(connection)["rater_key"]
    named_raters = {*rules.raters, *(rater_hash(key, name) for name in rules.raters)}
    hit = kept_hit(connection)
    by_rater = _read_judgements(connection, FORMS[hit.form if hit else "pairs"])
    answers, ties, total = defaultdict[str, Counter[str]](Counter), 0, 0
    for judgements in by_rater.values():
        for judgement in judgements:
            answers[judgement.pair][judgement.choice] += 1
            ties, total = ties + (judgement.choice == "tie"), total + 1
    clauses = {
        row.rater: "raters: named in hit.toml"
        for row in connection.execute(sa.select(raters.c.rater, raters.c.person))
        if named_raters & {row.rater, row.person}
    }
    for rater, judgements in by_rater.items():
        own = sum(judgement.choice == "tie" for judgement in judgements)
        share = (ties - own) / (total - len(judgements)) if total > len(judgements) else 0.0
        other_answers = {
            judgement.pair: answers[judgement.pair] - Counter([judgement.choice]) for judgement in judgements
        }
        if clause := broken_rule(judgements, Others(other_answers, share), rules):
            clauses.setdefault(rater, clause)
    return clauses


def _read_judgements(connection: sa.Connection, form: HitForm) -> dict[str, list[JudgedPair]]:
    v = votes.c
    query = sa.select(v.rater, v.pair, v.choice, v.left, v.seconds).join(raters, raters.c.rater == v.rater)
    query = query.where(v.failed.is_(None), raters.c.status != "blocked").order_by(v.vote)
    judgements = defaultdict[str, list[JudgedPair]](list)
    for row in connection.execute(query):
        judgements[row.rater].append(
            JudgedPair(row.pair, decisive_part(row.choice), form.first_button(row.choice, row.left), row.seconds)
        )
    return judgements


def mark_broken(connection: sa.Connection, rules: Exclusion | None, now: float) -> int:
    """Write who breaks a rule, each change with its event; how many changed. Settling is the caller's.

    Of somebody forgotten the times and the id are gone, so what the rules said before stands while there are any.
    """
    clauses = broken_rules(connection, rules)
    known = connection.execute(sa.select(raters.c.rater, raters.c.broke)).all()
    if rules is not None:
        known = [row for row in known if not row.rater.startswith(FORGOTTEN)]
    changed = {row.rater: clauses.get(row.rater) for row in known if row.broke != clauses.get(row.rater)}
    for rater, clause in changed.items():
        connection.execute(sa.update(raters).where(raters.c.rater == rater).values(broke=clause))
        append_event(connection, "rule", now, rater, broke=clause)
    return len(changed)


def exclude_by_rule(store: Store, now: float) -> str:
    """Apply the rules that are in force to everybody; what followed, as a sentence."""
    with store.write() as connection:
        if (kept_hit(connection)) is None or (rules := rules_in_force(connection)).hit.exclude is None:
            return "hit.toml has no [exclude]: nobody is excluded by rule."
        if mark_broken(connection, rules.hit.exclude, now):
            effect = standing.settle(connection, rules.assignment, rules.gate, now)
            tell(connection, effect, now, because="[exclude]")
            return f"Excluded by rule: {_count_excluded(connection)}. {effect.says()}"
        return f"Excluded by rule: {_count_excluded(connection)}, as before."


def _count_excluded(connection: sa.Connection) -> str:
    broke = sa.select(sa.func.count()).select_from(raters).where(raters.c.broke.is_not(None))
    number = connection.scalar(broke) or 0
    return f"{number} {'rater' if number == 1 else 'raters'}"
