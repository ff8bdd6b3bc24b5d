"""A study of response sets as its export leaves it: three systems ranked by `order`, rated by `fluent` and `useful`."""

import numpy as np

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Rater, ResponseRating, ResponseSet, Utterance
from tests.analysis.questions.ratings.rankings import rankings

SYSTEMS = ("lstm-0", "gru-0", "best-1")
HIT = """\
form = "responses"
[[questions]]
name = "order"
ask = "Which is best, which comes next?"
kind = "ranking"
[[questions]]
name = "fluent"
ask = "How natural is each?"
kind = "likert"
[[questions]]
name = "useful"
ask = "How useful is each?"
kind = "likert"
"""


def make_sets_study(folder, *, items=12, source="prolific", more=(), seed=5):
    """The folder; `more` are further ratings, of blocked raters or controls."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hit.toml").write_text(HIT, encoding="utf-8")
    rows = []
    for item, rater, ranks in rankings(
        np.random.default_rng(seed), items=items, raters=6, per_item=3, worth=(0, 0.2, 4)
    ):
        for index, rank in enumerate(map(int, ranks)):
            told = {"set": f"s{item}", "rater": f"r{rater}", "system": SYSTEMS[index], "item": f"d{item}:1", "of": 3}
            told |= {"response": index, "place": index + 1, "source": source, "dialogue": f"d{item}"}
            rows.append(ResponseRating(question="order", rank=float(rank), **told))
            rows.append(ResponseRating(question="fluent", score=4 - rank + (item + rater) % 2, **told))
            rows.append(ResponseRating(question="useful", score=3 + (index == 2), **told))
    write_records(folder / "ratings.jsonl", [*rows, *more], signature="test", kind=ResponseRating)
    texts = ("I have a car.", "Sure.", "The museum is free, and open until five.")
    sets = [
        ResponseSet(
            set=f"s{item}", item=f"d{item}:1", context=[Utterance("user", f"Is there museum {item}?")],
            responses=[Candidate(text, name[:-2], int(name[-1]), "last") for text, name in
                       zip(texts, SYSTEMS, strict=True)],
            dialogue=f"d{item}",
        )
        for item in range(items)
    ]  # fmt: skip
    write_records(folder / "response_sets.jsonl", sets, signature="test", kind=ResponseSet)
    raters = [Rater(f"r{n}", source, "passed", 2, 0, 12, "1", 5.0) for n in range(6)]
    write_records(folder / "raters.jsonl", raters, signature="test", kind=Rater)
    return folder
