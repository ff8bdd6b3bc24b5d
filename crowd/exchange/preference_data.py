"""Votes as preference data: what reward models and preference tuning read, one row a pair of responses.

A row holds the conversation (`prompt`), the response that most raters preferred (`chosen`), the other one (`rejected`)
and the share of votes as a soft label. Pairs without a majority are a table of their own: a tie is no preference.
Checks and controls are left out, and so are votes that do not count, automatic ties and simulated raters.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from seedvote.crowd.exchange.answer_rows import system_of
from seedvote.crowd.exchange.exporting import Answer, Export
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic
from seedvote.dialogue.media import media_of
from seedvote.dialogue.records import (
    Candidate,
    Choice,
    OptionChoice,
    Pair,
    ResponseRating,
    ResponseSet,
    Utterance,
    Vote,
)

ASSISTANTS = frozenset({"system", "assistant", "bot", "agent", "model", "self"})
FOLDER = "preferences"
SPLITS = ("preferences", "ties")
README = "README.md"
COLUMNS = """\
| column | holds |
|---|---|
| `prompt` | the conversation before the response: list of `{role, content}` |
| `chosen`, `rejected` | the response that most raters preferred, and the other one: list of `{role, content}` |
| `chosen_model`, `rejected_model` | the system that wrote it |
| `soft_label` | share of the votes for `chosen`, a tie counted as half a vote each |
| `votes_chosen`, `votes_rejected`, `votes_tie` | the votes behind it |
| `raters` | every vote: keyed hash of the rater, and `chosen`, `rejected` or `tie` |
| `pair`, `item`, `dialogue`, `question` | ids of the study; `dialogue` is the cluster to split by |
"""


@dataclass(frozen=True, slots=True)
class PreferenceData:
    """The rows of both splits, and why votes are missing from them."""

    preferences: Sequence[Mapping[str, Any]]
    ties: Sequence[Mapping[str, Any]]
    omitted: Sequence[str]
    recipe: str

    def rows(self, split: str) -> Sequence[Mapping[str, Any]]:
        """The rows of `preferences` or `ties`."""
        return self.preferences if split == "preferences" else self.ties


def preference_data(export: Export) -> PreferenceData:
    """Each pair and question with its votes; refuses a study whose answers prefer no response to another."""
    if export.kind is OptionChoice:
        raise InputError(
            'Answers of form = "choice" name the next utterance, not the better response, so they make no preference '
            "data. Export them without --preferences."
        )
    if seen := next((name for name, record in export.records.items() for _ in media_of(record)), ""):
        raise InputError(
            f"Pair {seen} shows an image, a recording or a video, and preference data hold texts alone. Export them "
            "without --preferences; pairs.jsonl names the files."
        )
    omitted: Counter[str] = Counter()
    counted = [answer for answer in export.votes if _is_counted(answer, omitted)]
    rows = [_make_row(*judged) for judged in _read_judgements(counted, export.records)]
    return PreferenceData(
        [row for row in rows if row["votes_chosen"] > row["votes_rejected"]],
        [row for row in rows if row["votes_chosen"] == row["votes_rejected"]],
        [f"{reason} ({count})" for reason, count in sorted(omitted.items()) if reason],
        export.recipe,
    )


def _is_counted(answer: Answer, omitted: Counter[str]) -> bool:
    reason = (
        "automatic ties of identical responses"
        if answer.extra.get("auto")
        else "votes that do not count"
        if not answer.counted
        else "votes of simulated raters"
        if answer.source == "simulated"
        else "votes on controls"
        if answer.kind == "control"
        else ""
    )
    omitted[reason] += bool(reason)
    return not reason


Judged = tuple[Pair, str, Mapping[str, Choice]]


def _read_judgements(answers: Iterable[Answer], records: Mapping[str, Any]) -> Iterator[Judged]:
    """Each pair, question and vote of every rater; of a set of responses, each two that one rater compared."""
    votes: dict[tuple[str, str], dict[str, Choice]] = defaultdict(dict)
    sheets: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for answer in answers:
        if isinstance(answer, Vote):
            votes[answer.pair, answer.question][answer.rater] = answer.choice
        elif isinstance(answer, ResponseRating):
            height = -answer.rank if answer.rank is not None else float(answer.score or 0)
            sheets[answer.set, answer.question][answer.rater][answer.response] = height
        else:
            assert isinstance(answer, OptionChoice)  # refused above
    for (pair, question), choices in votes.items():
        yield records[pair], question, choices
    for (name, question), sheet in sheets.items():
        record: ResponseSet = records[name]
        for first, second in combinations(range(len(record.responses)), 2):
            choices = {rater: _compare_scores(heights[first], heights[second]) for rater, heights in sheet.items()}
            yield _pair_of(record, first, second), question, choices


def _compare_scores(first: float, second: float) -> Choice:
    return "tie" if first == second else "a" if first > second else "b"


def _pair_of(record: ResponseSet, first: int, second: int) -> Pair:
    return Pair(
        f"{record.set}:{first}-{second}",
        record.item,
        record.context,
        record.responses[first],
        record.responses[second],
        dialogue=record.dialogue,
    )


def _make_row(pair: Pair, question: str, choices: Mapping[str, Choice]) -> dict[str, Any]:
    votes = Counter(choices.values())
    chosen: Choice = "b" if votes["b"] > votes["a"] else "a"
    rejected: Choice = "a" if chosen == "b" else "b"
    words = {chosen: "chosen", rejected: "rejected", "tie": "tie"}
    sides = {"a": pair.a, "b": pair.b}
    speakers = _name_roles(pair.context)
    return {
        "prompt": [{"role": role, "content": turn.text} for role, turn in zip(speakers, pair.context, strict=True)],
        "chosen": _make_messages(sides[chosen]),
        "rejected": _make_messages(sides[rejected]),
        "chosen_model": system_of(sides[chosen]),
        "rejected_model": system_of(sides[rejected]),
        "soft_label": (votes[chosen] + votes["tie"] / 2) / votes.total(),
        "votes_chosen": votes[chosen],
        "votes_rejected": votes[rejected],
        "votes_tie": votes["tie"],
        "raters": [{"rater": rater, "choice": words[choice]} for rater, choice in sorted(choices.items())],
        "pair": pair.pair,
        "item": pair.item,
        "dialogue": pair.dialogue or "",
        "question": question,
    }


def _name_roles(turns: Sequence[Utterance]) -> list[str]:
    """A chat template's roles: known names of systems are the assistant; otherwise the last speaker is the user."""
    names = {turn.speaker.casefold() for turn in turns}
    assistants = names & ASSISTANTS or names - {turns[-1].speaker.casefold() if turns else ""}
    return ["assistant" if turn.speaker.casefold() in assistants else "user" for turn in turns]


