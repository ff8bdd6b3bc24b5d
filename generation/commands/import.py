"""Bring responses of other models into a study's responses.jsonl. One of three sources:

  a table      python -m generation import runs/mine answers.csv --columns item=id,text=answer --model ours
  Hugging Face python -m generation import runs/mine --hugging-face path/to/model --limit 200
  an endpoint  python -m generation import runs/mine --endpoint http://localhost:8000/v1 --remote-model name --limit 200

With --name-fields intents,acts a model also says what the user wants and what its reply does. `python -m evaluators
task` scores both. Allow it more tokens then (--longest 300).

An endpoint needs no PyTorch. With --prompts (JSON Lines with a prompt or messages) no corpus and no reference answer is
needed. The answers are then written to STUDY/NAME.jsonl, which `python -m seedvote rate` reads.

The item of a response is the id of its context in the corpus: `dialogue:n`, n = index of the target utterance. The key
of an endpoint is read from the environment variable SEEDVOTE_API_KEY and never written to disk.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.records import Response
    from seedvote.generation.imports.bringing import StudyToFill
    from seedvote.generation.imports.named_fields import FieldRequest
    from seedvote.generation.imports.sources import Source


TEMPLATE_NAMES = "transcript, dialogpt, blenderbot, godel, or a file in Jinja (default: that of its family)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The source, and how its responses are named."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("table", type=Path, nargs="?", help=".csv, .tsv, .jsonl or .parquet")
    add("--columns", default="", help="field=column,... for item, model, seed, checkpoint, text, ...")
    add("--model", help="name of the system, if the table has no such column")
    add("--seed", type=int, help="seed of the system, or of its sampling (default: none, 0 to sample)")
    add(
        "--prompts", type=Path, metavar="FILE", help="what to answer, in place of a corpus: STUDY/NAME.jsonl is written"
    )
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--split", choices=["train", "valid", "test"], default="test", help="split to answer (default test)")
    add("--limit", type=int, help="number of contexts, evenly spread over the split (default: all)")
    add("--whole", type=int, metavar="N", help="all contexts of so many dialogues, evenly spread over the split")
    add("--hugging-face", metavar="MODEL", help="folder, .gguf file or smollm2; a name on the hub with --fetch")
    add("--fetch", action="store_true", help="allow the model to be fetched from the hub")
    add("--decoding", default="greedy", help="decoding of the Hugging Face model, as in `sample` (default greedy)")
    add("--device", default="auto", help="auto, cpu, cuda or cuda:N, for the Hugging Face model (default auto)")
    add("--precision", default="float32", help="float32 (default), bfloat16, float16 or float64, for the same")
    add("--template", metavar="NAME", help=f"how a model without a chat template reads a dialogue: {TEMPLATE_NAMES}")
    add("--stop", action="append", default=[], metavar="TEXT", help="a reply ends before this text; may be repeated")
    add("--batch", type=int, default=16, help="contexts that it answers together (default 16)")
    add("--endpoint", metavar="URL", help="base address, ending in /v1")
    add("--remote-model", default="default", help="the model's name at the endpoint")
    add("--system", default="", help="system message for the model or the endpoint")
    add(
        "--name-fields",
        default="",
        metavar="FIELDS",
        help="ask the model to name intents, acts and state with each reply, for `evaluators task`: intents,acts",
    )
    add("--temperature", type=float, default=0.0, help="sampling temperature at the endpoint (default 0)")
    add("--concurrency", type=int, default=4, help="requests at a time (default 4)")
    add("--longest", type=int, default=80, help="longest response, in tokens (default 80)")
    add("--keep-cut", action="store_true", help="keep replies that end at --longest; otherwise they give no response")
    add("--replace", action="store_true", help="drop the earlier responses of that name first")
    add("--missing-words", choices=["drop", "keep"], help="what None, nan and null are as the text of a table's row")
    add("--price", metavar="IN,OUT", help="price per million tokens in and out, to print the cost")


def run(args: argparse.Namespace) -> None:
    """Get the responses and add them to those that are there."""
    from seedvote.generation.imports import bringing

    refuse_below(args, limit=1, whole=1, temperature=0, concurrency=1, longest=1, batch=1)
    sources = [name for name in ("table", "hugging_face", "endpoint") if getattr(args, name)]
    if (args.template or args.stop) and sources != ["hugging_face"]:
        raise InputError("--template and --stop are for a Hugging Face model: --hugging-face MODEL.")
    if args.name_fields and (args.table or args.prompts):
        raise InputError("--name-fields is for a model that answers a corpus: --endpoint URL or --hugging-face MODEL.")
    if len(sources) != 1:
        raise InputError("Name one source: a table, --hugging-face MODEL or --endpoint URL.")
    if args.limit and args.whole:
        raise InputError("--limit counts contexts, --whole dialogues: give one.")
    if args.whole and (args.table or args.prompts):
        raise InputError("--whole is for a model that answers a corpus: --endpoint URL or --hugging-face MODEL.")
    if args.prompts:
        _answer_prompts(args)
        return
    place = bringing.StudyToFill(args.study, args.corpus or args.study / "corpus", replace=args.replace)
    if args.table:
        new, remarks = _read_table_rows(args, place)
    else:
        request = _request_fields(args, place)
        new, remarks = bringing.from_model(
            place,
            _choose_source(args),
            args.split,
            args.limit,
            dialogues=args.whole,
            keep_cut=args.keep_cut,
            request=request,
        )
    for sentence in remarks:
        print(sentence)
    number, recipe = place.join(new, sources[0])
    print(f"{place.responses}: {len(new)} responses imported, {number} in all")
    if empty := sum(not response.text.strip() for response in new):
        print(f"{empty} of them have no text: raters will see an empty box")
    print(recipe)
    tell_next("python -m generation score", args.study, *repeat_options(args, "corpus"))


def _request_fields(args: argparse.Namespace, place: StudyToFill) -> FieldRequest | None:
    from seedvote.generation.imports.named_fields import request_fields

    return request_fields(args.name_fields, place.corpus, args.split) if args.name_fields else None


def _answer_prompts(args: argparse.Namespace) -> None:
    from seedvote.generation.imports import bringing

    if args.table or args.corpus:
        raise InputError("--prompts is answered by a model: name --endpoint URL or --hugging-face MODEL, and no table.")
    source = _choose_source(args)
    out = args.study / f"{source.name.replace('/', '-')}.jsonl"
    number, remarks = bringing.answer_prompts(args.prompts, source, out, keep_cut=args.keep_cut, replace=args.replace)
    for sentence in remarks:
        print(sentence)
    print(f"{out}: {number} answers")
    known = {out, args.prompts}
    if other_files := [file for file in sorted(args.study.glob("*.jsonl")) if file not in known]:
        tell_next("python -m crowd rate", out, *other_files)
    else:
        print("Let a second system answer the same prompts; python -m seedvote rate then shows both to people.")


def _read_table_rows(args: argparse.Namespace, place: StudyToFill) -> tuple[list[Response], list[str]]:
    from seedvote.generation.imports.tables import parse_columns, read_responses, settle_missing_words

    rows = read_responses(args.table, parse_columns(args.columns), {"model": args.model, "seed": args.seed})
    responses, remarks = settle_missing_words(rows, args.table, args.missing_words)
    place.check_table(responses, args.table, has_corpus=args.corpus is not None)
    return responses, remarks


def _choose_source(args: argparse.Namespace) -> Source:
    from seedvote.generation.imports import sources

    if args.endpoint:
        return sources.ChatEndpoint(
            args.model or args.remote_model,
            args.seed,
            args.longest,
            args.system,
            url=args.endpoint,
            remote=args.remote_model,
            key=os.environ.get("SEEDVOTE_API_KEY", ""),
            temperature=args.temperature,
            concurrency=args.concurrency,
            price=args.price,
        )
    from seedvote.generation.decoding import parse_decoding
    from seedvote.generation.imports.hugging_face import model_place

    return sources.LoadedModel(
        args.model or model_place(args.hugging_face).name,
        args.seed,
        args.longest,
        args.system,
        folder=args.hugging_face,
        fetch=args.fetch,
        how=parse_decoding(args.decoding),
        device=args.device,
        precision=args.precision,
        batch=args.batch,
        template=args.template,
        stops=args.stop,
    )
