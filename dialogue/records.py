"""The records that packages hand each other, as frozen dataclasses: the contract of every file of a study.

Each field's `doc` is the text of docs/format.md; `Literal` types are the legal values; fields with a default may be
missing from a file. Fields that a record does not know are kept in `extra` and written back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Choice = Literal["a", "b", "tie"]
Side = Literal["a", "b"]
TieKind = Literal["good", "poor"]
PairKind = Literal["real", "check", "control"]
Source = Literal["local", "mturk", "prolific", "panel", "mephisto", "simulated", "imported", "judge"]
RaterStatus = Literal["passed", "blocked", "incomplete", "excluded"]
Device = Literal["phone", "tablet", "desktop"]
Ruling = Literal["a", "b", "tie", "unusable"]
Order = Literal["ab", "ba"]
QuestionKind = Literal["real", "check"]
PartType = Literal["text", "image", "audio", "video", "tool_call", "tool_result"]


def _field(doc: str, *, sparse: bool = False, **options: Any) -> Any:
    """A field with its documentation; a `sparse` one is written only where it says something."""
    return field(metadata={"doc": doc, "sparse": sparse}, **options)


def _extra_fields() -> Any:
    return field(default_factory=dict, metadata={"doc": "fields of the file that this record does not know, kept"})


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a text that holds more than words. A file is named by its path from the folder of the records."""

    type: PartType = _field("what it is")
    text: str = _field("words; of a tool result, what the tool gave", sparse=True, default="")
    file: str = _field("image, audio, video: its file, inside the folder of this one", sparse=True, default="")
    alt: str = _field("words for who cannot see or hear it: read out, not shown", sparse=True, default="")
    caption: str = _field("words below it, for everybody", sparse=True, default="")
    captions: str = _field("audio, video: a file of WebVTT, what is said and when", sparse=True, default="")
    name: str = _field("tool call: the tool", sparse=True, default="")
    arguments: str = _field("tool call: what the tool was asked, e.g. JSON", sparse=True, default="")
    sha256: str = _field("of the file, as the server read it", sparse=True, default="")
    captions_sha256: str = _field("of the file of captions", sparse=True, default="")


PARTS = "what is shown in place of `text`: words, images, recordings, calls of tools; `text` may be this list itself"


@dataclass(frozen=True, slots=True)
class Utterance:
    """One line of a conversation, as a rater sees it."""

    speaker: str = _field("who speaks, e.g. `user` or `system`")
    text: str = _field("the text, shown literally")
    parts: Sequence[Part] | None = _field(PARTS, sparse=True, default=None)


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a corpus with its annotation, where the corpus has one."""

    speaker: str = _field("`user` or `system` (MultiWOZ); `partner` or `self` (PersonaChat)")
    text: str = _field("what is said")
    belief: Mapping[str, str] | None = _field(
        "user turns: the slots filled after this turn, `domain-section-slot` -> value, in the annotation's order",
        default=None,
    )
    acts: Mapping[str, Sequence[tuple[str, str]]] | None = _field(
        "`Domain-Act` -> list of (slot, value), in the annotation's order", default=None
    )
    booked: Sequence[str] | None = _field("system turns: the domains booked by then, where annotated", default=None)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation of a corpus."""

    dialogue: str = _field("id, unique in the corpus")
    split: str = _field("`train`, `valid` or `test`")
    turns: Sequence[Turn] = _field("the utterances in order")
    persona: Mapping[str, Sequence[str]] = _field("speaker -> persona sentences", default_factory=dict)
    goal: Mapping[str, Mapping[str, Any]] = _field(
        "domain -> what the user was to find (`info`), ask for (`reqt`) and book (`book`), as annotated",
        default_factory=dict,
    )


