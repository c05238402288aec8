"""What belongs to a paper: classes, formulas, commands, claims and verdicts."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from . import paper_table
from .markdown import code, docstring, linked, summary, table

RESEARCH = Path(__file__).parents[2] / "examples" / "research"
sys.path.append(str(RESEARCH))  # at the end: no name there may stand before one of another package
import claims as of_runs  # noqa: E402
from evidence import read_open_claims  # noqa: E402

papers_of = paper_table.papers_of
# The page of each paper in docs/papers, by a part of its title.
SLUGS = {
    "Attention Is All You Need": "transformer-as-a-graph",
    "Graph Convolution over Pruned": "gcn-over-dependency-trees",
    "Modeling Compositionality": "dra",
    "Retrieval-based Dialogue System via Syntax-Informed": "sia",
    "Enhanced Dependency Structures": "dam",
    "Integrating Dependency Tree": "dt",
    "Linguistically-Informed": "lisa",
    "GATE:": "gate",
    "Graph-to-Graph": "graph2graph",
    "Tree Transformer:": "tree-transformer-constituents",
    "Relative Position": "relative-positions",
    "Grounded Compositional": "dt-rnn",
    "DialogBERT": "dialogbert",
    "BERT:": "bert",
    "RNN Encoder-Decoder": "gru",
    "Hierarchical Recurrent Attention": "hran",
    "Hierarchical Neural Network": "hred",
    "Tree-Structured Long": "tree-lstm",
    "Sentiment Treebank": "rntn",
    "Head-Lexicalized": "bitree-lstm",
    "Dynamic Compositional": "dc-treelstm",
    "Tag-Aware Hypernetwork": "taghypertreelstm",
    "Universal Sentence Encoder": "use",
    "Conditional Random Fields": "crf",
    "Syntactic Scaffolds": "syntactic-scaffold",
    "Fine-grained Post-training": "bert-fp",
    "Utterance Manipulation": "ums",
    "Contextual Language Models": "ss-da",
    "Structural Pre-training": "spider",
    "ReCoSa": "recosa",
    "Matching the Blanks": "matching-the-blanks",
    "Sequential Matching Network": "smn",
    "Deep Attention Matching": "dam-2018",
    "Interaction-over-Interaction": "ioi",
    "Deep Utterance Aggregation": "dua",
    "Traverse Trees": "tree-transformer-vaswani",
    "Output Embedding": "tied-output",
}
# Rows of tables that are named neither after a page nor after a preset.
ROWS = {
    "bilstm-scaffold": "syntactic-scaffold",
    "transformer-dra": "dra",
    "transformer-relative": "relative-positions",
    "tree-transformer": "tree-transformer-vaswani",
}


@cache
def rows() -> dict[str, dict[str, list[Any]]]:
    """By title what paper_table.py has: presets, convs, models, equations, address, command."""
    return paper_table.rows()


def slug(title: str) -> str:
    """The name of a paper's page.

    Raises:
        KeyError: If it has none.
    """
    return next(name for part, name in SLUGS.items() if part in title)


def page_of(column: str, name: str) -> str:
    """A link to the page of the paper that a preset, conv or model is of."""
    for title, row in rows().items():
        if f"`{name}`" in row[column]:
            return f"[{slug(title)}](/docs/papers/{slug(title)}.md)"
    return ""


@cache
def claims() -> list[list[str]]:
    """Lines of the table of claims: claim, source, rows, seeds, difference, smallest visible, published,
    verdict, Holm.
    """
    text = of_runs.table(RESEARCH / "claims", RESEARCH / "results" / "evidence")
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()[2:]]


def _of_paper(line: list[str], title: str) -> bool:
    """Whether the paper makes a claim, or the claim is of its model; a baseline's page has both rows."""
    names = re.findall(r"`(?:bert-)?([\w-]+)", line[2])
    names = names[:1] if rows()[title]["preset"] else names
    own = slug(title) in map(_paper_of_row, names)
    return title in line[1] or own or ("Dependency-Transformer" in line[1] and slug(title) == "dt")


