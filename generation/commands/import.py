"""Bring responses of other models into a study's responses.jsonl. One of three sources:

  a table      python -m generation import runs/mine answers.csv --columns item=id,text=answer --model ours
  Hugging Face python -m generation import runs/mine --hugging-face path/to/model --limit 200
  an endpoint  python -m generation import runs/mine --endpoint http://localhost:8000/v1 --remote-model name --limit 200

The item of a response is the id of its context in the corpus: `dialogue:n`, n = index of the target utterance. The key
of an endpoint is read from the environment variable SEEDVOTE_API_KEY and never written to disk.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.command_line import given, refuse_below, tell_next
from dialogue.errors import InputError

if TYPE_CHECKING:
    from dialogue.corpora.examples import Example
    from dialogue.records import Response


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The source, and how its responses are named."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("table", type=Path, nargs="?", help=".csv, .tsv, .jsonl or .parquet")
    add("--columns", default="", help="field=column,... for item, model, seed, checkpoint, text, ...")
    add("--model", help="name of the system, if the table has no such column")
    add("--seed", type=int, help="seed of the system, or of its sampling (default: none, 0 to sample)")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--split", choices=["train", "valid", "test"], default="test", help="split to answer (default test)")
    add("--limit", type=int, help="number of contexts, evenly spread over the split (default: all)")
    add("--hugging-face", metavar="MODEL", help="local folder, or a name on the hub with --fetch")
    add("--fetch", action="store_true", help="allow the model to be fetched from the hub")
    add("--decoding", default="greedy", help="decoding of the Hugging Face model, as in `sample` (default greedy)")
    add("--endpoint", metavar="URL", help="base address, ending in /v1")
    add("--remote-model", default="default", help="the model's name at the endpoint")
    add("--system", default="", help="system message for the endpoint")
    add("--temperature", type=float, default=0.0, help="sampling temperature at the endpoint (default 0)")
    add("--concurrency", type=int, default=4, help="requests at a time (default 4)")
    add("--longest", type=int, default=80, help="longest response, in tokens (default 80)")
    add("--price", metavar="IN,OUT", help="price per million tokens in and out, to print the cost")


def run(args: argparse.Namespace) -> None:
    """Get the responses and put them beside those that are there."""
    from dialogue.files import read_records, write_records
    from dialogue.records import Response
    from dialogue.signature import signature
    from generation.imports.tables import merge
    from generation.same_corpus import answered

    refuse_below(args, limit=1, temperature=0, concurrency=1, longest=1)
    sources = [name for name in ("table", "hugging_face", "endpoint") if getattr(args, name)]
    if len(sources) != 1:
        raise InputError("Name one source: a table, --hugging-face MODEL or --endpoint URL.")
    new = {"table": _table, "hugging_face": _hugging_face, "endpoint": _endpoint}[sources[0]](args)
    path = args.study / "responses.jsonl"
    whole = merge(read_records(path, Response) if path.exists() else [], new)
    recipe = signature(source=sources[0], responses=len(new), of=sorted({r.model for r in new}), **answered(path))
    write_records(path, whole, signature=recipe, kind=Response)
    print(f"{path}: {len(new)} responses imported, {len(whole)} in all")
    if empty := sum(not response.text.strip() for response in new):
        print(f"{empty} of them have no text: raters will see an empty box")
    print(recipe)
    tell_next("python -m generation score", args.study, *given(args, "corpus"))


def _table(args: argparse.Namespace) -> list[Response]:
    from generation.imports.tables import parse_columns, read_responses, refuse_strange_items

    found = read_responses(args.table, parse_columns(args.columns), {"model": args.model, "seed": args.seed})
    corpus = args.corpus or args.study / "corpus"
    if args.corpus or corpus.exists():
        refuse_strange_items(found, corpus, args.table)
    return found


def _contexts(args: argparse.Namespace) -> list[Example]:
    from dialogue.corpora.examples import examples
    from dialogue.corpora.reading import read_corpus
    from generation.numbering import evenly_spread

    return evenly_spread(
        list(examples(read_corpus(args.corpus or args.study / "corpus").split(args.split))), args.limit
    )


def _hugging_face(args: argparse.Namespace) -> list[Response]:
    from tqdm import tqdm

    from dialogue.records import Response
    from generation.decoding import parse_decoding
    from generation.imports.hugging_face import HuggingFace

    how, contexts = parse_decoding(args.decoding), _contexts(args)
    model = HuggingFace(args.hugging_face, fetch=args.fetch)
    with tqdm(total=len(contexts), disable=None) as bar:
        texts = model.respond(contexts, how=how, seed=args.seed or 0, longest=args.longest, tell=bar.update)
    name = args.model or Path(args.hugging_face).name
    return [
        Response(example.item, name, args.seed, "last", text, None, how.name)
        for example, text in zip(contexts, texts, strict=True)
    ]


def _endpoint(args: argparse.Namespace) -> list[Response]:
    from tqdm import tqdm

    from dialogue.engines.chat import Endpoint, ask_all
    from dialogue.records import Response
    from generation.imports.endpoint import calls_for, doubts_about

    contexts, key = _contexts(args), os.environ.get("SEEDVOTE_API_KEY", "")
    endpoint = Endpoint(args.endpoint, args.remote_model, key, args.concurrency)
    calls = calls_for(
        contexts, system=args.system, temperature=args.temperature, seed=args.seed or 0, longest=args.longest
    )
    name = args.model or args.remote_model
    journal = args.study / "imports" / f"{name.replace('/', '_')}.jsonl"
    with tqdm(total=len(contexts), disable=None) as bar:
        replies = [reply for reply in ask_all(endpoint, calls, journal, bar.update).replies if reply is not None]
    tokens = [sum(reply.tokens_in or 0 for reply in replies), sum(reply.tokens_out or 0 for reply in replies)]
    print(f"{len(replies)} replies, {tokens[0]} tokens in, {tokens[1]} out{_cost(args.price, tokens)}")
    for sentence in doubts_about(replies):
        print(sentence)
    how = f"endpoint temperature:{args.temperature:g}"
    answered = [(example, reply) for example, reply in zip(contexts, replies, strict=True) if not reply.empty]
    return [Response(example.item, name, args.seed, "last", reply.text, None, how) for example, reply in answered]


def _cost(price: str | None, tokens: list[int]) -> str:
    if price is None:
        return ""
    try:
        each = [float(part) for part in price.split(",")]
        return f", cost {sum(n * p for n, p in zip(tokens, each, strict=True)) / 1e6:.4f}"
    except ValueError:
        raise InputError(f"--price is {price!r}; two numbers are expected, e.g. --price 0.5,1.5") from None
