"""``graphdep parse``, ``draw``, ``attention``, ``explore``, ``models`` and ``settings``."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from graphdep.cli import complete
from graphdep.cli import options as o
from graphdep.cli.common import (
    Texts,
    check_not_input,
    check_output,
    check_suffix,
    model_parser,
    own_trees,
    parser_options,
    print_json,
    report_loading,
    stream_texts,
    texts_or_file,
)
from graphdep.cli.options import EDGES, import_edges
from graphdep.io.console import plain_console
from graphdep.io.files import check_replaced, drawing, find_checkpoint
from graphdep.io.limits import and_unparsed, check_between, check_choice, plural

if TYPE_CHECKING:
    from graphdep.parsing.parser import Parser
    from graphdep.sentence import Sentence


# Sentences that are processed at a time.
_CHUNK = 4_096
_BRACKETS = (".ptb", ".mrg")  # files of brackets
# A picture shows the same, whatever these options are.
_OF_OUTPUT = ("output", "overwrite")
FigSize = Annotated[
    str | None,
    typer.Option(
        metavar="WxH",
        help="Largest width and height of a picture in inches, e.g. 3.3x2.9. [default: as the tree needs]",
    ),
]


def parse(
    text: Annotated[str, typer.Argument(metavar="TEXT_OR_FILE", help="A text, a file, or - for stdin.")],
    parser: o.TextParser = "bundled",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.conllu",
            help="The output, written atomically; FILE.ptb and FILE.mrg get only the brackets of "
            "--constituents. [default: stdout]",
        ),
    ] = None,
    enhanced: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Also write graphs to DEPS: enhanced or enhanced++ (English)."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Engine for enhanced graphs: rules, or pybart (graphdep[enhanced]); corenlp has its own."
        ),
    ] = "rules",
    constituents: Annotated[
        bool,
        typer.Option(
            "--constituents",
            help="Also write phrases, as # constituency = (ROOT ...), with bundled, stanza (for some "
            "languages) or ptb:FILE.",
        ),
    ] = False,
    words: Annotated[
        bool,
        typer.Option(
            "--words",
            help="Parse given words: of a file of trees (e.g. CoNLL-U without heads), of JSON lists, or of "
            "lines of words separated by spaces.",
        ),
    ] = False,
    bad_trees: o.BadTrees = "error",
    tree_scheme: o.TreeScheme = "auto",
    cache: Annotated[
        Path | None, typer.Option(metavar="FILE.sqlite", help="File for caching parses.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Parsing processes, for files of many texts.")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Parse on the workers of a Dask cluster, e.g. tcp://HOST:8786 (graphdep[cluster]).",
        ),
    ] = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Parse raw text into dependency trees (CoNLL-U).

    A file has one text per line; empty lines are skipped. It may be larger than memory: sentences are written
    in order as they are parsed. The parser splits texts into sentences. If it fails on a text, the text gets
    a chain tree, and the number of such texts is reported. With --enhanced, enhanced graphs of the parser
    itself are kept.

    A file of trees (recognised by its content: CoNLL-U, CoNLL-U Plus, brackets, JSON and XML of CoreNLP, JSON
    of stanza and spaCy) keeps its trees and is written as CoNLL-U. With --words its words are parsed anew;
    tags, lemmas, comments and multiword tokens are kept.

    Examples:
        graphdep parse "The dog chased the cat. It ran away."

        graphdep parse texts.txt --output texts.conllu

        graphdep parse texts.txt --output texts.conllu --cache parses.sqlite --workers 4

        graphdep parse texts.txt --output texts.conllu --cache parses.sqlite --scheduler tcp://node1:8786

        graphdep parse texts.txt --parser stanza:de

        graphdep parse texts.txt --enhanced enhanced++

        graphdep parse "The dog chased the cat." --constituents

        graphdep parse texts.txt --constituents --output texts.ptb

        graphdep parse corenlp.json --output trees.conllu

        graphdep parse words.conllu --words --parser stanza:de --output trees.conllu
    """
    from graphdep.io.trees import write_conllu, write_ptb
    from graphdep.parsing.enhanced import LEVELS, check_engine
    from graphdep.parsing.resolver import resolve_parser
    from graphdep.sentence.conllu import format_conllu

    if output is not None:
        _check_output(output, text, parser, cache, overwrite)
        check_suffix(output, ".conllu", ".conll", *_BRACKETS)
        if output.suffix.lower() in _BRACKETS and not constituents:
            raise ValueError(f"'output' is for brackets: add --constituents (got {str(output)!r})")
    texts = stream_texts(text)
    if enhanced is not None:
        check_choice("enhanced", enhanced, LEVELS)
        check_engine(engine)

    def make() -> Parser:
        return resolve_parser(
            parser,
            arcs=enhanced or "basic",
            engine=engine,
            cache=cache,
            workers=workers,
            scheduler=scheduler,
            constituents=constituents,
            **parser_options(parser, tree_scheme, bad_trees),
        )

    done: Iterable[Sentence]
    if texts.format != "text":
        own = own_trees(texts, text, tree_scheme, bad_trees, make, words=words)
        done = _with_constituents(own.sentences, make) if constituents else own.sentences
    else:
        made = make()
        given = _Counted(
            _parse_words(texts, made) if words else made.iter_parse(texts.stream, total=texts.total)
        )
        done = sentences = _Counted(chain.from_iterable(given))
    done = done if enhanced is None else _enhanced(done, enhanced, engine)
    if output is None:
        if sys.stdout is None:
            raise ValueError("stdout is closed: name a file with --output")
        sys.stdout.writelines(format_conllu(sentence) + "\n" for sentence in done)
    elif output.suffix.lower() in _BRACKETS:
        write_ptb(done, output, overwrite=True)  # which was checked before the work
    else:
        write_conllu(done, output, overwrite=True)
    where = "" if output is None else f" -> {output}"
    if texts.format != "text":
        did = own.note
    else:
        did = f"{plural(given.count, 'text')}, {plural(sentences.count, 'sentence')}"
        did = and_unparsed(did, made.failures)
    plain_console(stderr=True).print(f"{did}{where}", soft_wrap=True)


