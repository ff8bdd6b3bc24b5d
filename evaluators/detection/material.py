"""What is to be told apart: replies spelt in one way, and the trials that set them against each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import Corpus, read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, placed_records, read_json
from seedvote.dialogue.records import Response
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.tokens import LONGEST_RESPONSE, tokenize

# What is to be told apart: the replies of people and of models to the same contexts, spelt alike.
#
# A model writes only words of its vocabulary, joins them in one way, and stops after so many. Without care that is all
# that a discriminator finds, so both replies are cut and spelt as the model could have written them. Dialogues are
# parted, not replies: nothing of a dialogue that is tested was seen in training. Replies to the training split are
# refused.

PAD, UNK, OTHER, SELF, EOU = range(5)
MARKS = 5
NEWEST = 50  # tokens of a context that the discriminator reads
QUARTERS = 4  # one is tested, or each in turn; a fifth of the others is put aside: 60, 15 and 25 % of the dialogues
ASIDE = 5
PARTS = ("fit", "choose", "test")
FEWEST_DIALOGUES = 50  # in the test part: below, an interval by dialogue says nothing

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Generator:
    """One model under one seed and checkpoint, with one way of decoding."""

    model: str
    seed: int | None
    checkpoint: str
    decoding: str

    @property
    def name(self) -> str:
        """As a table's line begins."""
        return self.model if self.seed is None else f"{self.model}-{self.seed}"

    @property
    def file_name(self) -> str:
        """As a file may be called."""
        text = f"{self.name}-{self.checkpoint}-{self.decoding}"
        return "".join(letter if letter.isalnum() or letter in "-_.+" else "_" for letter in text)


@dataclass(frozen=True, slots=True)
class Said:
    """One reply as the discriminator reads it, with its log-probability where the generator told it."""

    tokens: Tokens
    logprob: float | None = None


@dataclass(frozen=True, slots=True)
class Occasion:
    """One context with the reply that a person gave."""

    item: str
    dialogue: str
    place: int  # of its dialogue in a shuffled row of all
    context: Tokens
    human: Tokens

    def part(self, fold: int) -> str:
        """Its part where so many quarters were tested before."""
        if self.place % QUARTERS == fold:
            return "test"
        return "choose" if self.place // QUARTERS % ASIDE == 0 else "fit"


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The models (all seeds, or one) and decodings that were asked for; empty: all."""

    models: tuple[str, ...]
    decodings: tuple[str, ...]

    def has(self, who: Generator) -> bool:
        """Whether a generator is wanted."""
        by_model = not self.models or who.model in self.models or who.name in self.models
        return by_model and (not self.decodings or who.decoding in self.decodings)


@dataclass(frozen=True)
class DetectionMaterial:
    """All contexts that some generator answered, and all answers: generator -> item -> draws."""

    occasions: Mapping[str, Occasion]
    replies: Mapping[Generator, Mapping[str, Sequence[Said]]]
    words: Sequence[str]
    own_vocabulary: bool  # the study's; else the words of the training split stand in
    digest: str

    def tested(self, folds: int) -> int:
        """Dialogues that are tested."""
        return len({occasion.dialogue for occasion in self.occasions.values() if occasion.place % QUARTERS < folds})

    @property
    def with_unknown(self) -> float:
        """Share of people's replies that hold a word which no model can write."""
        return sum(UNK in occasion.human for occasion in self.occasions.values()) / len(self.occasions)

    def spelt(self, tokens: Iterable[int]) -> str:
        """Tokens as words."""
        return " ".join(self.words[number] for number in tokens)


