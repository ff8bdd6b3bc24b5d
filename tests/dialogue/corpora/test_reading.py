"""Every form in which the corpora are published, each as a small file made here."""

import contextlib
import gc
import gzip
import json
import lzma
import zipfile

import pytest

from seedvote.dialogue.corpora import multiwoz, reading, sources
from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError

BLANK = {"taxi": {"book": {"booked": []}, "semi": {"destination": ""}}}


def metadata(**hotel):
    booked = [{"name": "copper inn", "reference": "bw21"}]
    semi = {"area": "not mentioned", "stars": "none", **hotel}
    return {**BLANK, "hotel": {"book": {"booked": booked, "day": "friday"}, "semi": semi}}


def raw_dialogue(*, acts):
    """Two exchanges; the belief after each user turn stands with the system turn behind it."""
    log = [
        {"text": "A hotel for Friday.", "metadata": {}},
        {"text": "Where?", "metadata": metadata()},
        {"text": "North.", "metadata": {}},
        {"text": "The Copper Inn.", "metadata": metadata(area="north")},
    ]
    inside = [
        {"Hotel-Inform": [["Day", "friday"]]},
        {"Hotel-Request": [["Area", "?"]]},
        {"Hotel-Inform": [["Area", "north"]]},
        {"Hotel-Recommend": [["Name", "copper inn"]], "general-reqmore": [["none", "none"]]},
    ]
    return {
        "goal": {},
        "log": [{**turn, "dialog_act": act} for turn, act in zip(log, inside, strict=True)] if acts else log,
    }


def data(*, acts=True, suffix=""):
    return {f"{name}{suffix}": raw_dialogue(acts=acts) for name in ("SNG1", "SNG2", "MUL3")}


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def sizes(corpus):
    return [len(corpus.split(name)) for name in sources.SPLITS]


def check_labels(corpus, *, user_acts=True, system_acts=True):
    first, second, third, fourth = corpus.dialogues[0].turns
    assert [turn.speaker for turn in corpus.dialogues[0].turns] == ["user", "system"] * 2
    assert first.belief == {"hotel-book-day": "friday"}
    assert third.belief == {"hotel-book-day": "friday", "hotel-semi-area": "north"}
    assert second.belief is None and fourth.belief is None
    assert first.acts == ({"Hotel-Inform": (("Day", "friday"),)} if user_acts else None)
    assert (list(fourth.acts) if system_acts else fourth.acts) == (
        ["Hotel-Recommend", "general-reqmore"] if system_acts else None
    )


@pytest.mark.parametrize("module", [multiwoz, multiwoz, sources])
def test_examples_in_the_docstrings(module):
    import doctest

    assert doctest.testmod(module).failed == 0


def test_2_1_with_acts_inside_and_lists_of_text(tmp_path):
    folder = write(tmp_path / "MultiWOZ_2.1", data__json=data(), valListFile__txt="SNG2\n", testListFile__txt="MUL3\n")
    write(folder / "db", hotel_db__json=[{"name": "copper inn"}], taxi_db__json='[ "taxi_colors" : [] ]')
    corpus = read_corpus(folder)
    assert (corpus.name, corpus.version, sizes(corpus)) == ("multiwoz", "2.1", [1, 1, 1])
    assert corpus.databases == {"hotel": [{"name": "copper inn"}]}
    check_labels(corpus)


def test_system_acts_in_a_file_of_their_own(tmp_path):
    acts = {
        "SNG1": {
            "1": {"Hotel-Request": [["Area", "?"]]},
            "2": {"Hotel-Recommend": [["Name", "copper inn"]], "general-reqmore": [["none", "none"]]},
        },
        "SNG2": {"1": "No Annotation"},
    }
    folder = write(
        tmp_path / "MULTIWOZ2 2",
        data__json=data(acts=False, suffix=".json"),
        dialogue_acts__json=acts,
        valListFile__json="SNG2.json\n",
        testListFile__json="MUL3.json\n",
    )
    corpus = read_corpus(folder)
    assert (corpus.version, sizes(corpus)) == ("2.0 or 2.1", [1, 1, 1])
    assert [d.dialogue for d in corpus.dialogues] == ["SNG1", "SNG2", "MUL3"]
    check_labels(corpus, user_acts=False)
    unannotated, absent = corpus.dialogues[1].turns, corpus.dialogues[2].turns
    assert (unannotated[1].acts, unannotated[3].acts, absent[1].acts) == ({}, {}, None)


