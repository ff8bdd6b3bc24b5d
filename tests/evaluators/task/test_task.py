"""`python -m evaluators task` as a user meets it: files of every kind, wrong ones too."""

import gzip
import json
import re

import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.domains.spelling import delexicalize_turn
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Response
from seedvote.dialogue.shell.command_line import parser_of
from seedvote.evaluators.commands import task
from seedvote.evaluators.task.accuracy import NameMatch, compare_names, compare_states, gold_states
from tests.evaluators.toys import held_out_toy


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return held_out_toy(tmp_path_factory.mktemp("toy") / "corpus", 120)


@pytest.fixture(scope="module")
def oracle(corpus):
    """What a perfect system would hand in, in the published form."""
    dialogues = read_corpus(corpus).split("test")
    gold = gold_states(dialogues)
    return {
        dialogue.dialogue: [
            {"response": delexicalize_turn(turn), "state": {name: dict(slots) for name, slots in state.items()}}
            for turn, state in zip(
                (turn for turn in dialogue.turns if turn.speaker != "user"),
                gold[dialogue.dialogue.lower()],
                strict=True,
            )
        ]
        for dialogue in dialogues
    }


@pytest.fixture
def run(corpus, tmp_path, capsys):
    def call(content, *words, name="mine.json", beside=()):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content is not None:
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        parser = parser_of(task, "python -m evaluators task")
        task.run(parser.parse_args([str(path), *map(str, beside), "--corpus", str(corpus), *map(str, words)]))
        return capsys.readouterr().out

    return call


def test_a_table_with_intervals_the_rules_and_a_score_file(run, oracle, tmp_path):
    said = run(oracle, "--out", tmp_path / "out")
    assert "100.0 (100.0-100.0)" in said and "domains:mine=state" in said
    assert "Next: python -m analysis compare" in said
    table = pq.read_table(tmp_path / "out" / "task.parquet")
    assert table.schema.metadata[b"format"] == b"scores" and b"Inform" in table.schema.metadata[b"cards"]
    rows = table.to_pylist()
    turns = sum(map(len, oracle.values()))
    assert len([row for row in rows if row["task"] == "inform"]) == len(oracle)
    assert len([row for row in rows if row["task"] == "jga"]) == turns
    assert {row["score"] for row in rows if row["task"] in ("inform", "success", "jga")} == {1.0}
    assert json.loads((tmp_path / "out" / "task.json").read_text())["systems"][0]["rates"]["success"]["value"] == 100


def test_ids_in_capitals_packed_files_and_lines_are_read(run, oracle):
    capitals = {f"{name.upper()}.json": turns for name, turns in oracle.items()}
    lines = "\n".join(json.dumps({"dialogue": name, "turns": turns}) for name, turns in oracle.items())
    plain = json.loads(run(oracle, "--json"))
    for content, name in (
        (capitals, "mine.json"),
        (gzip.compress(json.dumps(oracle).encode()), "mine.json.gz"),
        (lines, "mine.jsonl"),
    ):
        assert json.loads(run(content, "--json", name=name)) == plain


def test_missing_dialogues_are_named_and_may_count_as_failed(run, oracle):
    fewer = dict(list(oracle.items())[2:])
    share = 100 * len(fewer) / len(oracle)
    said = run(fewer)
    assert (
        f"2 dialogues missing, e.g. {next(iter(oracle)).lower()}. If they count as failed: Inform {share:.1f}" in said
    )
    failed = json.loads(run(fewer, "--missing", "fail", "--json"))["systems"][0]["rates"]
    assert failed["success"]["value"] == pytest.approx(share)
    assert failed["combined"]["value"] == pytest.approx(share + 100)


def test_what_the_corpus_does_not_know_is_said_and_not_counted(run, oracle):
    name, turns = next(iter(oracle.items()))
    said = run({**oracle, "stranger": turns, name: [*turns, turns[-1]]})
    assert "1 dialogue not in the split and not counted, e.g. stranger." in said
    assert f"1 dialogue with more or fewer answers than the corpus has, e.g. {name.lower()}" in said
    odd = {**oracle, name: [{**turns[0], "response": "[hotel_smell]"}, *turns[1:]]}
    assert "1 placeholder of no known kind: [hotel_smell] 1." in run(odd)


