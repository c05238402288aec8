"""Takes the screenshots of the explorer's page from the built site, in a headless Chromium: those of
docs/explorer.md and, as ``readme``, README's first picture. The page is that of the demo's models.

    make docs && python docs/take_screenshots.py      # needs Chromium and playwright, the extra [browser]

Look at each before it is committed: people read them as the page itself.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
LIVE = DOCS / "_build" / "docs" / "live"
PICTURES = DOCS / "_static" / "explorer"
MINUTE = 60_000
README = DOCS.parent / "examples" / "figures" / "explorer.png"
SIZE = {"width": 1180, "height": 860}


def sentence(tab: Any) -> Any:
    """The tree, the edges of one set, and why one of them is there."""
    side(tab, "with the tree")
    tab.locator("#sets button").first.click()
    edge = tab.locator('.drawing:not([hidden]) .lane[data-lane="1"] path[data-s="2"][data-t="7"]').first
    box = edge.bounding_box()
    place = {"clientX": box["x"] + box["width"] / 2, "clientY": box["y"] + box["height"]}
    edge.dispatch_event("pointermove", place)
    return tab


def heads(tab: Any) -> Any:
    """Layers and heads by where they look, and the attention along each relation."""
    side(tab, "with the tree")
    return tab.locator("#heads")


def matrix(tab: Any) -> Any:
    """Who attends to whom, hatched where the tree has no edge."""
    side(tab, "with the tree")
    tab.locator("#map").select_option(label="layer 2")
    tab.locator("#head").select_option(label="1")
    tab.locator("#hatch").select_option(label="dra")
    return tab.locator("#matrix")


def explained(tab: Any) -> Any:
    """On which edges the answer depends."""
    side(tab, "with the tree")
    tab.locator("#map").select_option(label="explainer: gradient")
    return tab.locator("#matrix")


def difference(tab: Any) -> Any:
    """What one model has and the other has not."""
    side(tab, "Difference")
    tab.locator("#map").select_option(label="layer 2")
    choose(tab, "found")
    return tab


def dark(tab: Any) -> Any:
    """The whole page, where the reader's screen is dark."""
    side(tab, "with the tree")
    tab.locator("#sets button").nth(1).click()
    choose(tab, "found")
    tab.locator("#theme").click()
    return tab


def phrases(tab: Any) -> Any:
    """Phrases as nodes."""
    tab.locator(".drawing text.gd-node", has_text="VP").first.click()
    tab.mouse.move(0, 0)
    tab.evaluate("document.activeElement.blur()")
    return tab.locator("#sentence")


def readme(tab: Any) -> Any:
    """README's: the parse, what the verb may attend to and does, and the heads below."""
    tab.set_viewport_size({"width": 1180, "height": 1010})
    side(tab, "with the tree")
    tab.locator("#sets button").nth(1).click()
    choose(tab, "found")
    return tab


SHOTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    one.__name__: ("phrases.html" if one is phrases else "explorer.html", one)
    for one in (sentence, heads, matrix, explained, difference, dark, phrases, readme)
}


def place(name: str) -> Path:
    """Where a picture stands."""
    return README if name == "readme" else PICTURES / f"{name}.png"


def side(tab: Any, name: str) -> None:
    """Shows one of the two models alone."""
    tab.locator("#sides button", has_text=name).first.click()


def choose(tab: Any, word: str) -> None:
    """Chooses a word of the sentence."""
    tab.locator(".drawing:not([hidden]) .tree text.gd-word", has_text=word).first.click()
    tab.mouse.move(0, 0)
    tab.evaluate("document.activeElement.blur()")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *SHOTS], help="(default: all)")
    wanted = parser.parse_args().names or [*SHOTS]
    from PIL import Image
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"], timeout=3 * MINUTE
        )
        context = browser.new_context(
            viewport=SIZE, device_scale_factor=1.5, color_scheme="light", reduced_motion="reduce"
        )
        tab = context.new_page()
        tab.set_default_timeout(3 * MINUTE)
        for name in wanted:
            page, act = SHOTS[name]
            tab.set_viewport_size(SIZE)
            tab.goto((LIVE / page).as_uri())
            picture = Image.open(io.BytesIO(act(tab).screenshot())).convert("RGB")
            picture.quantize(256, dither=Image.Dither.NONE).save(place(name), optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
