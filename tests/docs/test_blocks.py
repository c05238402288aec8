"""The code of README.md and of the site runs as it stands, page by page, and prints what the page shows."""

from __future__ import annotations

import contextlib
import runpy
from pathlib import Path

import pytest

from graphdep.transforms import presets as registry

ROOT = Path(__file__).parents[2]
RUN = runpy.run_path(str(ROOT / "docs" / "run_blocks.py"))
PAGES = RUN["pages"]()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=RUN["name_of"])
def test_a_page_prints_what_it_shows(page: Path, tmp_path, monkeypatch) -> None:
    if RUN["ENCODER"] in page.read_text(encoding="utf-8"):
        pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENCODER", "")  # so that it is as before afterwards
    monkeypatch.setattr(registry, "_own", dict(registry._own))  # names that a page gives to edges
    wrong = RUN["check"](page, contextlib.nullcontext)
    assert not wrong, "\n".join([*wrong, "python docs/run_blocks.py --write puts it right"])


@pytest.mark.weights
@pytest.mark.parametrize(
    "page", [p for p in PAGES if RUN["ENCODER"] in p.read_text("utf-8")], ids=RUN["name_of"]
)
def test_with_a_real_encoder(page: Path, tmp_path, monkeypatch) -> None:
    """Where that is not installed, a tiny one stands for it, and outputs are not compared."""
    test_a_page_prints_what_it_shows(page, tmp_path, monkeypatch)


def test_there_are_pages() -> None:
    names = {RUN["name_of"](page) for page in PAGES}
    assert {"README.md", "docs/faq.md", "docs/five-steps.md", "docs/notebooks/tour.md"} <= names


# -- the runner itself -----------------------------------------------------------------------------------

PAGE = """
```python
a = 1
print(a / 3)
```

```output
{shown}
```

```python
print(a)
```
"""


def wrong(folder: Path, text: str) -> list[str]:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return RUN["check"](page, contextlib.nullcontext)


@pytest.mark.parametrize(("shown", "count"), [("0.33", 1), ("0.34", 1), ("...", 1), ("0.5", 2), ("", 2)])
def test_what_is_not_shown_or_shown_wrongly_is_told(shown, count, tmp_path, monkeypatch) -> None:
    """The second block, which knows the names of the first, prints and shows nothing."""
    monkeypatch.chdir(tmp_path)
    found = wrong(tmp_path, PAGE.format(shown=shown))
    assert len(found) == count
    assert found[-1] == "page.md:12 shows\nnothing\nand prints\n1\n"


def test_what_is_printed_is_written(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(shown="1"), encoding="utf-8")
    new = RUN["rewritten"](page)
    assert new.count("```output\n") == 2
    assert wrong(tmp_path, new) == []
    assert RUN["rewritten"](page) == new


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("graphdep fly", "no command 'fly'"),
        ("graphdep train --taks sick-e", "'--taks' is no option of 'train'"),
        ("graphdep train --task sick-e --model dtt", "'dtt' is no model of 'sick-e'"),
    ],
)
def test_commands_that_are_not_run_must_be_there(command, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message) as error:
        wrong(tmp_path, f"<!-- not run: needs the corpus -->\n```sh\n{command}\n```\n")
    assert error.value.__notes__ == ["in page.md:3"]


def test_files_are_written_and_failing_commands_are_told(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = "```{code-block} text\n:caption: in/a.txt\n\nwords\n```\n"
    text = f"{file}\n```sh\ncat in/a.txt\n```\n\n```output\nwords\n```\n"
    assert wrong(tmp_path, text) == []
    with pytest.raises(ValueError, match="no file 'b.txt'"):
        wrong(tmp_path, "```sh\ngraphdep parse b.txt\n```\n")
