"""``graphdep predict``, ``embed``, ``generate``, ``rank``, ``submit`` and ``export``."""

from __future__ import annotations

import dataclasses
import io
import re
import sys
from collections.abc import Callable
from json import JSONDecoder
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.common import (
    Texts,
    check_json,
    check_no_columns,
    check_output,
    check_suffix,
    describe,
    is_table,
    model_parser,
    own_trees,
    print_json,
    read_rows,
    read_text_lines,
    report_loading,
    texts_or_file,
    tree_file,
    write_rows,
    write_text,
)
from graphdep.cli.options import import_edges
from graphdep.io.console import plain_console
from graphdep.io.files import find_checkpoint
from graphdep.io.limits import MAX_WORDS, and_unparsed, plural
from graphdep.sentence.exchange import COLUMN_NAMES

if TYPE_CHECKING:
    import numpy as np

    from graphdep.tasks.dialogues.predict import Responder


_TABLES = (".csv", ".tsv", ".jsonl")
_OTHERS = (".json", ".parquet")
"""Tables whose predictions are JSON lines."""
_OBJECTS = (".jsonl", *_OTHERS, ".conllu", ".conll", ".spacy")
_WITH_ROWS = (*_TABLES, *_OTHERS, ".conllu", ".conll", ".spacy")


