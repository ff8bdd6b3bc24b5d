"""Questions answered by the likelihood of an imported model: each option after its context, and after none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from seedvote.dialogue.questions import answering_speaker
from seedvote.dialogue.records import Question
from seedvote.generation.imports.hugging_face import HuggingFace
from seedvote.generation.ranking import RankedOption

SAYS_NOTHING = [{"role": "user", "content": ""}]


def rank_by(model: HuggingFace, questions: Sequence[Question], tell: Callable[[], object]) -> Iterator[RankedOption]:
    """Every option of every question; no word is unknown to a model of word pieces."""
    unconditional: dict[str, float] = {}
    for question in questions:
        speaker = answering_speaker(question)
        messages = [
            {"role": "assistant" if turn.speaker == speaker else "user", "content": turn.text}
            for turn in question.context
        ]
        texts = [option.text for option in question.options]
        if new := [text for text in dict.fromkeys(texts) if text not in unconditional]:
            unconditional |= {text: p for text, (p, _) in zip(new, model.likelihoods(SAYS_NOTHING, new), strict=True)}
        for place, (logprob, tokens) in enumerate(model.likelihoods(messages, texts)):
            yield RankedOption(question.question, place, logprob, tokens, unconditional[texts[place]], 0)
        tell()
