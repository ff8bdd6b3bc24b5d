"""Models in the form of Hugging Face: opened, asked for responses, and asked how likely an answer is."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.engines.chat import Reply
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest
from seedvote.dialogue.questions import answering_speaker
from seedvote.dialogue.records import Question
from seedvote.dialogue.weights import PACKAGES, RUNS, weights_place
from seedvote.generation.decoding import Decoding, Sampler
from seedvote.generation.imports.prompting import Prompter, ReadContext, template_fact, template_of, window_of
from seedvote.generation.imports.tables import messages_of
from seedvote.generation.ranking import RankedOption

# Opens a model in the form of Hugging Face: a folder, a GGUF file, an installed package's word, a name on the hub.
#
# Whatever a stranger's folder makes the library say becomes one sentence; weights that are missing are never random.

MADE_OF = {".safetensors", ".bin", ".gguf", ".json", ".jinja", ".model", ".txt"}  # weights, tokenizer, settings
PRECISIONS = ("float32", "bfloat16", "float16", "float64")


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where a model's files are, and how the library is asked for them."""

    source: str
    where: str
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """What it is called where nobody says: the folder's or file's own name, versions with points in them whole."""
        if self.source in PACKAGES:
            return self.source
        last = Path(self.source).resolve().name
        return last.removesuffix(".gguf")

    def digest(self, config: Any) -> str:
        """A name for weights, tokenizer and settings: of the files themselves, or the revision on the hub."""
        path = weights_place(self.source)
        files = [path] if path.is_file() else sorted(file for file in path.glob("*") if file.suffix in MADE_OF)
        if not files:
            return str(getattr(config, "_commit_hash", None) or "unknown")
        return hashlib.sha256("".join(digest(file) for file in files).encode()).hexdigest()[:16]


def model_place(source: str, *, fetch: bool = False) -> ModelPlace:
    """The place that a word, a path or a name stands for; what is needed to read it must be installed."""
    path = weights_place(source)
    gguf = path.suffix == ".gguf" and path.is_file()
    if absent := [library for library in (RUNS if gguf else RUNS[:1]) if importlib.util.find_spec(library) is None]:
        raise InputError(
            f"Hugging Face models need the library {', '.join(absent)}. Type: pip install {' '.join(absent)}"
        )
    local: dict[str, Any] = {"local_files_only": not fetch}
    if gguf:
        return ModelPlace(source, str(path.parent), {**local, "gguf_file": path.name})
    return ModelPlace(source, str(path), local)


@contextlib.contextmanager
def explain_failures(place: ModelPlace) -> Iterator[None]:
    """What goes wrong meanwhile is said in one sentence, with the first line of what the library says."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # its bars: hundreds of lines where they are kept
            yield
    except InputError:
        raise
    except Exception as error:  # a stranger's folder may make it raise anything
        if place.options["local_files_only"] and not Path(place.where).exists():
            raise InputError(
                f"{place.source} is neither a local folder nor a downloaded model. To download it from the hub, add "
                "--fetch."
            ) from error
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise InputError(f"{place.source} holds no Hugging Face model: {reason}") from error
    finally:
        logging.set_verbosity(before)


def precision_named(name: str) -> str:
    """The name of a precision, or a sentence."""
    if name not in PRECISIONS:
        raise InputError(f"--precision is {name!r}; choose from {', '.join(PRECISIONS)}.")
    return name


def load_writer(place: ModelPlace, precision: torch.dtype) -> tuple[Any, Any]:
    """Tokenizer and model of one that writes responses."""
    from transformers import AutoTokenizer

    with explain_failures(place):
        tokenizer = AutoTokenizer.from_pretrained(place.where, **place.options)
    return tokenizer, load_writing_model(place, precision)


def load_writing_model(place: ModelPlace, precision: torch.dtype) -> Any:
    """The model alone."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    with explain_failures(place):
        config = AutoConfig.from_pretrained(place.where, **place.options)
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model, report = kind.from_pretrained(place.where, **place.options, dtype=precision, output_loading_info=True)
    refuse_missing(
        place,
        report["missing_keys"],
        "they would be random, and so would its responses. Name a model that was trained to write text.",
    )
    return model


