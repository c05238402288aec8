"""The notebooks of docs/notebooks are the pages beside them, with what these show."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
try:
    import make_notebooks
    import run_blocks
finally:
    sys.path.remove(str(DOCS))

PAGES = sorted((DOCS / "notebooks").glob("*.md"))


def read(page: Path) -> dict:
    return json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))


def test_each_page_has_a_notebook_and_leads_to_it() -> None:
    assert len(PAGES) >= 3
    assert sorted((DOCS / "notebooks").glob("*.ipynb")) == [page.with_suffix(".ipynb") for page in PAGES]
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"]({page.stem}.ipynb)" in page.read_text(encoding="utf-8")
        assert f"](notebooks/{page.stem}.ipynb)" in index


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_cells_of_its_page_and_what_they_print(page: Path) -> None:
    wanted = make_notebooks.cells(page.read_text(encoding="utf-8"))
    found = read(page)["cells"]
    sources = [(cell["cell_type"], "".join(cell["source"])) for cell in found]
    assert sources == [(kind, source) for kind, source, _ in wanted], "make notebooks writes it anew"
    for cell, (kind, source, shown) in zip(found, wanted):
        outputs = cell.get("outputs", [])
        printed = "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")
        assert not run_blocks.differs(shown, printed), source
        assert kind == "markdown" or outputs or source.count("print") == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_is_small_and_says_nothing_of_the_machine(page: Path) -> None:
    text = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert not re.search(r"/(tmp|home|root|Users)/| at 0x|\d s\b", re.sub(r'"image/png": .*', "", text))


def test_a_drawing_is_kept_as_a_picture() -> None:
    outputs = [
        one for cell in read(DOCS / "notebooks" / "explorer.md")["cells"] for one in cell.get("outputs", [])
    ]
    shown = [one["data"] for one in outputs if one["output_type"] == "execute_result"]
    assert len(shown) == 4
    assert all({*data} == {"image/png", "text/plain"} for data in shown)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_jupyter_reads_it(page: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.from_dict(read(page)))
