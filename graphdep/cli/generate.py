"""``graphdep generate``."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.errors import describe
from graphdep.cli.files import check_output
from graphdep.cli.json_lines import read_rows, write_rows
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.io.files import find_checkpoint
from graphdep.io.limits import MAX_WORDS
from graphdep.io.process import plain_console

if TYPE_CHECKING:
    from graphdep.tasks.dialogues.predict import Responder

_DECODING = "Decoding (default: as in the checkpoint's settings)"


def generate(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run on dialogues, or its best.ckpt.")
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help='JSON lines with {"context": ["...", ...]}, or - for stdin. Without it: a chat.',
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON lines, written whole or not at all. [default: stdout]"),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="greedy, beam or sample.", rich_help_panel=_DECODING)
    ] = None,
    beams: Annotated[
        int | None, typer.Option(metavar="N", help="Width of the beam.", rich_help_panel=_DECODING)
    ] = None,
    num_return: Annotated[
        int, typer.Option(metavar="N", help="Responses a context, best first.", rich_help_panel=_DECODING)
    ] = 1,
    max_length: Annotated[
        int | None,
        typer.Option(metavar="N", help="Tokens of a response at most.", rich_help_panel=_DECODING),
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            help="0 prefers short responses, 1 ranks by the mean of a token.", rich_help_panel=_DECODING
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(metavar="N", help="Draw from the N most probable tokens.", rich_help_panel=_DECODING),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            help="Draw from the fewest tokens of this probability together.", rich_help_panel=_DECODING
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Below 1 draws what is probable more often.", rich_help_panel=_DECODING),
    ] = None,
    no_repeat_ngram: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="No N words in a row occur twice in a response.", rich_help_panel=_DECODING
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of draws.", rich_help_panel=_DECODING)] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Contexts a batch.")] = 64,
    json: o.Json = False,
) -> None:
    """Respond to dialogues with a trained model: those of a file, or yours in a chat.

    Every line of the input becomes a line of the output: the same object with "response" and, where
    --num-return is above 1, "responses", in place of those that it may have. If a line is wrong, nothing is
    written.

    A chat goes on until /quit or the end of the input; /reset forgets what was said. A line that cannot be
    answered is passed over.

    Examples:
        graphdep generate --checkpoint runs/.../best.ckpt

        graphdep generate --checkpoint runs/.../best.ckpt --input contexts.jsonl --output responses.jsonl
    """
    _check_options(source, output, num_return, json)
    if output is not None:
        check_output(output, checkpoint, source)
    checkpoint = find_checkpoint(checkpoint)
    from graphdep.parsing.parser import WordLimit

    rows = None if source is None else read_rows(source, ("context",), WordLimit(max_words, truncate))
    decoding = {
        "strategy": strategy,
        "beams": beams,
        "num_return": num_return,
        "max_length": max_length,
        "length_penalty": length_penalty,
        "top_k": top_k,
        "top_p": top_p,
        "temperature": temperature,
        "no_repeat_ngram": no_repeat_ngram,
        "seed": seed,
    }
    given: dict[str, Any] = {name: value for name, value in decoding.items() if value is not None}
    say_loading()
    from graphdep.tasks.dialogues.predict import Responder

    given |= {
        "edges": edges and import_edges(edges),
        "parser": parser,
        "batch_size": batch_size,
        "max_words": max_words,
        "truncate": truncate,
    }
    responder = Responder(checkpoint, **given)
    if rows is None:
        chat(responder)
        return
    responses = responder.respond([row["context"] for row in rows])
    write_rows(output, [_answered(row, texts, num_return) for row, texts in zip(rows, responses)])
    if json:
        print_json(_summary(responder, len(rows), output))
    where = "" if output is None else f" -> {output}"
    plain_console(stderr=True).print(
        f"{len(rows)} contexts, {responder.parser_failures} turns with a chain tree{where}",
        soft_wrap=True,
    )


def chat(responder: Responder) -> None:
    """Answers each line of the input, with what was said before in mind.

    A line that cannot be answered is told on stderr and is no turn.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # a bad byte would take the lines after it along
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if terminal:
        print("/reset forgets what was said, /quit leaves.", file=sys.stderr)
    turns: list[str] = []
    try:
        while (text := _ask("> " if terminal else "")) is not None and text != "/quit":
            if text == "/reset":
                turns = []
            elif text:
                turns = _answer(responder, turns, text)
    except KeyboardInterrupt:
        print(file=sys.stderr)


def _answer(responder: Responder, turns: list[str], text: str) -> list[str]:
    """Answers a turn; the turns with it and the answer, or without both where there was an error."""
    from graphdep.io.files import has_half_character

    try:
        if has_half_character(text):
            raise ValueError("stdin: not UTF-8")
        answer = responder.respond([[*turns, text]])[0][0]
    except (ValueError, OSError, RuntimeError) as error:
        print(f"graphdep: error: {describe(error)}", file=sys.stderr)
        return turns
    print(answer, flush=True)
    return [*turns, text, *([answer] if answer.strip() else [])]


def _ask(prompt: str) -> str | None:
    """The next line without the spaces around it; None at the end of the input."""
    try:
        return input(prompt).strip()
    except EOFError:
        return None


def _check_options(source: str | None, output: Path | None, num_return: int, json: bool) -> None:
    for name, given in (("--output", output is not None), ("--num-return", num_return > 1), ("--json", json)):
        if given and source is None:
            raise ValueError(f"{name} needs --input: without it, this is a chat")
    if json and output is None:
        raise ValueError("--json needs --output: the responses and the summary cannot both go to stdout")


def _answered(row: dict[str, Any], texts: list[str], num_return: int) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if key not in ("response", "responses")}
    return {**kept, "response": texts[0], **({"responses": texts} if num_return > 1 else {})}


def _summary(responder: Responder, contexts: int, output: Path | None) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "checkpoint": responder.checkpoint,
        "contexts": contexts,
        "parser_failures": responder.parser_failures,
        "decoding": asdict(responder.decoding),
        "output": str(output),
    }
