"""Every kind of perturbation at every dose, and the condition that comes of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seedvote.dialogue.conditions import OUTSIDE
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.seeds import child_random
from seedvote.evaluators.perturbing.entities import extend_databases, invented_names, with_unseen
from seedvote.evaluators.perturbing.material import Protector, UserTurn, UserTurns, is_intact
from seedvote.evaluators.perturbing.speech import Confusions, Recogniser, as_heard, at_rate, word_errors
from seedvote.evaluators.perturbing.typos import mistype_turn
from seedvote.evaluators.perturbing.wording import Paraphraser, lengthen_turn, simplify_turn

# Talk that no domain covers: an utterance of another corpus is put before or after what the user says.
#
# It stays one turn, so that states, acts and replies are those of the same context; a further act, `general-outside`,
# marks it.

SHORTEST, LONGEST = 3, 25  # words of an utterance


def foreign_utterances(dialogues: Iterable[Dialogue], protector: Protector, where: str) -> list[str]:
    """Utterances of another corpus that hold none of this one's values, each once."""
    texts = dict.fromkeys(turn.text.strip() for dialogue in dialogues for turn in dialogue.turns)
    fitting = [text for text in texts if SHORTEST <= len(text.split()) <= LONGEST and not protector.find_spans(text)]
    if not fitting:
        raise InputError(f"{where} holds no utterance of {SHORTEST} to {LONGEST} words without a value of this corpus.")
    return fitting


def with_foreign(text: str, utterances: Sequence[str], *, rng: random.Random) -> str:
    """The user's words with one utterance before or after them."""
    utterance = rng.choice(utterances)
    utterance = utterance if utterance[-1] in ".!?" else f"{utterance}."
    return f"{utterance} {text}" if rng.random() < 0.5 else f"{text} {utterance}"


def mark_turn(turn: Turn) -> Turn:
    """The turn with the act that says so."""
    acts: Mapping[str, Sequence[tuple[str, str]]] = {**(turn.acts or {}), OUTSIDE: (("none", "none"),)}
    return replace(turn, acts=acts)


# One condition: the dialogues of a split at one dose of one kind, and what was done to them, counted.

KINDS = ("typos", "verbose", "simple", "paraphrase", "speech", "entities", "outside")


@dataclass(frozen=True, slots=True)
class ChangedTurn:
    """One user turn before and after, and what of it was protected."""

    item: str
    before: str
    after: str
    held: Sequence[str]


@dataclass(frozen=True)
class Condition:
    """The dialogues as they are told here."""

    kind: str
    dose: float
    seed: int
    dialogues: Sequence[Dialogue] = field(repr=False)
    databases: Mapping[str, Any] = field(repr=False)
    changed: Sequence[ChangedTurn] = field(repr=False)
    turns: int  # user turns of the split
    unchanged: int  # turns that were chosen and could not be told otherwise
    words: int
    errors: int  # by edit distance over all user turns
    held: int
    kept: int  # protected values that still stand, to the letter
    notes: Sequence[str] = ()

    @property
    def word_error_rate(self) -> float:
        """Errors over words of all user turns."""
        return self.errors / max(1, self.words)


def told_otherwise(
    material: UserTurns, kind: str, dose: float, texts: Mapping[str, str], *, chosen: int, notes: Sequence[str] = ()
) -> Condition:
    """The condition in which the user turns of these items (context id -> text) are replaced."""
    changed = {
        user_turn.item: ChangedTurn(
            user_turn.item, user_turn.turn.text, texts[user_turn.item], [p.text for p in user_turn.pieces if p.held]
        )
        for user_turn in material.turns
        if texts.get(user_turn.item, user_turn.turn.text) != user_turn.turn.text
    }
    touched = [user_turn for user_turn in material.turns if user_turn.item in changed]
    values = sum(len(changed[user_turn.item].held) for user_turn in touched)
    lost = sum(_count_lost(user_turn, changed[user_turn.item].after) for user_turn in touched)
    return Condition(
        kind,
        dose,
        material.seed,
        [_with_texts(dialogue, changed, kind) for dialogue in material.dialogues],
        material.corpus.databases,
        list(changed.values()),
        len(material.turns),
        chosen - len(changed),
        *_count_errors(material, {item: user_turn.after for item, user_turn in changed.items()}),
        values,
        values - lost,
        notes,
    )


