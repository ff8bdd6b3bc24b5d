"""Every sentence of the toy corpus, and its noun phrases: slots and values as English words.

`key: sentence / sentence / ...`, a line or several; a bracket such as [Hello|Hi] is a choice; {area} is filled in.
Keys are `who.act` or `who.act.slot`. `say_phrase` draws a sentence, then its choices, by the dialogue's own generator.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from functools import cache

from seedvote.dialogue.corpora.toy.world import TOWN, TOWNS

TEXT = """
# Two things in an order. Every sentence names both in the same words, the first one first. What stands around it is as
# long as an encoder before training remembers.
user.plan.for: [We are|It is for] {people} [people|friends] [on|this] {day}. / [This|It] is for {people} of us on {day}.
user.plan: [First|To begin with,] I need a {first}[,|] and [then|after that|later] a {second}, please.
    / [Could|Can] you [find|book] me a {first} [first|to begin with] and a {second} [afterwards|later]?
    / I [want|would like] a {first} before a {second}. / [We are|I am] looking for a {first} and then for a {second}.
user.plan.help: Can you [help us|help me]? / Is [that|it] still possible? / [What|What else] is needed?
system.plan.food: [What|Which] food [should the restaurant serve|do you want in the restaurant]?
    / [Fine|Good], the restaurant first. [What|Which] food do you like?
system.plan.pricerange: [What|Which] price range [should the hotel have|do you want for the hotel]?
    / [Fine|Good], the hotel first. How much [may|should] it cost?
system.plan.destination: Where [should the {domain} go|do you want to go by {domain}]?
    / [Fine|Good], the {domain} first. Where [to|do you want to go]?
user.plan.food: {wanted} food, please. / I like {wanted} food. / [Something|Anything] {wanted}.
user.plan.pricerange: A {wanted} one, please. / It should be {wanted}. / [Something|Anything] {wanted}.
user.plan.destination: To {wanted}, please. / I am going to {wanted}. / {wanted}.
system.plan.booked: [Your|The] {domain} is booked as {ref}. / I have booked [your|the] {domain}: {ref}.
system.plan.next: [Now|Next] the {second}? / What about the {second}?

# The user opens a topic. {thing} is a noun phrase such as "a cheap hotel in the north".
user.open: I am looking for {thing}. / Can you [help me find|find me|suggest] {thing}?
    / I [need|would like|want] {thing}, please. / [Could|Can] you tell me about {thing}?
    / We are [hoping to find|looking for] {thing}.
user.open.next: I [also need|am also looking for] {thing}. / [Great|Good], can you also find {thing}?
    / [Next|Now], I need {thing}. / [Thanks|Thank you]. I would also like {thing}. / And then I need {thing}, please.
user.open.name: [Can|Could] you give me [some information on|details about] the {name}?
    / I am looking for [a {kind} called|the {kind} named] the {name}. / Do you know the {name}?
    / What can you tell me about the {name}? / I have heard about the {name}. Is it good?
user.open.yes: Yes, I [also need|would also like] {thing}. / Yes, can you also find {thing}?
    / Yes please, I [need|want] {thing} too. / [Yes|Sure], I am looking for {thing} as well.
user.greet: [Hello|Hi|Good morning|Good evening]. / [Hello|Hi], I hope you can help me. / Hi there!
user.taxi: I [|also] need a taxi to {there}. / [Can|Could] you book a taxi to {there}?
    / I would like a taxi to {there}.
user.taxi.between: I [|also] need a taxi from {here} to {there}.
    / [Can|Could] you book a taxi between {here} and {there}? / Please get me a taxi to {there} from {here}.
user.hospital: I [need|am looking for] the hospital. / [Can|Could] you help me [find|call] the hospital?
    / Where is the hospital?
user.hello: [Hello|Hi]. / [Hello|Hi] there. / Good [morning|evening].
# One wish as a whole sentence, a wish that is no wish, a change of mind.
user.tell.area: It should be in the {area}. / I would [prefer|like] the {area}.
    / [Somewhere|One] in the {area}, please.