def test_2_4_is_known_by_its_name_and_a_json_list_of_ids_is_a_list_too(tmp_path):
    folder = write(tmp_path / "MULTIWOZ2.4", data__json=data(acts=False), valListFile__json='["SNG1", "SNG2"]')
    corpus = read_corpus(folder)
    assert (corpus.version, sizes(corpus)) == ("2.4", [1, 2, 0])
    check_labels(corpus, user_acts=False, system_acts=False)


def test_without_lists_all_is_to_train_on(tmp_path):
    assert sizes(read_corpus(write(tmp_path / "c", data__json=data()))) == [3, 0, 0]


def test_one_file_a_split(tmp_path):
    one, two = {"SNG1": raw_dialogue(acts=True)}, {"SNG2": raw_dialogue(acts=True)}
    assert sizes(read_corpus(write(tmp_path / "a", val__json=one, test__json=two))) == [0, 1, 1]
    assert sizes(read_corpus(write(tmp_path / "b", train_dials__json=one, dev_dials__json=two))) == [1, 1, 0]


PACKINGS = {
    "data.json": lambda content: content,
    "data.json.gz": gzip.compress,
    "data.json.xz": lzma.compress,
}


@pytest.mark.parametrize("name", PACKINGS)
def test_single_files_plain_or_compressed(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(PACKINGS[name](json.dumps(data()).encode()))
    check_labels(read_corpus(path))


def test_a_zip_of_a_folder_with_a_compressed_file_inside(tmp_path):
    with zipfile.ZipFile(tmp_path / "MultiWOZ_2.1.zip", "w") as archive:
        archive.writestr("MultiWOZ_2.1/data.json.gz", gzip.compress(json.dumps(data()).encode()))
        archive.writestr("MultiWOZ_2.1/testListFile.txt", "SNG1\r\nSNG2\r\n")
        archive.writestr("__MACOSX/MultiWOZ_2.1/data.json", b"\0\1")
        archive.mkdir("MultiWOZ_2.1/db")
    corpus = read_corpus(tmp_path / "MultiWOZ_2.1.zip")
    assert (corpus.version, sizes(corpus)) == ("2.1", [1, 0, 2])
    check_labels(corpus)


def test_a_zip_inside_a_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "val.json.zip", "w") as archive:
        archive.writestr("val.json", json.dumps(data()))
    assert sizes(read_corpus(tmp_path)) == [0, 3, 0]


def shard(*names):
    def frames(values):
        return [
            {"service": "hotel", "state": {"active_intent": "find_hotel", "slot_values": values}},
            {"service": "bus"},
        ]

    turns = [
        {
            "turn_id": "0",
            "speaker": "USER",
            "utterance": "A hotel for Friday.",
            "frames": frames({"hotel-bookday": ["friday"]}),
        },
        {"turn_id": "1", "speaker": "SYSTEM", "utterance": "Where?", "frames": []},
        {
            "turn_id": "2",
            "speaker": "USER",
            "utterance": "North.",
            "frames": frames({"hotel-bookday": ["friday"], "hotel-area": ["north", "north side"], "train-leaveat": []}),
        },
        {"turn_id": "3", "speaker": "SYSTEM", "utterance": "The Copper Inn.", "frames": []},
    ]
    return [{"dialogue_id": f"{name}.json", "services": ["hotel"], "turns": turns} for name in names]


