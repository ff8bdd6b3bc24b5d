"""Verdicts that other tools stored, as ours; a file that does not say in which order texts were shown is refused.

Pairs are found by their id, by item and the names of both contestants, or by their texts.
"""

from __future__ import annotations

import csv
import json
import lzma
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.run_logs import inspect_samples
from seedvote.dialogue.records import Order, Pair, Ruling, Verdict

Rows = Sequence[Mapping[str, Any]]
Pairs = Mapping[str, Pair]
INSPECT = "inspect"
FLAGS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}  # a table's are texts
ARENA_HARD = {"A>B": "a", "A>>B": "a", "B>A": "b", "B>>A": "b", "A=B": "tie", "B=A": "tie"}


def verdicts_from(path: Path, tool: str, pairs: Pairs, judge: str = "") -> list[Verdict]:
    """The verdicts of a file; `judge` names the judge where the file does not."""
    rows = list(inspect_samples(path)) if tool == INSPECT else read_rows(path)
    try:
        verdicts = list(TOOLS[tool](rows, pairs, judge or path.stem, str(path)))
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: this is not what {tool} writes ({error!r} is missing or of another kind).") from None
    if not verdicts:
        raise InputError(f"{path} holds no verdict on a pair of this study.")
    return verdicts


def read_rows(path: Path) -> Rows:
    """JSON, JSON Lines or CSV, packed with xz or not."""
    try:
        raw = path.read_bytes()
        text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode("utf-8-sig")
        if ".csv" in path.suffixes:
            return list(csv.DictReader(text.splitlines()))
        values = (
            json.loads(text) if text.lstrip().startswith("[") else [json.loads(value) for value in text.splitlines()]
        )
    except (OSError, UnicodeDecodeError, ValueError, RecursionError, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be read as JSON, JSON Lines or CSV ({error}).") from error
    return [value for value in values if isinstance(value, Mapping)]


def read_llmbar(rows: Rows, pairs: Pairs, judge: str, where: str) -> Iterator[Verdict]:
    """LLMBar's own result.json; or columns dataset, item, judge, prompt, order (12, 21), winner (1, 2, empty)."""
    if rows and "results" in rows[0]:
        yield from _llmbar_results(rows, pairs, judge, Path(where))
        return
    for row in rows:
        name = f"{row['dataset']}:{row['item']}"
        if name in pairs:
            order: Order = {"12": "ab", "21": "ba"}[row["order"]]  # type: ignore[assignment]
            choice: Ruling = {"1": "a", "2": "b"}.get(row["winner"], "unusable")  # type: ignore[assignment]
            yield Verdict(name, row["judge"], order, choice, row["prompt"])


def _llmbar_results(rows: Rows, pairs: Pairs, judge: str, path: Path) -> Iterator[Verdict]:
    """evaluators/JUDGE/PROMPT/result.json: the last calls on a pair rule, as in the counts beside that file.

    The prompt `Swap` asks twice more where both orders contradict each other, and shows the judge its own reasons.
    """
    *_, folder, name, prompt, _ = (*[""] * 4, *path.parts)
    if judge == path.stem and folder == "evaluators":
        judge = name
    known = {(pair.context[-1].text, pair.a.text, pair.b.text): pair for pair in pairs.values() if pair.context}
    for row in rows:
        first_text, second_text, last = row["output_1"], row["output_2"], row["results"][-1]
        if "score_1" in last:
            raise InputError(f"{path}: here each output was rated alone; these are no verdicts on pairs in an order.")
        straight = known.get((row["input"], first_text, second_text))
        pair = straight or known.get((row["input"], second_text, first_text))
        if pair is None:
            continue
        sides: dict[str, Ruling] = {"1": "a", "2": "b"} if straight else {"1": "b", "2": "a"}
        orders: tuple[Order, Order] = ("ab", "ba") if straight else ("ba", "ab")
        for game, order in zip(("swap = False", "swap = True"), orders, strict=True):
            yield Verdict(pair.pair, judge, order, sides.get(str(last[game]["winner"]), "unusable"), prompt)


def mt_bench(rows: Rows, pairs: Pairs, judge: str, where: str) -> Iterator[Verdict]:
    """One row two games, the second with both sides exchanged; g1_winner and g2_winner name a model, tie or error."""
    del where
    known = _by_item(pairs)
    for row in rows:
        judge_and_prompt = row.get("judge")
        name, prompt = (
            (judge_and_prompt[0], judge_and_prompt[1])
            if isinstance(judge_and_prompt, list)
            else (judge_and_prompt or judge, "")
        )
        pair = known.get((str(row["question_id"]), frozenset({row["model_1"], row["model_2"]})))
        if pair is None:
            continue
        turn = int(row.get("turn", 1)) - 1
        for game, first in (("g1_winner", row["model_1"]), ("g2_winner", row["model_2"])):
            winner = row[game] if not str(row[game]).startswith("model_") else row[str(row[game])]
            yield Verdict(
                pair.pair, str(name), _order_shown(pair, first), _ruling_on(pair, winner), str(prompt), draw=turn
            )


def arena_hard(rows: Rows, pairs: Pairs, judge: str, where: str) -> Iterator[Verdict]:
    """Games against a baseline, which stood first in game 1 and second in game 2."""
    known = _by_item(pairs)
    for row in rows:
        item, model = str(row.get("question_id") or row.get("uid")), row["model"]
        baseline = row.get("baseline")
        met = [
            candidate
            for (known_item, models), candidate in known.items()
            if known_item == item and model in models and (baseline is None or baseline in models)
        ]
        if len(met) > 1:
            raise InputError(f"{where}: {item} has {len(met)} pairs of {model}; a column `baseline` must say which.")
        for pair in met:
            rival = pair.b.model if pair.a.model == model else pair.a.model
            for number, game in enumerate(row["games"]):
                first, second = (rival, model) if number == 0 else (model, rival)
                outcome = ARENA_HARD.get(str(game.get("score")), "unusable")
                winner = {"a": first, "b": second}.get(outcome, outcome)
                yield Verdict(
                    pair.pair, str(row.get("judge") or judge), _order_shown(pair, first), _ruling_on(pair, winner)
                )


def alpaca_eval(rows: Rows, pairs: Pairs, judge: str, where: str) -> Iterator[Verdict]:
    """Annotations with preference 1 to 2; which output stood first must be in is_switched_output_1_output_2."""
    known = _by_item(pairs)
    for number, row in enumerate(rows, 1):
        is_switched = FLAGS.get(str(row.get("is_switched_output_1_output_2")).casefold())
        if is_switched is None:
            raise InputError(
                f"{where}: row {number} does not say which output stood first (is_switched_output_1_output_2): order "
                "unknown. Without it a taste for the first place cannot be told from a taste for a system."
            )
        first_system, second_system = row["generator_1"], row["generator_2"]
        pair = known.get((str(row.get("item") or row["instruction"]), frozenset({first_system, second_system})))
        if pair is None:
            continue
        winners = {0: "tie", 1: first_system, 2: second_system, None: "unusable"}
        winner = winners[_read_preference(row.get("preference"))]
        first = second_system if is_switched else first_system
        yield Verdict(
            pair.pair, str(row.get("annotator") or judge), _order_shown(pair, first), _ruling_on(pair, winner)
        )


def _read_preference(value: Any) -> int | None:
    """1 or 2 for the output that it leans to, 0 for a tie; None for what is neither between 1 and 2 nor 0."""
    try:
        leaning = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if leaning in (0, 1.5):
        return 0
    if not 1 <= leaning <= 2:
        return None
    return 1 if leaning < 1.5 else 2


def read_inspect(rows: Rows, pairs: Pairs, judge: str, where: str) -> Iterator[Verdict]:
    """Samples that our scorer in inspect_ai compared with another response; an epoch is a draw."""
    del judge
    known = {_texts_of(pair): pair for pair in pairs.values()}
    for sample in rows:
        for score in (sample.get("scores") or {}).values():
            note = (score.get("metadata") or {}).get("seedvote")
            if note is None:
                continue
            straight = known.get((note["context"], note["response"], note["other"]))
            pair = straight or known.get((note["context"], note["other"], note["response"]))
            if pair is None:
                continue
            for verdict in note["verdicts"]:
                order, choice, extra = verdict["order"], verdict["choice"], {}
                if order not in get_args(Order) or choice not in get_args(Ruling):
                    raise InputError(
                        f"{where}: sample {sample.get('id')} has a verdict {choice!r} in the order {order!r}. Expected "
                        f"are {', '.join(get_args(Ruling))} in the order ab or ba; write the log anew."
                    )
                if scores := verdict.get("scores"):
                    extra = {"scores": scores if straight else {"a": scores["b"], "b": scores["a"]}}
                if not straight:
                    order, choice = order[::-1], {"a": "b", "b": "a"}.get(choice, choice)
                yield Verdict(
                    pair.pair, note["judge"], order, choice, note["prompt"], int(sample.get("epoch", 1)) - 1, None,
                    verdict["reply"], verdict["tokens_in"], verdict["tokens_out"], None, extra,
                )  # fmt: skip


def _texts_of(pair: Pair) -> tuple[str, str, str]:
    return pair.context[-1].text if pair.context else "", pair.a.text, pair.b.text


TOOLS: Mapping[str, Callable[[Rows, Pairs, str, str], Iterator[Verdict]]] = {
    "alpaca_eval": alpaca_eval,
    "arena-hard": arena_hard,
    "mt-bench": mt_bench,
    "llmbar": read_llmbar,
    INSPECT: read_inspect,
}


def _by_item(pairs: Pairs) -> dict[tuple[str, frozenset[str]], Pair]:
    return {
        (pair.item, frozenset({pair.a.model, pair.b.model})): pair
        for pair in pairs.values()
        if pair.kind == "real" and pair.a.model != pair.b.model
    }


def _order_shown(pair: Pair, first: str) -> Order:
    return "ab" if pair.a.model == first else "ba"


def _ruling_on(pair: Pair, winner: str) -> Ruling:
    if winner == pair.a.model:
        return "a"
    if winner == pair.b.model:
        return "b"
    return "tie" if winner == "tie" else "unusable"
