"""Judges are no people: how a judge's vote is known by its source or its rater, and the sentence that refuses it.

A judge is a program that answers as a rater would. Its verdicts have a file of their own (`verdicts.jsonl`), whose
judges no vote beside it may bear the name of. Every reader of votes decides here.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import placed_records, read_field
from seedvote.dialogue.records import Source, Verdict
from seedvote.dialogue.validity import FORMATS

JUDGE = "judge"  # the source of a vote that a judge cast
VERDICTS = "verdicts.jsonl"
UNKNOWN_DOOR = "unknown"
# With its version, as judges are called: people are called Claude, but not claude-3.
MODELS = re.compile(
    r"(\S+/)?(gpt[- ]?\d|chatgpt|o\d(-|$)|claude[- ](\d|opus|sonnet|haiku|instant)|gemini[- ](\d|pro|flash|ultra)"
    r"|llama[- ]?\d|mixtral|mistral[- ](\d|large|medium|small)|qwen[-\d]|deepseek|gemma[- ]?\d|vicuna-|grok[- ]?\d)"
)
JUDGE_NAME = re.compile(
    r"gpt|\bllms?\b|auto-?(rater|judge)|prometheus-?\d"
    r"|^(ai|gemini|model|auto|automatic|machine|judge|bot|reward model)$"
)
MARKS = {"judge", "order", "choice"}  # fields that every verdict has, and no vote has all of


def read_verdicts(path: str | Path, pairs: Collection[str] | None = None) -> list[Verdict]:
    """All verdicts; refused where a call stands twice, or on a pair that is not among `pairs`, where they are given."""
    verdicts, first = [], dict[tuple[object, ...], str]()
    for where, verdict in placed_records(path, Verdict):
        call = verdict.pair, folded_name(verdict.judge), verdict.prompt, verdict.order, verdict.draw
        if first.setdefault(call, where) != where:
            raise InputError(
                f"{where}: a second verdict of {verdict.judge} on pair {verdict.pair!r}, after {first[call]}. Tell the "
                "two apart by prompt, order or draw, or keep one."
            )
        if pairs is not None and verdict.pair not in pairs:
            raise InputError(
                f"{where}: pair {verdict.pair!r} is not in the pairs file. Give the pairs that were judged."
            )
        verdicts.append(verdict)
    return verdicts


def shares_of(verdict: Verdict) -> tuple[float, float, float] | None:
    """A verdict as shares of a, b and tie: its probabilities, or all on its choice; None for an unusable one."""
    if verdict.choice == "unusable":
        return None
    if verdict.probability is not None:
        return verdict.probability.get("a", 0.0), verdict.probability.get("b", 0.0), verdict.probability.get("tie", 0.0)
    return float(verdict.choice == "a"), float(verdict.choice == "b"), float(verdict.choice == "tie")


def net_by_pair(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """How far each pair's a is ahead of b, from -1 to 1: the mean over judges of their mean usable verdict."""
    by_judge: dict[str, dict[tuple[str, str], list[float]]] = {}
    for verdict in verdicts:
        if (shares := shares_of(verdict)) is not None:
            judges = by_judge.setdefault(verdict.pair, {})
            judges.setdefault((verdict.judge, verdict.prompt), []).append(shares[0] - shares[1])
    return {
        pair: sum(sum(some) / len(some) for some in judges.values()) / len(judges) for pair, judges in by_judge.items()
    }


def folded_name(name: str) -> str:
    """A name without what people vary when they type it: case, width, spaces, dashes, and signs that nobody sees.

    >>> folded_name(" GPT-4  Turbo "), folded_name("GPT\N{NON-BREAKING HYPHEN}4\N{ZERO WIDTH SPACE} turbo")
    ('gpt-4 turbo', 'gpt-4 turbo')
    """
    kinds = ((sign, unicodedata.category(sign)) for sign in unicodedata.normalize("NFKC", name).casefold())
    return " ".join("".join("-" if kind == "Pd" else sign for sign, kind in kinds if kind != "Cf").split())


def is_model_name(name: str) -> bool:
    """Whether a rater's name is that of a language model family, as judges are commonly called.

    >>> is_model_name("GPT-4 Turbo"), is_model_name("claude-3-opus"), is_model_name("Claude"), is_model_name("phil")
    (True, True, False, False)
    """
    return MODELS.match(folded_name(name)) is not None


def is_judge_name(name: str) -> bool:
    """Whether a name is that of a judge, not of a person: a model's, or a word for one.

    >>> [is_judge_name(name) for name in ("gpt-4o", "LLM_judge", "Gemini", "AI", "ann", "judge_3", "Claude", "Ai Sato")]
    [True, True, True, True, False, False, False, False]
    """
    return is_model_name(name) or JUDGE_NAME.search(folded_name(name).replace("_", " ")) is not None


def find_judges(files: Iterable[Path]) -> dict[str, str]:
    """The judges of every verdicts.jsonl next to these files: their plain names, and where they are named.

    A file in a folder of the study (STUDY/export/votes.csv) counts as next to the study's verdicts.
    """
    judges: dict[str, str] = {}
    for folder in dict.fromkeys(folder for file in files for folder in _parent_folders(file)):
        path = folder / VERDICTS
        if path.is_file():
            for name in dict.fromkeys(read_field(path, Verdict, "judge")):
                judges.setdefault(folded_name(name), f"is {name!r}, a judge in {path}")
    return judges


