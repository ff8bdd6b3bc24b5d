"""Questions for next-utterance choice: how they are drawn, and what is known of them before anyone answers."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Literal, get_args

import numpy as np

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Option, Question, Utterance
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.tokens import normalize, sort_off_topic, telling_words, tokenize
from seedvote.evaluators.choosing.rules import Ties, by_chance, lexical_scores, recall_table, tfidf_rows, words_of
from seedvote.evaluators.detection.rates import Measured, share_told

# Draws questions from a corpus: a context, what was really said next, and false options from other dialogues.
#
# A false option never has the text of the truth (as `normalize` spells it), never comes from the same dialogue, is
# never alike another option, and is never what was said elsewhere after the very same context. What is drawn follows
# from the seed and the item, so a longer list of questions begins with the shorter one's.

False_ = Literal["uniform", "same-turn", "hard"]
Law = Literal["lowe2015", "all"]
FALSE: tuple[False_, ...] = get_args(False_)
CHECK_POOL = 2000  # utterances among which the options of a check are looked for
MENTION = re.compile(r"(?<!\w)@\w+")


@dataclass(frozen=True, slots=True)
class DrawingRules:
    """How questions are drawn."""

    options: int = 5
    n: int = 400
    context: int = 6
    law: Law = "lowe2015"
    false: False_ = "uniform"
    draws: int = 1
    versions: int = 4
    checks: int = 8  # in every version
    mentions: bool = False
    pruned: frozenset[str] = frozenset()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class OptionText:
    """An utterance that may be an option."""

    item: str
    dialogue: str
    turn: int
    text: str
    plain: str


@dataclass(slots=True)
class DrawingCount:
    """What drawing met."""

    kept: int = 0
    alike: int = 0  # drawn again: the truth's text, another option's, or said after the same context
    pruned: int = 0  # utterances with a word of the list
    elsewhere: int = 0  # questions whose turn had too few options and took the nearest turns'


@dataclass(frozen=True)
class OptionPool:
    """Every utterance of the split that may be an option, and what followed which context."""

    examples: Sequence[Example]
    options: Sequence[OptionText]
    place: Mapping[str, int]
    rules: DrawingRules
    corpus: str
    counts: DrawingCount = field(default_factory=DrawingCount)
    followed: dict[int, dict[tuple[str, ...], set[str]]] = field(default_factory=dict)

    def answers_after(self, context: tuple[str, ...]) -> set[str]:
        """Everything that was said in this split after these very turns."""
        if len(context) not in self.followed:
            replies: dict[tuple[str, ...], set[str]] = defaultdict(set)
            for example in self.examples:
                if example.n >= len(context):
                    replies[shown_key(example, len(context))].add(
                        normalize(spell_text(example.target.text, self.rules))
                    )
            self.followed[len(context)] = replies
        return self.followed[len(context)][context]


def pool_of(examples: Sequence[Example], rules: DrawingRules, corpus: str) -> OptionPool:
    """All utterances that may be options; without the pruned words, and without those that have no text."""
    counts = DrawingCount()
    options = []
    for example in examples:
        text = spell_text(example.target.text, rules)
        if has_listed_word(text, rules):
            counts.pruned += 1
        elif plain := normalize(text):
            options.append(OptionText(example.item, example.dialogue.dialogue, example.n, text, plain))
    dialogues = len({option.dialogue for option in options})
    if dialogues < 2:
        raise InputError(
            f"This split has utterances of {dialogues} dialogues; false options come from "
            "other dialogues, so two or more are needed. Name another one: --split valid"
        )
    return OptionPool(examples, options, {example.item: k for k, example in enumerate(options)}, rules, corpus, counts)


def spell_text(text: str, rules: DrawingRules) -> str:
    """A text as it is shown."""
    return MENTION.sub("@user", text) if rules.mentions else text


def has_listed_word(text: str, rules: DrawingRules) -> bool:
    """Whether a text has a word of the list."""
    return bool(rules.pruned) and not rules.pruned.isdisjoint(tokenize(text))


def shown_key(example: Example, turns: int) -> tuple[str, ...]:
    """The newest turns of a context, spelt alike."""
    return tuple(normalize(turn.text) for turn in example.context[example.n - turns :])


def draw_questions(pool: OptionPool) -> list[Question]:
    """Real questions in random order, then the checks among them, each in its version."""
    rules = pool.rules
    order = list(pool.examples)
    child_random(rules.seed, "questions").shuffle(order)
    usable = [example for example in order if example.item in pool.place and not _pruned_context(example, rules)]
    aside = min(rules.checks * rules.versions, len(usable) // 2)  # contexts that the checks have for themselves
    chosen, valid_examples = usable[aside:][: rules.n], usable[:aside]
    nearest = _rank_by_nearness(pool) if rules.false == "hard" else None
    questions = [
        _draw_question(pool, example, draw, 1 + (k + draw) % rules.versions, nearest)
        for draw in range(rules.draws)
        for k, example in enumerate(chosen)
    ]
    every = [*questions, *_draw_checks(pool, valid_examples or chosen)]
    child_random(rules.seed, "order of questions").shuffle(every)
    return every


def turns_shown(example: Example, rules: DrawingRules) -> int:
    """How many turns of the context are shown: as many as allowed, or fewer by the law of Lowe et al. (2015).

    That law: min(turns, n - 1) with n = floor(10 C / eta) + 2 and eta uniform from C / 2 to 10 C, where C cancels out.
    """
    most = min(example.n, rules.context)
    if rules.law == "all":
        return most
    eta = child_random(rules.seed, "context", example.item).uniform(0.5, 10)
    return min(most, int(10 / eta) + 1)


def _pruned_context(example: Example, rules: DrawingRules) -> bool:
    return any(has_listed_word(turn.text, rules) for turn in example.context[example.n - turns_shown(example, rules) :])


def _draw_question(
    pool: OptionPool, example: Example, draw: int, version: int, nearest: Callable[[int], Iterator[int]] | None
) -> Question:
    rules = pool.rules
    true = pool.options[pool.place[example.item]]
    turns = turns_shown(example, rules)
    taken = {true.plain, *pool.answers_after(shown_key(example, turns))}
    random = child_random(rules.seed, "false options", draw, example.item)
    order = nearest(pool.place[example.item]) if nearest else _order_pool(pool, true, random)
    options = [true]
    for place in order:
        option = pool.options[place]
        if option.dialogue == true.dialogue:
            continue
        if option.plain in taken:
            pool.counts.alike += 1
            continue
        taken.add(option.plain)
        options.append(option)
        if len(options) == rules.options:
            break
    if len(options) < rules.options:
        raise InputError(
            f"{example.item}: only {len(options) - 1} false options could be found in other dialogues, and "
            f"{rules.options - 1} are asked for. Ask for fewer (--options {max(len(options), 2)}) or give more text."
        )
    pool.counts.kept += rules.options - 1
    return _mix_options(pool, example, options, turns, version, draw, random)


def _mix_options(
    pool: OptionPool,
    example: Example,
    options: Sequence[OptionText],
    turns: int,
    version: int,
    draw: int,
    random: Random,
    kind: Literal["real", "check"] = "real",
) -> Question:
    """The question with its options in random order; options[0] is the true one."""
    order = list(range(len(options)))
    random.shuffle(order)
    shown_options = [Option(options[place].text, options[place].item) for place in order]
    context = [Utterance(t.speaker, spell_text(t.text, pool.rules)) for t in example.context[example.n - turns :]]
    name = hashlib.sha256(
        "\x1f".join([pool.corpus, example.item, kind, str(draw), *(option.text for option in shown_options)]).encode()
    )
    return Question(
        question=f"q{name.hexdigest()[:12]}",
        item=example.item,
        context=context,
        options=shown_options,
        answer=order.index(0),
        kind=kind,
        dialogue=example.dialogue.dialogue,
        corpus=pool.corpus,
        version=version,
        extra={"speaker": example.target.speaker, "draw": draw},
    )


def _order_pool(pool: OptionPool, true: OptionText, random: Random) -> Iterator[int]:
    """The utterances in random order, every one as likely as every other; of the same turn first, where asked."""
    if pool.rules.false == "uniform":
        yield from shuffle_numbers(len(pool.options), random)
        return
    by_distance: dict[int, list[int]] = defaultdict(list)
    for place, option in enumerate(pool.options):
        by_distance[abs(option.turn - true.turn)].append(place)
    for distance in sorted(by_distance):
        if distance == 1:
            pool.counts.elsewhere += 1
        places = by_distance[distance]
        yield from (places[k] for k in shuffle_numbers(len(places), random))


def shuffle_numbers(n: int, random: Random) -> Iterator[int]:
    """The numbers below n in random order, without making the whole list."""
    moved: dict[int, int] = {}
    for last in range(n - 1, -1, -1):
        k = random.randint(0, last)
        yield moved.get(k, k)
        moved[k] = moved.pop(last, last)


def _rank_by_nearness(pool: OptionPool) -> Callable[[int], Iterator[int]]:
    """For a place in the pool, the others from the most alike by TF-IDF to the least."""
    rows = tfidf_rows([option.text for option in pool.options])

    def nearest(place: int) -> Iterator[int]:
        like = np.asarray((rows @ rows[place].T).todense()).ravel()
        yield from np.lexsort((np.arange(len(like)), -np.round(like, 12))).tolist()

    return nearest


def _draw_checks(pool: OptionPool, contexts: Sequence[Example]) -> Iterator[Question]:
    """Hidden checks that look like the other questions: options of other dialogues, as long as the truth.

    They are wrong for who reads: the truth takes up a word of its context, and the others share no telling word with
    it, wherever the corpus has such.
    """
    rules = pool.rules
    clear = [example for example in contexts if _is_telling(pool, example)] or contexts
    for number in range(rules.checks * rules.versions):
        random = child_random(rules.seed, "checks", number)
        example = clear[number % len(clear)]
        options = _draw_off_topic(pool, example, random)
        if len(options) < rules.options:
            raise InputError("Too few utterances of other dialogues for checks. Make none: --checks 0")
        version = 1 + number % rules.versions
        yield _mix_options(pool, example, options, turns_shown(example, rules), version, number, random, kind="check")


def _is_telling(pool: OptionPool, example: Example) -> bool:
    """Whether the truth takes up a word of what is shown of its context."""
    shown = example.context[example.n - turns_shown(example, pool.rules) :]
    return bool(telling_words(example.target.text) & telling_words(" ".join(turn.text for turn in shown)))


def _draw_off_topic(pool: OptionPool, example: Example, random: Random) -> list[OptionText]:
    """The truth, then the options furthest from its context and nearest to its length."""
    true = pool.options[pool.place[example.item]]
    drawn = [pool.options[place] for place in islice(shuffle_numbers(len(pool.options), random), CHECK_POOL)]
    options = {option.plain: option for option in drawn if option.dialogue != true.dialogue}
    after_it = pool.answers_after(shown_key(example, turns_shown(example, pool.rules)))
    by_text = {option.text: option for plain, option in options.items() if plain not in {true.plain, *after_it}}
    topic = " ".join([*(turn.text for turn in example.context), true.text])
    texts = sort_off_topic(by_text, topic, len(true.text.split()))[: pool.rules.options - 1]
    return [true, *(by_text[text] for text in texts)]


# What a set of questions is like before anybody answers it: lengths, and what knows nothing but gets far.

NAMES = {"tfidf": "TF-IDF", "overlap": "most shared words", "shortest": "the shortest", "longest": "the longest"}
SIMPLE_NAMES = {**NAMES, "dual_encoder": "dual encoder"}
BY_LENGTH = ("shortest", "longest")


@dataclass(frozen=True, slots=True)
class SimpleRule:
    """One rule on all real questions."""

    name: str
    first: Measured  # R@1
    second: float
    rank: float


@dataclass(frozen=True)
class QuestionsFound:
    """A set of questions, described."""

    questions: int
    checks: int
    contexts: int
    dialogues: int
    sizes: tuple[int, ...]  # numbers of options that occur
    chance: tuple[float, float, float]
    turns: float
    true_words: float
    false_words: float
    rules: tuple[SimpleRule, ...]


def describe_questions(questions: Sequence[Question], ties: Ties = "shared") -> QuestionsFound:
    """Lengths and simple rules of the real questions; the checks are counted."""
    real = [question for question in questions if question.kind == "real"]
    answers, sizes = [question.answer for question in real], [len(question.options) for question in real]
    codes = dialogue_codes(real)
    scores = lexical_scores(real)
    rules = []
    for name in NAMES:
        table = recall_table(scores[name], answers, ties)
        rules.append(SimpleRule(name, share_told(table[:, 0][None], codes), *table[:, 1:].mean(0).tolist()))
    words = [[len(words_of(option.text)) for option in question.options] for question in real]
    true = [counts[answer] for counts, answer in zip(words, answers, strict=True)]
    return QuestionsFound(
        len(real),
        len(questions) - len(real),
        len({question.item for question in real}),
        int(codes.max()) + 1,
        tuple(sorted(set(sizes))),
        by_chance(sizes),
        float(np.mean([len(question.context) for question in real])),
        float(np.mean(true)),
        (sum(map(sum, words)) - sum(true)) / (sum(sizes) - len(sizes)),
        tuple(rules),
    )


def dialogue_codes(questions: Sequence[Question]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The dialogue of each question as a number from 0; a question that names none is its own."""
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(question.dialogue or question.item, len(numbers)) for question in questions], dtype=np.int64
    )


