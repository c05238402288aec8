"""What the site says of the code is what the code has: cheat sheets, papers, commands, the reference."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import matplotlib
import pytest

import graphdep.nn.conv
import graphdep.transforms
from graphdep.tasks import families
from graphdep.transforms import PHRASE_PRESETS, PRESETS, EdgeConstructor
from graphdep.transforms.controls import TreeTransform

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
try:
    from generate import (
        api,
        command_line,
        contents,
        edges,
        figures,
        markdown,
        models,
        pages,
        papers,
        presets,
        probes,
        tasks,
    )
finally:
    sys.path.remove(str(DOCS))


def first_cells(page: str) -> list[str]:
    """The names in the first column of all tables of a page."""
    return [name for line in page.splitlines() if (name := re.match(r"\| \[?`@?([^`]+)`", line))]


def names_of(page: str) -> list[str]:
    return [match[1] for match in first_cells(page)]


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_says_what_the_code_has(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == pages.rewritten(page), "make pages writes it anew"
    for part in pages.BLOCK.finditer(text):  # no markup that a code host shows as it stands
        assert not re.search(r"(^|[\s(])\{\w+(:\w+)?\}`|^```\{|^:::|^%|\]\(/", part["text"], re.M)


def test_all_parts_are_on_a_page() -> None:
    texts = [page.read_text(encoding="utf-8") for page in pages.pages()]
    names = [block["name"] for text in texts for block in pages.BLOCK.finditer(text)]
    assert sorted(names) == sorted(
        [*pages.PARTS, *(f"papers/{papers.slug(title)}" for title in papers.rows())]
    )


def test_pictures_show_what_the_code_draws(tmp_path) -> None:
    made = f"Matplotlib v{matplotlib.__version__}"
    drawn = {path.name: path.read_text(encoding="utf-8") for path in pages.FIGURES.iterdir()}
    if not all(made in text for text in drawn.values()):
        pytest.skip(f"drawn by another version than {made}, which sets letters elsewhere")
    pages.draw(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*drawn}
    old = [path.name for path in tmp_path.iterdir() if path.read_text(encoding="utf-8") != drawn[path.name]]
    assert not old, "make pages draws them anew"


def test_every_page_of_the_sidebar_is_listed_for_a_code_host() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    names = re.findall(r"^((?:\.\./)?[\w/-]+)$", index.partition("<!-- site:")[2], re.M)
    assert len(names) > 30
    assert all(f"/docs/{name}.md)" in contents.page() for name in names)


def test_edge_constructors() -> None:
    values = [getattr(graphdep.transforms, name) for name in graphdep.transforms.__all__]
    bases = (EdgeConstructor, TreeTransform)
    made = [v for v in values if isinstance(v, type) and issubclass(v, bases) and v is not EdgeConstructor]
    assert {cls.__name__ for cls in made} <= set(edges.names())
    assert len(set(edges.names())) == len(edges.names())
    for cls in made:
        assert edges.row(cls.__name__)[1], cls


def test_every_preset_is_one_row_and_its_constructors_say_so() -> None:
    assert [presets.row(name)[0].strip("`") for name in PRESETS] == [*PRESETS]
    assert edges.presets_with("AncestorEdges") == ["sia", "sia-intra"]
    listed = {preset for name in edges.names() for preset in edges.presets_with(name)}
    assert listed == set(PRESETS)


def test_what_edges_carry_and_layers_read_is_told_of_all() -> None:
    rows = {name: dict(zip(presets.CARRIED, cells)) for name, *cells in presets.carried_and_read()}
    assert {f"edges `{name}`" for name in (*PRESETS, *PHRASE_PRESETS)} <= rows.keys()
    convs = [name for name in graphdep.nn.conv.__all__ if name != "ConstituentConv"]  # which has no edges
    assert {f"`{name}`" for name in (*convs, "GatedRelationScore", "RelationKeyValue")} <= rows.keys()
    assert rows["edges `dt`"]["types"] == "carried"
    assert {name for name, row in rows.items() if row["types"] == "read"} == {
        "`GatedRelationConv`",
        "`RelationKeyValueConv`",
        "`GatedRelationScore`",
        "`RelationKeyValue`",
    }


def test_what_edges_read_is_what_was_measured() -> None:
    with (ROOT / "examples" / "research" / "results" / "probes.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = [row for row in csv.DictReader(file) if row["edges"] == "g2g" and row["layers"] == "2"]
    found = [row["function"] for row in rows if float(row["measured"]) >= 0.9]
    assert probes.reads("g2g").split(", ") == found
    assert "governor" in found


def test_tasks_and_metrics() -> None:
    page = tasks.page()
    wanted = [name for family in families() for name in family.tasks]
    assert [name for name in names_of(page) if name in wanted] == wanted
    for family in families():
        for task in family.tasks.values():
            assert all(f"`{metric.name}`" in page for metric in task.metrics)


def test_models_and_controls() -> None:
    found = names_of(models.page())
    for family in families():
        for name in family.config(next(iter(family.tasks))).models:
            assert name in found
    assert "random" in found


def test_six_words_are_drawn(tmp_path) -> None:
    figures.draw("dra", graphdep.transforms.resolve("dra"), tmp_path / "dra.svg")
    assert "chased" in (tmp_path / "dra.svg").read_text(encoding="utf-8")
    assert len(figures.SENTENCE) == 6


@pytest.mark.parametrize("name", edges.names())
def test_every_constructor_has_an_example(name) -> None:
    """Which writes edges, or a tree over the same words."""
    cls = getattr(graphdep.transforms, name)
    if not issubclass(cls, (EdgeConstructor, TreeTransform)):
        return
    data = figures.example(name, figures.made(cls))
    assert data.num_nodes >= 7
    assert data.edge_index is not None or issubclass(cls, TreeTransform)


def test_each_paper_has_a_page() -> None:
    slugs = [papers.slug(title) for title in papers.rows()]
    assert len(set(slugs)) == len(slugs)
    pages = {path.stem for path in (DOCS / "papers").glob("*.md")} - {"index"}
    assert pages == set(slugs) == set(papers.SLUGS.values())
    for slug in slugs:
        assert f"<!-- generated: papers/{slug} -->" in (DOCS / "papers" / f"{slug}.md").read_text("utf-8")


def test_a_papers_page_has_its_claims_with_the_verdicts_of_today() -> None:
    title = next(title for title in papers.rows() if papers.slug(title) == "dra")
    part = papers.part(title)
    lines = [line for line in papers.claims() if title in line[1]]
    assert lines
    assert all(line[0] in part and line[7] in part for line in lines)
    assert "Positions added to DRA make it worse" in part
    assert "People find responses better with DRA" in part


@pytest.mark.parametrize(
    ("row", "page"),
    [
        ("dam-2018", "dam-2018"),
        ("dam-basic-nopos", "dam"),
        ("tree-nopos", "gcn-over-dependency-trees"),
        ("tree-lstm-ct", "tree-lstm"),
        ("dt-rnn", "dt-rnn"),
        ("dt-nolevel", "dt"),
        ("transformer-nopos", ""),
        ("bilstm", ""),
    ],
)
def test_a_row_belongs_to_the_paper_of_its_model(row, page) -> None:
    assert papers._paper_of_row(row) == page


def test_every_public_name_is_documented_once() -> None:
    homes = api.homes()
    for package in api.packages():
        module = sys.modules[package]
        assert all(id(getattr(module, name)) in homes for name in module.__all__), package
    assert homes[id(graphdep.Sentence)] == ("graphdep.sentence", "Sentence")


def test_every_command_is_on_the_page() -> None:
    page = command_line.page()
    assert {"demo", "train", "ablate", "attention"} <= set(re.findall(r"^## `graphdep ([\w-]+)`", page, re.M))
    assert "{tasks}" not in page
    assert "sick-e" in page


@pytest.mark.parametrize(
    ("rest", "markdown_"),
    [
        ('As in `"A B" <https://a.b>`_ (Eq. 2).', 'As in ["A B"](https://a.b) (Eq. 2).'),
        (":class:`~a.b.C` and ``x``, :math:`x_1`", "`C` and `x`, $`x_1`$"),
        ("(default: :obj:`0.1`)", "(default: `0.1`)"),
    ],
)
def test_rest_as_markdown(rest, markdown_) -> None:
    assert markdown.from_rest(rest) == markdown_


DOCSTRING = """A layer.

.. math::
    a &= b, \\\\
    c &= d

with :math:`d`.

====  ==========
a     b
====  ==========
1     :obj:`0.5`
2     two
      lines
====  ==========

Args:
    size: Its size,
        or two. (default: :obj:`1`)
    a, b: Others.

Shapes:
    - x: :math:`(N)`; y: none
    - output: :math:`(M)`

Example:
    >>> a = [
    ...     1]
"""
MARKDOWN = """A layer.

```math
\\begin{aligned}
a &= b, \\\\
c &= d
\\end{aligned}
```

with $`d`$.

| a | b |
| --- | --- |
| 1 | `0.5` |
| 2 | two lines |

**Arguments**

- `size`: Its size, or two. (default: `1`)
- `a`, `b`: Others.

**Shapes**

- x: $`(N)`$; y: none
- output: $`(M)`$

```pycon
>>> a = [
...     1]
```
"""


def test_a_docstring_as_markdown() -> None:
    def layer() -> None: ...

    layer.__doc__ = DOCSTRING
    assert markdown.docstring(layer) == MARKDOWN