def _parent_folders(file: Path) -> Iterator[Path]:
    folder = file.parent.resolve() if file.parent == Path() else file.parent
    yield folder
    if (folder.parent / "pairs.jsonl").is_file():
        yield folder.parent


def whose(source: str, rater: str, judges: Mapping[str, str]) -> str | None:
    """None for a person's vote; for a judge's what gives it away, empty where its source says so.

    >>> whose("local", "a07a31c2", {}), whose("Judge ", "x", {}), whose("", "GPT-X", {"gpt-x": "is 'gpt-x', a judge"})
    (None, '', "is 'gpt-x', a judge")
    >>> whose("judge:gpt-x", "x", {}), whose("judges", "x", {}), whose("LLM", "x", {}), whose("Judgement Day", "x", {})
    ('', '', '', None)
    """
    if re.match(r"(judge|llm)s?\b", folded_name(source)):
        return ""
    return judges.get(folded_name(rater))


PEOPLE = {
    *("human", "humans", "person", "people", "crowd", "crowdworker", "crowdworkers", "worker", "workers", "rater"),
    *(
        "raters",
        "annotator",
        "annotators",
        "expert",
        "experts",
        "author",
        "authors",
        "student",
        "students",
        "volunteer",
    ),
    *("volunteers", "participant", "participants", "amt", "mturk", "mechanical turk", "amazon mechanical turk", "user"),
    *("users", "cloudresearch", "connect", "prolific", "toloka", "appen", "surge", "scale", "upwork", "survey", "lab"),
    *("qualtrics", "google forms", "argilla", "label studio", "label-studio", "potato", "unknown", "web", "online"),
}  # what files say of people who judged; any other word is refused


def door_of(source: str, where: str) -> str:
    """Where a rater came from, in our word for it; refused where the word is not one that is known to mean people.

    >>> door_of("Local", "v.csv:2"), door_of("crowd", "v.csv:2"), door_of("", "v.csv:2"), door_of("llm", "v.csv:2")
    ('local', 'imported', 'unknown', 'judge')
    """
    word = folded_name(source)
    if not word:
        return UNKNOWN_DOOR
    if whose(source, "", {}) is not None:
        return JUDGE
    if word in get_args(Source):
        return word
    if word in PEOPLE:
        return "imported"
    if is_model_name(source) or re.search(r"\b(llm|model|bot|ai|machine|auto\w*|synthetic|program)\b|gpt|judge", word):
        raise InputError(
            f"{where}: source is {source!r}, which seems to be a judge. A judge's verdict is no vote: keep it in "
            f"{VERDICTS}, or delete such rows. If the word means people, write human there. If judges are to count as "
            "raters, write judge there and say --with-judges."
        )
    raise InputError(
        f"{where}: source is {source!r}, which is not one of {', '.join(get_args(Source))} or a word for people. If "
        "it means people, write human there; if it names a judge, delete such rows; if it says where the items come "
        "from, give the column another name."
    )


def refusal(where: str, why: str) -> InputError:
    """The one sentence on a judge's vote among people's."""
    known = f" (its rater {why})" if why else ""
    return InputError(
        f"{where}: this vote is a judge's{known}. People and judges are not counted together: keep it in {VERDICTS}, "
        "or say --with-judges. Then judges count as raters, and every table says so."
    )


def judges_rating(where: str, why: str) -> InputError:
    """The same on a judge's rating, which nothing reads as a person's."""
    known = f" (its rater {why})" if why else ""
    return InputError(f"{where}: this rating is a judge's{known}. Only people's are read here: leave its rows out.")


def refuse_verdicts(path: Path, columns: Sequence[str] = ()) -> None:
    """Refuse a file of verdicts where votes are expected; `columns` are its own, where known."""
    if not set(columns or _first_columns(path)) >= MARKS:
        return
    raise InputError(
        f"{path} holds verdicts, which are a judge's answers and not the votes of people. Give a file of votes, e.g. "
        f"{path.parent / 'votes.jsonl'}."
    )


def _first_columns(path: Path) -> set[str]:
    """The fields of the first record of JSON Lines, JSON or CSV; nothing for what is none, as its reader will say."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            if {".csv", ".tsv"} & set(path.suffixes):
                head = handle.readline()
                return set(next(csv.reader([head], delimiter=max(",;\t", key=head.count)), []))
            if ".json" in path.suffixes:
                return _first_of_list(handle.read())
            first = [value for line in (handle.readline(), handle.readline()) if (value := _parse_object(line))]
    except (OSError, UnicodeDecodeError, csv.Error):
        return set()
    if first and first[0].get("format") == FORMATS[Verdict]:
        return MARKS
    return set(first[-1]) if first else set()


def _first_of_list(text: str) -> set[str]:
    """The fields of the first object of a JSON document."""
    try:
        return set(json.JSONDecoder().raw_decode(text, text.index("{"))[0])
    except ValueError:
        return set()


def _parse_object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