def refuse_missing(place: ModelPlace, keys: Any, why: str) -> None:
    """Weights that the architecture has and the folder lacks would be drawn at random, without a word."""
    if missing := sorted(keys):
        raise InputError(
            f"{place.source} has no weights for {', '.join(missing[:3])}{' and more' * (len(missing) > 3)}: {why}"
        )


# Responses of causal and sequence-to-sequence models in the form of Hugging Face, from a local folder or by name.
#
# The transformers library is asked for here only, and is not needed for anything else. Contexts of like length are
# answered together. In single precision padding moves logits by about 1e-6 of their size, so a greedy answer may differ
# from that of a batch of one where two tokens are closer than that; in double precision (`float64`) none does.

# What of a folder's settings names tokens; the rest says how to decode, and here --decoding says that.
NAMES_TOKENS = ("bos", "eos", "pad", "decoder_start", "forced_bos", "forced_eos")
NO_DECODING = {"max_length", "max_new_tokens", "transformers_version", "use_cache", "cache_implementation"}
NO_DECODING |= {f"{name}_token_id" for name in NAMES_TOKENS} | {"output_hidden_states", "output_attentions"}


@dataclass(frozen=True, slots=True)
class Writing:
    """How answers are written: by which decoding, from which seed, and how long at most (tokens)."""

    how: Decoding
    seed: int = 0
    longest: int = 80