def test_claims_stand_beside_and_their_sums_are_checked(run, oracle, tmp_path):
    claims = tmp_path / "claims.csv"
    claims.write_text("system,inform,success,bleu,combined\nmine,57.9,47.6,16.4,84.8\nother,1,2,3,\n")
    said = run(oracle, "--claims", claims)
    assert "84.8 !" in said and "printed Combined 84.8, but its own parts give 69.15." in said
    assert "printed Inform 57.9, computed 100.0." in said


def test_references_may_be_given(run, oracle, tmp_path):
    path = tmp_path / "references.json"
    path.write_text(json.dumps({name: ["other words altogether here"] * len(turns) for name, turns in oracle.items()}))
    said = json.loads(run(oracle, "--references", path, "--json"))
    assert said["systems"][0]["rates"]["bleu"]["value"] < 5 and "references:references.json" in said["signature"]


def test_systems_are_ranked_on_what_all_answered(run, oracle, tmp_path, corpus):
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps({name: [{**t, "response": "ok ."} for t in turns] for name, turns in oracle.items()}))
    found = json.loads(run(oracle, "--json", beside=[worse]))
    assert [place["system"] for place in found["places"]] == ["mine", "worse"]
    assert found["places"][0]["p_holm"] < 0.05 and found["places"][0]["ranks"] == [1, 1]


def test_a_study_whose_responses_carry_states(oracle, corpus, tmp_path, capsys):
    study = tmp_path / "study"
    study.mkdir()
    responses = [
        Response(
            f"{name}:{2 * n + 1}",
            "mine",
            0,
            "last",
            turn["response"],
            state=turn["state"],
            domains=list(turn["state"]),
            extra={"acts": ["zoo-inform"]},
        )
        for name, turns in oracle.items()
        for n, turn in enumerate(turns)
    ]
    write_records(study / "responses.jsonl", responses, signature="x", kind=Response)
    parser = parser_of(task, "python -m evaluators task")
    task.run(parser.parse_args([str(study), "--corpus", str(corpus), "--json"]))
    system = json.loads(capsys.readouterr().out)["systems"][0]
    assert (system["system"], system["domains"]) == ("mine-0-last", "predicted")
    assert system["rates"]["act_accuracy"]["value"] == 0 and "intent_accuracy" not in system["rates"]
    write_records(study / "responses.jsonl", responses[1:], signature="x", kind=Response)
    with pytest.raises(InputError, match="answers only some turns"):
        task.run(parser.parse_args([str(study), "--corpus", str(corpus)]))
    bare = [Response(one.item, one.model, one.seed, one.checkpoint, one.text) for one in responses]
    write_records(study / "responses.jsonl", bare, signature="x", kind=Response)
    with pytest.raises(InputError, match=r"responses\.jsonl:2: this response has no state"):
        task.run(parser.parse_args([str(study), "--corpus", str(corpus)]))


def test_agent_without_placeholders_is_asked_like_its_seeds(oracle, corpus, tmp_path, capsys):
    study = tmp_path / "study"
    study.mkdir()
    said = {0: "the [hotel_name] is free .", 1: "all right ."}
    responses = [
        Response(f"{name}:{2 * n + 1}", "mine", seed, "last", say, state=turn["state"], extra={"speak": "task"})
        for seed, say in said.items()
        for name, turns in oracle.items()
        for n, turn in enumerate(turns)
    ]
    write_records(study / "responses.jsonl", responses, signature="x", kind=Response)
    parser = parser_of(task, "python -m evaluators task")
    task.run(parser.parse_args([str(study), "--corpus", str(corpus), "--json"]))
    assert [one["domains"] for one in json.loads(capsys.readouterr().out)["systems"]] == ["slots", "slots"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[1, 2]", "holds a list"),
        ("{not json", "cannot be read as predictions"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "cannot be read as predictions"),
        ("{}", "holds no dialogue"),
        (b"\xff\xfe\x00", "cannot be opened"),
        ({"a": []}, "is not a list of turns"),
        ({"a": [{"text": "hi"}]}, "dialogue a, turn 0: no text under 'response'"),
        ({"a": [{"response": "hi", "state": {"hotel": "north"}}]}, "state is not domain -> slot -> value"),
        ({"a": [{"response": "hi", "state": {"hotel": {"area": None}}}]}, "hotel-area: the value is None"),
        ({"a": [{"response": "hi", "state": {}, "active_domains": "hotel"}]}, "active_domains is 'hotel'"),
        ({"a": [{"response": "hi", "state": {}, "intents": 3}]}, "turn 0: intents is 3. Expected a name such as"),
        ({"a": [{"response": "hi", "state": {}, "acts": [""]}]}, "turn 0: acts is"),
        ({"A": [{"response": "hi"}], "a.json": [{"response": "ho"}]}, "occurs twice"),
        ({"a": [{"response": "hi", "state": {}}]}, "none of its 1 dialogues is in the test split"),
    ],
)
def test_wrong_files_get_a_sentence(run, content, sentence):
    with pytest.raises(InputError, match=sentence):
        run(content)


