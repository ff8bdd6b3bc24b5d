"""A pretrained causal or sequence-to-sequence model of Hugging Face, behind the interface of the five.

It reads and writes the pieces of its own tokenizer. Our number of a piece is the tokenizer's behind the special tokens
of `vocabulary.py`, each of which stands for a piece too. Trained whole or by LoRA (Hu et al.
2022, peft's implementation): then the pretrained weights stay as they are, and checkpoints hold the adapter alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Turn
from seedvote.generation.batches import Contexts
from seedvote.generation.imports.hugging_face import explain_failures, load_writer, load_writing_model, model_place
from seedvote.generation.imports.prompting import Template, template_of, window_of
from seedvote.generation.models.interface import DecoderState, DialogueModel, Encoded
from seedvote.generation.vocabulary import LONGEST_TARGET, SPECIAL, PieceVocabulary

LORA_DROPOUT = 0.05
LONGEST_PROMPT = 400  # pieces of a context; its oldest turns go first
CLOSE = 1e-3  # how far the product of states and words may be from the model's own logits, as a share of their range


class PretrainedModel(DialogueModel):
    """One pretrained model with fresh dropout, and a fresh adapter where it is trained by LoRA."""

    has_lstms = is_erasable = False
    pieces: Tensor  # of every number of ours
    output: Any  # a `_PieceOutput`

    def __init__(self, words: int, sizes: Mapping[str, Any]) -> None:
        nn.Module.__init__(self)
        place = model_place(str(sizes["base"]))
        base = load_writing_model(place, torch.float32)
        if place.digest(base.config) != sizes["weights"]:
            raise InputError(f"{sizes['base']} holds other files than those that this model was trained from.")
        self.encodes = bool(base.config.is_encoder_decoder)
        self.pooling = "mean" if self.encodes else "last"
        self.register_buffer("pieces", torch.tensor([*sizes["pieces"], *range(words - len(SPECIAL))]), False)
        never = torch.zeros(words)
        never[[len(SPECIAL) + piece for piece in sizes["never"]]] = -torch.inf
        self.inner: Any = base.eval()
        self.output = _PieceOutput(base.get_output_embeddings(), self.pieces, never)
        self._fit_output(str(sizes["base"]))
        if sizes["lora"]:
            _add_adapter(base, int(sizes["lora"]))

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts: an encoder's outputs, or keys and values of every layer."""
        tokens, mask = self.pieces[contexts.tokens], contexts.mask
        several = not self.training  # the layers below the top are for probes
        if self.encodes:
            read = self.inner.get_encoder()(
                input_ids=tokens, attention_mask=mask.long(), output_hidden_states=several, return_dict=True
            )
            layers = read.hidden_states if several else [read.last_hidden_state]
            real = mask[:, :, None]
            vectors = [(layer * real).sum(1) / real.sum(1) for layer in layers]
            return Encoded(read.last_hidden_state, mask, (), torch.stack(vectors, 1))
        cache = _new_cache()
        read = self._trunk()(
            input_ids=tokens, attention_mask=mask.long(), past_key_values=cache, use_cache=True,
            output_hidden_states=several, return_dict=True,
        )  # fmt: skip
        layers = read.hidden_states if several else [read.last_hidden_state]
        rows, last = torch.arange(len(tokens), device=tokens.device), contexts.lengths - 1
        vectors = [layer[rows, last] for layer in layers]
        return Encoded(read.last_hidden_state, mask, _cached_parts(cache), torch.stack(vectors, 1))

    def decode_targets(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing."""
        return self._write(encoded, self.start_state(encoded), inputs)[0]

    def decode_step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        hidden, state = self._write(encoded, state, tokens[:, None])
        return hidden[:, 0], state

    def _write(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """Hidden states behind each token (<bos> is what asks for a reply), and the state after the last."""
        pieces, mask = self.pieces[tokens], encoded.mask
        if self.encodes:
            cache = _join_caches(state)
            written = self.inner.get_decoder()(
                input_ids=pieces, encoder_hidden_states=encoded.memory, encoder_attention_mask=mask.long(),
                past_key_values=cache, use_cache=True, return_dict=True,
            )  # fmt: skip
            parts = (*_cached_parts(cache.self_attention_cache), *_cached_parts(cache.cross_attention_cache))
            return written.last_hidden_state, parts
        cache, done = _new_cache(state), state[0].shape[2] - mask.shape[1]
        # A context ends with the piece that asks for a reply, so <bos> is read at its place and it is hidden.
        before = mask & (mask.cumsum(1) < mask.sum(1, keepdim=True))
        behind = torch.ones(len(mask), done + tokens.shape[1], dtype=torch.bool, device=mask.device)
        first = mask.sum(1, keepdim=True) - 1 + done
        written = self._trunk()(
            input_ids=pieces, attention_mask=torch.cat([before, behind], 1).long(), past_key_values=cache,
            position_ids=first + torch.arange(tokens.shape[1], device=mask.device), use_cache=True, return_dict=True,
        )  # fmt: skip
        return written.last_hidden_state, _cached_parts(cache)

    def _trunk(self) -> Any:
        """All of a causal model but the layer that gives logits."""
        return self.inner.base_model

    def word_vectors(self) -> Tensor:
        """The vector of every number at the input."""
        return torch.as_tensor(self.inner.get_input_embeddings().weight[self.pieces])

    def state_dict(self, *args: Any, **more: Any) -> dict[str, Any]:  # type: ignore[override]
        """What training changes, each tensor once."""
        del args, more
        return {name: part.data for name, part in self.named_parameters() if part.requires_grad}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Weights as `state_dict` gave them."""
        del strict, assign
        known = {name: part for name, part in self.named_parameters() if part.requires_grad}
        if set(known) != set(state_dict):
            raise InputError("The weights are not those of this base and --lora: they hold other tensors.")
        with torch.no_grad():
            for name, part in known.items():
                part.copy_(state_dict[name])

    @torch.inference_mode()
    def _fit_output(self, name: str) -> None:
        """Take over the factor of the logits, and refuse a model that does more to them: its loss would be another."""
        numbers = torch.arange(len(SPECIAL), len(SPECIAL) + 4)[None]
        if self.encodes:
            contexts = Contexts(numbers, torch.tensor([4]))
            hidden = self.decode_targets(self.encode(contexts), numbers)
            theirs = self.inner(input_ids=self.pieces[numbers], decoder_input_ids=self.pieces[numbers]).logits
        else:
            hidden = self._trunk()(input_ids=self.pieces[numbers]).last_hidden_state
            theirs = self.inner(input_ids=self.pieces[numbers]).logits
        ours, theirs = self.output(hidden), theirs[..., self.pieces]
        known = ours.isfinite()
        self.output.scale = float((ours[known] * theirs[known]).sum() / ours[known].square().sum())
        far = (self.output(hidden)[known] - theirs[known]).abs().max() / (theirs[known].max() - theirs[known].min())
        if not float(far) <= CLOSE:
            raise InputError(
                f"{name} does more to its logits than multiply states and words, so it cannot be trained here."
            )


class _PieceOutput(nn.Module):
    """Logits of our numbers from hidden states: the library's output layer, its rows put in our order."""

    pieces: Tensor
    never: Tensor

    def __init__(self, layer: Any, pieces: Tensor, never: Tensor) -> None:
        super().__init__()
        self.layer, self.scale = [layer], 1.0  # in a list: it is part of the base already
        self.register_buffer("pieces", pieces, False)
        self.register_buffer("never", never, False)

    @property
    def weight(self) -> Tensor:
        """Words x width, as the loss wants it."""
        return torch.as_tensor(self.layer[0].weight[self.pieces] * self.scale)

    @property
    def bias(self) -> Tensor:
        """Minus infinity for pieces that no reply holds."""
        own = getattr(self.layer[0], "bias", None)
        return self.never if own is None else self.never + own[self.pieces] * self.scale

    def forward(self, hidden: Tensor) -> Tensor:
        """Logits (... x words)."""
        return torch.as_tensor(self.layer[0](hidden)[..., self.pieces] * self.scale + self.never)


def _add_adapter(model: Any, rank: int) -> None:
    """LoRA on every linear layer but the output, drawn from torch's global generator; all else stays as it is."""
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise InputError("--lora needs the library peft. Type: pip install peft") from error
    from transformers.pytorch_utils import Conv1D

    turned = any(isinstance(part, Conv1D) for part in model.modules())  # GPT-2's layers lie the other way round
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=LORA_DROPOUT,
        target_modules="all-linear",
        fan_in_fan_out=turned,
    )
    for part in model.parameters():
        part.requires_grad = False
    inject_adapter_in_model(config, model)