def told_with_entities(
    material: UserTurns, dose: float, dialogues: Sequence[Dialogue], databases: Mapping[str, Any], notes: Sequence[str]
) -> Condition:
    """The same where whole dialogues were replaced."""
    after = {f"{d.dialogue}:{n + 1}": turn.text for d in dialogues for n, turn in enumerate(d.turns)}
    changed = [
        ChangedTurn(user_turn.item, user_turn.turn.text, after[user_turn.item], ())
        for user_turn in material.turns
        if after[user_turn.item] != user_turn.turn.text
    ]
    return Condition(
        "entities",
        dose,
        material.seed,
        dialogues,
        databases,
        changed,
        len(material.turns),
        0,
        *_count_errors(material, after),
        0,
        0,
        notes,
    )


def _count_errors(material: UserTurns, after: Mapping[str, str]) -> tuple[int, int]:
    counts = [
        word_errors(user_turn.turn.text, after.get(user_turn.item, user_turn.turn.text)) for user_turn in material.turns
    ]
    return sum(words for _, words in counts), sum(errors for errors, _ in counts)


def _count_lost(user_turn: UserTurn, after: str) -> int:
    if is_intact(user_turn.pieces, after):
        return 0
    values = [piece.text for piece in user_turn.pieces if piece.held]
    return sum(text not in after for text in values) or 1


def _with_texts(dialogue: Dialogue, changed: Mapping[str, ChangedTurn], kind: str) -> Dialogue:
    items = [f"{dialogue.dialogue}:{n + 1}" for n in range(len(dialogue.turns))]
    if not any(item in changed for item in items):
        return dialogue
    return replace(
        dialogue, turns=tuple(map(lambda i, t: _change_turn(t, changed.get(i), kind), items, dialogue.turns))
    )


def _change_turn(turn: Turn, change: ChangedTurn | None, kind: str) -> Turn:
    if change is None or turn.speaker != "user":
        return turn
    new = replace(turn, text=change.after)
    return mark_turn(new) if kind == "outside" else new


# Every kind at every dose. What a turn becomes follows from seed, kind, dialogue and turn, never from the dose.

Rewrite = Callable[[UserTurn], str]  # "" or the same text where it cannot be told otherwise
Ask = Callable[[Sequence[UserTurn]], Mapping[str, str]]  # all turns at once -> item -> text, for those that were told


@dataclass(frozen=True)
class Means:
    """What some kinds need beside the corpus."""

    foreign: Corpus | None = None
    foreign_name: str = ""
    rewrites: Mapping[str, str] = field(default_factory=dict)  # item -> a person's wording
    ask: Ask | None = None  # an endpoint


def refuse_unfit(material: UserTurns, kinds: Sequence[str], means: Means) -> None:
    """Refuse what cannot be done before anything is written."""
    _ = material.dialogues
    if "outside" in kinds:
        choose_rewrite(material, "outside", means)
    if "entities" in kinds and not invented_names(material.corpus.databases, (), seed=material.seed):
        raise InputError("entities needs databases with names to replace; this corpus has none. Give them: --db FOLDER")
    if "paraphrase" in kinds and means.rewrites:
        _refuse_nothing_given(material, (), means.rewrites)


def conditions_of(material: UserTurns, kind: str, doses: Sequence[float], means: Means) -> Iterator[Condition]:
    """One condition a dose; for speech a dose is a word error rate, for entities a share of dialogues."""
    if kind == "speech":
        return _speech_conditions(material, doses)
    if kind == "entities":
        return _entity_conditions(material, doses)
    return _by_turn(material, kind, doses, means)


def _by_turn(material: UserTurns, kind: str, doses: Sequence[float], means: Means) -> Iterator[Condition]:
    wanted = [turn for turn in material.turns if turn.number < max(doses)]
    texts, notes = _rewrite_turns(material, kind, wanted, means)
    for dose in doses:
        chosen = [turn for turn in wanted if turn.number < dose]
        yield told_otherwise(
            material,
            kind,
            dose,
            {turn.item: texts[turn.item] for turn in chosen if turn.item in texts},
            chosen=len(chosen),
            notes=notes,
        )


def _rewrite_turns(
    material: UserTurns, kind: str, wanted: Sequence[UserTurn], means: Means
) -> tuple[dict[str, str], list[str]]:
    """Item -> new text, for the turns that have one; and what to know of them."""
    notes: list[str] = []
    if kind == "paraphrase" and (means.rewrites or means.ask):
        rewrites = dict(means.ask(wanted)) if means.ask else _refuse_nothing_given(material, wanted, means.rewrites)
        intact_texts = {
            user_turn.item: rewrites[user_turn.item]
            for user_turn in wanted
            if user_turn.item in rewrites and is_intact(user_turn.pieces, rewrites[user_turn.item])
        }
        if lost := sum(user_turn.item in rewrites for user_turn in wanted) - len(intact_texts):
            notes.append(f"{lost:,} of the rewrites had lost a protected value, so these turns stay as they were.")
        return intact_texts, notes
    how = choose_rewrite(material, kind, means)
    texts = {
        user_turn.item: text
        for user_turn in wanted
        if (text := how(user_turn)).strip() and is_intact(user_turn.pieces, text)
    }
    return texts, notes


