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
