"""What an answer says by itself: a response, a place, a tie, or the one of two letters that may be either.

A letter (`A`, `1`, `first`) may be the response that a column calls so, or the place where it was shown. What it is
here is decided in `sides.py`, by the table and never by the letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from seedvote.dialogue.judges import folded_name

Kind = Literal["letter", "response", "place", "tie", "system", "text", "none", "blank"]

TIES = {
    *("tie", "ties", "tied", "same", "equal", "both", "draw", "neither", "no preference", "both good", "both bad"),
    *("about the same", "tie (bothbad)", "tie bothbad", "bothbad", "both equal", "equally good", "undecided"),
    *("no difference", "they are the same", "the same", "neutral", "a=b", "a = b", "equally bad", "similar", "even"),
}
LETTERS = ({"a", "1", "first", "1st", "one", "the first"}, {"b", "2", "second", "2nd", "two", "the second"})
PLACES = (
    {"left", "top", "the left", "l", "upper", "arrowleft", "leftarrow"},
    {"right", "bottom", "the right", "r", "lower", "arrowright", "rightarrow"},
)
NOUNS = (
    *("model", "response", "system", "assistant", "option", "answer", "output", "bot", "agent", "reply", "text"),
    *("candidate", "choice", "completion", "translation", "summary", "dialogue", "conversation", "chatbot"),
)
OF_ENGLISH = {
    "left": "links linke gauche izquierda 左边 左侧 左",
    "right": "rechts rechte droite derecha 右边 右侧 右",
    "better": "besser bessere meilleur meilleure mejor 更好 较好",
    "best": "beste bester 最好",
    "worse": "schlechter schlechtere pire peor 较差 更差",
    "worst": "schlechteste 最差",
    "winner": "gewinner sieger gagnant ganador 胜者 获胜者 勝者",
    "loser": "verlierer perdant perdedor 败者 敗者",
    "preferred": "bevorzugt",
    "choice": "wahl auswahl choix eleccion 选择 選択",
    "answer": "antwort reponse respuesta",
    "pair": "paar paire ペア",
    "rater": "bewerter evaluateur evaluador annotateur anotador annotatore 标注员 评价者 評価者",
    "model": "modell modele modelo 模型 モデル",
    "system": "systeme sistema 系统 システム",
    "tie": "unentschieden egalite empate 平局 引き分け",
    "same": "gleich gleichgut 一样好 一样 同じ",
    "is": "ist est es",
    "slightly": "etwas",
    "clearly": "deutlich",
    "much": "viel",
    "top": "oben",
    "bottom": "unten",
    "not": "nicht kein keine pas",
    "question": "frage pregunta 问题 質問",
    "score": "bewertung puntuacion 评分 分数 評点",
}
WORD_OF = {word: english for english, words in OF_ENGLISH.items() for word in words.split()}
WITHOUT_SPACES = re.compile("|".join(word for word in WORD_OF if not word.isascii()))  # the longer one stands first
STRENGTH = re.compile(r"\b(is|was|are|much|slightly|significantly|clearly|a bit|a lot|somewhat|far|strongly)\b")
BETTER = re.compile(r"\b(better|wins|win|won|winning|preferred|prefer|i prefer|best|chosen|superior|stronger)\b")
WORSE = re.compile(r"\b(worse|loses|loser|lost|worst|losing|inferior|weaker|rejected|dispreferred)\b")
NOUN = re.compile(rf"\b({'|'.join(NOUNS)})\b")
JOINED = re.compile(rf"\b({'|'.join(NOUNS)})([ab12])\b")

FLAGS = {"true", "false", "yes", "no", "y", "n", "t", "f"}  # they answer a question that the word does not tell
MISSING = {"n/a", "na", "nan", "null", "#n/a", "missing"}
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
BOUND = re.compile(rf"(<=|>=|<|>)\s*({NUMBER.pattern})")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one word stands for; `side` is 0 for a, left or the first, and 1 for the other or a system that lost."""

    kind: Kind
    side: int = 0
    system: str = ""
    stated: bool = False
    sign: str = ""  # of a letter: `a`, `1` or `first`, whatever its column must be called for it to be sure

    @property
    def shown(self) -> str:
        """As the reading names it: `a`, `left`, `tie`, a system."""
        sides = {"place": ("left", "right"), "none": ("-", "-"), "blank": ("", "")}
        names = {"tie": ("tie", "tie"), "text": ("the response that it quotes",) * 2}
        names["system"] = (self.system, f"not {self.system}")
        return {**sides, **names}.get(self.kind, ("a", "b"))[self.side]


TIE = Meaning("tie")


@lru_cache(maxsize=1 << 14)
def in_english(text: str) -> str:
    """The words for sides, systems and answers in English, from six languages; all others as they are.

    >>> in_english("A ist besser"), in_english("左"), in_english("modèle_gauche"), in_english("Präferenz")
    ('A is better', ' left ', 'model_left', 'Praferenz')
    """
    text = WITHOUT_SPACES.sub(lambda match: f" {WORD_OF[match[0]]} ", text)
    if not text.isascii():
        signs = unicodedata.normalize("NFKD", text)
        text = "".join(sign for sign in signs if unicodedata.category(sign) != "Mn")
    return re.sub(r"[^\W\d_]+", lambda match: WORD_OF.get(match[0].lower(), match[0]), text)