@dataclass(frozen=True, slots=True)
class Response:
    """What one model answered to one context (`responses.jsonl`)."""

    item: str = _field("context id: `dialogue:n`, n = number of utterances in the context (the target's index)")
    model: str = _field("architecture or system name")
    seed: int | None = _field("training seed, null where there is none")
    checkpoint: str = _field("`untrained`, `epoch-N`, `last`, `best_bleu`, ...")
    text: str = _field("the response")
    logprob: float | None = _field("sum of the tokens' log-probabilities under the model", default=None)
    decoding: str = _field("decoding method, e.g. `greedy` or `nucleus:0.9`", default="unknown")
    state: Mapping[str, Mapping[str, str]] | None = _field(
        "what the system believes after this turn: domain -> slot -> value", sparse=True, default=None
    )
    domains: Sequence[str] | None = _field(
        "domains that the system takes this turn to be about", sparse=True, default=None
    )
    parts: Sequence[Part] | None = _field(PARTS, sparse=True, default=None)
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One side of a pair."""

    text: str = _field("the response; of a whole conversation its `turns`, one line each: `speaker: text`")
    model: str = _field("architecture or system name")
    seed: int | None = _field("training seed", default=None)
    checkpoint: str = _field("checkpoint name", default="unknown")
    turns: Sequence[Utterance] | None = _field(
        "where whole conversations are compared: the conversation, list of `{speaker, text}`",
        sparse=True,
        default=None,
    )
    speaker: str = _field("who of `turns` is judged; raters are never shown the name", sparse=True, default="")
    parts: Sequence[Part] | None = _field(PARTS, sparse=True, default=None)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two responses to one context, to be compared (`pairs.jsonl`); never sent to a rater as it stands."""

    pair: str = _field("id, unique in the file")
    item: str = _field("context id, see response")
    context: Sequence[Utterance] = _field("the conversation so far, list of `{speaker, text}`")
    a: Candidate = _field("first response: `{text, model, seed, checkpoint}`")
    b: Candidate = _field("second response")
    kind: PairKind = _field("real comparison, hidden check, or control with known relation", default="real")
    identical: bool = _field("both texts are identical", default=False)
    dialogue: str | None = _field("cluster: the dialogue that the context comes from", default=None)
    answer: Choice | None = _field("checks only: the right choice; never leaves the server", default=None)
    contrast: str = _field("what is compared, e.g. `bilstm_attn:0-1`, `within-seed`, `reference-random`", default="")
    answers: Mapping[str, Choice] = _field(
        "checks of a study with several questions: question -> its right choice; `answer` is that of the "
        "first one; never leaves the server",
        sparse=True,
        default_factory=dict,
    )
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class Vote:
    """One judgement of one pair by one rater (`votes.jsonl`); sides are already un-swapped."""

    pair: str = _field("pair id")
    rater: str = _field("rater id: a keyed hash, never a name")
    choice: Choice = _field("which response was chosen: `a` and `b` as in pairs.jsonl, regardless of the side")
    round: int = _field("1..k: number of the vote among the pair's counted votes (= HumanExp-k); 0 if not counted")
    left: Side | None = _field("which response was on the left (or on top)", default=None)
    seconds: float | None = _field("time from showing to answering", default=None)
    submitted: str | None = _field("time of the answer, ISO 8601, UTC", default=None)
    source: Source = _field("where the rater came from; a vote of a `judge` is refused", default="imported")
    rater_status: RaterStatus = _field("gate status of the rater", default="passed")
    counted: bool = _field(
        "one of the pair's k votes; false for late votes and for those of blocked raters", default=True
    )
    kind: PairKind = _field("kind of the pair, `real` or `control`", default="real")
    identical: bool = _field("both responses were the same text", default=False)
    dialogue: str | None = _field("cluster: the dialogue of the pair", default=None)
    question: str = _field(
        "which of several questions is answered; they are analysed one by one and never pooled",
        sparse=True,
        default="",
    )
    strength: int | None = _field("how strong the preference is, 1 the slightest", sparse=True, default=None)
    tie_kind: TieKind | None = _field("what kind of tie it is: both good or both poor", sparse=True, default=None)
    score_a: int | None = _field(
        "where each response is rated on a scale: that of `a`; `choice` is then the higher one",
        sparse=True,
        default=None,
    )
    score_b: int | None = _field("that of `b`", sparse=True, default=None)
    device: Device | None = _field(
        "kind of device; null without a script, or where hit.toml has `page_view = false`", sparse=True, default=None
    )
    turns: int | None = _field(
        "how many turns the context has, where it is known how many were seen", sparse=True, default=None
    )
    turns_seen: int | None = _field("how many of them were on the screen", sparse=True, default=None)
    context_seconds: float | None = _field("how long any of them was on the screen", sparse=True, default=None)
    marks: int | None = _field(
        "how many passages were marked as wrong, in all responses together; null where it was not asked",
        sparse=True,
        default=None,
    )
    differences: bool | None = _field(
        'the words that differ were underlined; null where hit.toml has `differences = "off"`, or the responses are '
        "not near-identical",
        sparse=True,
        default=None,
    )
    batch: int | None = _field("of an adaptive study: the batch in which the pair came up", sparse=True, default=None)
    propensity: float | None = _field(
        "of an adaptive study: the probability with which the pair came into that batch", sparse=True, default=None
    )
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class HeldConversation:
    """What one rater said to both sides of a pair at once, and what each answered (`conversations.jsonl`)."""

    pair: str = _field("pair id")
    rater: str = _field("keyed hash, as in votes")
    a: Sequence[Utterance] = _field("the conversation with side `a` of the pair, list of `{speaker, text}`")
    b: Sequence[Utterance] = _field("the conversation with side `b`; what `user` says is the same in both")
    turns: int = _field("messages of the rater")
    outcome: Literal["voted", "returned", "open"] = _field(
        "how it ended: with a vote, handed back because a system did not answer, or not yet"
    )
    left: Side | None = _field("which side was on the left", default=None)
    counted: bool = _field("the vote on it is one of the pair's k", default=False)
    kind: PairKind = _field("kind of the pair", default="real")
    dialogue: str | None = _field("cluster: the dialogue of the pair", default=None)
    topic: str = _field("what the rater was asked to talk about", sparse=True, default="")
    began: str | None = _field("time of the first message, ISO 8601, UTC", default=None)
    seconds_a: Sequence[float] = _field("how long each reply of `a` took", sparse=True, default=())
    seconds_b: Sequence[float] = _field("the same of `b`", sparse=True, default=())
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class Comment:
    """What one rater wrote (`comments.jsonl`), apart from the votes: free text may name somebody."""

    pair: str = _field("pair id; empty for a comment at the end of a sitting, which is about no pair")
    rater: str = _field("keyed hash, as in votes")
    question: str = _field("name of the question")
    text: str = _field("what the rater wrote")
    counted: bool = _field("the same rater's vote on the pair is one of its k; at the end: they passed", default=True)
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class MarkedPassage:
    """A passage of a response that one rater marked as wrong (`marks.jsonl`)."""

    pair: str = _field("id of the pair or set")
    rater: str = _field("keyed hash, as in votes")
    response: str = _field("which response: `a` or `b`, or its index in a set")
    start: int = _field("first character, counted from 0, of the response's text")
    end: int = _field("the character after the last one")
    category: str = _field("what is wrong, one of `categories` in hit.toml")
    text: str = _field("the passage itself")
    counted: bool = _field("the same rater's vote is one of the pair's k", default=True)
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class Rater:
    """One rater (`raters.jsonl`); no name, no address, no payment data."""

    rater: str = _field("keyed hash, as in votes")
    source: Source = _field("where the rater came from")
    status: RaterStatus = _field("gate status")
    checks_seen: int = _field("hidden checks answered")
    checks_failed: int = _field("hidden checks failed")
    votes: int = _field("judgements of real and control pairs, counted or not")
    consented: str | None = _field("version and time of the consent", default=None)
    median_seconds: float | None = _field("median time of a judgement", default=None)
    profile: Mapping[str, str] = _field(
        "coarse answers about the rater, each chosen from a list: name of the question -> answer",
        sparse=True,
        default_factory=dict,
    )
    language: str = _field(
        "language of the pages that the rater read last, where the study has several", sparse=True, default=""
    )
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class Verdict:
    """One answer of a judge, that is of a program, on one pair (`verdicts.jsonl`); it is never counted as a vote."""

    pair: str = _field("pair id")
    judge: str = _field("the judge's name, e.g. that of a language model")
    order: Order = _field("which response stood first: `ab` or `ba`")
    choice: Ruling = _field(
        "`a` and `b` as in pairs.jsonl, regardless of the order; `unusable`: the reply says neither"
    )
    prompt: str = _field("SHA-256 of the template of the prompt, or its beginning; empty where unknown", default="")
    draw: int = _field("0, 1, ...: number of the call, where one question is asked several times", default=0)
    probability: Mapping[str, float] | None = _field(
        "the judge's probabilities of `a`, `b` and `tie`, which add to 1", default=None
    )
    reply: str = _field("the first 2,000 characters of what the judge wrote", default="")
    tokens_in: int | None = _field("tokens charged for the prompt", default=None)
    tokens_out: int | None = _field("tokens charged for the reply", default=None)
    seconds: float | None = _field("time of the call", default=None)
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class Option:
    """One possible next utterance of a question."""

    text: str = _field("the utterance")
    item: str = _field("context id that it is taken from, see response; empty where unknown", default="")
    parts: Sequence[Part] | None = _field(PARTS, sparse=True, default=None)