def read_detection(
    study: Path, corpus: Path | None, seed: int, folds: int, models: Sequence[str] = (), decodings: Sequence[str] = ()
) -> DetectionMaterial:
    """The responses of a study beside people's; of the models and decodings that are named, else of all."""
    path = study / "responses.jsonl"
    if not path.is_file():
        raise InputError(f"{study} holds no responses.jsonl. Make one: python -m generation sample {study}")
    corpus_read = read_corpus(corpus or study / "corpus")
    words, own = _read_words(study, corpus_read)
    numbers = {word: number for number, word in enumerate(words) if number >= MARKS}
    known = {
        example.item: example for split in ("valid", "test") for example in iterate_examples(corpus_read.split(split))
    }
    replies = _read_replies(path, known, corpus_read, numbers, AskedFor(tuple(models), tuple(decodings)))
    items = [item for item in known if any(item in items_of_model for items_of_model in replies.values())]
    places = _shuffle_places({known[item].dialogue.dialogue for item in items}, seed)
    occasions = {item: _make_occasion(known[item], numbers, places) for item in items}
    material = DetectionMaterial(occasions, replies, words, own, f"{digest(path)[:12]} {corpus_read.digest}")
    if (tested := material.tested(folds)) < FEWEST_DIALOGUES:
        every = (
            " or test each quarter in turn: --folds 4."
            if material.tested(QUARTERS) >= FEWEST_DIALOGUES > tested
            else ""
        )
        raise InputError(
            f"{tested} dialogues are left for the test; {FEWEST_DIALOGUES} are the fewest that an interval can stand "
            f"on. Let the models answer more (python -m generation sample {study} --split valid, and test without "
            f"--limit){every or '.'}"
        )
    return material


def _read_words(study: Path, corpus: Corpus) -> tuple[tuple[str, ...], bool]:
    marks = ("<pad>", "<unk>", "<other>", "<self>", "<eou>")
    if (path := study / "vocabulary.json").is_file():
        words = [word for word in read_json(path)["words"] if not (word.startswith("<") and word.endswith(">"))]
        return (*marks, *words), True
    words_seen = {word for dialogue in corpus.split("train") for turn in dialogue.turns for word in tokenize(turn.text)}
    return (*marks, *sorted(words_seen)), False


def _read_replies(
    path: Path, known: Mapping[str, Example], corpus: Corpus, numbers: Mapping[str, int], wanted: AskedFor
) -> dict[Generator, dict[str, list[Said]]]:
    trained_on = {record.item for record in iterate_examples(corpus.split("train"))}
    replies: dict[Generator, dict[str, list[Said]]] = defaultdict(lambda: defaultdict(list))
    models: set[str] = set()
    decodings: set[str] = set()
    for place, record in placed_records(path, Response):
        who = Generator(record.model, record.seed, record.checkpoint, record.decoding)
        models |= {who.model, who.name}
        decodings.add(who.decoding)
        if not wanted.has(who):
            continue
        if record.item in trained_on:
            raise InputError(
                f"{place}: {record.item} is of the training split, which the model may know by heart, so its reply "
                "says nothing about how human it writes. Sample the valid and the test split."
            )
        if record.item not in known:
            raise InputError(f"{place}: {record.item} is no context of this corpus. Give the one that was answered.")
        replies[who][record.item].append(Said(_number_tokens(record.text, numbers)[:LONGEST_RESPONSE], record.logprob))
    for wanted_names, known_names in ((wanted.models, models), (wanted.decodings, decodings)):
        if unknown := [name for name in wanted_names if name not in known_names]:
            raise InputError(f"No response is by {unknown[0]!r}; {path} has {', '.join(sorted(known_names))}.")
    if not replies:
        raise InputError(f"{path} has no response of these models by these decodings.")
    return {
        who: dict(replies[who])
        for who in sorted(replies, key=lambda record: (record.name, record.checkpoint, record.decoding))
    }


def _number_tokens(text: str, numbers: Mapping[str, int]) -> Tokens:
    return tuple(numbers.get(token, UNK) for token in tokenize(text))


def _shuffle_places(dialogues: Iterable[str], seed: int) -> dict[str, int]:
    """Dialogue -> its place in a shuffled row."""
    order = sorted(dialogues, key=lambda name: child_seed(seed, "detection", name))
    return {name: place for place, name in enumerate(order)}


def _make_occasion(example: Example, numbers: Mapping[str, int], places: Mapping[str, int]) -> Occasion:
    context: list[int] = []
    for turn in example.context:
        who = SELF if turn.speaker == example.target.speaker else OTHER
        context += [who, *_number_tokens(turn.text, numbers), EOU]
    dialogue = example.dialogue.dialogue
    human = _number_tokens(example.target.text, numbers)[:LONGEST_RESPONSE]
    return Occasion(example.item, dialogue, places[dialogue], tuple(context[-NEWEST:]), human)


