"""Agents: what they read, are told and write; that dialogues are whole, and that every promise of training holds."""

import dataclasses
import json
import random

import pytest
import torch

from seedvote.analysis.notebook import robustness
from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy import world
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_header, read_json, read_records
from seedvote.dialogue.records import Response
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.evaluators.__main__ import COMMANDS as EVALUATORS
from seedvote.generation import training
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.checkpoints import read_weights
from seedvote.generation.decoding import parse_decoding
from seedvote.generation.models.architectures import ARCHITECTURES, build_model
from seedvote.generation.numbering import study_vocabulary, training_data
from seedvote.generation.speaking.agent import Speaker
from seedvote.generation.speaking.speech import (
    BELIEF,
    END,
    annotated_state,
    apply_changes,
    belief_words,
    parse_belief,
    speech_of,
    state_changes,
)
from seedvote.generation.training import Settings, train_model
from seedvote.generation.vocabulary import EOS, PAD
from tests.generation.small_sizes import small_sizes

CPU = torch.device("cpu")
GREEDY = parse_decoding("greedy")
# What agents add is the same code for every architecture, and that each answers row by row is in tests/generation/
# test_decoding.py: so one of them is asked here, the others in make test-slow.
ASKED = [pytest.param(name, marks=[] if name == "transformer" else pytest.mark.slow) for name in ARCHITECTURES]


def generation(*arguments):
    return dispatch("generation", "", COMMANDS, [str(argument) for argument in arguments])