def _parse_words(texts: Texts, parser: Parser) -> Iterator[list[Sentence]]:
    """A sentence for each text, split at spaces."""
    while some := list(islice(texts.stream, _CHUNK)):
        yield from ([sentence] for sentence in parser.parse_words([text.split() for text in some]))


def _with_constituents(sentences: list[Sentence], make: Callable[[], Parser]) -> list[Sentence]:
    """The sentences with constituents, which the parser adds if missing."""
    missing = [sentence for sentence in sentences if sentence.constituents is None]
    parsed = iter(make().parse_words([sentence.form for sentence in missing]) if missing else [])
    return [
        sentence
        if sentence.constituents is not None
        else dataclasses.replace(sentence, constituents=next(parsed).constituents)
        for sentence in sentences
    ]


class _Counted:
    """An iterator that counts its items."""

    def __init__(self, things: Iterable[Any]) -> None:
        self.things, self.count = things, 0

    def __iter__(self) -> Iterator[Any]:
        for thing in self.things:
            self.count += 1
            yield thing


def _enhanced(sentences: Iterable[Sentence], level: str, engine: str) -> Iterator[Sentence]:
    from graphdep.parsing.enhanced import enhance

    waiting = iter(sentences)
    while some := list(islice(waiting, _CHUNK)):
        yield from enhance(some, level, engine)


def _check_output(output: Path, text: str, parser: str, cache: Path | None, overwrite: bool) -> None:
    if text == "-" and output.exists() and sys.stdin is not None and _is_stdin(output):
        raise ValueError(f"'output' would overwrite the file that stdin reads (got {str(output)!r})")
    files = {"TEXT_OR_FILE": text, "--parser": parser.partition(":")[2], "--cache": cache}
    check_not_input(output, files)
    check_output(output, Path(text), None, overwrite)