def test_2_2_shards_with_acts_beside_them(tmp_path):
    inside = [turn["dialog_act"] for turn in raw_dialogue(acts=True)["log"]]
    acts = {"SNG1.json": {str(n): {"dialog_act": act, "span_info": []} for n, act in enumerate(inside)}}
    write(tmp_path, dialog_acts__json=acts, schema__json=[{"service_name": "hotel", "slots": []}])
    write(tmp_path / "train", dialogues_001__json=shard("SNG1", "SNG2"), dialogues_002__json=shard("SNG3"))
    write(tmp_path / "dev", dialogues_001__json=shard("SNG4"))
    write(tmp_path / "test", dialogues_001__json=shard("SNG5"))
    corpus = read_corpus(tmp_path)
    assert (corpus.name, corpus.version, sizes(corpus)) == ("multiwoz", "2.2", [3, 1, 1])
    assert corpus.split("valid")[0].dialogue == "SNG4"
    by_id = {d.dialogue: d for d in corpus.dialogues}
    check_labels(type(corpus)("", "", (by_id["SNG1"],)))
    assert by_id["SNG2"].turns[1].acts is None


def test_values_in_lists_stand_for_their_first():
    found = multiwoz.filled_slots(metadata(area=["north", "north side"], type=[], stars="4"))
    assert found == {"hotel-book-day": "friday", "hotel-semi-area": "north", "hotel-semi-stars": "4"}


def test_text_lines_lose_brackets_and_get_ids(tmp_path):
    rows = [
        {"split": "train", "id": None, "turns": ["in the [north] ?", "yes"]},
        {"split": "train", "id": "SNG1", "turns": ["a", "b"]},
        {"split": "dev", "id": "SNG2.json", "turns": ["a", "b"]},
        {"split": "test", "id": "SNG1", "turns": ["a", "b", "c"]},
    ]
    path = tmp_path / "text.jsonl.xz"
    path.write_bytes(lzma.compress("\n".join(map(json.dumps, rows)).encode()))
    corpus = read_corpus(path)
    assert (corpus.name, corpus.version, sizes(corpus)) == ("multiwoz", "text", [2, 1, 1])
    assert [d.dialogue for d in corpus.dialogues] == ["train-0", "train-1", "SNG2", "test-0"]
    assert corpus.dialogues[0].turns[0].text == "in the north ?"
    assert [turn.speaker for turn in corpus.dialogues[3].turns] == ["user", "system", "user"]
    assert corpus.dialogues[0].turns[0].belief is None


def parlai(*, personas=("your", "partner's"), candidates=True):
    lines = [f"{who} persona: i am {who} ." for who in personas]
    tail = "\t\tno|maybe|fine ." if candidates else ""
    lines += [f"hi , how are you ?\tfine .{tail}", f"good .\tbye .{tail}"]
    return "".join(f"{n} {line}\n" for n, line in enumerate(lines, 1))


@pytest.mark.parametrize("candidates", [True, False])
@pytest.mark.parametrize(
    ("name", "who", "expected"),
    [
        ("both", ("your", "partner's"), {"partner": ("i am partner's .",), "self": ("i am your .",)}),
        ("self", ("your",), {"self": ("i am your .",)}),
        ("other", ("partner's",), {"partner": ("i am partner's .",)}),
        ("none", (), {}),
    ],
)
@pytest.mark.parametrize("wording", ["original", "revised"])
def test_personachat_as_parlai_text(tmp_path, name, who, expected, wording, candidates):
    text = parlai(personas=who, candidates=candidates)
    end = "" if candidates else "_no_cands"
    (tmp_path / f"valid_{name}_{wording}{end}.txt").write_text(text * 2)
    (tmp_path / f"test_{name}_{wording}{end}.txt").write_text(text)
    corpus = read_corpus(tmp_path)
    version = f"{name} {wording}"
    assert (corpus.name, corpus.version, sizes(corpus)) == ("personachat", version, [0, 2, 1])
    first = corpus.split("valid")[0]
    assert first.persona == expected
    assert [(turn.speaker, turn.text) for turn in first.turns] == [
        ("partner", "hi , how are you ?"),
        ("self", "fine ."),
        ("partner", "good ."),
        ("self", "bye ."),
    ]