class OwnDraw:
    """Leaves each row one token to choose: the one that the row's own uniform number of this step picks.

    `generate` draws from one generator for a whole batch: what a context got would depend on what else was asked.
    """

    def __init__(self, writing: Writing, items: Sequence[str], start: int, device: torch.device) -> None:
        self.sampler = Sampler(writing.how, items, writing.seed, device, writing.longest)
        self.rows, self.start = torch.arange(len(items), device=device), start

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with all tokens but the chosen one forbidden, as a processor of logits gives them."""
        chosen, _, _ = self.sampler.choose(scores.double(), self.rows, input_ids.shape[1] - self.start)
        return torch.full_like(scores, -torch.inf).scatter(1, chosen[:, None], 0.0)


class StopsBefore:
    """Says which rows hold one of these texts in what was written, and need no further token."""

    def __init__(self, tokenizer: Any, stops: Sequence[str], start: int) -> None:
        self.tokenizer, self.stops, self.start = tokenizer, stops, start

    def __call__(self, input_ids: torch.Tensor, scores: Any, **more: Any) -> torch.Tensor:
        """One truth a row, as a criterion of `generate` gives it."""
        del scores, more
        texts = self.tokenizer.batch_decode(input_ids[:, self.start :], skip_special_tokens=True)
        return torch.tensor([self.find(text) is not None for text in texts], device=input_ids.device)

    def find(self, text: str) -> int | None:
        """Where the first of them stands in a text."""
        return min((place for stop in self.stops if (place := text.find(stop)) >= 0), default=None)

    def count_tokens(self, tokens: Sequence[int]) -> int:
        """How many tokens were written when it appeared."""
        decode = self.tokenizer.decode
        return next(
            n for n in range(1, len(tokens) + 1) if self.find(decode(tokens[:n], skip_special_tokens=True)) is not None
        )


class HuggingFace:
    """A loaded model with its tokenizer, and the template by which it reads a dialogue."""

    def __init__(
        self,
        name: str,
        *,
        fetch: bool = False,
        device: torch.device | None = None,
        precision: str = "float32",
        template: str | None = None,
        stops: Sequence[str] = (),
    ) -> None:
        self.device, self.precision = device or torch.device("cpu"), precision
        place = model_place(name, fetch=fetch)
        self.tokenizer, self.model = load_writer(place, getattr(torch, precision))
        self.model.to(self.device).eval()
        # The library fills what is not asked for from here, so the folder's own wishes are kept elsewhere.
        self.own, self.model.generation_config = self.model.generation_config, _wanted_settings()
        self.encodes = bool(self.model.config.is_encoder_decoder)
        if not self.encodes and self._looks_ahead():
            raise InputError(
                f"{name} is an encoder: what it says of a word depends on the words behind it, so it writes no "
                "responses. Name a causal or a sequence-to-sequence model."
            )
        self.template = template_of(self.tokenizer, self.model.config, name, template)
        self.stops = (*self.template.stops, *stops)
        self.weights = place.digest(self.model.config)

    def facts(self) -> dict[str, str]:
        """What its answers depend on, apart from the contexts and the way of writing."""
        return {
            "weights": self.weights,
            "architecture": type(self.model).__name__,
            "precision": self.precision,
            "template": template_fact(self.template, self.tokenizer),
            "stops": " ".join(map(repr, self.stops)),
        }

    def set_aside(self) -> dict[str, Any]:
        """Settings of decoding that the folder brings and that --decoding stands in place of."""
        own = self.own.to_diff_dict()
        return {name: value for name, value in own.items() if name not in NO_DECODING and not name.startswith("_")}

    def prompts(self, examples: Sequence[Example], longest: int, system: str = "") -> list[ReadContext]:
        """Every context as this model reads it."""
        window = window_of(self.model.config, self.tokenizer)
        if window is not None and not self.encodes:
            window = max(window - longest, 0)
        words = getattr(self.model.config, "vocab_size", None)
        prompter = Prompter(self.tokenizer, window, words=words, template=self.template)
        before = [{"role": "system", "content": system}] if system else []
        return [prompter.prompt([*before, *messages_of(example)]) for example in examples]

    @torch.inference_mode()
    def _looks_ahead(self) -> bool:
        """Whether a later token changes what is said of an earlier one."""
        many = max(2, min(6, window_of(self.model.config, self.tokenizer) or 6))
        words = torch.arange(many, device=self.device)[None] % self.model.config.vocab_size
        changed_words = words.clone()
        changed_words[0, -1] = (changed_words[0, -1] + 1) % self.model.config.vocab_size
        first, second = (self.model(input_ids=tokens).logits[0, :-1].float() for tokens in (words, changed_words))
        return float((first - second).abs().max()) > 1e-3 * float(first.abs().max())

    def answer(self, prompts: Sequence[ReadContext], items: Sequence[str], writing: Writing) -> list[Reply]:
        """One reply a prompt, all in one batch; padding is masked, and each sampled reply draws numbers of its own."""
        inputs = self._stack_prompts(prompts)
        start = 1 if self.encodes else inputs["input_ids"].shape[1]
        stopping = StopsBefore(self.tokenizer, self.stops, start)
        with torch.inference_mode():
            written = self.model.generate(
                **inputs,
                generation_config=self._generation_settings(writing),
                logits_processor=self._make_sampler(items, writing, start),
                stopping_criteria=[stopping] if self.stops else None,
            )[:, start:].tolist()
        ends = self._end_tokens()
        replies = []
        for prompt, tokens in zip(prompts, written, strict=True):
            length = next((n for n, token in enumerate(tokens) if token in ends), None)
            text = self.tokenizer.decode(tokens[:length], skip_special_tokens=True)
            used = len(tokens) if length is None else length + 1
            finish = "length" if length is None else "stop"
            if (place := stopping.find(text)) is not None:
                text, used, finish = text[:place], stopping.count_tokens(tokens), "stop"
            replies.append(Reply(text.strip(), len(prompt.tokens), used, 0.0, self.weights, finish))
        return replies

    def _make_sampler(self, items: Sequence[str], writing: Writing, start: int) -> Any:
        if not writing.how.sampled:
            return None
        return [OwnDraw(writing, items, start, self.device)]

    def _end_tokens(self) -> set[int]:
        ends = self.own.eos_token_id
        ends = self.tokenizer.eos_token_id if ends is None else ends
        return set(ends) if isinstance(ends, list) else {ends} - {None}

    def _generation_settings(self, writing: Writing) -> Any:
        """Decoding exactly as asked for: of the folder's own settings only the tokens' numbers are kept."""
        numbers = {f"{name}_token_id": getattr(self.own, f"{name}_token_id", None) for name in NAMES_TOKENS}
        numbers |= {"eos_token_id": sorted(self._end_tokens()) or None, "pad_token_id": self._padding()}
        beams = max(1, writing.how.beam)
        return _wanted_settings(max_new_tokens=writing.longest, do_sample=False, num_beams=beams, **numbers)

    def _padding(self) -> int:
        """Any token: what is padded is masked."""
        padding = self.tokenizer.pad_token_id
        return int(next(iter(self._end_tokens()), 0) if padding is None else padding)

    def _stack_prompts(self, prompts: Sequence[ReadContext]) -> dict[str, Any]:
        """Padded on the left where the answer is written behind the context, on the right where an encoder reads it."""
        longest = max(len(prompt.tokens) for prompt in prompts)
        rows, masks = [], []
        for prompt in prompts:
            blank = longest - len(prompt.tokens)
            padding, real = [self._padding()] * blank, [1] * len(prompt.tokens)
            rows.append([*prompt.tokens, *padding] if self.encodes else [*padding, *prompt.tokens])
            masks.append([*real, *[0] * blank] if self.encodes else [*[0] * blank, *real])
        return {
            "input_ids": torch.tensor(rows, device=self.device),
            "attention_mask": torch.tensor(masks, device=self.device),
        }

    def _make_inputs(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        window = window_of(self.model.config, self.tokenizer)
        return self._stack_prompts([Prompter(self.tokenizer, window, template=self.template).prompt(messages)])

    @torch.inference_mode()
    def likelihoods(self, messages: list[dict[str, str]], options: Sequence[str]) -> list[tuple[float, int]]:
        """Log-probability and tokens of every option, its end among them; what comes before is read once."""
        blank = "" if self.model.config.is_encoder_decoder else self.template.blank
        end = self.tokenizer.eos_token_id
        ends = [] if end is None else [end]
        targets = [[*self.tokenizer(blank + text, add_special_tokens=False)["input_ids"], *ends] for text in options]
        longest = max(map(len, targets))
        real = torch.tensor([[1] * len(t) + [0] * (longest - len(t)) for t in targets], device=self.device)
        wanted = torch.tensor([[*t, *[0] * (longest - len(t))] for t in targets], device=self.device)
        logits = self._target_logits(self._make_inputs(messages), wanted, real)
        logprobs = logits.float().log_softmax(2).gather(2, wanted[:, :, None])[:, :, 0].double()
        sums = (logprobs * real).sum(1)
        return [(float(value), len(target)) for value, target in zip(sums, targets, strict=True)]

    def _target_logits(self, inputs: dict[str, Any], wanted: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Logits of every place of the targets (options x places x words)."""
        many = len(wanted)
        if self.model.config.is_encoder_decoder:
            states = self.model.get_encoder()(**inputs).last_hidden_state.expand(many, -1, -1)
            first = torch.full_like(wanted[:, :1], self.model.config.decoder_start_token_id)
            output = self.model(
                encoder_outputs=(states,),
                attention_mask=inputs["attention_mask"].expand(many, -1),
                decoder_input_ids=torch.cat([first, wanted[:, :-1]], 1),
            )
            return torch.as_tensor(output.logits)
        before = self.model(**inputs, use_cache=True)
        first = before.logits[:, -1:].expand(many, -1, -1)
        if wanted.shape[1] == 1:
            return torch.as_tensor(first)
        before.past_key_values.batch_repeat_interleave(many)
        mask = torch.cat([inputs["attention_mask"].expand(many, -1), real[:, :-1]], 1)
        after = self.model(input_ids=wanted[:, :-1], attention_mask=mask, past_key_values=before.past_key_values)
        return torch.cat([first, after.logits], 1)


def _wanted_settings(**wanted: Any) -> Any:
    from transformers import GenerationConfig

    config_class: Any = GenerationConfig  # untyped there
    return config_class(**wanted)


# Questions answered by the likelihood of an imported model: each option after its context, and after none.

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
