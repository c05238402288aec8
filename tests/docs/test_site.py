"""The site as it was built: nothing is fetched from elsewhere, and every link leads somewhere."""

from __future__ import annotations

from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "docs" / "_build"
pytestmark = pytest.mark.docs
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """The links, the names of places, and what a page loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.loaded: list[str] = []
        self.tags: dict[str, int] = defaultdict(int)
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        self.places |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") != "canonical":
            self.loaded.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site() -> dict[Path, Page]:
    """Every page of the site, which `make docs` builds in minutes."""
    built = [path for path in BUILT.rglob("*.html") if "_static" not in path.parts]
    sources = [*(ROOT / "graphdep").rglob("*.py"), *(ROOT / "docs" / "how-to").iterdir(), *ROOT.glob("*.md")]
    if max(map(_changed, built), default=0.0) < max(map(_changed, sources)):
        pytest.skip("the site is not built, or older than its sources: make docs")
    return {path: Page(path) for path in built}


def _changed(path: Path) -> float:
    return path.stat().st_mtime


def test_the_first_page_and_the_file_for_language_models_are_at_the_root(site) -> None:
    assert 'url=docs/index.html"' in (BUILT / "index.html").read_text(encoding="utf-8")
    for line in (BUILT / "llms.txt").read_text(encoding="utf-8").splitlines():
        if "](" in line:
            assert (BUILT / line.partition("](")[2].partition(")")[0]).is_file(), line


def test_nothing_is_loaded_from_elsewhere(site) -> None:
    assert {(path.name, one) for path, page in site.items() for one in page.loaded if "//" in one} == set()
    for sheet in (BUILT / "_static").rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert "@import" not in text
        assert "url(http" not in text.replace('"', "").replace("'", "")


def test_every_link_within_the_site_leads_somewhere(site) -> None:
    lost = []
    for path, page in site.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = target in site
            if not target.exists() or (
                known and parts.fragment and unquote(parts.fragment) not in site[target].places
            ):
                lost.append(f"{path.relative_to(BUILT)}: {link}")
    assert lost == []


def test_formulas_are_drawn_by_the_browser_alone(site) -> None:
    assert sum(page.tags["math"] for page in site.values()) > 100
    assert not any("mathjax" in one.lower() for page in site.values() for one in page.loaded)


def test_each_constructor_is_drawn(site) -> None:
    page = site[BUILT / "docs" / "cheat-sheets" / "edges.html"]
    images = [one for one in page.loaded if one.endswith(".svg")]
    assert len(images) > 15
    assert all((BUILT / "docs" / "cheat-sheets" / one).resolve().is_file() for one in images)