def test_half_the_states_are_refused_and_so_is_a_rule_that_needs_more(run, oracle):
    name, turns = next(iter(oracle.items()))
    half = {**oracle, name: [{"response": turns[0]["response"], "state": None}, *turns[1:]]}
    with pytest.raises(InputError, match=r"1 of [\d,]+ turns have no state"):
        run(half)
    partly = {**oracle, name: [{**turns[0], "active_domains": ["hotel"]}, *turns[1:]]}
    with pytest.raises(InputError, match="--domains predicted needs active_domains in every turn"):
        run(partly, "--domains", "predicted")


def test_values_of_every_shape_are_read(run, oracle):
    name, turns = next(iter(oracle.items()))
    shaped = {**oracle, name: [{**turns[0], "state": {"Hotel": {"Stars ": [4], "leaveAt": "after 5 pm"}}}, *turns[1:]]}
    assert "mine" in run(shaped)


def test_databases_and_references_that_cannot_be_read_get_a_sentence(run, oracle, tmp_path):
    with pytest.raises(InputError, match=r"holds no \*_db\.json"):
        run(oracle, "--db", tmp_path)
    deep = "[" * 5000 + "]" * 5000
    (tmp_path / "hotel_db.json").write_text(deep)
    with pytest.raises(InputError, match="is not a list of rows"):
        run(oracle, "--db", tmp_path)
    (tmp_path / "r.json").write_text(deep)
    with pytest.raises(InputError, match="cannot be read as references"):
        run(oracle, "--references", tmp_path / "r.json")
    (tmp_path / "hotel_db.json").write_text("{")
    with pytest.raises(InputError, match="is not a list of rows"):
        run(oracle, "--db", tmp_path)
    (tmp_path / "r.json").write_text("[]")
    with pytest.raises(InputError, match="cannot be read as references"):
        run(oracle, "--references", tmp_path / "r.json")
    (tmp_path / "c.csv").write_text("name,inform\nx,1\n")
    with pytest.raises(InputError, match="has no column system"):
        run(oracle, "--claims", tmp_path / "c.csv")
    (tmp_path / "c.csv").write_text("system,inform\nx,high\n")
    with pytest.raises(InputError, match=r"c\.csv:2: inform is 'high'"):
        run(oracle, "--claims", tmp_path / "c.csv")


def test_a_corpus_without_goals_gives_states_and_bleu_alone(oracle, tmp_path, corpus, capsys):
    raw = json.loads((corpus / "data.json").read_text())
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("testListFile.txt", "valListFile.txt"):
        (bare / name).write_text((corpus / name).read_text())
    (bare / "data.json").write_text(json.dumps({name: {"log": one["log"], "goal": {}} for name, one in raw.items()}))
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(oracle))
    task.run(parser_of(task, "x").parse_args([str(path), "--corpus", str(bare)]))
    said = capsys.readouterr().out
    assert "No Inform, no Success: they need goals and databases" in said and "JGA" in said
    (tmp_path / "nothing").mkdir()


def test_each_annotated_slot_is_right_or_wrong_by_itself():
    gold = {"hotel": {"area": "north", "stars": "4"}, "taxi": {"leave": "10:00"}}
    tracked = compare_states(gold, {"hotel": {"area": "north", "stars": "3"}, "train": {"day": "monday"}})
    assert tracked.by_slot == {"hotel-area": True, "hotel-stars": False, "taxi-leave": False}
    assert tracked.by_domain == {"hotel": False, "taxi": False}
    assert tracked.too_many == ("train-day",)