def _make_messages(response: Candidate) -> list[dict[str, str]]:
    """A response as the assistant's message; a whole conversation as its messages."""
    if response.turns is None:
        return [{"role": "assistant", "content": response.text}]
    judged = response.speaker.casefold()
    roles = ["assistant" if turn.speaker.casefold() == judged else "user" for turn in response.turns]
    roles = roles if judged else _name_roles(response.turns)
    return [{"role": role, "content": turn.text} for role, turn in zip(roles, response.turns, strict=True)]


def write_preferences(folder: Path, data: PreferenceData, *, form: str, licence: str, title: str) -> list[Path]:
    """Both splits and the card; an empty split has no file, since a table without rows has no columns."""
    folder.mkdir(parents=True, exist_ok=True)
    ending = "parquet" if form == "parquet" else "jsonl"
    files: dict[str, Path] = {}
    for split in SPLITS:
        for old in (folder / f"{split}.jsonl", folder / f"{split}.parquet"):
            old.unlink(missing_ok=True)
        if data.rows(split):
            files[split] = folder / f"{split}.{ending}"
            _write_rows(files[split], data.rows(split), data.recipe)
    with atomic(folder / README) as handle:
        handle.write(_describe_data(data, files, licence=licence, title=title))
    return [*files.values(), folder / README]


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]], recipe: str) -> None:
    if path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        messages = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
        table = pa.Table.from_pylist([dict(row) for row in rows])
        for name in ("prompt", "chosen", "rejected"):  # a list that is empty in every row has no type of its own
            table = table.set_column(table.column_names.index(name), name, table[name].cast(messages))
        table = table.replace_schema_metadata({"signature": recipe})
        with atomic(path, "wb") as handle:
            parquet.write_table(table, handle)
        return
    with atomic(path) as handle:
        handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _describe_data(data: PreferenceData, files: Mapping[str, Path], *, licence: str, title: str) -> str:
    """A dataset card whose head names licence and files, as loaders of data sets read them."""
    raters = {vote["rater"] for split in SPLITS for row in data.rows(split) for vote in row["raters"]}
    votes = sum(len(row["raters"]) for split in SPLITS for row in data.rows(split))
    head = ["---", f"license: {json.dumps(licence)}", "configs:", "- config_name: default", "  data_files:"]
    head += [f'  - split: {split}\n    path: "{path.name}"' for split, path in files.items()]
    return "\n".join(
        [
            *head,
            "---",
            "",
            f"# Preferences of {title}",
            "",
            f"{len(data.preferences)} pairs of responses with a preference and {len(data.ties)} without one, from "
            f"{votes} votes of {len(raters)} raters.",
            "",
            *(["Left out:", "", *(f"- {reason}" for reason in data.omitted), ""] if data.omitted else []),
            COLUMNS,
            f"Recipe: `{data.recipe}`",
            "",
        ]
    )
