"""Patching: the whole line on a small study, and effects with known means."""

import html
import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.notebook import patching
from seedvote.analysis.questions.patching import PatchedTask, answer, compare_patches, patching_notes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json
from tests.analysis.questions.test_erasure import say
from tests.analysis.report_study import add_scores
from tests.generation.imports.toy_models import PLAIN, save


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patching")
    for line in (
        f"dialogue toy {folder}/corpus --dialogues 40 --seed 0",
        f"generation train {folder} --models seq2seq_attn --seeds 0-1 --preset tiny --epochs 1 --valid 0 --jobs 1",
        f"probes patch {folder} --tasks UtteranceLoc,IsMultiTopic --limit 12 --draws 1",
        f"generation patched {folder} --jobs 1",
    ):
        assert say(line)[0] in (0, None), line
    return folder


def test_command_notebook_report_and_document_say_the_same(study, tmp_path):
    found = patching(study)
    assert json.loads(say(f"analysis patching {study} --json -")[1]) == json.loads(json.dumps(found.document))
    rows = {(row["task"], row["site"]): row for row in found.document["rows"]}
    sites = {"everything", "state", "memory", "memory.older", "memory.newer"}
    assert set(rows) == {(task, site) for task in ("UtteranceLoc", "IsMultiTopic") for site in sites}
    assert all(row["seeds"] == 2 and row["effect"]["low"] <= row["effect"]["high"] for row in rows.values())
    say(f"analysis report {add_scores(study)} --out {tmp_path}/report.html")
    assert json.loads((tmp_path / "report.json").read_text())["patching"] == found.document
    page = html.unescape((tmp_path / "report.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    assert "Where decoders find what they use" in page
    for note in patching_notes(answer(study)):
        assert note in page.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"), note


def test_what_is_done_is_kept_and_other_plans_are_patched_anew(study):
    assert "4 of 4 files were already there" in say(f"generation patched {study} --jobs 1")[1]
    before = read_json(study / "patches" / "IsMultiTopic.json")
    told = say(f"probes patch {study} --tasks IsMultiTopic --limit 12 --draws 1 --seed 1")[1]
    assert before != read_json(study / "patches" / "IsMultiTopic.json") and "IsMultiTopic" in told
    assert [path.name for path in (study / "patches").iterdir()] == ["IsMultiTopic.json"]
    with pytest.raises(InputError, match=r"follows an older plan\. Patch again: python -m generation patched"):
        patching(study)
    assert "0 of 2 files were already there" in say(f"generation patched {study} --jobs 1")[1]
    # Files of the task that is no longer planned stay, and are not shown.
    assert len(list((study / "patched").glob("*/UtteranceLoc.parquet"))) == 2
    found = patching(study)
    assert {row["task"] for row in found.document["rows"]} == {"IsMultiTopic"}
    # One dialogue has another label, so nobody knows what another source would do.
    assert {row["effect"]["low"] for row in found.document["rows"]} == {None}
    assert "No interval is known" in str(found) and "nan" not in str(found)


def test_other_texts_are_patched_anew_and_lost_contexts_refused(study, tmp_path):
    corpus = shutil.copytree(study / "corpus", tmp_path / "corpus")
    item = read_json(study / "patches" / "IsMultiTopic.json")["pairs"][0][0]
    dialogue = item.rpartition(":")[0]
    dialogues = read_json(corpus / "data.json")
    dialogues[dialogue]["log"][0]["text"] = "Which other words?"
    (corpus / "data.json").write_text(json.dumps(dialogues))
    command = f"generation patched {study} --corpus {corpus} --jobs 1"
    assert "0 of 2 files were already there" in say(command)[1]
    names = (corpus / "testListFile.txt").read_text().split()
    (corpus / "testListFile.txt").write_text("\n".join(name for name in names if name != dialogue) + "\n")
    with pytest.raises(InputError, match=r"are not in the corpus .* Plan anew: python -m probes patch"):
        say(command)


@pytest.mark.parametrize("written", [0, 1])
def test_a_run_that_breaks_off_goes_on_to_the_same_bytes(written, study, monkeypatch):
    say(f"generation patched {study} --jobs 1")
    paths = [path for plan in (study / "patches").iterdir() for path in (study / "patched").glob(f"*/{plan.stem}.*")]
    whole = {path: path.read_bytes() for path in paths}
    for path in whole:
        path.unlink()
    turns, write = iter(range(written)), pq.write_table

    def write_some(table, handle, **options):
        if next(turns, None) is None:
            raise MemoryError
        write(table, handle, **options)

    with monkeypatch.context() as patch, pytest.raises(InputError, match="failed with MemoryError"):
        patch.setattr(pq, "write_table", write_some)
        say(f"generation patched {study} --jobs 1")
    missing = [path for path in paths if not path.exists()]
    assert len(missing) == len(paths) - written > 0
    half = missing[0].with_name(f".{missing[0].name}.1.tmp")
    half.write_bytes(b"PAR1")  # as after kill -9
    assert f"{written} of {len(paths)} files were already there" in say(f"generation patched {study} --jobs 1")[1]
    assert {path: path.read_bytes() for path in paths} == whole and not half.exists()


def test_a_pretrained_model_is_patched_as_it_is(study, tmp_path):
    pytest.importorskip("transformers")
    base = save(tmp_path / "gpt", "causal", PLAIN, n_layer=2)
    say(f"generation patched {study} --hugging-face {base} --name gpt --jobs 1")
    rows = [row for row in patching(study).document["rows"] if row["model"] == "gpt"]
    sites = {"everything", "layer.1", "layer.2", "layer.1.last", "layer.2.last"}
    assert {row["site"] for row in rows} == sites and {row["checkpoint"] for row in rows} == {"pretrained"}
    assert "One seed alone: gpt" in str(patching(study))


def test_studies_without_patches_and_bad_margins_are_refused(study, tmp_path):
    with pytest.raises(InputError, match="has nothing patched"):
        patching(tmp_path)
    with pytest.raises(InputError, match="--margin"):
        patching(study, margin=1)
    with pytest.raises(InputError, match="holds no plan"):
        say(f"generation patched {tmp_path} --corpus {study}/corpus")


def world(generator, seeds, *, effect, whole, seed_sd, source_sd=0.05, of_label=20, dialogues=40, each=4):
    """Costs with known means: seeds differ, and the turns of a dialogue hang together, as targets and as sources.

    Of the label of the first `of_label` dialogues are no others, so they alone are the other sources of all the rest.
    """
    codes = np.repeat(np.arange(dialogues), each)
    tokens = generator.integers(5, 20, len(codes)).astype(float)
    shared, of_source = generator.normal(0, 0.05, dialogues)[codes], generator.normal(0, source_sd, dialogues)
    inside, outside = np.arange(of_label), np.arange(of_label, dialogues)
    sources = {
        kind: np.array([[generator.choice(inside if (code < of_label) == is_same else outside)] for code in codes])
        for kind, is_same in (("same", True), ("other", False))
    }
    items = tuple(f"d{code}:{n}" for n, code in enumerate(codes))
    tasks = []
    for seed in range(seeds):
        own = generator.normal(0, seed_sd)
        costs = {}
        for site, mean in (("everything", whole), ("layer.1", effect)):
            noise = generator.normal(0, 0.1, (2, len(codes)))
            same, other = 0.3 + noise[0], 0.3 + mean * (1 + own) + shared + noise[1]
            costs[site] = [
                (tokens * (cost + of_source[sources[kind][:, 0]]))[:, None]
                for kind, cost in (("same", same), ("other", other))
            ]
        sides = ({site: pair[side] for site, pair in costs.items()} for side in (0, 1))
        tasks.append(PatchedTask("m", seed, "last", "T", "p", 1, items, codes, tokens, sources, *sides))
    return tasks


WORLDS = {
    "seeds alike": {"effect": 0.1, "whole": 0.4, "seed_sd": 0.0},
    "seeds differ": {"effect": 0.1, "whole": 0.4, "seed_sd": 0.2},
    "nothing there": {"effect": 0.0, "whole": 0.4, "seed_sd": 0.1},
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_intervals_hold_effect_and_share(name):
    generator, how, reps = np.random.default_rng(0), WORLDS[name], 60
    covered, carried, shares = np.zeros(2), 0, 0
    for _ in range(reps):
        row = next(row for row in compare_patches(world(generator, 3, **how)).rows if row.site == "layer.1")
        carried += row.verdict == "carries"
        covered[0] += row.effect.low <= how["effect"] <= row.effect.high
        if row.share is None:  # three seeds need not show the effect of everything
            continue
        shares += 1
        covered[1] += row.share.low <= how["effect"] / how["whole"] <= row.share.high
    assert shares > 0.8 * reps and (covered / (reps, shares) > 0.88).all(), covered
    assert carried <= 0.1 * reps or how["effect"] > 0


RARE = {"effect": 0.0, "whole": 0.8, "seed_sd": 0.1, "source_sd": 0.15, "of_label": 4}


def test_few_sources_of_a_label_widen_the_interval():
    """Nearly all targets met the same four dialogues: what these add by themselves is no effect of the label."""
    tasks = world(np.random.default_rng(1), 3, **RARE)
    row = compare_patches(tasks).rows[1]
    assert row.effect.se > 0.5 * RARE["source_sd"] / 2 and row.effect.freedom < 6
    tasks = world(np.random.default_rng(0), 3, **RARE | {"of_label": 1})
    alone = compare_patches(tasks).rows[1]
    assert np.isnan(alone.effect.p) and alone.verdict == "open"


@pytest.mark.slow
@pytest.mark.parametrize("of_label", [3, 4, 8])
def test_few_sources_of_a_label_claim_no_site_in_studies_without_one(of_label):
    """Without the sources' own variance 33 of 100 studies claimed a site that carries nothing."""
    generator, reps = np.random.default_rng(0), 200
    carried = covered = 0
    for _ in range(reps):
        row = compare_patches(world(generator, 3, **RARE | {"of_label": of_label})).rows[1]
        carried += row.verdict == "carries"
        covered += row.effect.low <= 0 <= row.effect.high
    assert carried <= 0.08 * reps and covered >= 0.9 * reps, (carried, covered)


def test_tables_that_are_damaged_or_unlike_are_refused(study, tmp_path):
    path = next((study / "patched").glob("*-0-last/IsMultiTopic.parquet"))
    table, place = pq.read_table(path), tmp_path / "patched" / "m-0-last" / "T.parquet"
    place.parent.mkdir(parents=True)
    damaged = {
        "missing": table.slice(1),
        "doubled": pa.concat_tables([table, table.slice(0, 1)]),
        "no number": table.set_column(6, "nll", pa.array([float("nan")] * len(table))),
        "no source": table.drop_columns(["source"]),
        "unnamed": table.replace_schema_metadata(None),
    }
    for name, rows in damaged.items():
        pq.write_table(rows, place)
        with pytest.raises(InputError, match="is not whole"):
            patching(tmp_path)
        assert name
    pq.write_table(table, place)
    patching(tmp_path)
    pq.write_table(table, place.with_name("Copy.parquet"))
    with pytest.raises(InputError, match="IsMultiTopic twice"):
        patching(tmp_path)


def test_models_that_met_other_sources_are_not_compared():
    tasks = world(np.random.default_rng(0), 2, **WORLDS["seeds alike"])
    with pytest.raises(InputError, match=r"met different sources \(m last and n last\)"):
        compare_patches([*tasks, replace(tasks[0], model="n", plan="q")])
    with pytest.raises(InputError, match=r"U 2\. Plan both anew"):
        compare_patches([*tasks, replace(tasks[0], task="U", draws=2)])
    with pytest.raises(InputError, match="different sites"):
        compare_patches([tasks[0], replace(tasks[1], same={"everything": tasks[1].same["everything"]})])


def test_no_share_is_given_where_the_whole_context_has_no_effect():
    rows = compare_patches(world(np.random.default_rng(0), 2, effect=0.0, whole=0.0, seed_sd=0.0)).rows
    assert all(row.share is None and row.verdict == "open" for row in rows)
