"""The same wish in other words, in fewer, in more, or as people and language models paraphrase it."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from seedvote.dialogue.engines.chat import Call, Endpoint, ask_all
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.seeds import child_seed
from seedvote.evaluators.perturbing.material import NO_VALUES, Protector, Span, UserTurn, is_intact, whole_places

# The same wish in other words: as another user said just this, else with phrases that mean the same.
#
# A training turn whose annotated values all stand in it verbatim is a template. Annotated acts leave out much of what
# a turn says, so a template takes the place of a turn only where both hold the same words of content, are both
# questions or neither, and have the same acts. Where no template does, phrases are exchanged for others that mean the
# same in any request.

Key = tuple[tuple[str, str, str], ...]  # the acts: (act, slot, "" or the value where it does not stand verbatim)
Meaning = tuple[bool, tuple[str, ...]]
MOST = 300  # templates of one meaning that are kept
PHRASES = (
    (r"thank you (?:so|very) much", "thanks a lot"),
    (r"thanks (?:so|very) much", "thank you so much"),
    (r"thank you(?! (?:so|very|all))(?!\w)", "thanks"),
    (r"thanks(?! (?:so|very|a lot|a bunch))", "thank you"),
    (r"i ?(?:am|'m) (?:looking|searching) for", "I am trying to find"),
    (r"i ?(?:am|'m) trying to find", "I am looking for"),
    (r"i(?: would| ?'d) like to (?=\w)", "I want to "),
    (r"i(?: would| ?'d) like (?=\w)", "I want "),
    (r"i want to (?=\w)", "I would like to "),
    (r"i want (?=(?:a|an|the|some|it|one)\b)", "I would like "),
    (r"i need to (?=\w)", "I have to "),
    (r"i need (?=\w)", "I require "),
    (r"(?:can|could) i (?:please )?(?:get|have) (?=\w)", "may I have "),
    (r"may i have", "could I have"),
    (r"can you", "could you"),
    (r"could you", "can you"),
    (r"would you please", "could you please"),
    (r"how about", "what about"),
    (r"what about", "how about"),
    (r"what(?: is| ?'s) (?=(?:the|its|their|your)\b)", "could you tell me "),
    (r"is there (?=(?:a|an|any|anything|something)\b)", "do you have "),
    (r"are there (?=(?:any|some)\b)", "do you have "),
    (r"do you have (?=any\b)", "are there "),
    (r"i was wondering if", "I would like to know if"),
    (r"let me know", "tell me"),
    (r"tell me about", "give me some information on"),
    (r"(?:information|info) (?:on|about)", "details of"),
    (r"give me (?=(?:the|their|its|an?)\b)", "let me have "),
    (r"(?<!a )(?<!the )(?<!my )(?<!that )(?<!this )book (?=(?:a|an|the|it|that|us|me|one)\b)", "reserve "),
    (r"reservation", "booking"),
    (r"a place to stay", "somewhere to stay"),
    (r"a place to eat", "somewhere to eat"),
    (r"leaves (?=(?:at|after|from)\b)", "departs "),
    (r"leaving (?=(?:at|after|from)\b)", "departing "),
    (r"departing (?=(?:at|after|from)\b)", "leaving "),
    (r"departs (?=(?:at|after|from)\b)", "leaves "),
    (r"arrives (?=by\b)", "gets there "),
    (r"arriving (?=by\b)", "getting there "),
    (r"get there (?=by\b)", "arrive "),
    (r"starting (?=(?:on|from)\b)", "beginning "),
    (r"(?<!tele)phone number", "telephone number"),
    (r"telephone number", "phone number"),
    (r"that sounds (?:good|great|nice|perfect|lovely)", "that suits me"),
    (r"that will be all", "that is everything"),
    (r"that(?: is| ?'s| was) all(?= ?[.!,?]|$)", "that is everything"),
    (r"as well(?= ?[.!,?]|$)", "too"),
    (r"(?<=\w )too(?= ?[.!,?]|$)", "as well"),
    (r"near (?=\w)", "close to "),
    (r"goodbye", "bye"),
    (r"i (?:do not|don't|do n't) mind", "it is all the same to me"),
    (r"it needs (?=\w)", "it must have "),
    (r"it should (?=\w)", "it has to "),
    (r"is fine", "will do"),
    (r"no preference on", "no preference about"),
    (r"(?<!good )bye", "goodbye"),
    (r"hello", "hi"),
    (r"hi(?= there|\b)", "hello"),
    (r"okay|ok", "all right"),
    (r"yes", "yeah"),
    (r"yeah|yep", "yes"),
    (r"no problem", "that is fine"),
    (r"perfect(?= ?[.!,])", "excellent"),
    (r"great(?= ?[.!,])", "wonderful"),
    (r"awesome|excellent", "perfect"),
    (r"actually", "in fact"),
    (r"maybe|perhaps", "possibly"),
    (r"it(?: does not| does ?n't) matter", "it makes no difference"),
)
# Words that carry a wish and say nothing of it. Whatever is not here must stand in both wordings of one wish.
_CARRIERS = """
a an the i me my you your we us our am is are be been m s d ll ve 've 're 's 'm 'd 'll of it its it's i'm i'd i'll i've
that that's which with in on at for to from by and need want would will like looking look searching search find finding
get getting give tell help assist trying try please can could may might should have has having do does some any there so
also wanting interested possible town city food foods serve serves serving kind type sort cuisine style offer offers
offering provide info information
"""
CARRIERS = frozenset(_CARRIERS.split())
ARTICLES = frozenset({"a", "an", "the"})
DIRECTIONS = frozenset({"from", "to", "by", "at", "after", "before", "until"})
SAME = {
    word: words.split()[0]
    for words in (
        "leave leaves leaving depart departs departing departure",
        "arrive arrives arriving arrival",
        "book booking bookings booked reserve reservation reservations",
        "phone telephone",
        "postcode postal zip",
        "go going goes heading headed travel traveling travelling",
        "stay staying",
        "start starting begin beginning",
        "people persons",
        "night nights",
        "restaurant restaurants",
        "train trains",
        "hotel hotels",
        "taxi taxis cab",
        "attraction attractions",
        "museum museums",
        "guesthouse guesthouses",
        "college colleges",
        "centre center",
        "area part side",
        "price priced prices",
    )
    for word in words.split()
}


@dataclass(frozen=True, slots=True)
class Template:
    """A wording: `parts` are texts and, as numbers, places of the acts' values."""

    parts: tuple[str | int, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The wording as words, places of values as `#0`."""
        text = "".join(f" #{part} " if isinstance(part, int) else part.lower() for part in self.parts)
        return tuple(re.findall(r"#\d+|[\w']+", text))

    @property
    def meaning(self) -> Meaning:
        """Whether it asks, and its words of content in alphabetical order, with the direction of each value."""
        words = [word for word in self.words if word not in ARTICLES]
        content = [SAME.get(word, word) for word in words if word not in CARRIERS]
        content += [f"{word} {value}" for word, value in pairwise(words) if word in DIRECTIONS and value[0] == "#"]
        return any("?" in part for part in self.parts if isinstance(part, str)), tuple(sorted(content))

    def with_values(self, values: Sequence[str]) -> str:
        """With these values, and the article that goes with each."""
        text = ""
        for part in self.parts:
            if isinstance(part, int):
                article = r"\1n" if values[part][:1].lower() in "aeiou" else r"\1"
                text = re.sub(r"(?<!\w)(a)n?(?= $)", article, text, flags=re.I)
            text += values[part] if isinstance(part, int) else part
        return re.sub(r"  +", " ", text)


_PHRASES = [rf"(?<![\w'])(?:{phrase})" + (r"(?![a-zA-Z])" if phrase[-1].isalpha() else "") for phrase, _ in PHRASES]
_PHRASE = re.compile("|".join(f"({phrase})" for phrase in _PHRASES), re.I)


class Paraphraser:
    """What the training dialogues teach of wording."""

    def __init__(self, dialogues: Iterable[Dialogue], protector: Protector) -> None:
        self._templates: dict[tuple[Key, Meaning], dict[tuple[str, ...], Template]] = defaultdict(dict)
        for turn in (turn for dialogue in dialogues for turn in dialogue.turns if turn.speaker == "user" and turn.acts):
            if parsed := _parse_turn(turn, protector):
                key, template, _ = parsed
                if _tells_enough(key) and len(templates := self._templates[key, template.meaning]) < MOST:
                    templates.setdefault(template.words, template)

    @property
    def templates(self) -> int:
        """How many wordings are known."""
        return sum(map(len, self._templates.values()))

    def told_anew(self, turn: Turn, pieces: Sequence[Span], protector: Protector, *, rng: random.Random) -> str:
        """The turn by another template that means the same, else with other phrases; as it was where neither is had."""
        if parsed := _parse_turn(turn, protector):
            key, own, values = parsed
            templates = self._templates.get((key, own.meaning), {}) if _tells_enough(key) else {}
            same = [alternative for words, alternative in templates.items() if words != own.words]
            for template in rng.sample(same, min(3, len(same))):
                if is_intact(pieces, text := template.with_values(values)):
                    return text
        return "".join(piece.text if piece.held else _PHRASE.sub(_other_phrase, piece.text) for piece in pieces)


def _other_phrase(match: re.Match[str]) -> str:
    return _copy_case(match[0], PHRASES[(match.lastindex or 1) - 1][1])


def _tells_enough(key: Key) -> bool:
    """Whether the acts say what is meant: greetings and small talk are all one act, whatever is said."""
    return any(not act.startswith("general") for act, _, _ in key)


def _copy_case(before: str, after: str) -> str:
    if before.isupper() and len(before) > 2:
        return after.upper()
    return after[:1].upper() + after[1:] if before[:1].isupper() else after


def _parse_turn(turn: Turn, protector: Protector) -> tuple[Key, Template, list[str]] | None:
    """The acts' key, the turn as a template, and its values; None where something else in it is protected."""
    low = turn.text.lower()
    if len(low) != len(turn.text) or not turn.acts:
        return None
    places: list[tuple[int, int]] = []
    slots_named: list[tuple[str, str, str]] = []
    for act, slot, value in sorted((a, s, v.strip().lower()) for a, pairs in turn.acts.items() for s, v in pairs):
        place = None if value in NO_VALUES else _free_place(low, value, places)
        slots_named.append((act, slot, value if place is None else ""))
        if place is not None:
            places.append(place)
    parts: list[str | int] = []
    at = 0
    for number, (start, end) in sorted(enumerate(places), key=lambda pair: pair[1]):
        parts += [turn.text[at:start], number]
        at = end
    parts.append(turn.text[at:])
    if any(protector.find_spans(part) for part in parts if isinstance(part, str)):
        return None
    return tuple(slots_named), Template(tuple(parts)), [turn.text[start:end] for start, end in places]


def _free_place(low: str, value: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    return next(
        (
            (begin, end)
            for begin, end in whole_places(low, value)
            if all(end <= start or begin >= stop for start, stop in taken)
        ),
        None,
    )


# The same wish in fewer words: greetings, politeness, openings and function words go, long forms are contracted.

OPENINGS = (
    r"(?:hi|hello|hey)(?: there)?[,.!]?",
    r"good (?:morning|afternoon|evening)[,.!]?",
    r"i(?: a|')m (?:also )?(?:looking|searching) for",
    r"i(?: woul|')d (?:also )?like(?: to(?: (?:find|have|get|know)(?! (?:if|out|that)))?)?",
    r"i (?:also )?(?:need|want)(?: to(?: (?:find|have|get|know)(?! (?:if|out|that)))?)?",
    r"(?:can|could|would|will) you (?:please )?(?:help me (?:to )?(?:find|with)|find(?: me)?|tell me(?: about)?|"
    r"give me|suggest|recommend|get me)(?! (?:that|this|it|them|one|out|more|again))",
    r"(?:can|could|may) i (?:please )?(?:get|have)(?! (?:that|this|it|them|one|to))",
    r"(?<!what )(?<!where )(?:do you have|are there|is there)(?: any)?(?! (?:that|this|it|them|one))",
    r"i was wondering if",
)
DROPPED = (
    r"please",
    r"(?:again ?, |but )?thank(?:s| you)(?: (?:so|very) much| a lot| a bunch| again)*"
    r"(?: for (?:all )?(?:of )?your (?:help|time|assistance))?(?! for)",
    r"(?:a|an)(?! (?:few|little|lot|couple|bit|while|cab))",
    r"(?:the|just|very|(?<!not )(?<!n't )really|actually|kind of|sort of|which is|as well)",
    r"(?<=\w )(?:some|any)(?= \w)(?! (?:of|more|other|one|where|time|way))",
)
CONTRACTED = (
    (r"i am", "i'm"),
    (r"i will", "i'll"),
    (r"i have", "i've"),
    (r"it is", "it's"),
    (r"that is", "that's"),
    (r"do not", "don't"),
    (r"does not", "doesn't"),
    (r"is not", "isn't"),
    (r"cannot|can not", "can't"),
    (r"what is", "what's"),
    (r"would not", "wouldn't"),
    (r"you are", "you're"),
)
_CONTRACTED = [
    (re.compile(rf"\b(?:{long})\b", re.I), short, re.compile(rf"\b(?={long[0].upper()})(?i:{long})\b"))
    for long, short in CONTRACTED
]
_WORD = re.compile(r"\w+")
_OPENING = re.compile(rf"(?<!\w)(?:{'|'.join(OPENINGS)})(?!\w) ?", re.I)
_DROPPED = re.compile(rf"(?<![\w'])(?:{'|'.join(DROPPED)})(?![\w']) ?", re.I)


def simplify_turn(pieces: Sequence[Span]) -> str:
    """The turn in fewer words; "" where nothing would be left of it, or where spaces and signs alone would differ."""
    before = "".join(piece.text for piece in pieces)
    # Where a corpus sets its signs apart, as MultiWOZ 2.1 does, they stay so.
    is_tokenized = re.search(r"\w\s+[,.!?]", before) is not None
    texts = [piece.text if piece.held else _shorten_text(piece.text, is_tokenized) for piece in pieces]
    while texts and not pieces[0].held and not texts[0].strip(" ,.!"):
        texts, pieces = texts[1:], pieces[1:]  # a turn does not begin with what parted it from an opening
    if texts and not pieces[0].held:
        texts[0] = texts[0].lstrip(" ,.!")
    text = "".join(texts).strip(" ,")
    return text if re.search(r"\w", text) and _WORD.findall(text) != _WORD.findall(before) else ""


def _shorten_text(text: str, is_tokenized: bool) -> str:
    for pattern, change in ((_OPENING, ""), (_DROPPED, "")):
        text = pattern.sub(change, text)
    for long, short, capital in _CONTRACTED:
        text = long.sub(short, capital.sub(short.capitalize(), text))
    if not is_tokenized:
        text = re.sub(r"\s+([,.!?])", r"\1", text)
    text = re.sub(r"[,.!]\s*(?=[,.!?])", "", text)
    return re.sub(r" {2,}", " ", text)


# The same wish in more words: a sentence around it, and fillers between the words. No value is said or taken back.

BEFORE = (
    "So, let me try to explain what I have in mind.",
    "Okay, I have been thinking about this for quite a while now.",
    "I am not sure how best to put this, but here goes.",
    "Right, let me see, where was I.",
    "Well, to be honest with you, it is like this.",
    "Before I forget, there is something I wanted to say.",
    "My friends keep telling me to get on with it, so here it is.",
    "Bear with me for a moment, please.",
)
AFTER = (
    "I hope that makes sense to you.",
    "I hope I have said that clearly enough.",
    "Sorry for using so many words.",
    "Take all the time you need, I am in no hurry.",
    "That is really what I meant to say.",
    "You would be doing me a great favour, honestly.",
)
FILLERS = (", you know,", ", so to speak,", ", if I may say so,", ", I mean,", ", as it were,", ", let us say,")
GAP = re.compile(r"(?<=[a-z]{3}) (?=[a-z]{2})")  # between two words, not beside a mark


def lengthen_turn(pieces: Sequence[Span], *, rng: random.Random) -> str:
    """The turn with something before it, something after it, or both, and perhaps a filler within."""
    texts = [piece.text for piece in pieces]
    if not "".join(texts).strip():
        return "".join(texts)
    gaps = [
        (n, match.start()) for n, piece in enumerate(pieces) if not piece.held for match in GAP.finditer(piece.text)
    ]
    if gaps and rng.random() < 0.6:
        n, at = rng.choice(gaps)
        texts[n] = texts[n][:at] + rng.choice(FILLERS) + texts[n][at:]
    place = rng.choice(("before", "after", "both"))
    before = f"{rng.choice(BEFORE)} " if place != "after" else ""
    after = f" {rng.choice(AFTER)}" if place != "before" else ""
    return before + "".join(texts) + after


# Paraphrases by people (a file) or by a language model (an endpoint); the one that loses a value is not taken.

ASKED_AGAIN = 2  # times, after a rewrite that lost a value
TASK = (
    "Say what the user says in other words. Keep the meaning, and keep these words exactly as they are: {held}. "
    "Answer with the new sentence alone.\n\n{text}"
)


def read_rewrites(path: Path) -> dict[str, str]:
    """Item -> text, from JSON Lines with `item` and `text`."""
    rewrites: dict[str, str] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from None
    for n, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            item, text = row["item"], row["text"]
            if not (isinstance(item, str) and isinstance(text, str)):
                raise TypeError("item and text must be texts")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f'{path}:{n}: expected {{"item": "sng0073:1", "text": "..."}} ({error!r}).') from None
        rewrites[item] = text
    if not rewrites:
        raise InputError(f"{path} holds no rewrite.")
    return rewrites


def rewrites_of(
    endpoint: Endpoint, turns: Sequence[UserTurn], journal: Path, tell: Callable[[], object], *, seed: int
) -> Mapping[str, str]:
    """Item -> what the model made of the turn; where a value was lost, it is asked up to twice more."""
    rewrites: dict[str, str] = {}
    left = list(turns)
    for again in range(1 + ASKED_AGAIN):
        calls = [
            _paraphrase_call(user_turn, child_seed(seed, "paraphrase", user_turn.item, again) % 2**31)
            for user_turn in left
        ]
        replies = ask_all(endpoint, calls, journal, tell).replies
        for user_turn, reply in zip(left, replies, strict=True):
            if reply is not None and not reply.empty:
                rewrites[user_turn.item] = " ".join(reply.spoken.split())
        left = [
            user_turn
            for user_turn in left
            if user_turn.item not in rewrites or not is_intact(user_turn.pieces, rewrites[user_turn.item])
        ]
        if not left:
            break
    return rewrites


def _paraphrase_call(user_turn: UserTurn, seed: int) -> Call:
    values = ", ".join(dict.fromkeys(piece.text for piece in user_turn.pieces if piece.held)) or "none"
    instruction = TASK.format(held=values, text=user_turn.turn.text)
    return Call([{"role": "user", "content": instruction}], {"seed": seed, "temperature": 0.7, "max_tokens": 120})