def questions_lines(summary: QuestionsFound, drawing: DrawingCount | None, left: Mapping[str, int]) -> Iterator[str]:
    """What is printed at once."""
    sizes = " or ".join(map(str, summary.sizes))
    yield (
        f"{summary.questions:,} questions of {sizes} options on {summary.contexts:,} contexts of {summary.dialogues:,} "
        f"dialogues ({summary.turns:.1f} turns shown on average), {summary.checks} hidden checks"
    )
    yield from (f"{number:,} sets were left out: {why}" for why, number in left.items())
    if drawing:
        share = drawing.alike / max(drawing.alike + drawing.kept, 1)
        yield (
            f"{drawing.alike:,} draws ({100 * share:.1f} %) were drawn again: the truth's words, another option's, or "
            "said elsewhere after the same context"
        )
        if drawing.elsewhere:
            yield f"{drawing.elsewhere:,} questions took options of the nearest turns too: their own had too few"
        if drawing.pruned:
            yield f"{drawing.pruned:,} utterances have a word of the list and are no options"
    yield f"words in the true option {summary.true_words:.1f}, in a false one {summary.false_words:.1f}"
    yield f"{'':20}R@1 (95 %)          R@2     MRR"
    for rule in summary.rules:
        first = rule.first
        yield (
            f"{NAMES[rule.name]:20}{first.value:.3f} ({first.low:.3f}-{first.high:.3f})  {rule.second:.3f}  "
            f"{rule.rank:.3f}"
        )
    yield f"{'chance':20}{summary.chance[0]:.3f}                {summary.chance[1]:.3f}  {summary.chance[2]:.3f}"
    if len(summary.sizes) > 1:
        yield "The questions have unequal numbers of options: chance is the mean of 1 / options."
    yield from length_warning(summary)


def length_warning(summary: QuestionsFound) -> Iterator[str]:
    """A sentence for a rule of length whose interval leaves chance out."""
    chance = summary.chance[0]
    for rule in summary.rules:
        if rule.name in BY_LENGTH and not rule.first.low <= chance <= rule.first.high:
            right = f"is right in {100 * rule.first.value:.1f} %, and chance in {100 * chance:.1f} %"
            if rule.first.value > chance:
                right += ". Hold a model against that, not against chance"
            yield f"WARNING: length gives something away. Whoever takes {NAMES[rule.name]} option {right}."


def drawing_recipe(rules: DrawingRules) -> dict[str, object]:
    """What stands in the signature."""
    return {
        "options": rules.options,
        "false": rules.false,
        "draws": rules.draws,
        "context": rules.context,
        "law": rules.law,
        "versions": rules.versions,
        "checks": rules.checks,
        "seed": rules.seed,
        **({"mentions": "@user"} if rules.mentions else {}),
        **({"pruned": len(rules.pruned)} if rules.pruned else {}),
    }