def _paper_of_row(name: str) -> str:
    """The page of the paper whose model a row of a table is, by the longest name that it begins with."""
    presets = {code.strip("`"): slug(title) for title, row in rows().items() for code in row["preset"]}
    known = {**{page: page for page in SLUGS.values()}, **presets, **ROWS}
    found = (
        known[part] for part in sorted(known, key=len, reverse=True) if f"{name}-".startswith(f"{part}-")
    )
    page = next(found, "")
    return "" if page == "transformer-as-a-graph" else page


def published_and_ours() -> list[tuple[str, ...]]:
    """All claims whose source is a paper of a preset, with ours; then what no runs decide."""
    found = []
    for title, row in rows().items():
        if row["preset"]:
            link = f"[{slug(title)}](/docs/papers/{slug(title)}.md)"
            for line in map(_filled, claims()):
                if title in line[1]:
                    found.append((link, line[0], line[2], _place(line[1], title), line[4], _verdict(line)))
            for one in read_open_claims(RESEARCH / "claims" / "open"):
                if title in one.source:
                    found.append((link, one.text, "", one.published, "", f"not decided: {one.why}"))
    return found


def _place(source: str, title: str) -> str:
    """Where in a paper a claim stands."""
    return source.replace(title, "").strip(", ")


def _filled(line: list[str]) -> list[str]:
    return [*line, *[""] * (9 - len(line))]


def part(title: str) -> str:
    """The generated part of a paper's page."""
    row = rows()[title]
    name = f"[{title}]({row['url'][0]})" if row["url"] else title
    numbers = paper_table.ranges(row["equations"])
    cite = f" Cite it: [BibTeX]({bibtex})." if (bibtex := _bibtex(*row["url"][:1])) else ""
    said = [f"**Paper:** {name}{f' (equations {numbers})' if numbers else ''}.{cite}\n"]
    things = list(_things(title))
    cells = [(kind, _name(kind, name, of), summary(of)) for kind, name, of in things]
    said.append(table(("kind", "name", "what it is"), cells))
    if row["command"]:
        command = row["command"][0].strip("`")
        said.append(f"<!-- needs the corpus -->\n```sh\n{command} --raw-from path/to/corpus\n```\n")
    said += _verdicts(title)
    said.append("## Method, formula, arguments\n")
    for kind, name, of in sorted(things, key=lambda thing: thing[0] != "preset"):
        said.append(f"### {'Preset' if kind == 'preset' else 'Class'} {name}\n\n{docstring(of)}")
    return "\n".join(said)


def _bibtex(url: str = "") -> str:
    """The address of the BibTeX entry of a paper in the ACL Anthology or on arXiv."""
    if "aclanthology.org/" in url:
        return f"{url.rstrip('/')}.bib"
    return url.replace("/abs/", "/bibtex/") if "arxiv.org/abs/" in url else ""


def _name(kind: str, name: str, of: Any) -> str:
    return code(name) if kind == "preset" else linked(name, of)


def _verdicts(title: str) -> list[str]:
    said = ["## What is claimed, and what we found\n"]
    lines = [line for line in map(_filled, claims()) if _of_paper(line, title)]
    if lines:
        header = ("claim", "source", "rows", "seeds", "difference [95%]", "published", "verdict")
        cells = [(line[0], _place(line[1], title), *line[2:5], line[6], _verdict(line)) for line in lines]
        said.append(table(header, cells))
        said.append(
            "How to read it, and what was asked beforehand: [claims](/examples/research/claims/README.md).\n"
        )
    left = [one for one in read_open_claims(RESEARCH / "claims" / "open") if title in one.source]
    if left:
        said.append("Not decided here:\n")
        cells = [(one.text, _place(one.source, title), one.published, one.why) for one in left]
        said.append(table(("claim", "source", "published", "why not"), cells))
    if not lines and not left:
        said.append("No claim about this paper's model was tested here.\n")
    return said


def _verdict(line: list[str]) -> str:
    return line[7] + ("; not after Holm's correction" if line[8] == "falls" else "")


def _things(title: str) -> Any:
    for column, name, of in paper_table.things():
        if [paper.title for paper in papers_of(of)[:1]] == [title]:
            yield column, name, of