def evaluators(*arguments):
    return dispatch("evaluators", "", EVALUATORS, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "corpus"
    write_toy(folder, 40, seed=0)
    return folder


@pytest.fixture(scope="module")
def data(corpus, tmp_path_factory):
    read = read_corpus(corpus)
    made = {}
    for kind in ("task", "policy"):
        speech = speech_of(kind, read)
        words = study_vocabulary(tmp_path_factory.mktemp(kind), read, largest=5000, at_least=1, speech=speech)
        made[kind] = training_data(read, words, dialogues=8, valid=6, speech=speech)
    return made


def shown(numbers, vocabulary):
    return " ".join(vocabulary.words[number] for number in numbers)


def test_agent_reads_and_writes_belief_and_reply(data):
    row, words = data["task"].train[2], data["task"].vocabulary
    context, target = shown(row.context, words), shown(row.target, words)
    assert context.startswith(f"{BELIEF} ") and "<eou> <other>" in context
    belief, _, rest = target.partition(f" {END} ")
    assert belief and rest.startswith("<") and rest.endswith("<eos>")
    start, stop = row.unscored
    assert all(word.startswith("<") and ":" in word for word in shown(row.target[start:stop], words).split())
    assert words.words[row.target[start - 1]] == END


def test_every_belief_of_the_toy_corpus_is_read_back_as_it_was(corpus):
    """Written as a whole, and as what has changed from turn to turn."""
    for dialogue in read_corpus(corpus).dialogues:
        before = {}
        for n in range(1, len(dialogue.turns), 2):
            state = {name: dict(slots) for name, slots in annotated_state(dialogue, n).items()}
            assert parse_belief(belief_words(state)) == state
            before = apply_changes(before, parse_belief(belief_words(state_changes(before, state))))
            assert before == state


def test_what_is_believed_no_more_and_what_is_no_belief_are_left_out():
    before = {"hotel": {"area": "north", "stars": "4"}}
    assert apply_changes(before, state_changes(before, {"hotel": {"area": "north"}})) == {"hotel": {"area": "north"}}
    assert apply_changes(before, parse_belief(["hotel", ";", ";", "area", ";", "hotel", "stars"])) == before
    assert parse_belief([]) == {} and parse_belief(["hotel", "stars", "4", ";"]) == {"hotel": {"stars": "4"}}


def test_what_is_told_is_no_part_of_the_loss(data):
    from seedvote.generation.batches import stack_batch

    task, policy = data["task"].train[2], data["policy"].train[2]
    assert (policy.target, policy.context) == (task.target, task.context)
    for row, blank in ((task, range(*task.unscored)), (policy, range(policy.unscored[1]))):
        batch = stack_batch([row], CPU)
        assert [n for n, token in enumerate(batch.targets[0].tolist()) if token == PAD] == list(blank)
        assert batch.inputs[0].tolist()[1:] == list(row.target[:-1])


def test_the_database_is_asked_by_the_rows_that_match(corpus):
    """Against the toy's own query, a loop over the rows."""
    speech = speech_of("task", read_corpus(corpus))
    rng = random.Random(0)
    for _ in range(300):
        domain = rng.choice(("hotel", "restaurant", "attraction"))
        row = rng.choice(world.make_databases()[domain])
        wanted = {name: row[name] for name in rng.sample(["area", "type", "pricerange", "stars"], 2) if name in row}
        if rng.random() < 0.3:
            wanted["area"] = rng.choice(world.AREAS)
        rows = len(world.find_matches(domain, wanted))
        (word,) = speech.answer_words({domain: wanted})
        assert word == f"<{domain}:{rows if rows < 2 else '2-3' if rows < 4 else '4+'}>"


def lively(name, words):
    """Large random weights, so that what is written depends on the context."""
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        model = build_model(name, words, small_sizes(name, 12)).eval()
        with torch.no_grad():
            for part in model.parameters():
                part.mul_(3)
    return model


@pytest.mark.parametrize("name", ASKED)
def test_an_agent_answers_the_same_whatever_stands_beside_it(data, name, corpus):
    """Beliefs and replies of two dialogues together are those of each alone; told tokens are really read."""
    words = data["task"].vocabulary
    model = lively(name, len(words))
    speaker = Speaker(model, data["task"].speech, words, CPU)
    first, second = read_corpus(corpus).split("test")[:2]
    pair = [dataclasses.replace(first, turns=first.turns[:2]), dataclasses.replace(second, turns=second.turns[:4])]
    both = speaker.answer_dialogues(pair, GREEDY, 0)
    assert set(both) == {e.item for e in iterate_examples(pair)}
    for one in pair:
        for item, answer in speaker.answer_dialogues([one], GREEDY, 0).items():
            assert answer == dataclasses.replace(both[item], logprob=pytest.approx(both[item].logprob, rel=1e-5))
    for answer in both.values():
        assert answer.tokens and EOS not in answer.tokens
        assert not any(words.words[n].startswith("<") for n in (*answer.tokens, *answer.belief))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_told_beginning_is_as_if_the_model_had_written_it(data, name):
    """Greedy: what is written behind its own first tokens is what it would have written anyway."""
    from seedvote.generation.decoding import RESPONSE, write_responses

    rows = data["task"].valid[:4]
    model = lively(name, len(data["task"].vocabulary))
    contexts, items = [row.context for row in rows], [row.item for row in rows]
    whole = write_responses(model, contexts, how=GREEDY, seed=0, items=items)
    part = dataclasses.replace(RESPONSE, longest=20)
    told = [one.tokens[:n] for n, one in enumerate(whole)]
    rest = write_responses(model, contexts, how=GREEDY, seed=0, items=items, part=part, beginnings=told)
    for n, (one, other) in enumerate(zip(whole, rest, strict=True)):
        assert (*one.tokens[:n], *other.tokens)[:20] == one.tokens[:20]


class Killed(BaseException):
    """Stands for a process that ends here and now."""


@pytest.mark.parametrize("name", ASKED)
def test_broken_off_an_agents_weights_are_those_of_an_undisturbed_run(tmp_path, monkeypatch, data, name):
    settings = Settings(name, 0, small_sizes(name, 8), 1, batch_size=16, learning_rate=0.01)
    small = dataclasses.replace(data["task"], train=data["task"].train[:48], valid=data["task"].valid[:2])
    train_model(tmp_path / "whole", settings, small, CPU)
    update, seen = training._Run._update_weights, []

    def dying(run, group):
        if len(seen) == 2:
            raise Killed
        seen.append(group)
        return update(run, group)

    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(training._Run, "_update_weights", dying)
        train_model(tmp_path / "broken", settings, small, CPU)
    torch.rand(3)
    train_model(tmp_path / "broken", settings, small, CPU)
    assert digest(tmp_path / "broken/last.safetensors") == digest(tmp_path / "whole/last.safetensors")
    line = json.loads((tmp_path / "whole/log.jsonl").read_text())
    assert 0 <= line["joint"] <= 1 and read_weights(tmp_path / "whole/untrained.safetensors")


GRID = ["--models", "seq2seq", "--seeds", "0-1", "--preset", "tiny", "--epochs", "1", "--valid", "4", "--jobs", "1"]


@pytest.fixture(scope="module")
def study(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "corpus").symlink_to(corpus)
    assert generation("train", folder, *GRID, "--speak", "task", "--dialogues", "10") == 0
    assert generation("sample", folder, "--jobs", "1") == 0
    return folder


def test_whole_dialogues_with_their_states_are_written_and_kept(study, corpus):
    test = read_corpus(corpus).split("test")
    responses = read_records(study / "responses.jsonl", Response)
    assert [r.item for r in responses if r.seed == 0] == [e.item for e in iterate_examples(test)]
    assert all(r.state is not None and r.extra["speak"] == "task" and r.decoding == "greedy" for r in responses)
    assert f"speak:task|dialogues:{len(test)}" in read_header(study / "responses.jsonl")["signature"]
    assert "speak:task" in read_json(study / "models/seq2seq-0/config.json")["signature"]
    before = {path: path.stat().st_mtime_ns for path in study.rglob("*") if path.is_file()}
    assert generation("sample", study, "--jobs", "1") == 0
    assert {path: path.stat().st_mtime_ns for path in study.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", *GRID], r"was made for agents"),
        (["train", *GRID, "--speak", "policy", "--dialogues", "10"], "speak 'task', but 'policy' was asked for"),
        (["sample", "--limit", "3"], "Say --whole N instead of --limit N"),
        (["sample", "--decoding", "greedy,nucleus:0.9"], "give one --decoding"),
        (["sample", "--decoding", "beam:3"], "give one --decoding"),
        (["sample", "--condition", "typos@0.5-0"], "has no condition 'typos@0.5-0'; it has none"),
        (["sample", "--condition", "all", "--corpus", "x"], "leave --corpus and --db out"),
        (["sample", "--limit", "3", "--whole", "2"], "give one"),
        (["score"], "replies with placeholders"),
        (["pair"], "replies with placeholders"),
    ],
)
def test_kinds_are_not_mixed_and_what_agents_cannot_do_is_said(study, words, sentence):
    with pytest.raises(InputError, match=sentence):
        generation(words[0], study, *words[1:])