def _new_cache(parts: DecoderState = ()) -> Any:
    """The library's cache with these keys and values, two a layer."""
    from transformers import DynamicCache

    cache: Any = DynamicCache()
    for layer in range(len(parts) // 2):
        cache.update(parts[2 * layer], parts[2 * layer + 1], layer)
    return cache


def _join_caches(state: DecoderState) -> Any:
    """The cache of a decoder: of what it wrote, and of what it reads, which is empty before the first step."""
    from transformers import EncoderDecoderCache

    cache_class: Any = EncoderDecoderCache  # untyped there
    half = len(state) // 2
    return cache_class(_new_cache(state[:half]), _new_cache(state[half:]))


def _cached_parts(cache: Any) -> DecoderState:
    return tuple(part for layer in cache.layers for part in (layer.keys, layer.values))


# What a study keeps of its base: the vocabulary of pieces, and what a model is built from.


def unpack_base(source: str, folder: Path, *, fetch: bool = False) -> str:
    """A GGUF file as a folder of whole numbers, written once: to read one takes a minute, and every model would."""
    place = model_place(source, fetch=fetch)
    if "gguf_file" not in place.options:
        return source
    if not folder.exists():
        tokenizer, model = load_writer(place, torch.float32)
        half = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(half, ignore_errors=True)  # of an attempt that was killed
        # Its numbers are whole by now, and what says otherwise would forbid to write them.
        model.hf_quantizer = None
        for name in ("quantization_config", "_pre_quantization_dtype"):
            model.config.__dict__.pop(name, None)
        with explain_failures(place):
            model.save_pretrained(half)
            tokenizer.save_pretrained(half)
        half.rename(folder)
    return str(folder)


def base_of(
    source: str, *, lora: int, template: str | None, fetch: bool = False
) -> tuple[PieceVocabulary, dict[str, Any], Template]:
    """The vocabulary of a base, what `PretrainedModel` is built from, and how contexts are written for it."""
    from transformers import AutoConfig, AutoTokenizer

    place = model_place(source, fetch=fetch)
    with explain_failures(place):
        config: Any = AutoConfig.from_pretrained(place.where, **place.options)
        tokenizer: Any = AutoTokenizer.from_pretrained(place.where, **place.options)
    ends = tokenizer.eos_token_id
    if ends is None:
        raise InputError(f"The tokenizer of {source} names no token that ends a reply (eos_token).")
    form = template_of(tokenizer, config, source, template, otherwise="transcript")
    window = window_of(config, tokenizer)
    taken = 0 if config.is_encoder_decoder else LONGEST_TARGET  # of the window by the reply
    longest = min(LONGEST_PROMPT, window - taken) if window else LONGEST_PROMPT
    vocabulary = PieceVocabulary(
        (*SPECIAL, *tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))),
        tokenizer,
        form.name,
        form.jinja or "",
        form.blank,
        longest,
    )
    cue = config.decoder_start_token_id if config.is_encoder_decoder else _last_piece(vocabulary, source)
    starts = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else ends
    unknown = tokenizer.unk_token_id if tokenizer.unk_token_id is not None else ends
    special = {*tokenizer.all_special_ids, *(n for n, t in tokenizer.added_tokens_decoder.items() if t.special)}
    sizes = {
        "base": str(Path(source).resolve()) if Path(source).exists() else source,
        "weights": place.digest(config),
        "lora": lora,
        "pieces": [ends, unknown, cue, ends, cue, starts, ends],  # as SPECIAL stands
        "never": sorted(special),
    }
    return vocabulary, sizes, form


def _last_piece(vocabulary: PieceVocabulary, source: str) -> int:
    """The piece with which every context ends: it asks for a reply."""
    turns = [Turn("user", "Hello."), Turn("system", "Which town"), Turn("user", "No, thanks! 7")]
    last = {vocabulary.context(turns[:many], "system")[-1] for many in (1, 3)}
    if len(last) > 1:
        raise InputError(f"The contexts of {source} end with different tokens: choose another template (--template).")
    return last.pop() - len(SPECIAL)
