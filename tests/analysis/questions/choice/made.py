"""A study of questions with people's answers of known chances, and models on the same questions."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import expit

from seedvote.dialogue.cards import Card, TaskCard, metadata
from seedvote.dialogue.files import write_records
from seedvote.dialogue.questions import write_choices, write_questions
from seedvote.dialogue.records import Option, OptionChoice, Question, Rater, Utterance


def made_questions(number=40, corpora=("toy",), options=5):
    """Questions, four of each dialogue."""
    return [
        Question(
            f"q{k}", f"D{k // 4}:{k}", [Utterance("user", f"hello {n}") for n in range(1 + k % 3)],
            [Option(f"option {n} of {k}") for n in range(options)], k % options, dialogue=f"D{k // 4}",
            corpus=corpora[k % len(corpora)],
        )
        for k in range(number)
    ]  # fmt: skip


def made_answers(questions, raters=12, each=3, seed=0, better=0.0):
    """Answers; those of rater 0, 2, 4, ... are right more often by `better` on the logit scale."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(0, 0.5, raters) + better * (np.arange(raters) % 2 == 0)
    found = []
    for one in questions:
        for number, rater in enumerate(rng.permutation(raters)[:each], 1):
            order = rng.permutation(len(one.options))
            right = rng.random() < expit(0.5 + skill[rater])
            first = one.answer if right else int(next(k for k in order if k != one.answer))
            second = int(next(k for k in order if k != first))
            shown = "".join(map(str, order))
            found.append(OptionChoice(one.question, f"r{rater}", first, second, shown, number, 5.0 + number,
                                      source="local", dialogue=one.dialogue))  # fmt: skip
    return found


def write_choice_study(folder, questions, answers, *, models=True, seeds=(0, 1, 2), know=True):
    """questions.jsonl, choices.jsonl, raters.jsonl with profiles, and nuc.parquet."""
    texts = write_questions(folder / "questions.jsonl", questions)
    if answers:
        write_choices(folder / "choices.jsonl", answers, texts)
        names = sorted({one.rater for one in answers}, key=lambda name: int(name[1:]))
        raters = [
            Rater(name, "local", "passed", 0, 0, 9,
                  profile={"knowledge": "expert" if int(name[1:]) % 2 == 0 else "novice"} if know else {})
            for name in names
        ]  # fmt: skip
        write_records(folder / "raters.jsonl", raters, signature="made", kind=Rater)
    if models:
        rng = np.random.default_rng(5)
        rows = []
        for model, seed in [("m", seed) for seed in seeds] + [("shortest", None)]:
            for one in questions:
                first = float(rng.random() < 0.4)
                second = max(first, float(rng.random() < 0.3))
                for task, score in (("R@1", first), ("R@2", second)):
                    evaluator, rule = ("baseline", "rule") if model == "shortest" else ("nuc", "log p")
                    rows.append((evaluator, task, model, seed, "last", one.item, rule, score, one.dialogue, ""))
        names = ("evaluator", "task", "model", "seed", "checkpoint", "item", "rater", "score", "cluster", "condition")
        table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})
        task = TaskCard("R@1 of 5", "share", 100.0, "higher", chance=0.2, level="question")
        card = Card("next-utterance choice", 3, {"R@1": task, "R@2": TaskCard("R@2 of 5", main=False)}, ("shortest",))
        pq.write_table(table.replace_schema_metadata(metadata("made", {"nuc": card})), folder / "nuc.parquet")
    return folder
