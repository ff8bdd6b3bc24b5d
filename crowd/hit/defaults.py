"""What hit.toml says where it says nothing, in each form: the texts in our words, and the numbers that differ.

Those of pairs are the HIT of the paper, those of choice the survey of Lowe et al. (2016), and conversations are read in
the order of ACUTE-Eval (Li, Weston and Roller 2019): both whole, the question after them, about one speaker of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seedvote.crowd.forms.choice import ChoiceExample
from seedvote.crowd.forms.conversations import ConversationsExample
from seedvote.crowd.forms.known import FormName
from seedvote.crowd.forms.pairs import WorkedExample
from seedvote.crowd.hit.about import AboutQuestion
from seedvote.crowd.hit.questions import AskedQuestion
from seedvote.dialogue.records import Utterance


def _consent_text(task: str, caution: str) -> str:
    return f"""\
You are invited to take part in a research study about {task} We want to know what you think.

We store your answers and the time each one took under a scrambled form of your worker id. The id itself is kept \
apart from them and serves only to pay you. We store neither your name nor your network address. The answers, without \
your id, may be published for other researchers.

Taking part is voluntary. You may stop at any time by closing this page; what you have answered until then is kept. \
{caution}"""


def _make_talk(*texts: str) -> tuple[Utterance, ...]:
    return tuple(Utterance(("user", "system")[place % 2], text) for place, text in enumerate(texts))


PAIRS_CONSENT = _consent_text(
    "computer programs that hold a conversation. You will read short conversations and say which of two responses "
    "is more relevant.",
    "The responses were written by computer programs, and now and then one may be odd or unpleasant.",
)

PAIRS_INSTRUCTIONS = """\
You will see a conversation and two responses, A and B, that could come next. Choose the response that is more \
relevant: the one that fits what was just said and helps the conversation along.

Choose Tie when neither is more relevant than the other, whether both are good or both are poor. Ignore small slips of \
grammar, capital letters and length. The sign <unk> stands for a word that the program did not know.

Four worked examples come first. They are for practice and do not count."""

PAIRS_EXAMPLES = (
    WorkedExample(
        _make_talk(
            "Hello, I need a cheap place to eat in the north of town.",
            "There are two, an Indian and a Chinese restaurant. Which would you like?",
            "The Indian one, please. A table for four at 19:00.",
        ),
        "Your table for four at 19:00 is booked. Anything else?",
        "The train leaves at 9:15 and costs 12 pounds.",
        "left",
        "A does what was asked. B speaks of a train that nobody mentioned.",
    ),
    WorkedExample(
        _make_talk("Do you have any hobbies?", "I paint, mostly birds. And you?", "I bake bread at weekends."),
        "I have a red car and I do not like my car.",
        "That sounds lovely! Is sourdough hard to make?",
        "right",
        "B takes up what was just said. A changes the subject.",
    ),
    WorkedExample(
        _make_talk("Is there a museum near the station?", "Yes, the toy museum is free.", "Great, how do I get there?"),
        "It is a five minute walk from the station, straight ahead.",
        "Just follow the main road from the station for five minutes.",
        "tie",
        "Both answer the question equally well. The words differ, the relevance does not.",
    ),
    WorkedExample(
        _make_talk("I would like to cancel my taxi for tonight."),
        "The hotel has free parking and <unk>.",
        "What kind of food would you like?",
        "tie",
        "Neither has anything to do with the taxi. When both are equally poor, that is a tie as well.",
    ),
)

CHOICE_CONSENT = _consent_text(
    "conversations. You will read the beginnings of short conversations and say which of several sentences was "
    "really said next.",
    "The conversations were held by other people, and now and then something in them may be odd or unpleasant.",
)

CHOICE_INSTRUCTIONS = """\
You will see the beginning of a conversation and several sentences. One of them was really said next; the others are \
from other conversations. Choose the one that you think came next, and the one that you would take as second best.

Please guess, even if none of them fits well: an answer is needed for each question. Ignore small slips of \
grammar, capital letters and length.

