"""Responses of causal and sequence-to-sequence models in the form of Hugging Face, from a local folder or by name.

The transformers library is asked for here only, and is not needed for anything else. Contexts are answered one by one,
so no response depends on another; a model with a chat template gets its context through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from dialogue.corpora.examples import Example
from dialogue.errors import InputError
from dialogue.seeds import child_seed
from generation.decoding import Decoding
from generation.imports.tables import messages_of


class HuggingFace:
    """A loaded model with its tokenizer."""

    def __init__(self, name: str, *, fetch: bool = False, device: torch.device | None = None) -> None:
        self.device = device or torch.device("cpu")
        self.tokenizer, self.model = _load(name, fetch)
        self.model.to(self.device).eval()

    def respond(
        self, examples: Sequence[Example], *, how: Decoding, seed: int, longest: int, tell: Callable[[], object]
    ) -> list[str]:
        """One response a context; sampled ones follow from (seed, item)."""
        texts = []
        # transformers draws from torch's global generator and takes no other; it is put back afterwards.
        with torch.random.fork_rng(), torch.inference_mode():
            for example in examples:
                torch.default_generator.manual_seed(child_seed(seed, "hugging face", example.item))
                texts.append(self._one(messages_of(example), how, longest))
                tell()
        return texts

    def _one(self, messages: list[dict[str, str]], how: Decoding, longest: int) -> str:
        inputs = self._inputs(messages)
        # generate() asks for a padding token, which many causal models lack; nothing is padded here.
        padding = self.tokenizer.pad_token_id
        padding = self.tokenizer.eos_token_id if padding is None else padding
        options = how.for_transformers()
        written = self.model.generate(**inputs, max_new_tokens=longest, pad_token_id=padding, **options)[0]
        if not self.model.config.is_encoder_decoder:
            written = written[inputs["input_ids"].shape[1] :]
        return str(self.tokenizer.decode(written, skip_special_tokens=True)).strip()

    def _inputs(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        if getattr(self.tokenizer, "chat_template", None):
            text = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            made = self.tokenizer(text, return_tensors="pt", add_special_tokens=False)
        else:
            lines = [f"{message['role']}: {message['content']}" for message in messages]
            made = self.tokenizer("\n".join([*lines, "assistant:"]), return_tensors="pt")
        return {name: made[name].to(self.device) for name in ("input_ids", "attention_mask")}

    @torch.inference_mode()
    def likelihoods(self, messages: list[dict[str, str]], options: Sequence[str]) -> list[tuple[float, int]]:
        """Log-probability and tokens of every option, its end among them; what comes before is read once."""
        blank = "" if getattr(self.tokenizer, "chat_template", None) or self.model.config.is_encoder_decoder else " "
        end = self.tokenizer.eos_token_id
        ends = [] if end is None else [end]
        targets = [[*self.tokenizer(blank + text, add_special_tokens=False)["input_ids"], *ends] for text in options]
        longest = max(map(len, targets))
        real = torch.tensor([[1] * len(t) + [0] * (longest - len(t)) for t in targets], device=self.device)
        wanted = torch.tensor([[*t, *[0] * (longest - len(t))] for t in targets], device=self.device)
        logits = self._logits(self._inputs(messages), wanted, real)
        each = logits.float().log_softmax(2).gather(2, wanted[:, :, None])[:, :, 0].double()
        sums = (each * real).sum(1)
        return [(float(value), len(target)) for value, target in zip(sums, targets, strict=True)]

    def _logits(self, inputs: dict[str, Any], wanted: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Logits of every place of the targets (options x places x words)."""
        many = len(wanted)
        if self.model.config.is_encoder_decoder:
            states = self.model.get_encoder()(**inputs).last_hidden_state.expand(many, -1, -1)
            first = torch.full_like(wanted[:, :1], self.model.config.decoder_start_token_id)
            found = self.model(
                encoder_outputs=(states,), attention_mask=inputs["attention_mask"].expand(many, -1),
                decoder_input_ids=torch.cat([first, wanted[:, :-1]], 1),
            )  # fmt: skip
            return torch.as_tensor(found.logits)
        before = self.model(**inputs, use_cache=True)
        first = before.logits[:, -1:].expand(many, -1, -1)
        if wanted.shape[1] == 1:
            return torch.as_tensor(first)
        before.past_key_values.batch_repeat_interleave(many)
        mask = torch.cat([inputs["attention_mask"].expand(many, -1), real[:, :-1]], 1)
        after = self.model(input_ids=wanted[:, :-1], attention_mask=mask, past_key_values=before.past_key_values)
        return torch.cat([first, after.logits], 1)


def _load(name: str, fetch: bool) -> tuple[Any, Any]:
    try:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError as error:
        raise InputError("Hugging Face models need the transformers library: pip install transformers.") from error
    local = {"local_files_only": not fetch}
    try:
        config = AutoConfig.from_pretrained(name, **local)
        kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        return AutoTokenizer.from_pretrained(name, **local), kind.from_pretrained(name, **local)
    except (OSError, ValueError) as error:
        if not fetch and not Path(name).exists():
            raise InputError(
                f"{name} is neither a local folder nor a downloaded model. To download it from the hub, add --fetch."
            ) from error
        reason = str(error).splitlines()[0]
        raise InputError(f"{name} holds no Hugging Face model: {reason}") from error