def _is_stdin(path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
    except (OSError, ValueError):  # stdin is no file
        return False


def draw(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT_OR_FILE", help="A text, a file, or - for stdin.")],
    output: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A page (.html), or a picture (.svg, .png or .pdf); several sentences get tree-1.svg, ...",
        ),
    ] = Path("tree.svg"),
    edges: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help=f"Edges to draw below the words: {EDGES}", autocompletion=complete.edges
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="EDGES",
            help="Edges to compare with --edges, or `random`: the same edges on a random tree.",
        ),
    ] = None,
    constituents: Annotated[
        bool,
        typer.Option(
            "--constituents",
            help="Also parse phrases, and draw them as brackets; the default if --edges reads phrases.",
        ),
    ] = False,
    figsize: FigSize = None,
    parser: o.TextParser = "bundled",
    bad_trees: o.BadTrees = "error",
    tree_scheme: o.TreeScheme = "auto",
    overwrite: o.Overwrite = False,
) -> None:
    """Draw the dependency trees of a text, and edges of models on them.

    A page (.html) has all sentences, explains each edge, and needs no network. The input may be a file of
    trees, as for `graphdep parse`.

    Examples:
        graphdep draw "The dog chased the cat."

        graphdep draw "The dog chased the cat." --output tree.pdf --figsize 3.3x2

        graphdep draw "The dog chased the cat." --edges dra,sia,dt --output page.html

        graphdep draw "The dog chased the cat." --edges dra --against random --output page.html

        graphdep draw "The old dog chased a cat." --edges constituents --output page.html

        graphdep draw trees.conllu --output page.html
    """
    check_suffix(output, ".html", ".svg", ".png", ".pdf")
    of = o.command_line(ctx, without=_OF_OUTPUT)
    check_output(output, Path(text), None, overwrite, of)
    size = _picture_size(figsize, output)
    names = [import_edges(name.strip()) for name in (edges or "").split(",") if name.strip()]
    other = against if against in (None, "random") else import_edges(against)
    if against is not None and not names:
        raise ValueError("--against needs --edges, to compare with")
    texts = stream_texts(text)
    report_loading()
    from graphdep.parsing.resolver import resolve_parser
    from graphdep.transforms.presets import PHRASE_PRESETS
    from graphdep.visualization.explorer import draw as drawn

    bracketed = constituents or any(name in PHRASE_PRESETS for name in (*names, other))

    def make() -> Parser:
        return resolve_parser(
            parser, constituents=bracketed, **parser_options(parser, tree_scheme, bad_trees)
        )

    if texts.format == "text":
        plain = [*texts.stream]
        if any(re.search("</?e[12]>", one) for one in plain):
            raise ValueError("draw has no marked spans: use graphdep explore, or leave out <e1> and <e2>")
        sentences = [sentence for parsed in make().parse(plain) for sentence in parsed]
    else:
        own = own_trees(texts, text, tree_scheme, bad_trees, make)
        sentences = _with_constituents(own.sentences, make) if bracketed else own.sentences
        plain_console(stderr=True).print(own.note, soft_wrap=True)
    parts = [sentences] if output.suffix == ".html" else [[sentence] for sentence in sentences]
    files = [output]
    if len(parts) > 1:
        files = [output.with_stem(f"{output.stem}-{number}") for number in range(1, len(parts) + 1)]
        check_replaced(output.parent, [file.name for file in files], overwrite=overwrite, of=of)
    for name, part in zip(files, parts):
        drawn(part, names, against=other, root=True).save(name, figsize=size, overwrite=overwrite, of=of)
        words = sum(len(sentence) for sentence in part)
        plain_console(stderr=True).print(f"{plural(words, 'word')} -> {name}", soft_wrap=True)


def attention(
    ctx: typer.Context,
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="One example: a text; two texts of a pair; the turns of a dialogue, for response selection "
            "followed by the response.",
        ),
    ],
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run of any task, or its best.ckpt.")
    ],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The picture: .png, .pdf or .svg.")] = Path(
        "attention.png"
    ),
    layer: Annotated[
        int | None,
        typer.Option(metavar="N", help="All heads of this layer, from 1. [default: mean of each layer]"),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(metavar="N", help="One head of --layer, from 1, as wide as a column of a paper."),
    ] = None,
    figsize: Annotated[
        str | None,
        typer.Option(metavar="WxH", help="Size in inches, e.g. 3.3x2.9. [default: as the maps need]"),
    ] = None,
    special: Annotated[
        bool, typer.Option(help="Show special nodes such as [CLS], which may get much of the attention.")
    ] = True,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate", help="For models with gated relation scores: show the gate instead of the attention."
        ),
    ] = False,
    parser: o.ModelParser = None,
    edges: o.ModelEdges = None,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Draw the attention between the words of a text in a trained model.

    A row shows what a word attends to. The pieces of a word are joined: the attention from its pieces is
    averaged, the attention to its pieces summed. With --json all weights also go to stdout: `alpha` by layer,
    head, row and column, and with --gate `gate`, `relation_score` and `self_score`, which are null where two
    words have no relation.

    Examples:
        graphdep attention --checkpoint runs/.../best.ckpt "The dog chased the cat." --output attention.png

        graphdep attention --checkpoint runs/A "The dog chased the cat." --layer 2 --head 3 --output head.pdf
    """
    of = o.command_line(ctx, without=_OF_OUTPUT)
    check_output(output, checkpoint, None, overwrite, of)
    check_suffix(output, ".png", ".pdf", ".svg")
    texts, source = texts_or_file(texts, None)
    if source is not None:
        raise ValueError(f"give the text itself instead of a file (got {source!r})")
    if head is not None and layer is None:
        raise ValueError(f"--head needs --layer (got {head})")
    size = None if figsize is None else _inches(figsize)
    checkpoint = find_checkpoint(checkpoint)
    report_loading()
    from graphdep.visualization.attention import attention_map

    given = edges and import_edges(edges)
    shown = attention_map(checkpoint, texts, parser=parser, return_gate=gate, edges=given)
    check_between("layer", layer, 1, len(shown.layers))
    shown = shown if special else shown.without_special()
    check_between("head", head, 1, shown.heads)
    # A map of one head already shows the words at its sides.
    options: dict[str, Any] = {"title": " | ".join(texts) if head is None else "", "figsize": size}
    chosen = (None if number is None else number - 1 for number in (layer, head))
    figure = shown.plot(*chosen, gate=gate, **options)
    output.parent.mkdir(parents=True, exist_ok=True)
    with drawing(output, of=of, overwrite=overwrite) as temporary:
        figure.savefig(temporary, format=output.suffix[1:])
    if json:
        summary = {"checkpoint": str(checkpoint), "output": str(output), "words": shown.words}
        gates = {name: values.numpy().astype(object) for name, values in shown.gates.items()}
        for values in gates.values():
            values[values != values] = None  # JSON has no NaN
        gates = {name: values.tolist() for name, values in gates.items()}
        print_json({**summary, "layers": shown.layers, "alpha": shown.alpha.tolist(), **gates})
    plain_console(stderr=True).print(f"{shown.summary} -> {output}", soft_wrap=True)


def _picture_size(figsize: str | None, output: Path) -> tuple[float, float] | None:
    if figsize is not None and output.suffix.lower() == ".html":
        raise ValueError(f"--figsize is for pictures, not for .html (got {figsize})")
    return None if figsize is None else _inches(figsize)


def _inches(text: str) -> tuple[float, float]:
    """Width and height."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)[x,](\d+(?:\.\d+)?)", text)
    if found is None or not all(1 <= float(side) <= 100 for side in found.groups()):
        raise ValueError(f"'figsize' must be WxH, inches from 1 to 100, such as 3.3x2.9 (got {text!r})")
    return float(found[1]), float(found[2])