user.tell.pricerange: It should be {priced}. / I want something {priced}. / [Something|One that is] {priced}, please.
user.tell.food: I would like {food} food. / It should serve {food} food. / We [love|are in the mood for] {food} food.
user.tell.type: I would like a {type}. / It should be a {type}. / A {type}, please.
user.tell.stars: It should have {stars} stars. / I would like {stars} stars. / A {stars} star place, please.
user.tell.internet: It needs free wifi. / I [need|would like] free wifi. / Free wifi would be [nice|good].
user.tell.parking: It needs free parking. / I [need|would like] free parking. / We come by car, so we need parking.
user.tell.departure: I am leaving from {departure}. / I will depart from {departure}. / From {departure}, please.
user.tell.destination: I am going to {destination}. / My destination is {destination}. / To {destination}, please.
user.tell.day: It is for {day}. / On {day}, please. / {day} [would be good|is best].
user.tell.leaveAt: I want to leave after {leaveAt}. / I can not leave before {leaveAt}. / After {leaveAt}, please.
user.tell.arriveBy: I need to arrive by {arriveBy}. / I have to be there by {arriveBy}.
    / It should arrive by {arriveBy}.
user.tell.people: There will be {people}. / It is for {people}. / For {people}, please.
user.tell.stay: We will stay {stay}. / For {stay}, please. / {stay} in all.
user.tell.time: We will come at {time}. / At {time}, please. / {time} would be [good|perfect].
user.tell.department: It is the {department} department. / I need the {department} department. / {department}, please.
user.tell.day.journey: I [will|want to] travel on {day}. / It is for {day}. / On {day}, please.
user.any: I do not [mind|care]. / It does not matter. / Any {what} is fine. / No preference on the {what}.
    / You choose.
user.any.need: No, that is not needed. / I do not need that. / It does not matter.
user.correct: Sorry, I [changed my mind|made a mistake]. / [Actually|Sorry], wait. / No, I got that wrong.
    / Oh, one change.
user.instead: How about {value} instead? / What about {value}? / [OK, |Then ]{value} will do.
    / [Fine|OK], let us try {value}.
user.same.people: It is for the same [group|number] of people. / The same people as before.
    / For the same group, please.
user.same.day: It is for the same day. / On the same day, please. / The same day as before.
# The user asks for facts, picks, books. {facts} is "the address and the postcode", {details} "3 people on Friday".
user.ask: [What is|Can I have|May I get|Could you tell me] {facts}? / Please give me {facts}.
    / I [need|would like] {facts}, please. / That sounds [good|great|nice]. What is {facts}?
user.ask.more: [Can I have|May I get|Could you tell me] {facts}? / Please give me {facts}.
    / I [need|would like] {facts}, please. / That sounds [good|great|nice]. Can I get {facts}?
user.accept: That [sounds|is] [good|great|perfect]. / [Yes|OK], that one [is fine|works for me].
    / [Great|Perfect], I will take it.
user.accept.attraction: That [sounds|is] [good|great|perfect]. / I will [go there|have a look at it].
    / [Great|Perfect], I will see it.
user.tickets: [Yes|Great], please book it for {people}. / I need [tickets|seats] for {people}.
    / [Can|Could] you get tickets for {people}?
user.book: [Yes|Great|Good], please book it for {details}. / [Can|Could] you [book it|make a booking] for {details}?
    / I want to book it for {details}. / That [works|is good]. I need it for {details}.
user.book.bare: [Can|Could] you book it for me? / Please [book it|make a booking]. / Yes, I want to book that one.
user.choose: The {name} [sounds good|sounds nice|is fine]. / I [prefer|would take] the {name}. / The {name}, please.
user.choose.time: The one at {leaveAt}, please. / {leaveAt} is better. / I prefer {leaveAt}.
user.another: Is there another one? / [Do you have|Are there] any others?
    / I do not like that one. What else is there?
# Chit-chat and its answers, by subject; the end.
user.thanks: [Thank you|Thanks], that is [all|everything] I need. / [Great|Perfect], that is all. [Goodbye|Bye].
    / That is all, [thanks for your help|have a nice day]. / [Thank you|Thanks] so much for your help.
user.thanks.no: No, that is all. [Thank you|Thanks]. / No thanks, [goodbye|bye].
    / No, [that was it|nothing else]. [Thanks for your help|Have a nice day]. / That is [all|everything], thank you.
user.chat.weather: It is so [cold|windy|rainy] today. / What [cold|bad|wet] weather we have.
    / I hope it stops raining soon.
system.chat.weather: Yes, do bring a [coat|hat]. / It should get better [soon|tomorrow].
    / I hope it [gets warmer|clears up] for you.