def predict(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run, its best.ckpt, or a saved estimator.")
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT...",
            help="Texts (for pairs, two per pair), or a file, or - for stdin.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="For texts and spans: .csv or .tsv with a header, .jsonl, or one text per line (pairs "
            "separated by a tab; - for stdin). For words: .jsonl or .conllu. Or a file of trees, as for "
            "`graphdep parse`, with one text per tree.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file of the same kind; for texts without columns .csv, .tsv or .jsonl, for columns of "
            "words also .jsonl. Written atomically. [default: stdout]",
        ),
    ] = None,
    text_columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME]",
            help="The column of texts, or the two columns of pairs. [default: the training's columns, or "
            "those of GLUE]",
        ),
    ] = None,
    parser: o.ModelParser = None,
    bad_trees: o.BadTrees = "error",
    tree_scheme: o.TreeScheme = "auto",
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Texts or pairs per batch.")] = 64,
    guard_formulas: Annotated[
        bool,
        typer.Option(
            "--guard-formulas",
            help="In .csv and .tsv, put an apostrophe before text that a spreadsheet would read as a "
            "formula. Not for files that programs read.",
        ),
    ] = False,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Predict labels or numbers of texts, pairs, words or spans.

    For a file of texts, each output row has the columns of the input row, "prediction" and, for classes, the
    probability of each class as "probability_NAME" (in JSON one object, "probabilities"). Input columns with
    these names are replaced, which stderr reports. If a row is invalid, nothing is written. Cells that a
    spreadsheet would read as formulas are written unchanged, unless --guard-formulas is given.

    Input and output by task: {predicted}.

    Examples:
        graphdep predict --checkpoint runs/.../best.ckpt "A fine film."

        graphdep predict --checkpoint runs/.../best.ckpt --input new.csv --output predicted.csv

        graphdep predict --checkpoint runs/.../best.ckpt --input new.jsonl --text-columns text

        graphdep predict --checkpoint runs/.../best.ckpt --input words.jsonl --output labelled.jsonl

        graphdep predict --checkpoint runs/.../best.ckpt --input relations.jsonl --output labelled.jsonl
    """
    check_json(json, output, "predictions")
    texts, source = texts_or_file(texts, source)
    checkpoint = find_checkpoint(checkpoint)
    trees = _trees(source)
    _check_files(source, output, checkpoint, text_columns, trees is not None, overwrite)
    whole = trees is None and source is not None and Path(source).suffix.lower() in _WITH_ROWS
    lines = None if whole or trees else texts if source is None else read_text_lines(source)
    if guard_formulas and Path(output or (source if whole else None) or ".csv").suffix.lower() in _OBJECTS:
        raise ValueError("--guard-formulas is for .csv and .tsv")
    report_loading()
    from graphdep.cli.common import guard_table
    from graphdep.parsing.parser import WordLimit
    from graphdep.parsing.resolver import resolve_parser
    from graphdep.training.checkpoint import load_task, trained_setting
    from graphdep.training.estimator import parser_to_use
    from graphdep.training.family import FileRequest

    task, state = load_task(checkpoint, edges and import_edges(edges))
    given = {"tree_scheme": tree_scheme} if tree_scheme != "auto" else {}
    given |= {"bad_trees": bad_trees} if bad_trees != "error" else {}
    if whole and given:
        if bad_trees == "skip":
            raise ValueError("--bad-trees skip is for files of trees: each row of a table gets a prediction")
        if not hasattr(state.config, "bad_trees"):
            raise ValueError(f"--{next(iter(given)).replace('_', '-')} is for tasks on your own files")
        state = dataclasses.replace(state, config=state.config.replace(**given))
    limit = WordLimit(max_words, truncate)
    if source is None:
        lines = _pairs(texts, getattr(state.config, "num_texts", 1))
    named = Path("TEXT" if source is None else source)
    if trees is not None and trees.format in ("columns", "unknown") and task.reads_columns:
        trees = None
    reads, notes = model_parser(parser, tree_scheme, bad_trees), []
    own = counts = None
    if trees is not None:
        scheme = trained_setting(state, "tree_scheme") if tree_scheme == "auto" else tree_scheme
        own, note, counts = own_trees(
            trees,
            str(source),
            scheme,
            bad_trees,
            lambda: resolve_parser(parser_to_use(checkpoint, state.config.parser, reads)),
            max_words=None if truncate else max_words,
        )
        lines, notes = [" ".join(sentence.text.split()) for sentence in own], [note]
    suffix = "" if output is None else output.suffix.lower()
    request = FileRequest(
        named, str(checkpoint), state, reads, text_columns, batch_size, limit, lines, suffix, own
    )
    predicted = task.predict_file(request)
    write_text(output, guard_table(predicted.text, request.kind) if guard_formulas else predicted.text)
    if json:
        counts = predicted.taken.counts() if counts is None else counts
        print_json({"checkpoint": str(checkpoint), **predicted.summary, **counts, "output": str(output)})
    console = plain_console(stderr=True)
    notes += [predicted.taken.note()] if predicted.taken.note() else []
    for note in [*notes, *predicted.notes[:-1]]:
        console.print(note, soft_wrap=True)
    where = "" if output is None else f" -> {output}"
    console.print(f"{predicted.notes[-1]}{where}", soft_wrap=True)


def _trees(source: str | None) -> Texts | None:
    """The content of a file of trees; :obj:`None` for tables, whose rows may contain trees."""
    tables = (".csv", ".jsonl", ".parquet", ".spacy")
    if source is None or not Path(source).is_file() or Path(source).suffix.lower() in tables:
        return None
    if Path(source).suffix.lower() == ".tsv":
        trees = tree_file(source)
        return trees if trees is not None and trees.format in ("conllu", "conllu-plus") else None
    if Path(source).suffix.lower() == ".json":
        first = _first_value(Path(source))
        words_alone = "words" in first and not first.keys() & {*COLUMN_NAMES["head"]}
        # In stanza's JSON, "ner" of a word is a text.
        if words_alone or any(not isinstance(first.get(key, ""), str) for key in _OF_SPANS):
            return None
    return tree_file(source)


# Keys of rows with marked spans (graphdep.datasets.spans.formats).
_OF_SPANS = ("subj_start", "aspects", "spans", "relations", "ner", "entities")


def _first_value(path: Path) -> dict[str, Any]:
    """The first object of a JSON file, or of a list in it; empty if there is none."""
    text = path.read_text(encoding="utf-8-sig", errors="replace").lstrip()
    try:
        value, _ = JSONDecoder().raw_decode(text.removeprefix("[").lstrip())
    except (ValueError, RecursionError):  # the error of its own reader says more
        return {}
    return value if isinstance(value, dict) else {}


def _check_files(
    source: str | None,
    output: Path | None,
    checkpoint: Path,
    text_columns: str | None,
    trees: bool,
    overwrite: bool,
) -> None:
    """Checks the files by their names and first rows, before the model is loaded."""
    kind = None if source is None else Path(source).suffix.lower()
    table = kind in _WITH_ROWS and not trees
    if output is not None:
        same = ".jsonl" if kind in _OTHERS else kind
        why = "" if kind in _OTHERS or not table else ", like the input"
        kinds = (".conllu", *_TABLES, *({kind} - {None})) if trees else _TABLES
        check_suffix(output, *([same] if table else kinds), why=why)
        check_output(output, checkpoint, source, overwrite)
    if not table:
        check_no_columns(source, text_columns)
    if source is None or source == "-":
        return
    Path(source).stat()
    if text_columns is not None and kind in (".csv", ".tsv"):
        from graphdep.datasets.base.rows import check_columns

        check_columns(Path(source), [name.strip() for name in text_columns.split(",")])


def _pairs(texts: list[str], width: int) -> list[str]:
    """The texts of each example as a line; a tab separates the texts of a pair."""
    if len(texts) % width:
        raise ValueError(f"the model reads pairs of texts: give an even number of texts (got {len(texts)})")
    plain = [" ".join(text.split()) for text in texts]
    return ["\t".join(plain[start : start + width]) for start in range(0, len(plain), width)]


def embed(
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="Folder of a run, or its best.ckpt.")],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT...", help="Texts, or a file, or - for stdin.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="One text per line, or - for stdin; or, with --text-columns, .csv or .tsv with a header, or "
            ".jsonl.",
        ),
    ] = None,
    text_columns: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of texts, in a file with columns.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A .npy, .csv or .tsv file, written atomically. [default: CSV on stdout]"
        ),
    ] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of texts per batch.")
    ] = 64,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Turn texts into vectors with a trained model.

    Text, line or row i of the input becomes row i of the output; an empty line becomes a row of zeros. CSV
    and TSV contain only numbers, without a header. If the parser fails on a text, it gets a chain tree, and
    the number of such texts is reported.

    Examples:
        graphdep embed --checkpoint runs/.../best.ckpt --input texts.txt --output vectors.npy

        graphdep embed --checkpoint runs/.../best.ckpt "The dog chased the cat." "It ran."

        graphdep embed --checkpoint runs/... --input reviews.csv --text-columns text --output vectors.npy
    """
    checkpoint = find_checkpoint(checkpoint)
    write = writer(output)
    texts, source = texts_or_file(texts, source)
    if output is not None:
        check_output(output, checkpoint, source, overwrite)
    places: list[str] = []
    if source is not None:
        texts, places = _read(source, text_columns)
    report_loading()
    from graphdep.parsing.parser import WordLimit
    from graphdep.tasks.sentences.predict import SentenceEncoder

    limit = WordLimit(max_words, truncate)
    for line, place in zip(texts, places):
        limit.check(line, place)
    options: dict[str, Any] = {"parser": parser, "batch_size": batch_size, "progress": None}
    options["edges"] = edges and import_edges(edges)
    encoder = SentenceEncoder(checkpoint, max_words=max_words, truncate=truncate, **options)
    vectors = encoder.transform(texts)
    result: dict[str, Any] = {
        "checkpoint": str(checkpoint),
        "shape": [*vectors.shape],
        "parser_failures": encoder.parser_failures,
        "output": None if output is None else str(output),
    }
    if output is not None:
        from graphdep.io.files import atomic_path

        # An open file, since NumPy appends .npy to names like X.NPY.
        with atomic_path(output, typed=True) as temporary, open(temporary, "wb") as file:
            write(file, vectors)
    elif not json:
        write(sys.stdout, vectors)
    if json:
        print_json(result if output is not None else {**result, "vectors": vectors.tolist()})
    where = "" if output is None else f" -> {output}"
    plain_console(stderr=True).print(
        and_unparsed(
            f"{plural(len(texts), 'text')}, {vectors.shape[1]} numbers each", encoder.parser_failures
        )
        + where,
        soft_wrap=True,
    )