def test_dose_0_changes_no_answer(study, corpus, tmp_path, capsys):
    """The whole line: conditions are answered and scored, drops are paired, and at dose 0 exactly nothing."""
    for name in ("corpus", "vocabulary.json", "models", "responses", "responses.jsonl"):
        (tmp_path / name).symlink_to(study / name)
    evaluators("perturb", tmp_path, "--kinds", "typos", "--doses", "0,.8")
    evaluators("perturb", tmp_path, "--kinds", "simple", "--doses", ".5", "--split", "train", "--replace")
    capsys.readouterr()
    generation("sample", tmp_path, "--condition", "all", "--jobs", "1")
    assert "simple@0.5-0 has no test dialogues" in capsys.readouterr().out
    told = {
        name: [(r.item, r.seed, r.text, r.state) for r in read_records(folder / "responses.jsonl", Response)]
        for name, folder in (("", tmp_path), *((n, tmp_path / "conditions" / n) for n in ("typos@0-0", "typos@0.8-0")))
    }
    assert told[""] == told["typos@0-0"] != told["typos@0.8-0"]
    evaluators("task", tmp_path)
    evaluators("task", tmp_path, "--condition", "all")
    assert "not scored: it has no responses.jsonl" in capsys.readouterr().out
    drops = robustness(tmp_path).document["drops"]
    assert {one["drop"] for one in drops if one["dose"] == 0} == {0.0}
    assert {one["dose"] for one in drops} == {0.0, 0.8} and {tuple(one["seeds"]) for one in drops} == {(0, 1)}
    by_domain = {one["task"] for one in robustness(tmp_path, by="domain").document["drops"]}
    assert {name.split(":")[0] for name in by_domain} == {"inform", "success", "jga"}
    by_slot = [one for one in robustness(tmp_path, by="slot").document["drops"] if one["dose"] == 0.8]
    assert by_slot and all(one["task"].startswith("slot:") and "-" in one["task"] for one in by_slot)
    with pytest.raises(InputError, match="each condition has its own corpus"):
        evaluators("task", tmp_path, "--condition", "all", "--corpus", corpus)


def test_a_policy_is_told_its_beliefs_and_tracks_none(corpus, tmp_path):
    (tmp_path / "corpus").symlink_to(corpus)
    generation("train", tmp_path, *GRID[:2], "--seeds", "0", *GRID[4:], "--speak", "policy", "--dialogues", "6")
    generation("sample", tmp_path, "--whole", "2", "--jobs", "1")
    responses = read_records(tmp_path / "responses.jsonl", Response)
    assert len({r.item.split(":")[0] for r in responses}) == 2 and all(r.state is None for r in responses)
    evaluators("task", tmp_path)
    (system,) = read_json(tmp_path / "task.json")["systems"]
    assert system["states"] == "annotated" and "jga" not in system["rates"]


def test_models_that_speak_otherwise_in_one_folder_are_refused(study, tmp_path):
    for name in ("corpus", "vocabulary.json"):
        (tmp_path / name).symlink_to(study / name)
    for seed, kind in ((0, "task"), (1, "reply")):
        folder = tmp_path / f"models/seq2seq-{seed}"
        folder.mkdir(parents=True)
        (folder / "last.safetensors").symlink_to(study / f"models/seq2seq-{seed}/last.safetensors")
        config = read_json(study / f"models/seq2seq-{seed}/config.json")
        (folder / "config.json").write_text(json.dumps(config | {"speak": kind}))
    with pytest.raises(InputError, match=r"seq2seq-1 speaks reply, .*seq2seq-0 speaks task"):
        generation("sample", tmp_path)


def test_a_corpus_without_states_trains_no_agent(tmp_path):
    write_toy(tmp_path / "corpus", 20, seed=0, kind="personachat")
    with pytest.raises(InputError, match="needs states, acts of the system, databases, which this corpus has not"):
        generation("train", tmp_path, *GRID, "--speak", "task")