def test_slots_are_printed_and_add_up_to_slot_accuracy(run, oracle):
    """One system leaves out `area`, and fills a slot that the corpus never has."""

    def forget(state):
        return {domain: {slot: v for slot, v in slots.items() if slot != "area"} for domain, slots in state.items()}

    odd = {
        name: [{**turn, "state": {**forget(turn["state"]), "zoo": {"animal": "owl"}}} for turn in turns]
        for name, turns in oracle.items()
    }
    said = run(odd, "--by", "slot")
    assert re.search(r"^hotel-area +[\d,]+ +0\.0 \(0\.0-0\.0\)$", said, re.M)
    assert re.search(r"^hotel-stars +[\d,]+ +100\.0 \(100\.0-100\.0\)$", said, re.M)
    assert "zoo-animal" not in said and "A slot counts in the turns where the corpus fills it." in said
    system = json.loads(run(odd, "--json"))["systems"][0]
    slots, count = system["slots"], int(re.search(r"over all (\d+) slots", said)[1])
    wrong = sum(100 - slot["all_turns"] for slot in slots.values())
    assert 100 - wrong / count == pytest.approx(system["rates"]["slot_accuracy"]["value"])
    assert slots["zoo-animal"] == {"turns": 0, "accuracy": None, "interval": [None, None], "all_turns": 0}
    right = sum(slot["turns"] * (slot["accuracy"] or 0) / 100 for slot in slots.values())
    assert right == pytest.approx(
        sum(len(slots) for turns in oracle.values() for turn in turns for slots in forget(turn["state"]).values())
    )


def test_intents_and_acts_are_right_where_exactly_the_annotated_ones_are_named(run, oracle, corpus, tmp_path):
    def name_acts(dialogue):
        users, systems = (
            [turn for turn in dialogue.turns if (turn.speaker == "user") == is_user] for is_user in (1, 0)
        )
        return [
            {**turn, "intents": [name.upper() for name in user.acts], "acts": {name: [] for name in system.acts}}
            for turn, user, system in zip(oracle[dialogue.dialogue], users, systems, strict=False)
        ]

    dialogues = read_corpus(corpus).split("test")
    named = {dialogue.dialogue: name_acts(dialogue) for dialogue in dialogues}
    assert "Intent accuracy" not in run(oracle)
    said = run(named, "--out", tmp_path / "out")
    assert "Intent accuracy" in said and "Act accuracy" in said
    rates = json.loads(run(named, "--json"))["systems"][0]["rates"]
    assert [rates[name]["value"] for name in ("intent_accuracy", "intent_f1", "act_accuracy", "act_f1")] == [100] * 4
    table = pq.read_table(tmp_path / "out" / "task.parquet")
    annotated = sum(bool(turn.acts) for one in dialogues for turn in one.turns[:-1] if turn.speaker == "user")
    assert len([row for row in table.to_pylist() if row["task"] == "intent"]) == annotated
    assert b"intent accuracy" in table.schema.metadata[b"cards"]

    first = dialogues[0].dialogue
    turns = [{**turn, "intents": "hotel-inform"} for turn in named[first]]
    turns[0] = {**turns[0], "intents": [*named[first][0]["intents"], "zoo-inform"]}
    rates = json.loads(run({**named, first: turns}, "--json"))["systems"][0]["rates"]
    golds = [{name.lower() for name in turn["intents"]} for turn in named[first]]
    wrong = sum(bool(gold) and (n == 0 or gold != {"hotel-inform"}) for n, gold in enumerate(golds))
    assert rates["intent_accuracy"]["value"] == pytest.approx(100 - 100 * wrong / annotated)
    assert rates["intent_accuracy"]["value"] < rates["intent_f1"]["value"] < 100 == rates["act_accuracy"]["value"]

    del turns[0]["intents"]
    with pytest.raises(InputError, match=r"1 of [\d,]+ turns have no intents"):
        run({**named, first: turns})


def test_one_wrong_name_is_one_too_many_and_one_missing():
    annotated = [frozenset({"a", "b"}), frozenset({"a"}), frozenset(), frozenset({"c"})]
    matches = compare_names(annotated, [frozenset({"a", "c"}), frozenset({"a"}), frozenset({"x"}), None])
    assert matches == {0: NameMatch(1, 1, 1), 1: NameMatch(1, 0, 0)}
    assert [match.is_right for match in matches.values()] == [False, True]