def _read(source: str, text_columns: str | None) -> tuple[list[str], list[str]]:
    """The texts of a file, and the line or row of each."""
    if not is_table(source):
        check_no_columns(source, text_columns)
        lines = read_text_lines(source)
        return lines, [f"{source}:{number}" for number in range(1, len(lines) + 1)]
    from graphdep.datasets.base.rows import column_names, read_text_rows

    if text_columns is None:
        names = ", ".join(column_names(Path(source)))
        raise ValueError(
            f"{source} has columns: name the one with the texts (--text-columns; it has {names})"
        )
    rows = read_text_rows(Path(source), [text_columns])
    # An empty text becomes a row of zeros, as an empty line does.
    texts = [
        value if isinstance(value := row.values[text_columns], str) else row.text(text_columns)
        for row in rows
    ]
    return texts, [f"{source}:{row.line}: {text_columns!r}" for row in rows]


def writer(output: Path | None) -> Callable[[Any, np.ndarray], None]:
    """A function that writes vectors in the format given by the suffix of the file.

    Raises:
        ValueError: If the suffix is unknown.
    """
    import numpy as np

    suffix = ".csv" if output is None else output.suffix.lower()
    if suffix == ".npy":
        return lambda file, vectors: np.save(file, vectors, allow_pickle=False)
    check_suffix(output, ".npy", ".csv", ".tsv")
    delimiter = "," if suffix == ".csv" else "\t"
    # Nine digits determine a float32.
    return lambda file, vectors: np.savetxt(file, vectors, fmt="%.9g", delimiter=delimiter)