@dataclass(frozen=True, slots=True)
class Question:
    """Which utterance comes next: a context and its options (`questions.jsonl`); never sent to a rater as it stands."""

    question: str = _field("id, unique in the file")
    item: str = _field("context id, see response")
    context: Sequence[Utterance] = _field("the conversation so far, list of `{speaker, text}`")
    options: Sequence[Option] = _field("two or more, all different: list of `{text, item}`")
    answer: int = _field("index of the true one, from 0; never leaves the server")
    kind: QuestionKind = _field("real question, or hidden check", default="real")
    dialogue: str | None = _field("cluster: the dialogue that the context comes from", default=None)
    corpus: str = _field("name of the corpus", default="")
    version: int = _field("1, 2, ...: the part of the questions that one rater sees", default=1)
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """One rater's answer to one question (`choices.jsonl`)."""

    question: str = _field("question id")
    rater: str = _field("rater id: a keyed hash, never a name")
    first: int | None = _field("index of the option that is chosen as in questions.jsonl, null where none was")
    second: int | None = _field("index of the second choice, null where none was", default=None)
    shown: str = _field("indices of the options from top to bottom: `20413`, with commas if more than ten", default="")
    round: int = _field("1..k: number of the answer among the question's counted ones; 0 if not counted", default=0)
    seconds: float | None = _field("time from showing to answering", default=None)
    submitted: str | None = _field("time of the answer, ISO 8601, UTC", default=None)
    source: Source = _field("where the rater came from; an answer of a `judge` is refused", default="imported")
    rater_status: RaterStatus = _field("gate status of the rater", default="passed")
    counted: bool = _field("one of the question's k answers", default=True)
    kind: QuestionKind = _field("kind of the question", default="real")
    dialogue: str | None = _field("cluster: the dialogue of the question", default=None)
    device: Device | None = _field(
        "kind of device; null without a script, or where hit.toml has `page_view = false`", sparse=True, default=None
    )
    turns: int | None = _field(
        "how many turns the context has, where it is known how many were seen", sparse=True, default=None
    )
    turns_seen: int | None = _field("how many of them were on the screen", sparse=True, default=None)
    context_seconds: float | None = _field("how long any of them was on the screen", sparse=True, default=None)
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class ResponseSet:
    """One response, or several of as many systems, to be judged at once (`response_sets.jsonl`); never sent as it is.

    A check asks `best:2` (response 2, counted from 0, is above all others), `worst:2` or `0>2` (response 0 is above
    response 2). Or it asks `low:0` or `high:0`: response 0 is rated in the lower or upper half of the scale.
    """

    set: str = _field("id, unique in the file")
    item: str = _field("context id, see response")
    context: Sequence[Utterance] = _field("the conversation so far, list of `{speaker, text}`")
    responses: Sequence[Candidate] = _field("one or more, list of `{text, model, seed, checkpoint}`")
    kind: PairKind = _field("real, hidden check, or control", default="real")
    identical: bool = _field("all of its texts, two or more, are the same", default=False)
    dialogue: str | None = _field("cluster: the dialogue that the context comes from", default=None)
    answer: str | None = _field(
        "checks only: what must hold of the first question, see above; never leaves the server", default=None
    )
    answers: Mapping[str, str] = _field(
        "checks of a study with several questions: question -> what must hold of it, as well as `answer`",
        sparse=True,
        default_factory=dict,
    )
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class ResponseRating:
    """What one rater said of one response in answer to one question (`ratings.jsonl`)."""

    set: str = _field("id of the set that the response was shown in")
    rater: str = _field("rater id: a keyed hash, never a name")
    question: str = _field("which question is answered; questions are analysed one by one and never pooled")
    system: str = _field("who wrote the response, as tables name it: `model-seed`")
    item: str = _field("context id, see response")
    response: int = _field("index of the response in its set, from 0")
    score: int | None = _field("its rating, where the question is a scale", default=None)
    rank: float | None = _field(
        "its rank, 1 the best, where the question is a ranking; equals share the mean of their ranks", default=None
    )
    place: int | None = _field("where it was shown, 1 the first", default=None)
    of: int = _field("how many responses were shown at once", default=1)
    round: int = _field("1..k: number of the answer among the set's counted ones; 0 if not counted", default=0)
    seconds: float | None = _field("time from showing to answering, of all questions together", default=None)
    submitted: str | None = _field("time of the answer, ISO 8601, UTC", default=None)
    source: Source = _field("where the rater came from; a rating of a `judge` is refused", default="imported")
    rater_status: RaterStatus = _field("gate status of the rater", default="passed")
    counted: bool = _field("one of the set's k answers", default=True)
    kind: PairKind = _field("kind of the set, `real` or `control`", default="real")
    identical: bool = _field("all responses of the set were the same text", default=False)
    dialogue: str | None = _field("cluster: the dialogue of the set", default=None)
    device: Device | None = _field(
        "kind of device; null without a script, or where hit.toml has `page_view = false`", sparse=True, default=None
    )
    turns: int | None = _field(
        "how many turns the context has, where it is known how many were seen", sparse=True, default=None
    )
    turns_seen: int | None = _field("how many of them were on the screen", sparse=True, default=None)
    context_seconds: float | None = _field("how long any of them was on the screen", sparse=True, default=None)
    marks: int | None = _field(
        "how many passages of this response were marked as wrong; null where it was not asked",
        sparse=True,
        default=None,
    )
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class States:
    """The JSON sidecar of a matrix of encoder states (`states/*.npy`, one row an item)."""

    model: str = _field("architecture")
    seed: int | None = _field("training seed")
    checkpoint: str = _field("checkpoint name")
    ids: Sequence[str] = _field("item id of each row, see response")
    pooling: str = _field("`last` (top layer's last state), `mean` (over real tokens), ...")
    width: int = _field("numbers a row")
    dtype: str = _field("`float32` or `float16`")
    threads: int = _field("threads used: they change the last bits")
    weights: str = _field("SHA-256 of the checkpoint's weights")
    signature: str = _field("recipe")
    extra: Mapping[str, Any] = _extra_fields()