A few worked examples come first. They are for practice and do not count."""

CHOICE_EXAMPLES = (
    ChoiceExample(
        _make_talk(
            "Hello, I need a cheap place to eat in the north of town.",
            "There are two, an Indian and a Chinese restaurant. Which would you like?",
            "The Indian one, please. A table for four at 19:00.",
        ),
        (
            "The train leaves at 9:15 and costs 12 pounds.",
            "Which day would you like to come back?",
            "Your table for four at 19:00 is booked. Anything else?",
            "The museum is closed on Mondays.",
            "The restaurant is in the north and cheap. How many people are you?",
        ),
        best=3,
        second=5,
        why="Option 3 does what was asked. Option 5 is about the restaurant too, but asks what was said already.",
    ),
    ChoiceExample(
        _make_talk("Do you have any hobbies?", "I paint, mostly birds. And you?", "I bake bread at weekends."),
        (
            "That sounds lovely! Is sourdough hard to make?",
            "I have never been to Spain.",
            "It is a five minute walk from the station.",
            "My brother likes to cook as well.",
            "You are welcome, goodbye.",
        ),
        best=1,
        second=4,
        why="Option 1 takes up what was just said. Option 4 could follow too, but less directly.",
    ),
)

KNOWLEDGE = AboutQuestion(
    "knowledge",
    "How much do you know about what these conversations are about?",
    ("nothing", "a little", "a good deal", "I am an expert"),
)

CONVERSATIONS_CONSENT = _consent_text(
    "computer programs that hold a conversation. You will read pairs of conversations and say which of two "
    "speakers you would rather talk to.",
    "Much in the conversations was written by computer programs, and now and then something may be odd or unpleasant.",
)

CONVERSATIONS_INSTRUCTIONS = """\
You will see two whole conversations, A and B. In each of them one speaker is marked: speaker A and speaker B. Read \
both conversations to their end, then say which of the two marked speakers you would rather talk to.

Judge what the marked speaker says, and how it fits what was said before. Leave out of account what the other speaker \
says, what the conversation is about and how long it is.

Choose Tie when you would talk to both equally gladly, or to neither.

Worked examples come first. They are for practice and do not count."""

CONVERSATIONS_EXAMPLES = (
    ConversationsExample(
        _make_talk(
            "Hello! Did you do anything nice at the weekend?",
            "I baked bread with my sister. It was flat as a plate, and we ate all of it. And you?",
            "I went walking by the sea.",
            "In this wind? You must like it rough. Do you go there often?",
        ),
        _make_talk(
            "Hello! Did you do anything nice at the weekend?",
            "The weekend is nice. I like the weekend.",
            "I went walking by the sea.",
            "I have two dogs and a car. I like the weekend.",
        ),
        "left",
        "Speaker A takes up what was said and asks back. Speaker B repeats itself and changes the subject.",
    ),
    ConversationsExample(
        _make_talk(
            "I am looking for a cheap place to eat in the centre.",
            "The train to the coast leaves at 9:15.",
            "No, a restaurant, please.",
            "Would you like a room for two nights?",
        ),
        _make_talk(
            "Could you find me a museum that is free?",
            "The toy museum is free, and it is open until five today.",
            "Lovely. How do I get there?",
            "From the station walk straight ahead for five minutes.",
        ),
        "right",
        "Speaker B answers what was asked. Speaker A does not, whatever the conversation is about.",
    ),
    ConversationsExample(
        _make_talk("Do you have any hobbies?", "I paint, mostly birds. What do you do in the evening?"),
        _make_talk("What do you do when you are not working?", "I sing in a small choir. Do you like music?"),
        "tie",
        "Both answer well and keep the conversation going. When both are equally poor, that is a tie as well.",
    ),
)

LIVE_CONSENT = _consent_text(
    "computer programs that hold a conversation. You will talk to two programs at once, by writing, and say which of "
    "the two you would rather talk to.",
    "What the programs say is made while you talk, and now and then something may be odd, wrong or unpleasant.",
)

LIVE_INSTRUCTIONS = """\
You will talk to two programs at once: speaker A and speaker B. Whatever you write goes to both of them, and each \
answers in a conversation of its own. Talk about what the page asks you to, in your own words.

