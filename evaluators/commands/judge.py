"""Let a language model rule on a study's pairs, as one more rater whose verdicts are kept apart from people's votes.

  an endpoint    python -m evaluators judge runs/mine --endpoint URL --model NAME --price .15,.6 --budget 2 --yes
  this machine   python -m evaluators judge runs/mine --local smollm2
  other tools    python -m evaluators judge runs/mine --replies judgments.jsonl --from mt-bench

Without --yes nothing is sent to an endpoint: calls, tokens and money are printed. Every reply is kept as it comes, so a
run that is broken off asks for the rest only. The key is read from the environment variable SEEDVOTE_API_KEY and
written nowhere. The judge sees the question of hit.toml, contexts and texts; no names of models, no seeds, no answers.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.records import Pair, Verdict
    from seedvote.evaluators.judging.asking import JudgeCall, Prompt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Who judges, which pairs, and what it may cost."""
    add = parser.add_argument
    add("study", type=Path, help="study folder with pairs.jsonl")
    add("--endpoint", metavar="URL", help="base address of a chat-completions endpoint, ending in /v1")
    add("--model", default="", metavar="NAME", help="the model's name there, and the judge's")
    add("--local", metavar="PATH", help="a model on this machine: a GGUF file, a Hugging Face folder, or smollm2")
    add("--replies", type=Path, metavar="FILE", help="verdicts that another tool stored")
    add(
        "--from",
        metavar="TOOL",
        dest="tool",
        choices=("alpaca_eval", "arena-hard", "mt-bench", "llmbar", "inspect"),
        help="that tool: alpaca_eval, arena-hard, mt-bench, llmbar, inspect (logs of our scorer)",
    )
    add("--name", default="", help="name of the judge (default: the model's)")
    add("--prompt", type=Path, metavar="FILE", help="template with {context}, {first}, {second} (default: our own)")
    add(
        "--answer",
        choices=("letter", "reasons", "json"),
        default="letter",
        help="the reply: a letter (default), reasons and then a letter, or JSON by a schema with reasons first",
    )
    add("--rubric", type=Path, metavar="FILE", help="criteria (TOML) on which each response gets a score, as JSON")
    add("--orders", choices=("both", "one"), default="both", help="each pair in both orders (default), or in one")
    add("--draws", type=int, default=1, help="times that each question is asked (default 1)")
    add("--temperature", type=float, default=0.0, help="sampling temperature (default 0)")
    add(
        "--max-tokens",
        type=int,
        metavar="N",
        help="the longest reply (default 16, with reasons or a rubric 1024); a model that thinks needs 1024 or more",
    )
    add("--logprobs", action="store_true", help="ask for the probabilities of A, B and Tie too")
    add("--only", choices=("all", "unvoted"), default="all", help="which pairs: all (default), or those without votes")
    add("--limit", type=int, metavar="N", help="the first N pairs only; checks are judged in any case")
    add("--mask", action="store_true", help="ask again without the words of responses that speak to the judge")
    add("--price", metavar="IN,OUT", help="price per million tokens in and out; a third for cached ones")
    add("--budget", type=float, metavar="MONEY", help="stop before the run costs more (needs --price)")
    add("--batch", action="store_true", help="ask by the endpoint's batches, at their prices; run again to collect")
    add("--concurrency", type=int, default=4, help="requests at a time (default 4)")
    add("--yes", action="store_true", help="really send the calls")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where a local model runs (default auto)")
    add("--seed", type=int, default=0, help="seed of the order, delimiters and draws (default 0)")


def run(args: argparse.Namespace) -> None:
    """Ask or read, and put the verdicts beside those that are there."""
    from seedvote.dialogue.files import read_records
    from seedvote.dialogue.records import Pair
    from seedvote.evaluators.judging.asking import (
        chosen_pairs,
        compared_with_masked,
        mask_pair,
        prompt_of,
        questions_on,
        read_rubric,
        tells_the_judge,
    )

    refuse_below(args, draws=1, concurrency=1, temperature=0, budget=0, limit=1, max_tokens=1)
    sources = [name for name in ("endpoint", "local", "replies") if getattr(args, name)]
    if len(sources) != 1:
        raise InputError("Name one judge: --endpoint URL --model NAME, --local PATH, or --replies FILE --from TOOL.")
    if not (args.study / "pairs.jsonl").exists():
        raise InputError(f"{args.study} has no pairs.jsonl, so there is nothing to judge. Give a study folder.")
    pairs = list(read_records(args.study / "pairs.jsonl", Pair))
    if sources[0] == "replies":
        _keep_verdicts(args, pairs, _read_stored(args, pairs))
        return
    real = [pair for pair in pairs if pair.kind == "real"]
    if real and not any(pair.a.text or pair.b.text for pair in real):
        raise InputError(
            f"{args.study / 'pairs.jsonl'} names systems that raters talk to, and holds no text to judge. "
            "What was said is in conversations.jsonl."
        )
    if args.rubric is not None and args.answer != "letter":
        raise InputError("--rubric has a form of its own (JSON with reasons and scores); leave out --answer.")
    if args.logprobs and (args.rubric is not None or args.answer != "letter"):
        raise InputError("--logprobs needs a reply that begins with its verdict; leave out --answer and --rubric.")
    rubric = None if args.rubric is None else read_rubric(args.rubric)
    prompt = prompt_of(args.study, args.prompt, "rubric" if rubric else args.answer, rubric)
    chosen = chosen_pairs(args.study, pairs, only=args.only, limit=args.limit)
    telling = [pair for pair in chosen if tells_the_judge(pair)]
    every = [*chosen, *(mask_pair(pair) for pair in telling if args.mask)]
    questions = questions_on(every, prompt, orders=args.orders, draws=args.draws, seed=args.seed)
    checks = sum(pair.kind == "check" for pair in chosen)
    print(f"{len(chosen):,} pairs ({checks} checks), {len(questions):,} calls; prompt {prompt.hash}")
    if telling:
        print(f"{len(telling)} pairs hold a response that speaks to the judge, between delimiters like any other.")
    verdicts = (
        _ask_endpoint(args, questions, prompt) if sources[0] == "endpoint" else _ask_local(args, questions, prompt)
    )
    if verdicts is not None:
        plain, note = compared_with_masked(verdicts)
        if args.mask:
            print(note)
        _keep_verdicts(args, pairs, plain)