def is_missing(text: str) -> bool:
    """Whether a cell says that it holds nothing."""
    return text.strip().casefold() in MISSING


def plain_word(text: str) -> str:
    """`Tie (Both-Bad)` as `tie bothbad`: small letters, single spaces, no signs.

    >>> plain_word(" Model_A ")
    'model a'
    """
    return re.sub(r"\s+", " ", re.sub(r"[_.!]", " ", in_english(text).lower())).strip().strip("[]\"' ")


def is_tie(text: str) -> bool:
    """Whether a word says that neither is better."""
    return plain_word(text) in TIES


@lru_cache(maxsize=1 << 12)
def read_word(text: str) -> Meaning | None:
    """What a word says by itself; None where it says nothing.

    >>> [(m.kind, m.side) for m in map(read_word, ("Response A wins", "Left", "B is worse")) if m]
    [('letter', 0), ('place', 0), ('letter', 0)]
    >>> read_word("left=alpha") is None
    True
    """
    word = plain_word(text)
    if word in TIES:
        return TIE
    if comparison := re.fullmatch(r"(a|b) ?(>{1,3}|<{1,3}) ?(a|b)", word):
        first = comparison[1] if comparison[2][0] == ">" else comparison[3]
        return Meaning("letter", "ab".index(first), sign=first) if comparison[1] != comparison[3] else None
    turned = WORSE.search(word) is not None
    if turned and BETTER.search(word):
        return None
    word = re.sub(r"\s+", " ", WORSE.sub(" ", BETTER.sub(" ", STRENGTH.sub(" ", word)))).strip(" ,.()")
    if word in TIES and not turned:
        return TIE
    word = re.sub(r"^the ", "", re.sub(r"\s+", " ", NOUN.sub(" ", JOINED.sub(r"\2", word))).strip())
    for kind, sides in (("letter", LETTERS), ("place", PLACES)):
        for side, words in enumerate(sides):
            if word in words:
                return Meaning(kind, 1 - side if turned else side, sign=word.removeprefix("the "))  # type: ignore[arg-type]
    return None


OVER = re.compile(r"(.+?)(?: ?>+ ?| over | beats | is better than | better than | wins against | wins over )(.+)")
UNDER = re.compile(r"(.+?)(?: ?<+ ?| loses to | is worse than | worse than | loses against )(.+)")


def read_named_winner(text: str, systems: Mapping[str, str]) -> Meaning | None:
    """The system that `alpha wins`, `beta loses` or `alpha > beta` says; `systems` are folded names with their names.

    >>> two = {"alpha": "Alpha", "beta": "beta"}
    >>> [read_named_winner(word, two).shown for word in ("alpha>beta", "beta loses")]
    ['Alpha', 'not beta']
    """
    word = in_english(text).strip()
    for pattern, winner in ((OVER, 0), (UNDER, 1)):
        if two := pattern.fullmatch(word.lower()):
            names = [fold_name(two[1]), fold_name(two[2])]
            return Meaning("system", system=systems[names[winner]]) if {*names} <= systems.keys() else None
    lost, won = WORSE.search(word.lower()) is not None, BETTER.search(word.lower()) is not None
    name = fold_name(WORSE.sub(" ", BETTER.sub(" ", STRENGTH.sub(" ", word.lower()))).strip(" .,"))
    return Meaning("system", int(lost), systems[name]) if lost != won and name in systems else None


@lru_cache(maxsize=1 << 16)
def fold_name(text: str) -> str:
    """The name of a system without what people vary when they type it: case, blanks, dashes.

    >>> fold_name(" GPT-4  Turbo ") == fold_name("gpt-4 turbo")
    True
    """
    return folded_name(text)


def resembles(word: str, name: str) -> bool:
    """Whether a word may be a short form of a system's name, or the reverse: `GPT-4o` and `gpt-4o-2024-08-06`.

    >>> resembles("GPT-4o", "gpt-4o-2024-08-06"), resembles("a", "alpha"), resembles("Alpha", "beta")
    (True, False, False)
    """
    if WORSE.search(word.casefold()) or WORSE.search(name.casefold()):
        return False
    short, long = sorted((re.sub(r"[^a-z0-9]", "", text.casefold()) for text in (word, name)), key=len)
    return len(short) > 2 and short in long


def find_bound(word: str, bounds: Mapping[str, str]) -> str | None:
    """What a number stands for by bounds such as `<1.5`; None where no bound holds it or it is no number.

    >>> find_bound("1.25", {"<1.5": "a", ">1.5": "b"}), find_bound("x", {"<1": "a"})
    ('a', None)
    """
    if not NUMBER.fullmatch(word):
        return None
    number = float(word)
    for bound, ours in bounds.items():
        if parts := BOUND.fullmatch(bound.strip()):
            limit = float(parts[2])
            holds = {"<": number < limit, ">": number > limit, "<=": number <= limit, ">=": number >= limit}
            if holds[parts[1]]:
                return ours
        elif NUMBER.fullmatch(bound.strip()) and float(bound) == number:
            return ours
    return None