@dataclass(frozen=True, slots=True)
class Score:
    """One example's score by one evaluator: a row of `scores.parquet`, `metrics.parquet` or a table of your own."""

    evaluator: str = _field("`probe`, `token`, or your own; `baseline` and `control` go with another one")
    task: str = _field("probe task or metric name")
    model: str = _field("architecture or system")
    seed: int | None = _field("training seed")
    checkpoint: str = _field("checkpoint name")
    item: str = _field("context id, see response; for a task whose card says level `dialogue`, the dialogue")
    rater: str = _field("who or what scored: a classifier and its seed, a rule, a judge, a person")
    score: float = _field("this example's score; NaN where it could not be made")
    stats: Mapping[str, float] = _field("summable counts, e.g. tp, fp, fn: a struct column", default_factory=dict)
    cluster: str | None = _field("the dialogue", default=None)
    condition: str = _field("what else varies: decoding, split, a perturbation; others are never pooled", default="")
    reason: str = _field("why there is no score, where it is NaN: counted and printed, never averaged", default="")


def key_of(side: Candidate) -> tuple[str, int | None, str]:
    """What makes a system: model, seed and checkpoint."""
    return side.model, side.seed, side.checkpoint


def system_names(pairs: Iterable[Pair]) -> dict[tuple[str, int | None, str], str]:
    """The systems of real pairs as people read them: `model-seed`, the checkpoint only where there are several."""
    keys = {key_of(side) for pair in pairs if pair.kind == "real" for side in (pair.a, pair.b)}
    short = {key: key[0] if key[1] is None else f"{key[0]}-{key[1]}" for key in keys}
    twice = {name for name in short.values() if sum(second == name for second in short.values()) > 1}
    return {key: f"{name}@{key[2]}" if name in twice else name for key, name in short.items()}
