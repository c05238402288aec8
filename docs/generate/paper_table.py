"""Which class is which paper's: the table of docs/papers/index.md, read from the docstrings.

A docstring names a paper by its title in quotation marks, linked as in PyTorch Geometric, and the equations
behind it: `"Title" <https://...>`_ (Eq. 2-5). The first one that it names is the paper that it implements.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from graphdep.nn import attention, conv, models
from graphdep.transforms import PRESETS

COLUMNS = ("paper", "equations", "preset", "conv", "model", "command")
DASH = "\N{EN DASH}"
# How to train a paper's model, by the name of a preset or class of its row: task and model.
COMMANDS = {
    "transformer": ("sick-e", "transformer"),
    "dra": ("dailydialog", "transformer-dra"),
    "sia": ("ubuntu", "bert-sia"),
    "dam": ("cola", "bert-dam"),
    "dt": ("sick-e", "dt"),
    "relative": ("ud-tags", "transformer-relative"),
    "tree": ("semeval2010", "tree"),
    "lisa": ("dailydialog", "lisa"),
    "gate": ("dailydialog", "gate"),
    "g2g": ("cola", "bert-g2g"),
    "ConstituentTransformer": ("dailydialog", "constituent-transformer"),
    "TokenModel": ("cola", "bert"),
    "DialogBERT": ("dailydialog", "dialogbert"),
    "HRANEncoder": ("dailydialog", "hran"),
    "HREDEncoder": ("dailydialog", "hred"),
    "GRUEncoder": ("ud-tags", "bigru"),
    "SpanModel": ("semeval2010", "bert"),
    "TreeLSTM": ("sick-e", "tree-lstm"),
    "DependencyTreeRNN": ("sick-e", "dt-rnn"),
    "RNTN": ("sick-e", "rntn"),
    "BiTreeLSTM": ("sick-e", "bitree-lstm-ct"),
    "DCTreeLSTM": ("sick-e", "dc-treelstm"),
    "TagHyperTreeLSTM": ("sick-e", "taghypertreelstm"),
    "UniversalEncoder": ("sick-e", "use"),
    "PostTrainingModel": ("post-train", None),
    "UtteranceManipulationModel": ("ubuntu", "bert-ums"),
    "SpeakerSelectionModel": ("ubuntu", "bert-ss-da"),
    "StructuralDialogueModel": ("ubuntu", "bert-spider"),
    "ReCoSa": ("dailydialog", "recosa"),
    "SMN": ("ubuntu", "smn"),
    "DUA": ("ubuntu", "dua"),
    "IOI": ("ubuntu", "ioi"),
    "DeepAttentionMatching": ("ubuntu", "dam-2018"),
    "DependencyTreeTransformer": ("sick-e", "tree-transformer-dt"),
}


@dataclass(frozen=True)
class Paper:
    """A paper that a docstring names.

    Args:
        title: Its title.
        url: Its address; None where the docstring has none.
        equations: Numbers of the equations that the docstring says it implements.
    """

    title: str
    url: str | None
    equations: tuple[int, ...]


def papers_in(docstring: str) -> list[Paper]:
    """The papers that a docstring names, in order; code and quoted phrases of one or two words are none."""
    lines = [line for line in docstring.splitlines() if not line.lstrip().startswith((">>>", "... "))]
    text = re.sub(r"``.*?``|:\w+:`[^`]*`", "", " ".join(" ".join(lines).split()))
    found = []
    for match in re.finditer(r'"([^"]+)"(?: <([^<>\s]+)>`_)?', text):
        title, url = match.groups()
        if title[0].isupper() and len(title.split()) > 2:
            behind = re.match(r'[^".]*?\(Eq\. ([\d, -]+)', text[match.end() :])
            found.append(Paper(title, url, _numbers(behind[1]) if behind else ()))
    return found


def papers_of(of: type | Callable) -> list[Paper]:
    """The papers that the docstring of a class or function names."""
    return papers_in(inspect.getdoc(of) or "")


def table() -> str:
    """The table, in Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(_cells, rows().items())]
    return "".join(f"| {' | '.join(cell or DASH for cell in line)} |\n" for line in lines)


def rows() -> dict[str, dict[str, list[Any]]]:
    """By title: what the columns hold, and under ``url`` the address."""
    found: dict[str, dict[str, list[Any]]] = {}
    for column, name, of in things():
        for paper in papers_of(of)[:1]:
            row = found.setdefault(paper.title, {key: [] for key in ("url", *COLUMNS)})
            row[column].append(f"`{name}`")
            row["equations"] += paper.equations
            row["url"] += [paper.url] if paper.url else []
            row["command"] += [_command(*COMMANDS[name])] if name in COMMANDS else []
    return found


def _cells(titled: tuple[str, dict[str, list[Any]]]) -> tuple[str, ...]:
    title, row = titled
    paper = f"[{title}]({row['url'][0]})" if row["url"] else title
    return (paper, ranges(row["equations"]), *(", ".join(row[column]) for column in COLUMNS[2:]))


def things() -> Iterator[tuple[str, str, Any]]:
    """Column, name and object of all that may be a paper's."""
    yield from (("preset", name, preset) for name, preset in PRESETS.items())
    for column, package in (("conv", conv), ("conv", attention), ("model", models)):
        for name in package.__all__:
            if inspect.isclass(value := getattr(package, name)):
                yield column, name, value


def _command(task: str, model: str | None) -> str:
    return f"`graphdep train --task {task}{f' --model {model}' if model else ''}`"


def _numbers(text: str) -> tuple[int, ...]:
    """``"2-5, 7"`` as numbers."""
    found = re.findall(r"(\d+)(?:-(\d+))?", text)
    return tuple(number for first, last in found for number in range(int(first), int(last or first) + 1))


def ranges(numbers: list[int]) -> str:
    """Numbers as ``"2-5, 7"``."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)
