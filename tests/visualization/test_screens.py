"""A click path through the parts of a page, with screenshots that are compared by what they show: each part
has a place, words that can be read, and pixels in the colours that it is about.
"""

from __future__ import annotations

import io
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from graphdep import Sentence, draw

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
TAKEN = runpy.run_path(str(ROOT / "docs" / "take_screenshots.py"))
PHRASES = [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 4)]
BRACKETED = Sentence(
    ["Old", "dogs", "chase", "cats"], [2, 3, 0, 3], ["amod", "nsubj", "root", "obj"], constituents=PHRASES
)


def rgb(colour: str) -> tuple[int, ...]:
    """``#rrggbb`` or ``rgb(r, g, b)`` as numbers."""
    if colour.startswith("#"):
        colour = "".join(2 * letter for letter in colour[1:]) if len(colour) == 4 else colour[1:]
        return tuple(int(colour[place : place + 2], 16) for place in (0, 2, 4))
    return tuple(int(number) for number in re.findall(r"\d+", colour)[:3])


def colours(place) -> Counter:
    """How many pixels of a part have which colour."""
    image = Image.open(io.BytesIO(place.screenshot())).convert("RGB")
    return Counter(image.get_flattened_data() if hasattr(image, "get_flattened_data") else image.getdata())


def near(found: Counter, colour: tuple[int, ...]) -> int:
    """How many pixels nearly have a colour, as those of thin slanted lines do."""
    return sum(number for one, number in found.items() if max(abs(a - b) for a, b in zip(one, colour)) <= 15)


def variable(tab, name: str) -> tuple[int, ...]:
    """A colour of the style sheet."""
    return rgb(tab.evaluate(f"theme('{name}')"))


def inside(tab, part: str) -> bool:
    """Whether a part is on the page from left to right, and nothing in it is wider than it."""
    box = tab.locator(part).bounding_box()
    wide = tab.evaluate(f"document.querySelector('{part}').scrollWidth")
    width = tab.viewport_size["width"]
    return box["x"] >= 0 and box["x"] + box["width"] <= width and wide <= box["width"] + 1


def test_a_click_path_through_all_parts(open_page, two_sides, tmp_path) -> None:
    tab = open_page(two_sides, color_scheme="light", reduced_motion="reduce")
    for part in ("#sentence", "#heads", "#matrix", "#beside", "#top"):
        assert inside(tab, part), part
    # 1. The sentence, of one side: arcs in their colour, edges in theirs; a chosen word has its attention.
    tab.locator("#sides button", has_text="the parse").click()
    shown = colours(tab.locator(".drawing:not([hidden])"))
    arc, blue, orange = variable(tab, "--quiet"), variable(tab, "--e0"), variable(tab, "--e1")
    assert all(shown[colour] > 100 for colour in (arc, blue, orange))
    tab.locator("#sets button", has_text="dra").click()
    assert colours(tab.locator(".drawing:not([hidden])"))[orange] == 0
    tab.locator('.drawing:not([hidden]) .tree [data-n="2"]').click()
    assert tab.locator("#word-title").text_content() == "dog"
    assert tab.locator(".shade:not([opacity='0.000'])").count() > 0
    # 2. Heads: circles differ in shade and size, and another one changes the table.
    circles = tab.locator("#grid i")
    sizes = {round(circles.nth(place).bounding_box()["width"]) for place in range(12)}
    assert len(sizes) > 2
    before = tab.locator("#relations").inner_text()
    tab.locator('#grid [data-at="3,1"]').click()
    assert tab.locator("#relations").inner_text() != before
    assert tab.locator("#map option:checked").text_content() == "layer 4"
    # 3. The matrix: as many shades as it has weights, and hatching where the chosen set has no edge.
    shades = colours(tab.locator("#canvas"))
    assert len(shades) > 30
    tab.locator("#hatch").select_option(label="dra")
    assert "Hatched: no edge of dra" in tab.locator("#matrix-hint").text_content()
    assert colours(tab.locator("#canvas")) != shades
    tab.locator("#map").select_option(label="edges of dra")
    few = colours(tab.locator("#canvas"))
    assert few[orange] > 1000
    assert near(few, variable(tab, "--hatch")) > 5000
    # 4. The difference: two colours, one for each side.
    tab.locator("#map").select_option(label="layer 1")
    tab.locator("#sides button", has_text="Difference").click()
    apart = colours(tab.locator("#canvas"))
    red = sum(number for (r, _, b), number in apart.items() if r > b + 40)
    assert red > 200
    assert sum(number for (r, _, b), number in apart.items() if b > r + 40) > 200
    # 5. Dark: the ground is dark, the words are light, and what is saved has the colours that are seen.
    tab.locator("#theme").click()
    ground, _ = colours(tab.locator("#sentence")).most_common(1)[0]
    assert max(ground) < 60
    assert min(variable(tab, "--ink")) > 200
    with tab.expect_download() as caught:
        tab.locator("#save-matrix").click()
    saved = Image.open(caught.value.path()).convert("RGB")
    assert max(saved.getpixel((0, 0))) < 60


def test_phrases_are_seen_and_chosen(open_page) -> None:
    tab = open_page(draw(BRACKETED, "constituents"), color_scheme="light", reduced_motion="reduce")
    drawn = tab.locator(".drawing .tree")
    labels = drawn.locator("text.gd-node")
    assert labels.all_text_contents() == ["S", "NP", "VP"]
    boxes = {name: labels.nth(place).bounding_box()["y"] for place, name in enumerate(("S", "NP", "VP"))}
    words = drawn.locator("text.gd-word").first.bounding_box()["y"]
    assert words < boxes["NP"] == boxes["VP"] < boxes["S"]
    assert colours(drawn)[variable(tab, "--e3")] > 100
    labels.nth(1).click()
    assert tab.locator("#word-title").text_content() == "[NP]"
    assert "the phrase \u201cOld dogs\u201d" in tab.locator("#word-facts").text_content()
    assert "a phrase and the words in it" in tab.locator("#word-facts").text_content()
    assert "to and from the phrases" in tab.locator(".lane").first.text_content()
    assert "Brackets are phrases" in tab.locator("#sentence-hint").text_content()


@pytest.mark.parametrize("name", TAKEN["SHOTS"])
def test_the_pictures_of_the_site_and_of_readme_are_there(name) -> None:
    path = TAKEN["place"](name)
    page = ROOT / ("README.md" if name == "readme" else "docs/explorer.md")
    shown = re.findall(r"!\[[^]]+\]\(([^)]+\.png)\)", page.read_text(encoding="utf-8"))
    assert path in [page.parent / one for one in shown]
    assert path.stat().st_size < 300_000
    picture = Image.open(path)
    assert picture.width >= 1000
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 50