_DECODING = "Decoding (default: the checkpoint's settings)"


def generate(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run on dialogues, or its best.ckpt.")
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help='JSON lines with {"context": ["...", ...]}, or - for stdin. Without it, a chat starts.',
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON lines, written atomically. [default: stdout]")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="greedy, beam or sample.", rich_help_panel=_DECODING)
    ] = None,
    beams: Annotated[
        int | None, typer.Option(metavar="N", help="Width of the beam.", rich_help_panel=_DECODING)
    ] = None,
    num_return: Annotated[
        int, typer.Option(metavar="N", help="Responses per context, best first.", rich_help_panel=_DECODING)
    ] = 1,
    max_length: Annotated[
        int | None, typer.Option(metavar="N", help="Maximum tokens of a response.", rich_help_panel=_DECODING)
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            help="0 favours short responses, 1 ranks by the mean score of tokens.", rich_help_panel=_DECODING
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(metavar="N", help="Draw from the N most probable tokens.", rich_help_panel=_DECODING),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            help="Draw from the smallest set of tokens with this total probability.",
            rich_help_panel=_DECODING,
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Values below 1 draw probable tokens more often.", rich_help_panel=_DECODING),
    ] = None,
    no_repeat_ngram: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Do not repeat any N words in a row within a response.",
            rich_help_panel=_DECODING,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed for sampling.", rich_help_panel=_DECODING)] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Contexts per batch.")] = 64,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Respond to dialogues with a trained model, from a file or in a chat.

    Each output line is the input object with "response" and, if --num-return is above 1, "responses", which
    replace existing values. If a line is invalid, nothing is written.

    A chat ends with /quit or the end of the input; /reset clears the context. A line that causes an error is
    ignored.

    Examples:
        graphdep generate --checkpoint runs/.../best.ckpt

        graphdep generate --checkpoint runs/.../best.ckpt --input contexts.jsonl --output responses.jsonl
    """
    _check_options(source, output, num_return, json)
    if output is not None:
        check_output(output, checkpoint, source, overwrite)
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
    report_loading()
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
        and_unparsed(plural(len(rows), "context"), responder.parser_failures, "turn") + where, soft_wrap=True
    )


def chat(responder: Responder) -> None:
    """Answers each line of the input, given the turns before it.

    A line that causes an error is reported on stderr and not added to the turns.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # else an invalid byte would also end later lines
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if terminal:
        print("/reset clears the context, /quit ends the chat.", file=sys.stderr)
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
    """Answers a turn; returns the turns with it and its answer, or without both after an error."""
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
    """The next line, stripped; :obj:`None` at the end of the input."""
    try:
        return input(prompt).strip()
    except EOFError:
        return None


def _check_options(source: str | None, output: Path | None, num_return: int, json: bool) -> None:
    for name, given in (("--output", output is not None), ("--num-return", num_return > 1), ("--json", json)):
        if given and source is None:
            raise ValueError(f"{name} needs --input; without it, a chat starts")
    check_json(json, output, "responses")


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


