"""Generated persona chats: two people with four or five traits each get to know each other.

Lower case and spaced punctuation, as PersonaChat is written. A trait gives the persona sentence, other ways to tell
it, a question about it, an answer for those who lack it, and reactions.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seedvote.dialogue.corpora.toy.phrases import expand_templates


@dataclass(frozen=True)
class Trait:
    """One subject of talk; {v} stands for the value."""

    values: tuple[str, ...]
    persona: tuple[str, ...]
    tell: tuple[str, ...]
    ask: tuple[str, ...]
    lack: tuple[str, ...]
    react: tuple[str, ...]


# Forty of each, so that some words of the talk are neither frequent nor rare (the probe task WordCont asks for them).
JOBS = """
teacher nurse baker farmer painter driver cook gardener pilot librarian doctor lawyer plumber carpenter waiter dentist
barber butcher tailor singer dancer writer poet soldier sailor miner mechanic florist judge potter photographer
translator scientist banker postman guard jeweller roofer welder vet
"""
HOBBIES = """
painting fishing dancing hiking knitting singing swimming sailing chess reading running cycling gardening climbing
skating skiing surfing baking sewing pottery camping diving rowing boxing yoga astronomy origami carving juggling
archery karate bowling drawing photography poetry birdwatching kayaking weaving puzzles fencing
"""
FOODS = """
pizza soup pasta rice cake cheese fish curry bread chocolate salad chicken bacon stew noodles sushi lasagna chili ham
salmon lamb beef pie porridge yogurt honey popcorn pudding ravioli dumplings risotto lobster shrimp tofu sausage
pancakes waffles nachos granola couscous
"""
COUNTRIES = """
spain japan canada india kenya norway italy greece brazil peru chile egypt morocco iceland ireland scotland sweden
finland denmark poland austria portugal turkey china thailand vietnam nepal mongolia australia fiji cuba mexico
jamaica hungary croatia malta france germany belgium estonia
"""

TRAITS = {
    "job": Trait(
        tuple(JOBS.split()),
        ("i work as a {v} .", "i am a {v} .", "i have been a {v} for years ."),
        ("i make my living as a {v} .", "i am a {v} , it is [hard|fun] work .", "my job is to be a {v} ."),
        ("what do you do for [a living|work] ?", "where do you work ?", "do you have a job ?"),
        ("i do not work at the moment .", "i am [still|back] in school .", "i just lost my job ."),
        ("that sounds like a [hard|good|busy] job .", "do you like [the work|your job] ?", "my sister does that ."),
    ),
    "pet": Trait(
        ("dog", "cat", "rabbit", "horse", "parrot", "turtle"),
        ("i have a {v} .", "my {v} is my best friend .", "i own a {v} ."),
        ("my {v} keeps me [busy|company] .", "i [walk|feed|play with] my {v} every morning .", "i live with a {v} ."),
        ("do you have any pets ?", "do you like animals ?", "any pets at home ?"),
        ("no , i have no pets .", "pets make me sneeze .", "i would love one , but my flat is small ."),
        ("aw , what is its name ?", "i love animals [too|as well] .", "how [old|big] is it ?"),
    ),
    "hobby": Trait(
        tuple(HOBBIES.split()),
        ("i love {v} .", "my hobby is {v} .", "i enjoy {v} on weekends ."),
        ("i spend my [free time|weekends] on {v} .", "{v} makes me happy .", "i am good at {v} ."),
        ("what do you do for fun ?", "do you have any hobbies ?", "what do you do in your free time ?"),
        ("i have no time for hobbies .", "i mostly sleep when i can .", "not much , i like to rest ."),
        ("i have never tried that .", "that sounds like fun !", "how did you get into that ?"),
    ),
    "food": Trait(
        tuple(FOODS.split()),
        ("my favorite food is {v} .", "i eat {v} every week .", "i like {v} the most ."),
        ("i could eat {v} every day .", "i am having {v} [tonight|for dinner] .", "nothing beats good {v} ."),
        ("what is your favorite food ?", "what do you like to eat ?", "do you like to cook ?"),
        ("i eat anything , really .", "i can not cook at all .", "i am on a diet right now ."),
        ("yum , now i am hungry .", "i like that too .", "can you share [some|the recipe] ?"),
    ),
    "music": Trait(
        ("jazz", "rock", "folk", "opera", "country", "piano"),
        ("i listen to {v} music .", "i am a fan of {v} music .", "i love {v} music ."),
        ("i have {v} music on all day .", "i went to hear {v} music last night .", "{v} music calms me down ."),
        ("what music do you like ?", "do you listen to music ?", "do you play any music ?"),
        ("i prefer silence .", "i do not know much about music .", "whatever is on the radio ."),
        ("i have not heard much of that .", "great taste !", "do you play too ?"),
    ),
    "home": Trait(
        ("the sea", "the mountains", "a lake", "a forest", "a big city", "a small village"),
        ("i live near {v} .", "my house is close to {v} .", "i grew up near {v} ."),
        ("my home is near {v} , it is [lovely|quiet] .", "i see {v} from my window .", "living near {v} is nice ."),
        ("where do you live ?", "where are you from ?", "what is it like where you live ?"),
        ("i move around a lot .", "just a normal town .", "i live with my parents ."),
        ("that must be [beautiful|nice] .", "i would love to live there .", "is it cold there in winter ?"),
    ),
    "family": Trait(
        ("two brothers", "three sisters", "a twin sister", "four children", "a baby girl", "six cousins"),
        ("i have {v} .", "i grew up with {v} .", "my family is big , i have {v} ."),
        ("i have {v} , so it is never quiet .", "at home i have {v} .", "with {v} i am always busy ."),
        ("do you have a big family ?", "any brothers or sisters ?", "are you close to your family ?"),
        ("i am an only child .", "my family lives far away .", "it is just me ."),
        ("how nice , are you close ?", "family is [important|everything] .", "i am an only child myself ."),
    ),
    "color": Trait(
        ("red", "blue", "green", "purple", "yellow", "orange"),
        ("my favorite color is {v} .", "i only wear {v} .", "my house is painted {v} ."),
        ("i just bought a {v} hat .", "everything i own is {v} .", "{v} always makes me smile ."),
        ("what is your favorite color ?", "what are you wearing ?", "do you like bright colors ?"),
        ("i do not have a favorite color .", "i wear whatever is clean .", "mostly black , to be honest ."),
        ("that is a [pretty|bold] color .", "i look bad in that .", "like the flowers in my garden !"),
    ),
    "travel": Trait(
        tuple(COUNTRIES.split()),
        ("i want to visit {v} .", "i once lived in {v} .", "i travel to {v} every year ."),
        ("i am saving up for {v} .", "{v} is the best place i know .", "my next trip is to {v} ."),
        ("do you like to travel ?", "where would you like to go ?", "been on any trips ?"),
        ("i have never left my country .", "i am afraid of flying .", "i stay at home mostly ."),
        ("i have always wanted to go .", "is it expensive ?", "what is the weather like ?"),
    ),
    "fear": Trait(
        ("spiders", "heights", "sharks", "snakes", "clowns", "storms"),
        ("i am afraid of {v} .", "i can not stand {v} .", "{v} scare me ."),
        ("i am so afraid of {v} .", "i have bad dreams about {v} .", "{v} make me scream ."),
        ("is there anything you fear ?", "do you get scared easily ?", "what scares you ?"),
        ("nothing scares me .", "only my boss .", "i am brave , i think ."),
        ("me too , to be honest .", "you will be fine .", "why is that ?"),
    ),
    "sport": Trait(
        ("football", "tennis", "hockey", "golf", "rugby", "basketball"),
        ("i play {v} .", "i watch {v} every weekend .", "i am on a {v} team ."),
        ("i have {v} practice tonight .", "our {v} team [won|lost] on saturday .", "i never miss a {v} game ."),
        ("do you play any sports ?", "do you follow a team ?", "are you into sports ?"),
        ("i am too lazy for sports .", "i only run when i am late .", "sports bore me ."),
        ("who is your favorite player ?", "i used to play that .", "did you get hurt ever ?"),
    ),
    "drink": Trait(
        ("coffee", "green tea", "lemonade", "hot chocolate", "milk", "apple juice"),
        ("i drink {v} every day .", "i can not live without {v} .", "i start the day with {v} ."),
        ("i am having {v} right now .", "i just had some {v} .", "i need my {v} first ."),
        ("coffee or tea ?", "what do you drink in the morning ?", "want to grab a drink ?"),
        ("just water for me .", "i do not drink much .", "anything cold ."),
        ("that sounds good right now .", "too sweet for me .", "i had some this morning ."),
    ),
}
OPENING = ("hi , how are you [today|doing] ?", "hello ! how is it going ?", "hey there , how was your day ?")
ANSWER = ("i am [good|fine|great] , thanks .", "[doing|feeling] well , a little tired .", "not bad , just got home .")
CLOSING = (
    "i have to go , it was nice [talking to you|to meet you] .",
    "time for bed , good night !",
    "bye , have a nice day .",
)


def persona_chat(*, rng: random.Random) -> dict[str, Any]:
    """One chat: `{"partner": [sentence, ...], "self": [...], "turns": [text, ...]}`, the partner first."""
    people = [_draw_person(rng), _draw_person(rng)]
    personas = [
        [_fill_template(TRAITS[name].persona, rng, value) for name, value in person.items()] for person in people
    ]
    return {"partner": personas[0], "self": personas[1], "turns": _draw_turns(people, rng)}


def _draw_person(rng: random.Random) -> dict[str, str]:
    names = rng.sample(list(TRAITS), rng.randint(4, 5))
    return {name: rng.choice(TRAITS[name].values) for name in names}


def _fill_template(templates: tuple[str, ...], rng: random.Random, value: str = "") -> str:
    return rng.choice(rng.choice(expand_templates(templates))).format(v=value)


def _draw_turns(people: list[dict[str, str]], rng: random.Random) -> list[str]:
    turns = [_fill_template(OPENING, rng)]
    fresh = [dict(person) for person in people]
    unasked = set(TRAITS)
    topic, was_asked = "", False
    last = rng.randrange(9, 15, 2)
    for n in range(1, last + 1):
        me = n % 2
        parts = [_respond_to(topic, was_asked, people[me], rng) if topic else _fill_template(ANSWER, rng)]
        fresh[me].pop(topic, None)
        was_asked = bool(unasked) and n < last and (not fresh[me] or rng.random() < 0.5)
        if was_asked:
            likely = [name for name in fresh[1 - me] if name in unasked]
            topic = rng.choice(likely if likely and rng.random() < 0.6 else sorted(unasked))
            parts.append(_fill_template(TRAITS[topic].ask, rng))
        elif fresh[me]:
            topic, value = fresh[me].popitem()
            parts.append(_fill_template(TRAITS[topic].tell, rng, value))
        unasked.discard(topic)
        turns.append(" ".join(parts))
    return [*turns, _fill_template(CLOSING, rng)]


def _respond_to(topic: str, was_asked: bool, person: Mapping[str, str], rng: random.Random) -> str:
    """An answer to the question, or a reaction to what was said."""
    if not was_asked:
        return _fill_template(TRAITS[topic].react, rng)
    if topic in person:
        return _fill_template(TRAITS[topic].tell, rng, person[topic])
    return _fill_template(TRAITS[topic].lack, rng)
