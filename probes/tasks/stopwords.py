"""English function words that say nothing of a person: left out of PersonalInfo."""

WORDS = """
a about after again all also always am an and any are as at be because been before being but by can could did do does
doing don down each ever every few for from get go got had has have having he her here hers him his how i if in into is
it its just many me more most much my never no nor not now of off on once one only or other our out over own really same
she should so some such t than that the their them then there these they this those through to too under until up us
very was we were what when where which while who whom why will with would you your
"""
STOPWORDS = frozenset(WORDS.split())
