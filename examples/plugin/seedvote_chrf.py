"""An evaluator for Seedvote: chrF, the F-score of character n-grams (Popovic 2015), against what people said.

A neural metric looks the same: load the model in `__init__`, score a batch in `score`.
"""

from collections import Counter

CARD = {
    "title": "chrF",
    "tasks": {"chrf": {"title": "chrF", "unit": "share", "scale": 100, "better": "higher"}},
}
LONGEST, BETA = 6, 2.0  # n-grams of up to six characters; recall counts twice


class CharacterF:
    """chrF of each response, between 0 and 1."""

    version = "1.0"
    card = CARD

    def score(self, responses):
        """One score a response; none where nobody knows what people said."""
        return {"chrf": [None if one.reference is None else chrf(one.response, one.reference) for one in responses]}


def chrf(response: str, reference: str) -> float:
    """The mean over lengths of n-grams of precision and recall, joined to F.

    >>> chrf("there are two trains", "there are two trains"), round(chrf("two trains", "there are two trains"), 2)
    (1.0, 0.5)
    """
    texts = ["".join(text.split()) for text in (response, reference)]
    parts = [_overlap(*(_grams(text, n) for text in texts)) for n in range(1, LONGEST + 1) if len(texts[1]) >= n]
    if not parts:
        return 0.0
    precision, recall = (sum(column) / len(parts) for column in zip(*parts, strict=True))
    both = BETA**2 * precision + recall
    return (1 + BETA**2) * precision * recall / both if both else 0.0


def _grams(text, n):
    return Counter(text[k : k + n] for k in range(len(text) - n + 1))


def _overlap(response, reference):
    common = sum((response & reference).values())
    return common / max(sum(response.values()), 1), common / max(sum(reference.values()), 1)