Then say which of the two you would rather talk to. Judge what the speakers say, and how it fits what you said before. \
Choose Tie when you would talk to both equally gladly, or to neither.

Worked examples come first. They are for practice and do not count."""

RESPONSES_CONSENT = _consent_text(
    "computer programs that hold a conversation. You will read short conversations and judge one or several "
    "responses to each.",
    "The responses were written by computer programs, and now and then one may be odd or unpleasant.",
)

JUDGE_EACH = """\
You will see a conversation and one or several responses that could come next. Judge each response by itself: does it \
fit what was just said, and does it help the conversation along?"""
COMPARE_ALL = """\
You will see a conversation and several responses that could come next. Compare them: which one fits best what was \
just said, and helps the conversation along?"""
IGNORE = """\
Ignore small slips of grammar, capital letters and length. The sign <unk> stands for a word that the program did not \
know."""
RATE = "Use the whole scale. Two responses that are equally good or equally poor get the same rating."
RANK_WITH_TIES = "Give each response a rank: 1 is the best. Responses that are equally good share a rank."
RANK_ALL = """\
Give each response a rank: 1 is the best, and no two responses share a rank. Where you see no difference between two, \
go by your first impression."""


def instruct_on_responses(questions: Sequence[AskedQuestion]) -> str:
    """What raters of responses are told by default: as they rate or rank, and whether ranks may be shared.

    >>> "share a rank" in instruct_on_responses([AskedQuestion("q", "?", kind="likert")])
    False
    """
    rankings = [question for question in questions if question.kind == "ranking"]
    is_rated = any(question.kind == "likert" for question in questions)
    parts = [JUDGE_EACH, RATE] if is_rated or not rankings else [COMPARE_ALL]
    if rankings:
        parts.append(RANK_ALL if any(question.tie == "none" for question in rankings) else RANK_WITH_TIES)
    return "\n\n".join([*parts, IGNORE])


QUALITY = AskedQuestion(
    "quality",
    "How good is each response as the next turn of this conversation?",
    kind="likert",
    labels=("very poor", "very good"),
)

DEFAULTS: Mapping[FormName, Mapping[str, Any]] = {
    "pairs": {},  # those of `Hit`
    "choice": {
        "title": "What was said next?",
        "question": "Which of these was really said next?",
        "consent_text": CHOICE_CONSENT,
        "instructions": CHOICE_INSTRUCTIONS,
        "examples": CHOICE_EXAMPLES,
        "first_checks": 2,
        "later_checks": 2,
        "max_failures": 2,
        "sitting_minutes": 40,
        "about": (KNOWLEDGE,),
    },
    "conversations": {
        "title": "Which speaker would you rather talk to?",
        "question": "Which of the two marked speakers would you rather talk to?",
        "consent_text": CONVERSATIONS_CONSENT,
        "instructions": CONVERSATIONS_INSTRUCTIONS,
        "examples": CONVERSATIONS_EXAMPLES,
        "pairs_per_sitting": 8,
        "first_checks": 1,
        "later_checks": 2,
        "max_failures": 2,
        "lease_minutes": 30,
    },
    "live": {
        "title": "Which speaker would you rather talk to?",
        "question": "Which of the two speakers would you rather talk to?",
        "consent_text": LIVE_CONSENT,
        "instructions": LIVE_INSTRUCTIONS,
        "examples": CONVERSATIONS_EXAMPLES,
        "pairs_per_sitting": 4,
        "first_checks": 1,
        "later_checks": 1,
        "max_failures": 2,
        "lease_minutes": 30,
    },
    "responses": {
        "title": "How good are these responses?",
        "consent_text": RESPONSES_CONSENT,
        "instructions": instruct_on_responses((QUALITY,)),
        "examples": (),
        "questions": (QUALITY,),
    },
}
