"""The folder of a study, opened: its HIT, its pairs and its store, or one sentence on what is missing.

A study keeps the HIT and the pairs that its first raters saw; what would change them under way is refused here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from seedvote.crowd.forms.known import FORMS, FormName
from seedvote.crowd.hit.hit import Hit, read_hit
from seedvote.crowd.rating import batches, pool
from seedvote.crowd.rating.change_control import changed_keys, refuse_changes, take_up
from seedvote.crowd.rating.excluding import exclude_by_rule
from seedvote.crowd.rating.moment import first_source, is_same_kind, kept_hit, make_rules
from seedvote.crowd.store.keys import caution, end_older_seats, note_place, where_it_was
from seedvote.crowd.store.launches import take_up_files
from seedvote.crowd.store.store import Store, open_store, sqlite_url
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic


def hit_of(study: Path, path: Path | None, questions: Path | None = None) -> Hit:
    """The study's own hit.toml, else the paper's HIT; one that is given becomes the study's own, and stays it.

    With questions, a study that has none yet gets one that says the form, and another form is refused.
    """
    own = study / "hit.toml"
    if questions is not None and path is None and not own.exists():
        with atomic(own) as file:
            file.write('form = "choice"\n')
    hit = _own_hit(own, path)
    if questions is not None and FORMS[hit.form].option != "questions":
        raise InputError(
            f'{path or own} is of the form {hit.form}, and questions are of another. Add form = "choice" to it, or '
            "serve the questions in a study folder of their own."
        )
    return hit


def _own_hit(own: Path, path: Path | None) -> Hit:
    if path is not None:
        hit = read_hit(path)
        if own.exists() and read_hit(own) != hit:
            raise InputError(f"{own} differs from {path}. A study keeps one HIT: change the file in its folder.")
        if not own.exists():
            with atomic(own) as file:
                file.write(path.read_text(encoding="utf-8-sig"))
    return read_hit(own if own.exists() else None)


def says_rendering(study: Path) -> bool:
    """Whether the study's own hit.toml says how its texts are shown, rather than leaving it at the default."""
    own = study / "hit.toml"
    return own.exists() and "rendering" in tomllib.loads(own.read_text(encoding="utf-8-sig"))


def pairs_file(study: Path, typed_path: Path | None, form: FormName = "pairs") -> Path:
    """The file of pairs, or of what else the form shows, which must be there."""
    form_rules = FORMS[form]
    path = typed_path or study / form_rules.file
    if not path.exists():
        make = f"Make {Path(form_rules.file).stem} ({form_rules.command} {study})"
        raise InputError(f"{path} does not exist. {make} or name them: --{form_rules.option}.")
    return path


def prepare_study(
    study: Path,
    pairs: Path | None,
    hit: Hit,
    database: str | None,
    *,
    seed: int,
    simulated: bool,
    tell: Callable[[str], object] = lambda _: None,
) -> str:
    """Create the store where there is none, bring it up to the pairs file and to hit.toml, and return its URL.

    `tell` is told, sentence by sentence, what changed and what may be amiss.
    """
    path = pairs_file(study, pairs, hit.form)
    study.mkdir(parents=True, exist_ok=True)
    url = database or sqlite_url(study)
    store = open_store(url, seed=seed, simulated=simulated)
    try:
        if sentence := _of_another_kind(store, study, simulated):
            tell(sentence)
        tell_of_place(store, study, tell)
        end_older_seats(store, store.now())
        refuse_changes(store, hit)
        pool.load(store, path, hit, store.now())
        batches.keep_judge(store, hit, study)
        for sentence in take_up(store, hit, store.now()):
            tell(sentence)
        if hit.exclude:
            tell(exclude_by_rule(store, store.now()))
        if sentence := _too_few_checks(store, hit, path):
            tell(sentence)
    finally:
        store.close()
    return url


def tell_of_place(store: Store, study: Path, tell: Callable[[str], object]) -> None:
    """Say so where the store was copied or moved; else keep where it is."""
    with store.read() as connection:
        before = where_it_was(connection)
    if before:
        tell(caution(study, before))
        return
    with store.write() as connection:
        note_place(connection)


def _of_another_kind(store: Store, study: Path, simulated: bool) -> str:
    """Refuse simulated raters where people have voted; warn where it is the other way round, for looking is allowed."""
    with store.read() as connection:
        first = first_source(connection)
    if simulated and not is_same_kind(first, "simulated"):
        raise InputError(
            f"{study} holds votes of people, so simulated raters are not let in: a study stays what its first vote "
            "made it. Simulate in another folder."
        )
    if not simulated and first == "simulated":
        return f"{study} holds votes of simulated raters, so people are not let in. Begin a study in another folder."
    return ""


def _too_few_checks(store: Store, hit: Hit, path: Path) -> str:
    with store.read() as connection:
        checks, questions_asked = make_rules(connection, hit).fewest_checks, hit.first_checks + hit.later_checks
    if checks >= questions_asked:
        return ""
    return (
        f"{path} holds {checks} checks, but hit.toml asks for {questions_asked} in a first sitting: a rater meets "
        f"each check once, so a first sitting has {checks} and a later one none. Add pairs of kind check, or lower "
        "later_checks."
    )


def hit_in_force(store: Store, study: Path) -> Hit:
    """The HIT that the study's servers go by: the one that the store keeps, else the file of the study."""
    with store.read() as connection:
        return kept_hit(connection) or hit_of(study, None)


def not_yet_in_force(store: Store, study: Path) -> list[str]:
    """What hit.toml says by now and no server has taken up: it holds from the next start of a server."""
    with store.read() as connection:
        before = kept_hit(connection)
    changes = changed_keys(before, hit_of(study, None)) if before else []
    return [f"Not yet in force: {change} Start the server again to apply it." for change in changes]


@contextmanager
def opened(study: Path, database: str | None) -> Iterator[Store]:
    """The store of a study that exists, closed at the end."""
    if database is None and not (study / "crowd.sqlite").exists():
        raise InputError(f"{study} has no crowd.sqlite yet. Serve it (python -m crowd serve {study}) or simulate.")
    store = open_store(database or sqlite_url(study))
    try:
        take_up_files(store, study)
        yield store
    finally:
        store.close()
