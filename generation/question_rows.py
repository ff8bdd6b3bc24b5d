"""What an encoder must read so that a head can answer questions: contexts and replies, each as a row of states.

Rows of training and validation fit the head; those of questions are answered. A reply or option is read as one
utterance of the one who answers. The name of a row says what it is: `train/context/ITEM`, `question/option/ID/2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from seedvote.dialogue.corpora.examples import Example, examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.questions import answering_speaker, read_questions, texts_hash
from seedvote.dialogue.records import Question, Turn
from seedvote.generation.numbering import Numbered, evenly_spread
from seedvote.generation.vocabulary import Vocabulary

MOST_TRAIN, MOST_VALID = 4000, 1000
QUESTION_STATES = "question_states"  # folder of a study


def rows_of_study(
    study: Path, corpus: Corpus, vocabulary: Vocabulary, limit: int | None
) -> tuple[list[str], list[Numbered]]:
    """The splits and rows of a study's questions; their hash stands among the splits, so that others are refused."""
    questions = read_questions(study / "questions.jsonl")
    return ["train", "valid", f"texts:{texts_hash(questions)}"], question_rows(corpus, questions, vocabulary, limit)


def question_rows(
    corpus: Corpus, questions: Sequence[Question], vocabulary: Vocabulary, limit: int | None
) -> list[Numbered]:
    """All rows, those of the splits first."""
    rows: list[Numbered] = []
    for split, most in (("train", limit or MOST_TRAIN), ("valid", MOST_VALID)):
        chosen = evenly_spread(list(examples(corpus.split(split))), most)
        if not chosen:
            raise InputError(f"The {split} split holds no example, and a head is fitted on train and valid.")
        rows += _number_pairs(split, chosen, vocabulary)
    for question in questions:
        speaker = answering_speaker(question)
        turns = [Turn(turn.speaker, turn.text) for turn in question.context]
        rows.append(Numbered(f"question/context/{question.question}", vocabulary.context(turns, speaker), ()))
        rows += [
            Numbered(
                f"question/option/{question.question}/{k}", _number_utterance(option.text, speaker, vocabulary), ()
            )
            for k, option in enumerate(question.options)
        ]
    return rows


def _number_pairs(split: str, chosen: Sequence[Example], vocabulary: Vocabulary) -> Iterator[Numbered]:
    for example in chosen:
        speaker = example.target.speaker
        yield Numbered(f"{split}/context/{example.item}", vocabulary.context(example.context, speaker), ())
        yield Numbered(f"{split}/reply/{example.item}", _number_utterance(example.target.text, speaker, vocabulary), ())


def _number_utterance(text: str, speaker: str, vocabulary: Vocabulary) -> list[int]:
    return vocabulary.context([Turn(speaker, text)], speaker)
