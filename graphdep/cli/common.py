"""Signals, errors, output and input files of commands."""

from __future__ import annotations

import codecs
import contextlib
import csv
import errno
import io
import json
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import typer
from typer.core import TyperGroup

from graphdep.io.console import fitting_table, plain_console
from graphdep.io.files import (
    check_replaced,
    decoded_lines,
    guard,
    has_half_character,
    json_value,
    long_fields,
    open_to_read,
)
from graphdep.io.formats import recognise, recognised
from graphdep.io.limits import MAX_WORDS, and_unparsed, check_texts, plural
from graphdep.sentence.tree import PAGE

if TYPE_CHECKING:
    from graphdep.parsing.parser import Parser, WordLimit
    from graphdep.sentence.sentence import Sentence


logger = logging.getLogger("graphdep")

# Job schedulers and `timeout` send SIGTERM, a closing terminal SIGHUP, which Windows lacks.
_TERMINATION = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[list[int]]:
    """Makes SIGTERM and SIGHUP raise :class:`KeyboardInterrupt`, so that half-written files are removed and
    child processes end; yields the list of received signals.

    Signals within a second of the first one do nothing, since `timeout` sends two; later ones raise again,
    since some code swallows the exception. A signal that is ignored (``nohup``) or has a handler is left
    alone, and so are threads, which cannot have handlers.
    """
    received: list[int] = []
    times: list[float] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        times.append(time.monotonic())
        if len(received) == 1 or times[-1] > times[0] + 1:
            raise KeyboardInterrupt

    on_main = threading.current_thread() is threading.main_thread()
    own = [number for number in _TERMINATION if on_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in own:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number in own:
            signal.signal(number, signal.SIG_DFL)


_LONGEST = 4_000  # characters of a message, which may list names
# Errors of users, beside ValueError.
_USER_ERRORS = ("ParserUnavailableError", "TrainingError")


class ErrorGroup(TyperGroup):
    """Commands whose errors are one line on stderr and exit code 2; ``GRAPHDEP_DEBUG=1`` shows the
    traceback. Ctrl-C ends them with 130, SIGTERM with 143 and SIGHUP with 129, as shells count.
    """

    def invoke(self, ctx: Any) -> Any:
        with signals_as_interrupts() as received:
            try:
                return self._invoke(ctx)
            except KeyboardInterrupt:
                again = " with --resume" if ctx.invoked_subcommand == "train" else ""
                print(
                    "graphdep: interrupted; finished work is kept. To continue, run this command "
                    f"again{again}",
                    file=sys.stderr,
                )
                raise typer.Exit(128 + (received[0] if received else signal.SIGINT)) from None

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of stdout has ended, as in `graphdep parse ... | head`: not an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except Exception as error:
            if os.environ.get("GRAPHDEP_DEBUG") == "1" or _is_click(error):
                raise
            print(f"graphdep: error: {describe(error)}", file=sys.stderr)
            raise typer.Exit(2) from None


def describe(error: BaseException) -> str:
    """An error in one line; an unexpected one keeps its class name and says how to get the traceback."""
    text = " ".join(str(error).split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    ours = isinstance(error, ValueError) and type(error).__module__.startswith("graphdep.")
    if ours or type(error) is ValueError or type(error).__name__ in _USER_ERRORS:
        return text
    if type(error) is ImportError and "install" in text:  # the message names the missing extra
        return text
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename:
        return f"{error.filename}: {error.strerror}: free some space there; finished work is kept"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"no file {error.filename}"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else text
    if isinstance(error, MemoryError):
        return f"out of memory{': ' * bool(text)}{text[:500]}"
    return f"{type(error).__name__}: {text[:500]} (GRAPHDEP_DEBUG=1 shows where)"


def _is_click(error: BaseException) -> bool:
    """Whether Typer handles the exception itself: wrong usage or an exit."""
    return any(kind.__name__ in ("ClickException", "Exit", "Abort") for kind in type(error).__mro__)


def report_loading() -> None:
    """Tells the user of a terminal that PyTorch is being imported, which takes seconds to a minute."""
    if sys.stderr.isatty():
        print("graphdep: loading ...", file=sys.stderr, flush=True)


def print_json(value: dict[str, Any]) -> None:
    """Prints one JSON object to stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def print_scores(result: dict[str, Any], where: str = "") -> None:
    """Prints the scores of a run, and the definition of each metric or where to find it."""
    from graphdep.datasets.base.rows import some_of
    from graphdep.tasks import family_of
    from graphdep.training.ablation import capped
    from graphdep.training.floors import below_floor, untrained
    from graphdep.training.task import few_validation, legend

    floors = family_of(result["task"]).split_floors(result["floor"])
    floors |= {"encoder, not trained": result.get("floor_frozen", {})}
    beside = {"score": result["metrics"], **floors, "references": result["reference"]}
    shown = {title: scores for title, scores in beside.items() if scores}
    rows = [
        [name, *(f"{scores[name]:.4f}" if name in scores else "" for scores in shown.values())]
        for name in result["metrics"]
    ]
    console = plain_console()
    title = f"{result.get('label', result['model'])} on {result['task']}, seed {result['seed']}"
    drop = [name for name in reversed(shown) if name != "score"]
    console.print(fitting_table(["metric", *shown], rows, title=title, width=console.width, drop=drop))
    for line in [f"definitions of the metrics: {where}"] if where else legend(result["signature"]):
        console.print(line, style="dim", soft_wrap=True)
    for note in result.get("data", {}).get("notes", ()):
        console.print(note, soft_wrap=True)
    if family_of(result["task"]).floor_reads and not result["floor"]:
        console.print("scores without skill need the training file: --train FILE", soft_wrap=True)
    if "epochs" in result:
        seconds = f"{result['seconds_per_epoch']:.1f} s per epoch"
        if "seconds_per_validation" in result:
            seconds += f" and {result['seconds_per_validation']:.1f} s for validation"
        epochs = plural(result["epochs"], "epoch")
        stopped = f"; {result['stopped']}" if result.get("stopped") else ""
        tied = " (the last; more epochs may help)" if capped(result) else ""
        if ties := result.get("tied_epochs"):
            config = result["config"]
            helps = config["monitor"] != "loss" and not config.get("crf")  # which a CRF refuses
            advice = "; --monitor loss tells them apart" if helps else ""
            tied = f" (the first of {ties + 1} with this score{advice})"
        console.print(f"{epochs}, best: {result['best_epoch']}{tied}; {seconds}{stopped}", soft_wrap=True)
        if said := few_validation(result["task"], result["config"], result["data"]["examples"]):
            console.print(said, soft_wrap=True)
        labels = result.get("tables", {}).get(result["compared"], {}).get("labels", [])
        # Labels that training lacks cannot be predicted; a note names them.
        known = [row for row in labels if not str(row["label"]).startswith("(unknown")]
        if missed := [row["label"] for row in known if row["there"] and not row["found"]]:
            console.print(f"never predicted: {some_of(missed)}", soft_wrap=True)
    scored = result["task"], result["config"], result["metrics"]
    if said := below_floor(*scored, result["floor"]):
        console.print(f"WARNING: {said}", soft_wrap=True)
    if said := untrained(*scored, result.get("floor_frozen", {})):
        console.print(f"UNTRAINED: {said}", soft_wrap=True)
    console.print(f"{result['parameters']:,} parameters; checkpoint: {result['checkpoint']}", soft_wrap=True)


def print_labels(result: dict[str, Any]) -> None:
    """Prints the scores of each label on a split, if it has labels."""
    rows = result.get("tables", {}).get(result["split"], {}).get("labels", [])
    names = ("precision", "recall", "f1")
    cells = [[row["label"], *(f"{row[name]:.4f}" for name in names), str(row["there"])] for row in rows]
    console, header = plain_console(), ["label", *names, "support"]
    if cells:
        console.print(fitting_table(header, cells, title="scores of each label", width=console.width))


_TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_SUFFIXES = (*_TABLES, ".txt", ".text", ".md", ".conllu", ".conll", ".spacy")


def texts_or_file(texts: list[str] | None, source: str | None) -> tuple[list[str], str | None]:
    """The given texts, or the name of their file, which may also be given as the only text.

    Raises:
        ValueError: If both or neither are given.
        FileNotFoundError: If a text looks like a file name, but there is no such file.
    """
    if bool(texts) == (source is not None):
        raise ValueError("give either a TEXT or --input FILE")
    if source is not None or not texts or len(texts) > 1:
        return texts or [], source
    (text,) = texts
    if text == "-" or _is_file(text):
        return [], text
    check_no_file_name(text)
    return texts, None


def check_no_file_name(text: str) -> None:
    """Raises :class:`FileNotFoundError` if a text looks like a file name; warns of any other single word."""
    if len(text.split()) != 1:
        return
    if Path(text).suffix.lower() in _SUFFIXES or _is_path(text):
        raise FileNotFoundError(f"no file {text!r} (a text would have spaces)")
    logger.warning("there is no file %r: read as a text of one word", text[:80])


def _is_path(text: str) -> bool:
    """Whether a word that names no file is almost certainly a path, unlike ``and/or``."""
    return text.startswith(("/", "./", "../", "~/")) or (
        "/" in text and _is(Path.is_dir, os.path.dirname(text))
    )


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a file name
        return False


def is_table(source: str) -> bool:
    """Whether a file has columns, not one text per line."""
    return Path(source).suffix.lower() in _TABLES


def read_text_lines(source: str) -> list[str]:
    """:func:`read_lines` of texts; refuses files of trees and of JSON objects, whose lines are no texts."""
    lines = read_lines(source)
    if (name := recognise(lines)) != "text":
        raise ValueError(f"{source}: expected one text per line, but this is {name}: see {PAGE}")
    return lines


def read_lines(source: str) -> list[str]:
    """The lines of a file or stdin, including empty ones; a final line break starts no new line.

    Raises:
        ValueError: If there are no lines, or they are not UTF-8.
        OSError: If the file cannot be read.
    """
    with contextlib.nullcontext(sys.stdin.buffer) if source == "-" else open_to_read(source) as file:
        lines = [line for _, line in decoded_lines(file, source)]
    if not lines:
        raise ValueError(f"{source}: there are no lines")
    return lines


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths name the same file, which need not exist yet."""
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def check_not_input(output: Path, files: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Raises :class:`ValueError` if the output would overwrite an input file of an option."""
    for name, read in files.items():
        if read not in (None, "", "-") and same_file(output, read):
            raise ValueError(f"'output' would overwrite the file of {name} (got {str(output)!r})")


def check_output(output: Path, checkpoint: Path, source: str | None, overwrite: bool, of: str = "") -> None:
    """Checks before the work starts that the output can be written; for ``of`` see ``check_replaced``.

    Raises:
        ValueError: If it is an input file, exists and :obj:`overwrite` is not set, is no plain file, or its
            folder cannot be written to.
    """
    check_not_input(output, {"--checkpoint": checkpoint, "--input": source})
    if output.is_dir():
        raise ValueError(f"'output' must be a file (got the folder {str(output)!r})")
    check_replaced(output.parent, [output.name], overwrite=overwrite, of=of)
    folder = next(parent for parent in output.parents if parent.exists())
    if output.is_absolute() and folder == Path(folder.anchor) and output.parent != folder:
        raise ValueError(
            f"'output' cannot be written: no folder {str(output.parent)!r} (got {str(output)!r})"
        )
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(
            f"'output' cannot be written: {str(folder)!r} is not a writable folder (got {str(output)!r})"
        )


def check_suffix(output: Path | None, *suffixes: str, why: str = "") -> None:
    """Raises :class:`ValueError` unless the output has one of the suffixes."""
    if output is not None and output.suffix.lower() not in suffixes:
        raise ValueError(f"'output' must end in {', '.join(suffixes)}{why} (got {str(output)!r})")


def check_json(json: bool, output: Path | None, what: str) -> None:
    """Raises :class:`ValueError` if both results and JSON would go to stdout."""
    if json and output is None:
        raise ValueError(f"--json needs --output: stdout cannot have both the {what} and the summary")


def check_shared(settings: Mapping[str, Any], *names: str) -> None:
    """Raises :class:`ValueError` if one of the settings by which runs differ is given for all of them."""
    for name in settings.keys() & {*names}:
        raise ValueError(f"{name!r} cannot be set for all runs, which differ in it")


def check_no_columns(source: str | None, text_columns: str | None) -> None:
    """Raises :class:`ValueError` if columns are named for an input without columns."""
    if text_columns is not None:
        given = "texts" if source is None else repr(source)
        raise ValueError(f"--text-columns is for files with columns (got {given})")


_BLOCK = 2**20


class Texts(NamedTuple):
    """The content of a TEXT_OR_FILE argument: texts or trees.

    Args:
        stream: The texts.
        total: Number of texts; :obj:`None` for a pipe or stdin.
        format: Format of trees (:func:`~graphdep.io.formats.recognise`). (default: ``"text"``)
        lines: Numbered lines of trees. (default: none)
    """

    stream: Iterator[str]
    total: int | None
    format: str = "text"
    lines: Iterable[tuple[int, str]] = ()


def stream_texts(text: str) -> Texts:
    """A stream of the texts of a file, one per line, or of the text itself; or the lines of a file of trees.

    A file of texts is read twice, so that an error is raised before the first text is yielded.

    Raises:
        ValueError: If there is no text, it has half a character, or the file is not UTF-8 or no text file.
        FileNotFoundError: If the text looks like a file name, but there is no such file.
    """
    if text == "-":
        if sys.stdin is None:
            raise ValueError("stdin is closed: name a file")
        return _recognised(sys.stdin, text)
    if not text.strip():
        return _counted(lambda: _texts([], text))
    if _is(Path.is_fifo, text):  # also <(a command)
        return _recognised(_lines(Path(text)), text)
    if _is(Path.is_file, text):
        return tree_file(text) or _counted(lambda: _texts(_lines(Path(text)), text))
    if " " not in text and _is(Path.exists, text):
        raise ValueError(f"{text!r} is neither a file nor a pipe")
    check_no_file_name(text)
    return _counted(lambda: _texts([" ".join(text.split())], text))


def tree_file(path: str) -> Texts | None:
    """The lines of a file of trees; :obj:`None` for a file of texts."""
    suffix = Path(path).suffix.lower()
    if suffix in _BINARY:
        return Texts(iter(()), None, _BINARY[suffix])
    name = recognise(_lines(Path(path)))
    if name == "text" and suffix not in _OF_TREES:
        return None
    if name == "text":  # the error of the format's own reader says more
        name = _OF_TREES[suffix]
    from graphdep.io.trees import tree_lines

    return Texts(iter(()), None, name, tree_lines(path))


# Formats by suffixes that files of texts do not have.
_OF_TREES = {
    ".conllu": "conllu",
    **dict.fromkeys((".conllup", ".conll", ".json", ".jsonl", ".xml", ".ptb", ".mrg"), "unknown"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
}
_BINARY = {".parquet": "table", ".spacy": "docs"}


def _recognised(lines: Iterable[str], name: str) -> Texts:
    kind, rest = recognised(
        (number, (line.removeprefix("\ufeff") if number == 1 else line).rstrip("\r\n"))
        for number, line in enumerate(lines, start=1)
    )
    if kind == "text":
        return Texts(_texts((line for _, line in rest), name), None)
    return Texts(iter(()), None, kind, rest)


class OwnTrees(NamedTuple):
    """The sentences of a file of trees.

    Args:
        sentences: The sentences.
        note: Number of sentences, origin of their trees, and changes, as text.
        counts: Numbers of changes.
    """

    sentences: list[Sentence]
    note: str
    counts: dict[str, Any]


def own_trees(
    given: Texts,
    name: str,
    scheme: str,
    bad_trees: str,
    parser: Callable[[], Parser],
    *,
    words: bool = False,
    max_words: int | None = MAX_WORDS,
) -> OwnTrees:
    """Reads the trees of a file as :func:`~graphdep.io.read_trees` does, or with ``words`` parses its words.

    Args:
        given: Result of :func:`stream_texts`.
        name: Name of the file in messages.
        scheme, bad_trees: See :class:`~graphdep.sentence.Intake`.
        parser: Makes the parser, if one is needed.
        words: Parse the words. (default: :obj:`False`)
        max_words: Maximum length of a sentence. (default: :obj:`10_000`)
    """
    from graphdep.io.trees import take_lines
    from graphdep.sentence.intake import Intake

    made = parser() if words or bad_trees == "parse" or given.format == "ptb" else None
    intake = Intake(scheme, bad_trees, made, "--bad-trees attach, parse or skip")
    taken = take_lines(given.format, given.lines, name, intake, max_words=max_words, words=words)
    sentences = [sentence for sentence in taken if sentence is not None]
    if not sentences:
        raise ValueError(f"{name}: no sentences are left ({intake.note()})")
    parsed = words or given.format == "ptb"
    said = (
        f"{plural(len(sentences), 'sentence')}, {'their words parsed' if parsed else 'with their own trees'}"
    )
    parts = [and_unparsed(said, made.failures if made is not None else 0)]
    parts += [intake.note()] if intake.note() else []
    return OwnTrees(sentences, f"{name}: {'; '.join(parts)}", intake.counts())


def parser_options(parser: str | None, scheme: str, bad_trees: str) -> dict[str, Any]:
    """Options for reading a file of parses, ``conllu:FILE``; none for other parsers."""
    changed = (scheme, bad_trees) != ("auto", "error") and (parser or "").startswith("conllu:")
    return {"scheme": scheme, "bad_trees": bad_trees} if changed else {}


def model_parser(parser: str | None, scheme: str, bad_trees: str) -> str | Parser | None:
    """The parser of a model: its name, or a parser for a file of parses with these options."""
    if not (options := parser_options(parser, scheme, bad_trees)):
        return parser
    from graphdep.parsing.resolver import resolve_parser

    return resolve_parser(str(parser), **options)


def _counted(read: Callable[[], Iterator[str]]) -> Texts:
    return Texts(read(), sum(1 for _ in read()))


def _texts(lines: Iterable[str], name: str) -> Iterator[str]:
    number = 0
    for line in map(str.strip, lines):
        if not line:
            continue
        number += 1
        if has_half_character(line):
            raise ValueError(f"text {number} has half a character: {line[:80]!r}")
        yield line
    if not number:
        raise ValueError(f"there is no text in {name!r}")


def _is(kind: Callable[[Path], bool], text: str) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # too long for a file name
        return False


def _lines(path: Path) -> Iterator[str]:
    """The lines, with any kind of line break."""
    unfinished: list[str] = []
    with open_to_read(path) as file:
        for piece in _decoded(file, path):
            *lines, rest = piece.split("\n")
            if lines:
                yield "".join((*unfinished, lines[0]))
                yield from lines[1:]
                unfinished = []
            unfinished.append(rest)
    yield "".join(unfinished)


def _decoded(file: BinaryIO, path: Path) -> Iterator[str]:
    """The text of a UTF-8 file, a megabyte at a time, without byte-order mark, with ``LF`` line breaks."""
    decoder, ends = codecs.getincrementaldecoder("utf-8")(), io.IncrementalNewlineDecoder(None, True)
    place, block, begun = 0, b"-", False
    while block:
        block = file.read(_BLOCK)
        start = place - len(decoder.getstate()[0])  # the decoder keeps the bytes of a character that is cut
        try:
            piece = ends.decode(decoder.decode(block, not block), not block)
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: not UTF-8 at byte {start + error.start}") from None
        yield piece if begun else piece.removeprefix("\ufeff")
        begun, place = begun or bool(piece), place + len(block)


# Name of an element of each list.
_ELEMENTS = {"context": "turn", "candidates": "candidate"}


def read_rows(source: str, keys: Sequence[str], limit: WordLimit) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, each with a list of texts under each of ``keys``.

    Raises:
        ValueError: If there are no lines, a line is invalid, or a text is longer than :obj:`limit`; the
            message names the file and the line.
        OSError: If the file cannot be read.
    """
    lines = enumerate(read_lines(source), start=1)
    return [_row(line, f"{source}:{number}", keys, limit) for number, line in lines]


def write_rows(output: Path | None, rows: Sequence[dict[str, Any]]) -> None:
    """Writes JSON lines atomically to a file, or to stdout."""
    write_text(output, "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))


def write_text(output: Path | None, text: str) -> None:
    """Writes a text atomically to a file, or to stdout."""
    if output is None:
        sys.stdout.write(text)
        return
    from graphdep.io.files import atomic_path

    with atomic_path(output, typed=True) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def _row(line: str, place: str, keys: Sequence[str], limit: WordLimit) -> dict[str, Any]:
    row = json_value(line, place)
    for key in keys:
        if not isinstance(row, dict) or not row.get(key):
            raise ValueError(f"{place}: must be an object with a non-empty list {key!r} (got {line[:80]!r})")
        try:
            check_texts(key, row[key], _ELEMENTS[key])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{place}: {error}") from None
        for number, text in enumerate(row[key]):
            limit.check(text, f"{place}: '{key}[{number}]'")
    return row


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def guard_table(text: str, kind: str) -> str:
    """Puts an apostrophe before each part of a cell that a spreadsheet would read as a formula.

    This includes the header. Numbers, such as ``-0.5``, are left as they are.

    Args:
        text: The content of the file.
        kind: Its suffix, ``.csv`` or ``.tsv``.
    """
    if kind == ".tsv":  # without quotes, as :mod:`graphdep.training.floors` writes it
        return "\n".join("\t".join(map(_guarded, line.split("\t"))) for line in text.split("\n"))
    file = io.StringIO()
    with long_fields():
        rows = [[_guarded(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""))]
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def _guarded(cell: str) -> str:
    return cell if _NUMBER.fullmatch(cell) else guard(cell)