# Which replies are set against which: a trial is a list of replies, each labelled as a person's or not.
#
# Beside the trial itself stand its nulls. In `null A` two draws of one generator are told apart, in `null B` people's
# replies bear labels drawn by lot: nothing can be found in either, and an accuracy other than .5 would be a fault
# here.

FEWEST_DRAWS = 20  # of one context, to rank replies of equal length


@dataclass(frozen=True, slots=True)
class Showing:
    """One reply to one context. `weight` makes both labels count alike in training."""

    occasion: Occasion
    reply: Tokens
    human: bool
    of: int = 0  # index of the generator, where several are in one trial
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One discrimination: its replies, and draws that are to be scored beside, without a label."""

    name: str
    who: tuple[Generator, ...]
    showings: Sequence[Showing]
    ranked: Sequence[tuple[Occasion, Said]] = ()

    def part(self, name: str, fold: int) -> list[Showing]:
        """The replies of one part of the dialogues."""
        return [showing for showing in self.showings if showing.occasion.part(fold) == name]

    def in_all(self, name: str, folds: int) -> list[Showing]:
        """The replies of one part in every fold, one fold after the other."""
        return [showing for fold in range(folds) for showing in self.part(name, fold)]

    def ranked_in(self, fold: int) -> list[tuple[Occasion, Said]]:
        """The draws to be ranked whose dialogues this fold tests."""
        return [(occasion, reply) for occasion, reply in self.ranked if occasion.part(fold) == "test"]


def make_trials(material: DetectionMaterial, *, seed: int, shared: bool, draws: int) -> Iterator[Trial]:
    """Every generator's own trial with its nulls, and one for all together where it is asked for."""
    for who, replies in material.replies.items():
        occasions = [material.occasions[item] for item in replies]
        yield Trial(
            "own",
            (who,),
            [*_show_people(occasions), *_show_machine(occasions, replies, 0)],
            list(_rank_draws(occasions, replies, draws)),
        )
        if twice := [occasion for occasion in occasions if len(replies[occasion.item]) > 1]:
            first = [Showing(occasion, replies[occasion.item][1].tokens, human=True) for occasion in twice]
            yield Trial("null A", (who,), [*first, *_show_machine(twice, replies, 0)])
        lots = child_random(seed, "detection", "labels", who.name, who.decoding)
        yield Trial(
            "null B", (who,), [Showing(occasion, occasion.human, human=lots.random() < 0.5) for occasion in occasions]
        )
    if shared:
        yield from _make_shared_trials(material)


def _show_people(occasions: Sequence[Occasion], weight: float = 1.0) -> list[Showing]:
    return [Showing(occasion, occasion.human, human=True, weight=weight) for occasion in occasions]


def _show_machine(occasions: Sequence[Occasion], replies: Mapping[str, Sequence[Said]], of: int) -> list[Showing]:
    return [Showing(occasion, replies[occasion.item][0].tokens, human=False, of=of) for occasion in occasions]


def _make_shared_trials(material: DetectionMaterial) -> Iterator[Trial]:
    """A decoding's generators in one trial, on the contexts that all of them answered."""
    for decoding in sorted({who.decoding for who in material.replies}):
        group = tuple(who for who in material.replies if who.decoding == decoding)
        common = [
            occasion
            for occasion in material.occasions.values()
            if all(occasion.item in material.replies[who] for who in group)
        ]
        if len(group) > 1 and common:
            machines = [s for n, who in enumerate(group) for s in _show_machine(common, material.replies[who], n)]
            yield Trial("shared", group, [*_show_people(common, len(group)), *machines])


def _rank_draws(
    occasions: Sequence[Occasion], replies: Mapping[str, Sequence[Said]], draws: int
) -> Iterator[tuple[Occasion, Said]]:
    """The draws of contexts that have many of them, with their log-probabilities."""
    for occasion in occasions if draws else ():
        scored_replies = [reply for reply in replies[occasion.item] if reply.logprob is not None][:draws]
        if len(scored_replies) >= FEWEST_DRAWS:
            yield from ((occasion, reply) for reply in scored_replies)
