"""What a set of questions is like before anybody answers it: lengths, and what knows nothing but gets far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seedvote.dialogue.records import Question
from seedvote.evaluators.choosing.drawing import DrawingCount, DrawingRules
from seedvote.evaluators.choosing.lexical import lexical_scores, words_of
from seedvote.evaluators.choosing.recall import Ties, by_chance, recall_table
from seedvote.evaluators.detection.rates import Measured, share_told

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