def explore(
    ctx: typer.Context,
    checkpoint: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Folder of a run, or its best.ckpt; repeat to compare two models."),
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT...",
            help="One example: a text; two texts of a pair; the turns of a dialogue, for response selection "
            "followed by the response; spans as `<e1>a</e1>` and `<e2>b</e2>`.",
            show_default=False,
        ),
    ] = None,
    input: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A file with the example: one text per line, trees (e.g. CoNLL-U), or for spans one row; - "
            "for stdin.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The page (.html). A picture (.svg, .png or .pdf) has the tree and the edges alone; "
            "`graphdep attention` draws the weights.",
        ),
    ] = Path("page.html"),
    against: Annotated[
        str | None, typer.Option(metavar="random", help="Compare with the same model on a random tree.")
    ] = None,
    edges: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help=f"More edges to show, and to compare attention with: {EDGES}",
            autocompletion=complete.edges,
        ),
    ] = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="For response selection: another response to rank; repeat for several."
        ),
    ] = None,
    figsize: FigSize = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Show which edges the answer depends on: gradient, or PyG's gnnexplainer (some seconds).",
        ),
    ] = None,
    parser: o.ModelParser = None,
    bad_trees: o.BadTrees = "error",
    tree_scheme: o.TreeScheme = "auto",
    overwrite: o.Overwrite = False,
) -> None:
    """Make a page for the browser that shows how a trained model processes a text; it needs no network.

    The page has the tree, the model's edges with explanations, the attention of all layers and heads,
    attention rollout, and the model's answer; for two models also their difference.

    Examples:
        graphdep explore --checkpoint runs/.../best.ckpt "The dog chased the cat."

        graphdep explore --checkpoint runs/A --checkpoint runs/B "Fine." --output difference.html

        graphdep explore --checkpoint runs/A "The dog chased the cat." --against random

        graphdep explore --checkpoint runs/A "The dog chased the cat." --explain gradient
    """
    check_suffix(output, ".html", ".svg", ".png", ".pdf")
    texts, input = texts_or_file(texts, input)
    if len(checkpoint) > 2 or (len(checkpoint) == 2 and against is not None):
        raise ValueError("two models can be compared: give --checkpoint twice, or once with --against")
    check_choice("against", against or "random", ["random"])
    places = [find_checkpoint(place) for place in checkpoint]
    of = o.command_line(ctx, without=_OF_OUTPUT)
    check_output(output, places[0], None, overwrite, of)
    size = _picture_size(figsize, output)
    if input not in (None, "-"):
        os.stat(str(input))  # raises an error for a missing file
    given = None if input is None else stream_texts(input)
    names = [import_edges(name.strip()) for name in (edges or "").split(",") if name.strip()]
    report_loading()
    from graphdep.datasets.base.rows import SUFFIXES
    from graphdep.parsing.files import LookupParser
    from graphdep.parsing.resolver import resolve_parser
    from graphdep.sentence.intake import OF_ROWS, Intake
    from graphdep.tasks.spans.predict import one_row
    from graphdep.training.checkpoint import load_task, trained_setting
    from graphdep.visualization.attention import explore as explored

    reads = model_parser(parser, tree_scheme, bad_trees)

    def make() -> Parser:
        return resolve_parser(reads or "bundled")

    note = ""
    example: list[Any] = texts or []
    if given is not None:
        task, state = load_task(places[0])
        scheme = trained_setting(state, "tree_scheme") if tree_scheme == "auto" else tree_scheme
        if task.reads_spans and Path(str(input)).suffix.lower() in SUFFIXES:
            parses = make() if bad_trees == "parse" else None
            intake = Intake(scheme, bad_trees, parses, OF_ROWS)
            example, note = [one_row(Path(str(input)), state, intake)], intake.note()
        elif given.format != "text":
            own = own_trees(given, str(input), scheme, bad_trees, make)
            example, note = [sentence.text for sentence in own.sentences], own.note
            reads = LookupParser(own.sentences, input)
        else:
            example = [*given.stream]
    if note:
        plain_console(stderr=True).print(note, soft_wrap=True)
    other = places[1] if len(places) == 2 else against
    asked = [name.strip() for name in (explain or "").split(",") if name.strip()]
    options: dict[str, Any] = {"edges": names, "candidates": candidate or [], "explain": asked}
    page = explored(places[0], example, against=other, parser=reads, **options)
    page.save(output, figsize=size, overwrite=overwrite, of=of)
    plain_console(stderr=True).print(f"{page.summary} -> {output}", soft_wrap=True)


