"""Hidden checks of whole conversations: one side was held, in the other the judged speaker's part is made wrong."""

from collections import Counter

from seedvote.dialogue.conversations.pairing import conversation_checks
from seedvote.dialogue.conversations.reading import RatedConversation
from seedvote.dialogue.records import Utterance
from seedvote.dialogue.validity import complaint


def held(number, turns=6, words=8):
    lines = [" ".join(f"w{number}x{turn}x{word}" for word in range(words)) for turn in range(turns)]
    said = tuple(Utterance(("user", "system")[n % 2], text) for n, text in enumerate(lines))
    return RatedConversation(f"f:{number}", f"d{number}", said, "system", "ours", number % 3, goal=f"g{number // 2}")


def spoilt(pair):
    right, wrong = (pair.a, pair.b) if pair.answer == "a" else (pair.b, pair.a)
    return right, wrong


def test_wrong_side_of_a_check_differs_in_judged_turns():
    known = [held(n) for n in range(30)]
    checks = conversation_checks(known, 16, seed=0)
    assert Counter((pair.contrast, pair.answer) for pair in checks) == {("off-topic", side): 8 for side in "ab"}
    spoken = {turn.text for one in known for turn in one.turns if turn.speaker == "system"}
    originals = {one.turns: one for one in known}
    for pair in checks:
        right, wrong = spoilt(pair)
        own = originals[right.turns]
        assert pair.kind == "check" and not complaint(pair) and wrong.speaker == right.speaker == "system"
        for before, after in zip(right.turns, wrong.turns, strict=True):
            assert before.speaker == after.speaker
            assert (before.text == after.text) == (before.speaker == "user")
            if before.speaker == "system":  # a turn as long that somebody said, about another thing
                assert after.text in spoken and len(after.text.split()) == len(before.text.split())
                (source,) = [one for one in known if after.text in {turn.text for turn in one.turns}]
                assert source.goal != own.goal
    assert len({pair.pair for pair in checks}) == 16
    assert checks == conversation_checks(known, 16, seed=0) != conversation_checks(known, 16, seed=1)


def test_checks_skip_short_conversations():
    assert conversation_checks([held(n, turns=2, words=3) for n in range(9)], 5, seed=0) == []
    mixed = [held(0, turns=61), *(held(n, turns=4) for n in range(2, 9))]
    for pair in conversation_checks(mixed, 8, seed=0):
        right, wrong = spoilt(pair)
        assert len(right.turns) == len(wrong.turns)
