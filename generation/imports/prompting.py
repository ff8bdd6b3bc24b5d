"""A context as what a model of Hugging Face's form reads: through its chat template, and within its window.

Whatever had to be changed for that is counted, since a model that saw less than the others answered something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seedvote.dialogue.errors import InputError

Message = dict[str, str]
MERGED = "neighbouring turns of one speaker were joined, which the model's template asks for"
FOLDED = "the system message stands before the first turn, as the model's template knows no such message"
OPENED = "an empty turn of the user comes first, which the model's template asks for"
SHORTENED = "the oldest turns were left out, since the context is longer than the model's window"
CUT = "the beginning of the last turn was left out, since it alone is longer than the model's window"


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The tokens of a context, the text they stand for, and what was changed."""

    text: str
    tokens: tuple[int, ...]
    changes: tuple[str, ...]


class Prompter:
    """Writes contexts for one model; `window` is how many tokens of a context it can read, None where any number.

    `cue` asks for an answer behind the context, which a model that only reads has no use for. `words`: the size of the
    model's vocabulary.
    """

    def __init__(self, tokenizer: Any, window: int | None, *, cue: bool = True, words: int | None = None) -> None:
        self.tokenizer, self.window, self.cue, self.words = tokenizer, window, cue, words

    def prompt(self, messages: Sequence[Message]) -> ReadContext:
        """The whole context if it fits, else as many of its last turns as do, else the end of the last one."""
        system = [message for message in messages[:1] if message["role"] == "system"]
        turns = list(messages[len(system) :])
        for start in range(len(turns)):
            text, changes = self._render_messages([*system, *turns[start:]])
            _refuse_lost(text, turns[start:])
            if self._cut_to_fit(tokens := self._tokenize_text(text)):
                return ReadContext(text, tuple(tokens), (*changes, SHORTENED) if start else changes)
        return self._end_of([*system, *turns[-1:]], len(turns) > 1)

    def _end_of(self, messages: Sequence[Message], shortened: bool) -> ReadContext:
        words = messages[-1]["content"].split()
        while len(words) > 1:
            words = words[len(words) // 8 + 1 :]
            text, changes = self._render_messages([*messages[:-1], messages[-1] | {"content": " ".join(words)}])
            if self._cut_to_fit(tokens := self._tokenize_text(text)):
                return ReadContext(text, tuple(tokens), (*changes, *([SHORTENED] if shortened else []), CUT))
        raise InputError(
            f"The model reads {self.window} tokens besides its answer, too few for one word of a context. "
            "Ask for shorter answers (--longest), or for another model."
        )

    def _cut_to_fit(self, tokens: Sequence[int]) -> bool:
        return self.window is None or len(tokens) <= self.window

    def _tokenize_text(self, text: str) -> list[int]:
        templated = bool(getattr(self.tokenizer, "chat_template", None))
        numbers = self.tokenizer(text, add_special_tokens=not templated, truncation=False, verbose=False)["input_ids"]
        if not numbers:
            raise InputError("The model's tokenizer makes no token of a context: its files are missing or broken.")
        if self.words is not None and max(numbers) >= self.words:
            raise InputError(
                f"The model's tokenizer numbers its words up to {max(numbers):,} and more, and the model has "
                f"{self.words:,}: they do not belong together."
            )
        return list(numbers)

    def _render_messages(self, messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
        if not getattr(self.tokenizer, "chat_template", None):
            lines = [f"{message['role']}: {message['content']}" for message in messages]
            return "\n".join([*lines, *(["assistant:"] if self.cue else [])]), ()
        from jinja2.exceptions import TemplateError

        refused: TemplateError | None = None
        for form, changes in _vary_forms(messages):
            try:
                text = self.tokenizer.apply_chat_template(form, add_generation_prompt=True, tokenize=False)
            except TemplateError as error:
                refused = refused or error
            else:
                return str(text), changes
        raise InputError(f"The model's chat template takes no such dialogue: {refused}") from refused


def _vary_forms(messages: Sequence[Message]) -> Iterator[tuple[list[Message], tuple[str, ...]]]:
    """The context as it is, and then what templates ask for that want two speakers in turn, the user first."""
    yield list(messages), ()
    joined = _join_turns(messages)
    changes = (MERGED,) if len(joined) < len(messages) else ()
    yield joined, changes
    opening = _add_opening(joined)
    yield opening, (*changes, OPENED) if len(opening) > len(joined) else changes
    if messages[0]["role"] == "system":
        first, *tail = opening[1:]
        folded = [{"role": "user", "content": f"{messages[0]['content']}\n\n{first['content']}".rstrip()}, *tail]
        yield folded, (*changes, FOLDED)


def _join_turns(messages: Sequence[Message]) -> list[Message]:
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = message | {"content": f"{joined[-1]['content']}\n{message['content']}"}
        else:
            joined.append(dict(message))
    return joined


def _add_opening(messages: Sequence[Message]) -> list[Message]:
    at = int(messages[0]["role"] == "system")
    opens = messages[at : at + 1] and messages[at]["role"] == "assistant"
    return [*messages[:at], *([{"role": "user", "content": ""}] if opens else []), *messages[at:]]


def _refuse_lost(text: str, turns: Sequence[Message]) -> None:
    """A template may leave out what was said without a word: the model would answer something else."""
    if lost := [turn["content"] for turn in turns if turn["content"].strip() not in text]:
        raise InputError(
            f"The model's chat template leaves out {len(lost)} of {len(turns)} turns, e.g. {lost[-1][:40]!r}. Mend it "
            "(chat_template.jinja, or chat_template in tokenizer_config.json)."
        )


def describe_changes(prompts: Sequence[ReadContext]) -> list[str]:
    """One sentence for each kind of change, with how many contexts it met."""
    met = Counter(change for prompt in prompts for change in prompt.changes)
    return [
        f"{met[what]} of {len(prompts)} contexts: {what}."
        for what in (SHORTENED, CUT, MERGED, FOLDED, OPENED)
        if met[what]
    ]


def window_of(config: Any, tokenizer: Any) -> int | None:
    """How many tokens a model reads at once, the least that its files say; None where they do not say."""
    names = ("max_position_embeddings", "n_positions", "n_ctx")
    windows = [value for name in names if (value := getattr(config, name, None))][:1]
    most = tokenizer.model_max_length  # a very large number where the folder does not say
    return min([*windows, *([most] if most < 10**6 else [])], default=None)