def models(
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="List the models of this task. [default: of all tasks]",
            autocompletion=complete.tasks,
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """List the models of `train` and `ablate`, and the controls.

    Examples:
        graphdep models --task sick-e

        graphdep ablate --task sick-e --models "dt,dt@random,dt@unlabelled"
    """
    from graphdep.tasks import families, family_of
    from graphdep.training.config import CONTROLS

    listed: dict[str, dict[str, Any]] = {}
    for family in families() if task is None else (family_of(task),):
        of_task = next(iter(family.tasks)) if task is None else task
        rows = family.config(of_task).models
        listed[family.name] = {
            "tasks": [*family.tasks],
            "models": {name: preset.summary for name, preset in rows.items()},
        }
    controls = {f"@{name}": about for name, (about, _) in CONTROLS.items()}
    if json:
        print_json({"families": listed, "controls": controls})
        return
    console = plain_console()
    for name, family_rows in listed.items():
        table = Table("model", "description", box=SIMPLE, title=f"{name}: {', '.join(family_rows['tasks'])}")
        for model, summary in family_rows["models"].items():
            table.add_row(model, summary)
        console.print(table)
    table = Table("control", "added to a model's name, e.g. dt@random", box=SIMPLE)
    for control, about in controls.items():
        table.add_row(control, about)
    console.print(table)


def settings(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Names of settings, or parts of names. [default: all]", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model. [default: the task's default model]",
            autocompletion=complete.models,
        ),
    ] = None,
    task: o.Task = None,
    json: o.Json = False,
) -> None:
    """List the settings of a model: name, default, description.

    Use them with --set NAME=VALUE in `train` and `ablate`, in a file for --config, or as arguments of
    TrainConfig.of and of estimators in Python.

    Examples:
        graphdep settings --model bert-dt --task cola

        graphdep settings lr batch --model dt
    """
    from graphdep.training.config import TrainConfig, setting_texts

    task = o.task_of(task)
    config = TrainConfig.of_task(task)
    rows = setting_texts(config, task, model or config.default_model())
    if names:
        rows = [row for row in rows if any(name in row.name for name in names)]
        if not rows and names[0].partition("@")[0] in config.models:
            raise ValueError(f"no setting {names[0]!r}, but a model: give --model {names[0]}")
        if not rows:
            config.check_keys(names)
    if json:
        print_json({"task": task, "settings": [row._asdict() for row in rows]})
        return
    table = Table("setting", "default", "description", box=SIMPLE, title=f"{model or 'settings'} on {task}")
    for row in rows:
        table.add_row(row.name, _shown(row.default), row.meaning)
    plain_console().print(table)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return re.sub(r"(\.0)?e-0?", "e-", str(value))