def test_of_several_variants_both_sides_with_original_personas_are_read(tmp_path):
    for name in ("self_original", "both_revised", "both_original", "both_original_no_cands"):
        (tmp_path / f"train_{name}.txt").write_text(parlai(candidates="cands" not in name))
    (tmp_path / "train_other_original.txt").write_text("9 broken, but never read")
    corpus = read_corpus(tmp_path)
    assert (corpus.version, len(corpus.dialogues)) == ("both original", 1)


def test_silence_is_no_utterance(tmp_path):
    path = tmp_path / "train_self_original.txt"
    path.write_text("1 your persona: i am shy .\n2 __SILENCE__\thello .\n3 hi .\tbye .\n")
    turns = read_corpus(path).dialogues[0].turns
    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("self", "hello ."),
        ("partner", "hi ."),
        ("self", "bye ."),
    ]


def test_personachat_as_lines_of_json(tmp_path):
    line = {"partner": ["i am tall ."], "self": ["i am old ."], "turns": ["hi", "ho", "bye"]}
    (tmp_path / "valid_both.jsonl").write_text(json.dumps({"split": "valid", **line}) + "\n" + json.dumps(line))
    corpus = read_corpus(tmp_path)
    assert (corpus.name, sizes(corpus)) == ("personachat", [0, 2, 0])
    assert corpus.dialogues[1].dialogue == "valid-1"
    assert corpus.dialogues[0].persona == {"partner": ("i am tall .",), "self": ("i am old .",)}


def test_personachat_as_one_json_document_with_growing_histories(tmp_path):
    entry = {
        "personality": ["i am old ."],
        "utterances": [
            {"history": ["hi"], "candidates": ["no", "ho"]},
            {"history": ["hi", "ho", "so ?"], "candidates": ["no", "bye"]},
        ],
    }
    (tmp_path / "personachat_self_original.json").write_text(json.dumps({"train": [entry], "valid": [entry, entry]}))
    corpus = read_corpus(tmp_path)
    assert (corpus.name, sizes(corpus)) == ("personachat", [1, 2, 0])
    assert [turn.text for turn in corpus.dialogues[0].turns] == ["hi", "ho", "so ?", "bye"]
    assert corpus.dialogues[0].persona == {"self": ("i am old .",)}


def test_examples_are_the_turns_each_corpus_answers(tmp_path):
    corpus = read_corpus(write(tmp_path / "m", data__json=data()))
    found = list(iterate_examples(corpus.dialogues))
    assert [example.item for example in found[:3]] == ["SNG1:1", "SNG1:3", "SNG2:1"]
    assert [turn.text for turn in found[1].context] == ["A hotel for Friday.", "Where?", "North."]
    assert found[1].target.text == "The Copper Inn."
    (tmp_path / "valid_self_original.txt").write_text(parlai(personas=("your",)))
    chats = read_corpus(tmp_path / "valid_self_original.txt")
    assert [example.item for example in iterate_examples(chats.dialogues)] == ["valid-0:1", "valid-0:2", "valid-0:3"]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("content", ['{"turns": ["a", "b"]}\n', "no object\n"])
def test_whether_garbage_is_collected_is_as_before_whatever_was_read(tmp_path, before, content, monkeypatch):
    """While a corpus is read nothing is collected, for nothing of it is garbage."""
    (tmp_path / "test.jsonl").write_text(content)
    seen, shape = [], reading._recognise_shape
    monkeypatch.setattr(reading, "_recognise_shape", lambda file: seen.append(gc.isenabled()) or shape(file))
    was = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        with contextlib.suppress(InputError):
            read_corpus(tmp_path)
        assert gc.isenabled() is before
    finally:
        (gc.enable if was else gc.disable)()
    assert seen == [False]
