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

from crowd.forms.form import HitForm, decisive
from crowd.forms.known import FORMS
from crowd.hit.tables import Exclusion
from crowd.rating import standing
from crowd.rating.deciding import tell
from crowd.rating.gate import at_least
from crowd.rating.rules import kept_hit, rules_in_force
from crowd.store import event_log
from crowd.store.identity import FORGOTTEN, rater_hash
from crowd.store.store import Store, settings
from crowd.store.tables import raters, votes


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


def broken_rule(mine: Sequence[JudgedPair], others: Others, rules: Exclusion) -> str | None:
    """The first rule that these judgements break, as a clause with its numbers; None if they keep all."""
    if len(mine) < rules.after:
        return None
    return (
        _too_fast(mine, rules.seconds)
        or _in_a_row(mine, rules.same)
        or _too_many_left(mine, rules.left)
        or _too_many_ties(mine, others.ties, rules.ties)
        or _too_far_from_others(mine, others.answers, rules.agreement)
    )


def _too_fast(mine: Sequence[JudgedPair], least: float | None) -> str | None:
    taken = [one.seconds for one in mine if one.seconds is not None]
    if least is None or not taken or (median := statistics.median(taken)) >= least:
        return None
    return f"seconds: the median of {len(taken)} is {median:.2f} s, below {least:g} s"


def _in_a_row(mine: Sequence[JudgedPair], most: int | None) -> str | None:
    run = max(len(list(group)) for _, group in groupby(one.pressed for one in mine))
    return None if most is None or run < most else f"same: the same button {run} times in a row"


def _too_many_left(mine: Sequence[JudgedPair], bound: float | None) -> str | None:
    decided = [one.pressed for one in mine if one.pressed != "tie"]
    left = decided.count("left")
    if bound is None or (p := at_least(left, len(decided), 0.5)) > bound:
        return None
    return f"left: {left} of {len(decided)} on the left, probability {p:.1g}"


def _too_many_ties(mine: Sequence[JudgedPair], share: float, bound: float | None) -> str | None:
    ties = sum(one.pressed == "tie" for one in mine)
    if bound is None or (p := at_least(ties, len(mine), share)) > bound:
        return None
    return f"ties: {ties} of {len(mine)} where others have {share:.0%}, probability {p:.1g}"


def _too_far_from_others(
    mine: Sequence[JudgedPair], answers: Mapping[str, Counter[str]], least: float | None
) -> str | None:
    same = sum(answers[one.pair][one.choice] for one in mine if one.pair in answers)
    met = sum(answers[one.pair].total() for one in mine if one.pair in answers)
    if least is None or not met or same / met >= least:
        return None
    return f"agreement: {same / met:.0%} of {met} answers of others are the same, below {least:.0%}"


def broken_rules(connection: sa.Connection, rules: Exclusion | None) -> dict[str, str]:
    """Who breaks a rule, and which; the gate's blocked raters are no measure for others and need no second reason."""
    if rules is None:
        return {}
    key = settings(connection)["rater_key"]
    named = {*rules.raters, *(rater_hash(key, name) for name in rules.raters)}
    hit = kept_hit(connection)
    given = _given(connection, FORMS[hit.form if hit else "pairs"])
    answers, ties, total = defaultdict[str, Counter[str]](Counter), 0, 0
    for mine in given.values():
        for one in mine:
            answers[one.pair][one.choice] += 1
            ties, total = ties + (one.choice == "tie"), total + 1
    found = {
        row.rater: "raters: named in hit.toml"
        for row in connection.execute(sa.select(raters.c.rater, raters.c.person))
        if named & {row.rater, row.person}
    }
    for rater, mine in given.items():
        own = sum(one.choice == "tie" for one in mine)
        share = (ties - own) / (total - len(mine)) if total > len(mine) else 0.0
        rest = {one.pair: answers[one.pair] - Counter([one.choice]) for one in mine}
        if clause := broken_rule(mine, Others(rest, share), rules):
            found.setdefault(rater, clause)
    return found


def _given(connection: sa.Connection, form: HitForm) -> dict[str, list[JudgedPair]]:
    v = votes.c
    query = sa.select(v.rater, v.pair, v.choice, v.left, v.seconds).join(raters, raters.c.rater == v.rater)
    query = query.where(v.failed.is_(None), raters.c.status != "blocked").order_by(v.vote)
    found = defaultdict[str, list[JudgedPair]](list)
    for row in connection.execute(query):
        found[row.rater].append(
            JudgedPair(row.pair, decisive(row.choice), form.button(row.choice, row.left), row.seconds)
        )
    return found


def mark_broken(connection: sa.Connection, rules: Exclusion | None, now: float) -> int:
    """Write who breaks a rule, each change with its event; how many changed. Settling is the caller's.

    Of somebody forgotten the times and the id are gone, so what the rules said before stands while there are any.
    """
    found = broken_rules(connection, rules)
    known = connection.execute(sa.select(raters.c.rater, raters.c.broke)).all()
    if rules is not None:
        known = [row for row in known if not row.rater.startswith(FORGOTTEN)]
    changed = {row.rater: found.get(row.rater) for row in known if row.broke != found.get(row.rater)}
    for rater, clause in changed.items():
        connection.execute(sa.update(raters).where(raters.c.rater == rater).values(broke=clause))
        event_log.append(connection, "rule", now, rater, broke=clause)
    return len(changed)


def exclude_by_rule(store: Store, now: float) -> str:
    """Apply the rules that are in force to everybody; what followed, as a sentence."""
    with store.write() as connection:
        if (kept_hit(connection)) is None or (rules := rules_in_force(connection)).hit.exclude is None:
            return "hit.toml has no [exclude]: nobody is excluded by rule."
        if mark_broken(connection, rules.hit.exclude, now):
            effect = standing.settle(connection, rules.assignment, rules.gate, now)
            tell(connection, effect, now, because="[exclude]")
            return f"Excluded by rule: {_count(connection)}. {effect.says()}"
        return f"Excluded by rule: {_count(connection)}, as before."


def _count(connection: sa.Connection) -> str:
    broke = sa.select(sa.func.count()).select_from(raters).where(raters.c.broke.is_not(None))
    number = connection.scalar(broke) or 0
    return f"{number} {'rater' if number == 1 else 'raters'}"
