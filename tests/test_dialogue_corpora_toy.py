"""The generated corpus: the same for the same seed, annotated as MultiWOZ is."""

from dialogue.corpora.examples import examples
from dialogue.corpora.reading import read_corpus
from dialogue.corpora.toy import write_toy


def test_the_corpus_comes_back_with_its_splits_and_databases(tmp_path):
    write_toy(tmp_path, 30, seed=3)
    corpus = read_corpus(tmp_path)
    assert [len(corpus.split(name)) for name in ("train", "valid", "test")] == [24, 3, 3]
    assert set(corpus.databases) == {"attraction", "bus", "hospital", "hotel", "restaurant", "taxi", "train"}
    first = next(examples(corpus.dialogues))
    assert first.item == "TOY00000:1"
    assert first.target.speaker == "system"
    assert first.context[-1].belief is not None


def test_same_seed_same_bytes_and_more_dialogues_change_none_of_the_first(tmp_path):
    for name, dialogues in (("a", 10), ("b", 10), ("c", 20)):
        write_toy(tmp_path / name, dialogues, seed=0)
    read = {name: (tmp_path / name / "data.json").read_bytes() for name in "abc"}
    assert read["a"] == read["b"]
    assert read_corpus(tmp_path / "a").dialogues[:4] == read_corpus(tmp_path / "c").dialogues[:4]
