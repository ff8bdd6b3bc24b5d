"""A context as what a model of Hugging Face's form reads: through a template, and within its window.

Whatever had to be changed for that is counted, since a model that saw less than the others answered something else.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError

Message = dict[str, str]
MERGED = "neighbouring turns of one speaker were joined, which the model's template asks for"
FOLDED = "the system message stands before the first turn, as the model's template knows no such message"
OPENED = "an empty turn of the user comes first, which the model's template asks for"
SHORTENED = "the oldest turns were left out, since the context is longer than the model's window"
CUT = "the beginning of the last turn was left out, since it alone is longer than the model's window"


# How a family of models was trained to read a dialogue, where its folder does not say so itself.


@dataclass(frozen=True, slots=True)
class Template:
    """A form of dialogue: its name, its text in Jinja, and what ends a reply besides the model's own token.

    `source`: who says that models read it. `blank` stands between what asks for a reply and the reply. The template of
    a folder has no name.
    """

    name: str
    jinja: str | None
    stops: tuple[str, ...] = ()
    source: str = ""
    blank: str = ""

    def describe(self) -> str:
        """One sentence for the terminal; nothing of a template that the folder itself brings."""
        if not self.name:
            return ""
        ends = f", and a reply ends before {' or '.join(map(repr, self.stops))}" if self.stops else ""
        source = f" ({self.source})" if self.source else ""
        return f"The model has no chat template. Contexts are written by the template {self.name}{source}{ends}."


NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
TEMPLATES = {
    "transcript": Template(
        "transcript",
        "{% for m in messages %}{% if m.role != 'system' %}{{ m.role | capitalize }}: {% endif %}{{ m.content }}\n"
        "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}",
        ("\n",),
        "one line a turn, for models that continue any text",
        " ",
    ),
    "dialogpt": Template(
        "dialogpt",
        NO_SYSTEM + "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}",
        source="the end token after every turn",
    ),
    "blenderbot": Template(
        "blenderbot",
        NO_SYSTEM + "{% for m in messages %}{{ m.content }}{{ '' if loop.last else '  ' }}{% endfor %}",
        source="two blanks between turns",
    ),
    "godel": Template(
        "godel",
        "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% set turns = messages[1:] %}{% else %}"
        "Instruction: given a dialog context, you need to response empathically.{% set turns = messages %}{% endif %}"
        " [CONTEXT] {% for m in turns %}{{ m.content }}{{ '' if loop.last else ' EOS ' }}{% endfor %}",
        source="an instruction, [CONTEXT], and EOS between turns",
    ),
}  # fmt: skip
# Families by `model_type`, of models that continue text and were given no template: any text is a dialogue to them.
CONTINUE_TEXT = (
    "bloom", "codegen", "deepseek_v2", "deepseek_v3", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2",
    "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "granite", "llama", "mamba", "mamba2", "mistral", "mixtral", "mpt",
    "olmo", "olmo2", "olmo3", "opt", "persimmon", "phi", "phi3", "qwen2", "qwen3", "rwkv", "smollm3", "stablelm",
    "starcoder2", "xglm"
)  # fmt: skip
FAMILIES = dict.fromkeys(CONTINUE_TEXT, "transcript") | dict.fromkeys(("blenderbot", "blenderbot-small"), "blenderbot")


def template_of(tokenizer: Any, config: Any, name: str, wanted: str | None = None, *, otherwise: str = "") -> Template:
    """The template asked for (a name, or a file with one in Jinja), the folder's own, or that of its family.

    Where none is known the model is refused, since nobody knows how it should be asked; `otherwise` serves instead for
    models that only read.
    """
    if wanted in TEMPLATES:
        return TEMPLATES[wanted]
    if wanted:
        if not Path(wanted).is_file():
            raise InputError(f"--template is {wanted!r}. Choose from {', '.join(TEMPLATES)}, or name a file in Jinja.")
        return Template(Path(wanted).name, Path(wanted).read_text(encoding="utf-8"))
    if getattr(tokenizer, "chat_template", None):
        return Template("", None)
    family = "dialogpt" if _is_dialogpt(config) else FAMILIES.get(config.model_type, otherwise)
    if not family:
        raise InputError(
            f"{name} has no chat template, and none is known for models of type {config.model_type}. Say how it reads "
            f"a dialogue: --template {', '.join(TEMPLATES)}, or a file with a template in Jinja."
        )
    return TEMPLATES[family]


def template_fact(template: Template, tokenizer: Any) -> str:
    """What stands for the template among the facts of a system: a known name, or a hash of its text."""
    if template.name in TEMPLATES:
        return template.name
    return hashlib.sha256((template.jinja or str(tokenizer.chat_template)).encode()).hexdigest()[:16]


def _is_dialogpt(config: Any) -> bool:
    """A GPT-2 whose settings name conversations as its task, as those of DialoGPT do."""
    tasks = getattr(config, "task_specific_params", None) or {}
    return config.model_type == "gpt2" and "conversational" in tasks


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The tokens of a context, the text they stand for, and what was changed."""

    text: str
    tokens: tuple[int, ...]
    changes: tuple[str, ...]


class Prompter:
    """Writes contexts for one model; `window` is how many tokens of a context it can read, None where any number.

    Without a `template` it is the folder's own.

    `cue` asks for an answer behind the context, which a model that only reads has no use for. `words`: the size of the
    model's vocabulary.
    """

    def __init__(
        self,
        tokenizer: Any,
        window: int | None,
        *,
        cue: bool = True,
        words: int | None = None,
        template: Template | None = None,
    ) -> None:
        self.tokenizer, self.window, self.cue, self.words = tokenizer, window, cue, words
        self.template = template or Template("", None)

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
        # The folder's own template writes its special tokens itself.
        bare = bool(self.template.name)
        numbers = self.tokenizer(text, add_special_tokens=bare, truncation=False, verbose=False)["input_ids"]
        if not numbers:
            raise InputError("The model's tokenizer makes no token of a context: its files are missing or broken.")
        if self.words is not None and max(numbers) >= self.words:
            raise InputError(
                f"The model's tokenizer numbers its words up to {max(numbers):,} and more, and the model has "
                f"{self.words:,}: they do not belong together."
            )
        return list(numbers)

    def _render_messages(self, messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
        from jinja2.exceptions import TemplateError

        refused: TemplateError | None = None
        for form, changes in _vary_forms(messages):
            try:
                text = self.tokenizer.apply_chat_template(
                    form,
                    chat_template=self.template.jinja,
                    add_generation_prompt=self.cue or not self.template.name,
                    tokenize=False,
                )
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