def _read_stored(args: argparse.Namespace, pairs: list[Pair]) -> list[Verdict]:
    from seedvote.evaluators.judging.elsewhere import verdicts_from

    if not args.tool:
        raise InputError("--replies needs --from TOOL: alpaca_eval, arena-hard, mt-bench, llmbar or inspect.")
    return verdicts_from(args.replies, args.tool, {pair.pair: pair for pair in pairs}, args.name)


def _ask_endpoint(args: argparse.Namespace, questions: list[JudgeCall], prompt: Prompt) -> list[Verdict] | None:
    from tqdm import tqdm

    from seedvote.dialogue.engines.chat import Endpoint
    from seedvote.evaluators.judging.asking import (
        LONG,
        SHORT,
        Manner,
        budget_of,
        tokens_of,
        verdicts_by_batch,
        verdicts_of,
    )

    if not args.model:
        raise InputError("--endpoint needs --model NAME, by which the endpoint knows the model.")
    longest = args.max_tokens or (SHORT if prompt.form == "letter" else LONG)
    manner, budget = (
        Manner(args.temperature, longest, logprobs=args.logprobs, seed=args.seed, schema=prompt.schema),
        budget_of(args.price, args.budget),
    )
    before, after = tokens_of(questions, manner.longest)
    money = "" if budget is None else f", {budget.cost(before, after):,.2f} at these prices"
    again = "" if args.batch else " What cannot be read is asked once more."
    print(f"About {before:,} tokens in and at most {after:,} out{money}.{again}")
    if not args.yes:
        print("Nothing was sent. Add --yes to ask.")
        return None
    name = args.name or args.model
    journal = args.study / "judges" / f"{name.replace('/', '_')}.jsonl"
    endpoint = Endpoint(args.endpoint, args.model, os.environ.get("SEEDVOTE_API_KEY", ""), args.concurrency)
    if args.batch:
        ended, note = verdicts_by_batch(questions, endpoint, name, prompt, manner, journal, budget)
        print(note)
        if ended is None:
            return None
        reply_set = ended
    else:
        with tqdm(total=len(questions), disable=None) as bar:
            reply_set = verdicts_of(questions, endpoint, name, prompt, manner, journal, bar.update, budget)
    if reply_set.unasked and args.batch:
        print(f"{reply_set.unasked:,} calls have no answer yet.")
    elif reply_set.unasked:
        print(f"The budget ended before {reply_set.unasked:,} calls. Raise --budget and run the same command to go on.")
    print(
        f"{len(reply_set.verdicts):,} verdicts, {reply_set.asked_again:,} asked once more; spent {reply_set.spent:,.4f}"
    )
    if reply_set.lost:
        lost = f"{reply_set.lost:,} answer{'s' * (reply_set.lost != 1)}"
        print(f"{lost} got lost on the way and may have been charged; they count as spent at their bound.")
    if reply_set.refused_options:
        print(
            f"The endpoint does not take {' and '.join(reply_set.refused_options)}; its default was used for all calls."
        )
    return list(reply_set.verdicts)


def _ask_local(args: argparse.Namespace, questions: list[JudgeCall], prompt: Prompt) -> list[Verdict]:
    from tqdm import tqdm

    from seedvote.evaluators.judging.local import local_verdicts

    if args.batch:
        raise InputError("--batch is for endpoints; a local judge costs nothing.")
    if args.answer != "letter" or args.rubric:
        raise InputError("--answer and --rubric are for endpoints: a local judge is read from its first token.")
    if args.model or args.price or args.budget is not None or args.logprobs or args.temperature:
        raise InputError(
            "--model, --price, --budget, --temperature and --logprobs are for endpoints: a local judge costs nothing, "
            "and what it says is read from its probabilities."
        )
    with tqdm(total=len(questions), disable=None) as bar:
        verdicts, note = local_verdicts(args.local, args.name, args.device, questions, prompt, args.study, bar.update)
    print(note)
    return verdicts


def _keep_verdicts(args: argparse.Namespace, pairs: list[Pair], verdicts: list[Verdict]) -> None:
    from seedvote.evaluators.judging.asking import keep_verdicts

    for line in keep_verdicts(args.study, pairs, verdicts):
        print(line)
    tell_next("python -m analysis judge", args.study)
