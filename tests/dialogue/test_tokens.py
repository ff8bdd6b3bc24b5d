"""Every package spells texts alike."""

from hypothesis import given
from hypothesis import strategies as st

from seedvote.dialogue.tokens import detokenize, normalize, tokenize


def test_times_prices_contractions_and_hyphens_stay_whole():
    text = "It's 10.50 pounds at 16:15 in a bed-and-breakfast, isn't it?"
    assert tokenize(text)[:4] == ["it's", "10.50", "pounds", "at"]
    assert {"16:15", "bed-and-breakfast", "isn't"} <= set(tokenize(text))


@given(st.text())
def test_spelling_a_text_as_a_model_would_is_done_once_for_all(text):
    assert tokenize(normalize(text)) == tokenize(text)
    assert normalize(normalize(text)) == normalize(text)


def test_marks_close_up_with_their_word():
    assert detokenize(["(", "yes", ")", ",", "no", "!"]) == "(yes), no!"
