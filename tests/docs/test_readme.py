"""README.md stays a first page: short, with a picture and snippets that show what they print."""

from __future__ import annotations

import re
from pathlib import Path

import graphdep
from graphdep.tasks import families
from graphdep.transforms import PRESETS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *(p for p in (ROOT / "docs").rglob("*.md") if "_generated" not in p.parts)]


def test_it_is_short() -> None:
    seen = re.sub(r"<!--.*?-->\n", "", README, flags=re.S)
    assert len(seen.splitlines()) <= 120
    assert len(seen.split()) <= 800


def test_a_picture_comes_first_and_snippets_are_short_and_show_their_output() -> None:
    assert README.index("![") < README.index("```")
    snippets = re.findall(r"^```python\n(.*?)^```\n\n```output\n", README, re.M | re.S)
    assert len(snippets) == README.count("```python") == 3
    assert all(len([line for line in snippet.splitlines() if line]) <= 10 for snippet in snippets)


def test_it_counts_right() -> None:
    numbers = {9: "nine", 10: "ten", 11: "eleven"}
    edges = re.findall(r"^\| `([\w-]+)` \|.*\[paper\]", README, re.M)
    assert set(edges) <= set(PRESETS)
    assert f"the edges of {numbers[len(edges)]} papers" in README
    assert f"are {sum(len(family.tasks) for family in families())} tasks" in README


def test_the_citations_name_the_version_of_the_library() -> None:
    """Else a paper cites a version that its authors did not have."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {graphdep.__version__}\n" in citation
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert f"version = {{{graphdep.__version__}}}" in results
    date = re.search(r"^date-released: (.+)$", citation, re.M)[1]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{graphdep.__version__}] - {date}\n" in changelog


def test_no_placeholder_looks_like_a_value() -> None:
    """Somebody pastes them: ENCODER would be looked for on a hub."""
    for page in PAGES:
        blocks = re.findall(r"^```(?:sh|python)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
        found = re.findall(r"[= \"](?:ENCODER|DIR|FILE|NAME|VECTORS)\b(?!=)", "".join(blocks))
        assert not found, page