_RANKING = ("ranking", "scores")


def rank(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run on response selection, or its best.ckpt.")
    ],
    source: Annotated[
        str,
        typer.Option(
            "--input",
            metavar="FILE",
            help='JSON lines with {"context": ["...", ...], "candidates": ["...", ...]}, or - for stdin.',
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON lines, written atomically. [default: stdout]")
    ] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[
        int, typer.Option(min=1, metavar="N", help="Pairs of context and candidate per batch.")
    ] = 64,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Rank candidate responses to dialogues with a trained model.

    Each output line is the input object with "ranking", the indices of the candidates, best first, and
    "scores", the probability of each candidate in input order; existing values are replaced. If a line is
    invalid, nothing is written.

    Each distinct text is parsed once. Texts that are too long for the model are cut, contexts at the left;
    the number of cut words is reported.

    Examples:
        graphdep rank --checkpoint runs/.../best.ckpt --input pools.jsonl --output ranked.jsonl
    """
    check_json(json, output, "rankings")
    if output is not None:
        check_output(output, checkpoint, source, overwrite)
    checkpoint = find_checkpoint(checkpoint)
    from graphdep.parsing.parser import WordLimit

    limit = WordLimit(max_words, truncate)
    rows = read_rows(source, ("context", "candidates"), limit)
    report_loading()
    from graphdep.tasks.selection.predict import ResponseSelector

    options: dict[str, Any] = {
        "parser": parser,
        "batch_size": batch_size,
        "edges": edges and import_edges(edges),
    }
    selector = ResponseSelector(checkpoint, max_words=max_words, truncate=truncate, **options)
    rankings = selector.rank_pools(rows)
    write_rows(output, [_without(row) | ranking._asdict() for row, ranking in zip(rows, rankings)])
    summary: dict[str, Any] = {
        "checkpoint": selector.checkpoint,
        "pools": len(rows),
        "candidates": sum(len(row["candidates"]) for row in rows),
        "parser_failures": selector.parser_failures,
        "cut_words": selector.cut_words,
        "output": str(output),
    }
    if json:
        print_json(summary)
    cut, where = selector.cut_words, "" if output is None else f" -> {output}"
    did = f"{plural(summary['pools'], 'pool')}, {plural(summary['candidates'], 'candidate')}"
    plain_console(stderr=True).print(
        f"{and_unparsed(did, selector.parser_failures)}; words cut: {cut['context']} of contexts, "
        f"{cut['candidates']} of candidates{where}",
        soft_wrap=True,
    )


def _without(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _RANKING}


def submit(
    checkpoint: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Folder of a run on cola, sst2, mrpc, stsb, mnli, qnli, rte or qqp, or its best.ckpt, or "
            "TASK=FILE; repeat for each task.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")],
    root: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder of GLUE (raw/, processed/, cache/). [default: the root in training if it has the "
            "test files, else datasets/glue]",
        ),
    ] = None,
    raw_from: o.RawFrom = None,
    parser: o.ModelParser = None,
    edges: o.ModelEdges = None,
    fill: Annotated[
        bool,
        typer.Option(
            "--fill",
            help="Fill the files of tasks without a checkpoint with a constant, since the leaderboard "
            "requires all files.",
        ),
    ] = False,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Examples per batch.")] = 64,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Predict GLUE's test sets with trained models, and write the files for its leaderboard.

    The folder gets CoLA.tsv, SST-2.tsv, MRPC.tsv, STS-B.tsv, MNLI-m.tsv, MNLI-mm.tsv, AX.tsv, QNLI.tsv,
    RTE.tsv and QQP.tsv, if there are checkpoints for them, WNLI.tsv with a constant, and submission.zip with
    all of these. The leaderboard requires all eleven files; missing ones are reported. A model trained on
    MNLI predicts three of them.

    The test files are read from `raw/` of the root, in the layout of GLUE's download. The leaderboard
    identifies an answer by its index, so the rows of a test file must be numbered from 0.

    Examples:
        graphdep submit --checkpoint runs/cola_... --checkpoint runs/mnli_... --output submission --fill

        graphdep submit --checkpoint runs/rte_.../best.ckpt --raw-from glue_data --output submission
    """
    given = [_task_and_file(text) for text in checkpoint]
    report_loading()
    from graphdep.tasks.sentences.glue_submission import (
        ARCHIVE,
        FILES,
        check_checkpoints,
        check_submission,
        check_test_files,
        constant_answers,
        glue_root,
        predict_glue,
        tasks_of,
        write_submission,
    )

    if edges is not None:
        from graphdep.transforms.presets import resolve

        resolve(import_edges(edges))  # registers the edges for checkpoints that name them
    check_submission(output, overwrite=overwrite)
    checkpoints = tasks_of(given)
    check_checkpoints(checkpoints)
    say = plain_console(stderr=True)
    places: dict[str, dict[str, Any]] = {}
    for name, path in checkpoints.items():
        places[name] = {"root": root or glue_root(path, name), "raw_from": raw_from}
        check_test_files([name], **places[name])
    for folder in dict.fromkeys(str(place["root"]) for place in places.values() if root is None):
        say.print(f"test files of {folder}", soft_wrap=True)
    answers: dict[str, list[str]] = {}
    for name, path in checkpoints.items():
        answers |= predict_glue(path, name, batch_size=batch_size, parser=parser, **places[name])
    missing = [file for file, about in FILES.items() if file not in answers and about.task is not None]
    constant = [file for file, about in FILES.items() if about.task is None] + (missing if fill else [])
    answers |= {file: constant_answers(file) for file in constant}
    write_submission(output, {file: answers[file] for file in FILES if file in answers}, overwrite=overwrite)
    if json:
        sizes = {file: len(answers[file]) for file in FILES if file in answers}
        paths = {"output": str(output), "archive": str(output / ARCHIVE)}
        print_json({**paths, "rows": sizes, "missing": missing, "constant": constant})
    say.print(f"{len(answers)} files -> {output / ARCHIVE}", soft_wrap=True)
    if missing:
        names = ", ".join(missing)
        what = "filled with a constant" if fill else "missing, so the leaderboard refuses all (see --fill)"
        say.print(f"without a checkpoint, {what}: {names}", soft_wrap=True)


def _task_and_file(text: str) -> tuple[str | None, Path]:
    """The task, if given, without ``glue-``, and the checkpoint."""
    name, equals, path = text.partition("=")
    if not equals or Path(text).exists() or not re.fullmatch(r"\s*[a-z0-9-]+\s*", name):
        return None, find_checkpoint(text)
    return name.strip().removeprefix("glue-"), find_checkpoint(path)


def export(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run of any task, or its best.ckpt.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the files; replaces an earlier export with the same settings and data.",
        ),
    ],
    overwrite: o.Overwrite = False,
    push: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Also upload the model to the Hugging Face Hub.")
    ] = None,
    private: Annotated[bool, typer.Option(help="With --push: make the repository private.")] = False,
    edges: o.ModelEdges = None,
    json: o.Json = False,
) -> None:
    """Write a trained model to a folder for sharing: safetensors, JSON, a model card; no code, no pickle.

    The folder can be used wherever a checkpoint can, and with `graphdep.load` in Python.

    Examples:
        graphdep export --checkpoint runs/... --output model
        graphdep export --checkpoint runs/... --output model --push ann/roles-dt
    """
    if private and push is None:
        raise ValueError("--private is for --push")
    checkpoint = find_checkpoint(checkpoint)
    report_loading()
    from graphdep.training.checkpoint import load_task
    from graphdep.training.hub import run_result, write_model_folder

    task, state = load_task(checkpoint, edges and import_edges(edges))
    files = write_model_folder(output, task, state, run_result(checkpoint), overwrite=overwrite)
    address = None
    if push is not None:
        from huggingface_hub import HfApi

        api = HfApi()
        print(f"uploading to {push}: {', '.join(files)}", file=sys.stderr)
        name = api.create_repo(push, private=private, exist_ok=True).repo_id
        # The folder may have private files of the user.
        address = str(api.upload_folder(repo_id=name, folder_path=output, allow_patterns=files))
    if json:
        print_json({"checkpoint": str(checkpoint), "output": str(output), "pushed": address})
        return
    print(address or output)