user.chat.birthday: It is my [mother's|son's|friend's] birthday. / We are [celebrating|planning] a birthday.
    / I turn forty this week!
system.chat.birthday: [Happy birthday|How lovely]! I hope you enjoy it. / That calls for a [cake|party].
    / Congratulations [to you all|from me]!
user.chat.first: This is my first [visit to|time in] Larkford. / I have never been here before.
    / I am new in town.
system.chat.first: Welcome to Larkford! You will [love|like] it. / It is a [lovely|quiet] town by the river.
    / Then you have a lot to see.
user.chat.bot: You are very [helpful|kind|quick]. / You are [good|great] at this. / I like talking to you.
system.chat.bot: [Thank you|How kind], I do my best. / That is [kind|nice] of you. / I am just here to help.
# The system asks.
system.request.area: [Which|What] area [would you like|do you prefer]? / Do you have an area in mind?
    / What part of town [is best|should it be in]?
system.request.pricerange: What price range [would you like|are you looking for]?
    / Do you want something cheap, moderate or expensive? / How much do you want to spend?
system.request.food: What [type|kind] of food would you like? / Is there a food you [like|prefer]?
    / Which food are you in the mood for?
system.request.type: What [type|kind] of place [would you like|do you want]? / Do you have a type in mind?
system.request.stars: How many stars should it have? / Do you [want|prefer] a star rating?
system.request.internet: Do you need [wifi|internet]? / Should it have free wifi?
system.request.parking: Do you need [a place to park|parking]? / Should it have free parking?
system.request.departure: Where [are you leaving|will you depart] from? / Where do you start from?
system.request.destination: Where [are you going|would you like to go]? / What is your destination?
system.request.day: [What|Which] day [is it for|would you like]? / On which day?
system.request.leaveAt: What time do you want to leave? / When would you like to [leave|depart]?
system.request.arriveBy: When do you need to arrive? / What time should you be there?
system.request.people: How many people [is it for|will there be]? / For how many people?
system.request.stay: How many nights will you stay? / How long [is your stay|will you stay]?
system.request.time: [What|At what] time would you like? / What time should I book?
system.request.department: Which department do you need? / What department are you looking for?
# The system offers, refuses, tells, books.
system.choice: I have {choice} {plural} [like that|for you]. / There are {choice} {plural} to choose from.
    / We have {choice} [options|choices].
system.one: There is [only one|one], the {name}. / I found one, the {name}. / I have one [place|option], the {name}.
system.recommend: I [recommend|suggest] the {name}. / How about the {name}? / The {name} is [very good|popular|nice].
    / I would [go to|try] the {name}.
system.select: Would you [like|prefer] the {name} or the {other}?
    / There is the {name} and the {other}. Which [one|do you like]?
system.about: It is {about}. / This one is {about}. / It is {about}, if that suits you.
system.nooffer: [Sorry|I am sorry], there is no {thing}. / I [can not|could not] find any {thing}.
    / There are no places like that[|, I am afraid].
system.nooffer.ask: [Would you like to try|Shall I look for] something else? / Can I try another {what}?
    / Would another {what} do?
system.nooffer.journey: [Sorry|I am sorry], there are no {plural} at that time. / No {plural} run then, I am afraid.
system.fact.phone: [The|Their] phone number is {phone}. / You can call {phone}.
system.fact.address: The address is {address}. / It is [located|found] at {address}.
system.fact.postcode: The postcode is {postcode}. / Their postcode is {postcode}.
system.fact.fee: The entrance fee is {fee}. / Entrance costs {fee}.
system.fact.fee.free: Entrance is free. / There is no entrance fee, it is free.
system.fact.area: It is in the {area}. / It is [located|found] in the {area} of town.
system.fact.pricerange: It is {priced}. / The prices are {pricerange}.
system.fact.food: They serve {food} food. / The food is {food}.
system.fact.stars: It has {stars} stars.
system.fact.duration: [The trip|It] takes {duration}. / The travel time is {duration}.
system.fact.price: [A ticket|It] costs {price}. / The price is {price}.
system.offerbook: [Would you like|Do you want] me to book it? / [Can I|Should I] book it for you?
    / Would you like to book?
system.booked: [Your booking is|It is] done. The reference is {ref}.
    / I booked it. [Your reference number|The reference] is {ref}. / Booked! Your reference is {ref}.
system.nobook: [Sorry|I am sorry], it is full [at that time|then]. / The booking [did not work|failed], I am afraid.
    / They have nothing free then.
system.nobook.ask: [Can|Could] you try another {what}? / Would another {what} work?
system.journey: {id} leaves at {leaveAt} and arrives at {arriveBy}. / There is {id}, leaving at {leaveAt}.
    / {id} gets you there by {arriveBy}. / I have {id} at {leaveAt}.
system.journey.bus: There is a bus at {leaveAt}, arriving at {arriveBy}. / A bus leaves at {leaveAt}.
    / The bus at {leaveAt} gets there by {arriveBy}.
system.journey.select: You can leave at {leaveAt} or {later}. Which is better?
    / There is one at {leaveAt} and one at {later}.
system.offerbooked: Booked for {people}. The total is {total}, reference {ref}.
    / [Your tickets are|It is] booked. Reference {ref}, {total} in all.
    / Done, {people} on that one. The reference is {ref}.
system.taxi: A {car} will [pick you up|come], the number is {phone}. / Your taxi is booked, a {car}. Call {phone}.
    / [Done|OK]! Look for a {car}. The number is {phone}.
system.hospital: The number of {department} is {phone}. / You can call {department} at {phone}.
system.hospital.place: The hospital is at {address}, postcode {postcode}.
system.reqmore: [Can I help with anything else|Anything else|Is there anything else]? / What else can I do for you?
    / Do you need [anything|something] else?
system.welcome: You are welcome. / [Glad|Happy] to help. / My pleasure.
system.bye: [Goodbye|Bye], have a [nice|great|lovely] day. / Enjoy your [stay|visit|time here].
    / Thank you and goodbye.
system.greet: [Hello|Hi], how can I help? / [Welcome|Hello], what can I do for you?
system.named: The {name} is {about}. / [Yes|Sure], the {name} is {about}. / I know it, it is {about}.
system.another: There is also the {name}. / Then how about the {name}? / You could try the {name}.
"""


def _parse_phrases(text: str) -> dict[str, tuple[str, ...]]:
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    entries = re.sub(r"\n +/", " /", "\n".join(lines)).split("\n")
    pairs = (entry.split(": ", 1) for entry in entries)
    return {key: tuple(sentences.split(" / ")) for key, sentences in pairs}


PHRASES = _parse_phrases(TEXT)


@cache
def expand_templates(templates: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Every wording of every template.

    >>> expand_templates(("[Hello|Hi] you.",))
    (('Hello you.', 'Hi you.'),)
    """
    return tuple(tuple(_expand_template(template)) for template in templates)


def _expand_template(template: str) -> list[str]:
    parts = [part.split("|") if n % 2 else [part] for n, part in enumerate(re.split(r"\[([^]]*)]", template))]
    return [re.sub(" +", " ", "".join(choice)).strip() for choice in itertools.product(*parts)]


def say_phrase(key: str, /, *, rng: random.Random, **values: str) -> str:
    """One way of saying it.

    >>> say_phrase("system.fact.stars", rng=random.Random(0), stars="4")
    'It has 4 stars.'
    """
    text = rng.choice(rng.choice(expand_templates(PHRASES[key]))).format_map(values)
    return text[0].upper() + text[1:]


HEADS = {
    "restaurant": ("restaurant", "place to eat", "place to dine"),
    "hotel": ("place to stay", "room", "hotel or guesthouse"),
    "attraction": ("place to visit", "place to go", "attraction"),
    "train": ("train",),
    "bus": ("bus",),
}
PLACE_PLURALS = {"restaurant": "restaurants", "hotel": "places to stay", "attraction": "places"}
COMFORTS = {"internet": "wifi", "parking": "parking"}
FACTS = {
    "phone": ("phone number",),
    "address": ("address",),
    "postcode": ("postcode",),
    "entrance fee": ("entrance fee",),
    "area": ("area",),
    "pricerange": ("price range",),
    "food": ("type of food",),
    "stars": ("star rating",),
    "duration": ("travel time", "duration"),
    "price": ("price", "ticket price"),
}
WHAT = {
    "pricerange": "price range",
    "leaveAt": "time",
    "arriveBy": "time",
    "stay": "length of stay",
    "stars": "star rating",
}


def count_things(slot: str, value: str) -> str:
    """The value with its unit.

    >>> count_things("people", "1"), count_things("stay", "3"), count_things("day", "friday")
    ('1 person', '3 nights', 'Friday')
    """
    if slot == "people":
        return "1 person" if value == "1" else f"{value} people"
    if slot == "stay":
        return "1 night" if value == "1" else f"{value} nights"
    return value.title() if slot in ("day", "departure", "destination", "food") else value


def as_written(slot: str, value: str) -> str:
    """The value of a fact as it is written: postcodes in capitals, addresses and kinds of food as names."""
    if slot == "postcode":
        return value.upper()
    return value.title() if slot in ("address", "food") else value


def price_adjective(value: str) -> str:
    """A price range as an adjective."""
    return "moderately priced" if value == "moderate" else value


def add_article(phrase: str) -> str:
    """The phrase with a or an.

    >>> add_article("expensive room"), add_article("Indian place"), add_article("cheap room")
    ('an expensive room', 'an Indian place', 'a cheap room')
    """
    return ("an " if phrase[0] in "aeiouAEIOU" else "a ") + phrase


def joined_with_and(parts: Sequence[str]) -> str:
    """Parts joined with commas and a last `and`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def describe_thing(domain: str, slots: Mapping[str, str], *, rng: random.Random, with_article: bool = True) -> str:
    """What is looked for, e.g. "a cheap hotel in the north with free wifi"."""
    slots = {slot: value for slot, value in slots.items() if value != "dontcare"}
    words = _place_words(domain, slots, rng) if domain in PLACE_PLURALS else _journey_words(domain, slots)
    phrase = " ".join(words)
    return add_article(phrase) if with_article else phrase


def _place_words(domain: str, slots: Mapping[str, str], rng: random.Random) -> list[str]:
    before = [price_adjective(slots["pricerange"])] if "pricerange" in slots else []
    after = []
    if "food" in slots:
        if rng.random() < 0.6:
            before.append(slots["food"].title())
        else:
            after.append(f"serving {slots['food'].title()} food")
    if "stars" in slots:
        if rng.random() < 0.5 or COMFORTS.keys() & slots.keys():
            before.append(f"{slots['stars']} star")
        else:
            after.append(f"with {slots['stars']} stars")
    if "area" in slots:
        after.append(f"in the {slots['area']}")
    after += _list_comforts(slots)
    head = slots.get("type") or rng.choice(HEADS[domain])
    return [*before, head, *after]


def _list_comforts(slots: Mapping[str, str]) -> list[str]:
    wishes = [(word, slots[slot]) for slot, word in COMFORTS.items() if slot in slots]
    words = {"yes": "with", "no": "without"}
    if len(wishes) == 2 and wishes[0][1] == wishes[1][1]:
        return [f"{words[wishes[0][1]]} wifi {'and' if wishes[0][1] == 'yes' else 'or'} parking"]
    return [f"{words[value]} {name}" for name, value in wishes]


def _journey_words(domain: str, slots: Mapping[str, str]) -> list[str]:
    words = [domain]
    for slot, preposition in (("departure", "from"), ("destination", "to"), ("day", "on")):
        if slot in slots:
            words += [preposition, slots[slot].title()]
    if "leaveAt" in slots:
        words += ["leaving after", slots["leaveAt"]]
    if "arriveBy" in slots:
        words += ["arriving by", slots["arriveBy"]]
    return words


def describe_booking(slots: Mapping[str, str]) -> str:
    """Booking details, e.g. "3 people on Friday at 19:00"."""
    words = [count_things(slot, slots[slot]) for slot in ("people", "stay") if slot in slots]
    text = joined_with_and(words) if words else ""
    if "day" in slots:
        text += f" {'from' if 'stay' in slots else 'on'} {slots['day'].title()}"
    if "time" in slots:
        text += f" at {slots['time']}"
    return text.strip().removeprefix("on ").removeprefix("at ")


def facts_asked(slots: Sequence[str], *, rng: random.Random) -> str:
    """The facts asked for, e.g. "the phone number and the address"."""
    return joined_with_and([f"the {rng.choice(FACTS[slot])}" for slot in slots])


def say_instead(slot: str, value: str) -> str:
    """A replacement value as a noun phrase for "how about ... instead?"."""
    if slot in ("people", "stay", "day", "time", "leaveAt", "arriveBy"):
        return count_things(slot, value)
    shapes = {
        "area": f"the {value}",
        "food": f"{value.title()} food",
        "pricerange": f"something {price_adjective(value)}",
        "stars": f"{value} stars",
        "type": add_article(value),
        "internet": "one with wifi" if value == "yes" else "one without wifi",
        "parking": "one with parking" if value == "yes" else "one without parking",
    }
    return shapes.get(slot) or value.title()


def with_article(name: str) -> str:
    """A place with its article, a town without.

    >>> with_article("copper lodge"), with_article("ashmere")
    ('the Copper Lodge', 'Ashmere')
    """
    return name.title() if name in (TOWN, *TOWNS) else f"the {name.title()}"
