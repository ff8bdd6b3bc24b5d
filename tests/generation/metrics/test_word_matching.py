"""Synonyms of a real WordNet against nltk's reader of the same files, and METEOR with them against nltk's."""

import shutil
import warnings

import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.translate.meteor_score import single_meteor_score

from seedvote.dialogue.errors import InputError
from seedvote.generation.metrics.overlap import meteor_score
from seedvote.generation.metrics.word_matching import WordNet, find_wordnet

WORDS = (
    "hotel inexpensive cheap booked booking books leaves leaving left cheaper nicest women taxis taxi centre center "
    "boxes wolves churches flies ran was better best quickly galore zzz 16:15 . don't reservation reserve dishes"
)
PAIRS = [
    ("i would like an inexpensive hotel", "i want a cheap hotel"),
    ("a cab leaves the center at nine", "the taxi quits the centre at 9"),
    ("cheap cheap inexpensive", "inexpensive cheap cheap"),
    ("yes", "no"),
    ("the train departs", "the train leaves"),
    ("the taxi is booked", "a cab is reserved"),
    ("a fine room", "one all right way to elbow room"),
]
home = find_wordnet()
needs_wordnet = pytest.mark.skipif(home is None, reason="no WordNet here (Debian: wordnet-base)")


@pytest.fixture(scope="module")
def nltks(tmp_path_factory):
    """nltk wants a list of file names beside the files, which Debian leaves out; its content plays no part here."""
    data = tmp_path_factory.mktemp("nltk_data")
    folder = data / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for path in home.glob("*.*"):
        shutil.copy(path, folder)
    nltk.data.path.append(str(data))  # it reads nowhere else
    (folder / "index.sense").touch()
    if not (folder / "lexnames").exists():
        (folder / "lexnames").write_text("".join(f"{n}\tname{n}\t1\n" for n in range(45)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other languages are not there
        return WordNetCorpusReader(str(folder), None)


@pytest.fixture(scope="module")
def ours():
    return WordNet(home)


@pytest.mark.slow
@needs_wordnet
def test_synonyms_are_those_of_nltk(ours, nltks):
    for word in WORDS.split():
        lemmas = (lemma.name() for synset in nltks.synsets(word) for lemma in synset.lemmas())
        assert ours.synonyms(word) == {name for name in lemmas if "_" not in name} | {word}


@needs_wordnet
@pytest.mark.parametrize(("response", "reference"), PAIRS)
def test_meteor_with_synonyms_is_that_of_nltk_by_default(response, reference, ours, nltks):
    one, two = response.split(), reference.split()
    expected = single_meteor_score(two, one, wordnet=nltks)
    assert meteor_score(one, two, ours.synonyms) == pytest.approx(100 * expected, abs=1e-9)
    assert meteor_score(one, two, ours.synonyms) >= meteor_score(one, two)


def test_another_folder_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"is not a WordNet 3 folder, with index.noun"):
        WordNet(tmp_path)


@pytest.mark.parametrize("text", ["", "hotel is a word, with no places", "hotel n one 03542333"])
def test_files_of_these_names_that_hold_something_else_are_refused_too(tmp_path, text):
    for part in ("noun", "verb", "adj", "adv"):
        for name in (f"index.{part}", f"data.{part}", f"{part}.exc"):
            (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"is not a WordNet 3 folder, with index.noun"):
        WordNet(tmp_path)


@needs_wordnet
def test_word_matching_at_both_ends(ours):
    for part in ("noun", "verb", "adj", "adv"):
        lines = (home / f"index.{part}").read_text().splitlines()
        first = next(line.split()[0] for line in lines if not line.startswith(" "))
        for lemma in (first, lines[-1].split()[0]):
            assert {*ours._find_offsets(lemma, part)}
    assert ours.synonyms("!") == {"!"} and ours.synonyms("zzzzz") == {"zzzzz"} and ours.synonyms("é") == {"é"}