def _refuse_nothing_given(
    material: UserTurns, wanted: Sequence[UserTurn], rewrites: Mapping[str, str]
) -> Mapping[str, str]:
    if not any(user_turn.item in rewrites for user_turn in material.turns):
        raise InputError(
            f"None of the {len(rewrites):,} rewrites is for a user turn of the {material.split} split, e.g. "
            f"{next(iter(rewrites))!r}. An item names the context that ends with the turn, such as "
            f"{material.turns[0].item!r}."
        )
    return {user_turn.item: rewrites[user_turn.item] for user_turn in wanted if user_turn.item in rewrites}


def choose_rewrite(material: UserTurns, kind: str, means: Means) -> Rewrite:
    """What a kind makes of one turn."""
    seed = material.seed
    if kind == "simple":
        return lambda user_turn: simplify_turn(user_turn.pieces)
    if kind == "typos":
        return lambda user_turn: mistype_turn(user_turn.pieces, rng=child_random(seed, kind, user_turn.item))
    if kind == "verbose":
        return lambda user_turn: lengthen_turn(user_turn.pieces, rng=child_random(seed, kind, user_turn.item))
    if kind == "outside":
        if means.foreign is None:
            raise InputError(
                "outside needs another corpus, whose utterances are put in. Give it: --from PATH, or make one: "
                "python -m dialogue toy chats --kind personachat"
            )
        # Of its own split where it has one: a detector that is trained on one split must not meet them in the other.
        foreign = means.foreign.split(material.split) or means.foreign.dialogues
        utterances = foreign_utterances(foreign, material.protector, means.foreign_name)
        return lambda user_turn: with_foreign(
            user_turn.turn.text, utterances, rng=child_random(seed, kind, user_turn.item)
        )
    known = Paraphraser(material.learning, material.protector)
    return lambda user_turn: known.told_anew(
        user_turn.turn, user_turn.pieces, material.protector, rng=child_random(seed, kind, user_turn.item)
    )


def _speech_conditions(material: UserTurns, rates: Sequence[float]) -> Iterator[Condition]:
    recogniser = Recogniser(Confusions(material.words, material.protector.words if material.protected else ()))
    turns = [
        recogniser.listen(user_turn.pieces, rng=child_random(material.seed, "speech", user_turn.item))
        for user_turn in material.turns
    ]
    before = [user_turn.turn.text for user_turn in material.turns]
    for rate in rates:
        heard = at_rate(turns, before, rate)
        short = [] if heard.reached else [f"A rate of {rate:g} cannot be reached: too many words are protected."]
        texts = {user_turn.item: text for user_turn, text in zip(material.turns, heard.texts, strict=True)}
        hit = sum(as_heard(words, text, heard.hit) != text for words, text in zip(turns, before, strict=True))
        yield told_otherwise(material, "speech", rate, texts, chosen=hit, notes=short)


def _entity_conditions(material: UserTurns, doses: Sequence[float]) -> Iterator[Condition]:
    texts = (turn.text for dialogue in material.corpus.dialogues for turn in dialogue.turns)
    names = invented_names(material.corpus.databases, texts, seed=material.seed)
    versions = [with_unseen(dialogue, names) for dialogue in material.dialogues]
    for dose in doses:
        hit = [material.draw_number(dialogue.dialogue) < dose for dialogue in material.dialogues]
        told_so = [
            new if yes else dialogue
            for (new, _, _), yes, dialogue in zip(versions, hit, material.dialogues, strict=True)
        ]
        used = {
            value: name
            for (_, new_names, _), yes in zip(versions, hit, strict=True)
            if yes
            for value, name in new_names.items()
        }
        absent = sum(number for (_, _, number), yes in zip(versions, hit, strict=True) if yes)
        notes = [f"{len(used):,} names are replaced in {sum(hit):,} of {len(hit):,} dialogues."]
        if absent:
            notes.append(f"{absent:,} annotated names stand in no turn verbatim before, and stay.")
        yield told_with_entities(material, dose, told_so, extend_databases(material.corpus.databases, used), notes)
