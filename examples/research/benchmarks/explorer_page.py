"""Size of a page of 512 tokens and 144 heads, and how long a browser takes until it is drawn.

Usage:

    python examples/research/benchmarks/explorer_page.py [--chromium chromium] [--rounds 5]

needs the extra [browser] and Chromium. Times are the browser's own, from the start of the navigation to the
end of the load event, in which the page is drawn: by the clock, and what the page computed for it, which
other programs do not lengthen. The best of the rounds counts.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from graphdep import RelationVocab, Sentence, to_data
from graphdep.transforms import resolve
from graphdep.visualization import Explorer, Side

TOKENS, LAYERS, HEADS = 512, 12, 12


def big_page() -> str:
    words = [f"word{n}" for n in range(TOKENS - 1)]
    data = to_data([Sentence.chain(words)], relations=RelationVocab())
    pairs = resolve("transformer")(data).edge_index
    torch.manual_seed(0)
    layers = [(f"layer {n + 1}", pairs, torch.rand(pairs.size(1), HEADS)) for n in range(LAYERS)]
    edges = {"transformer": resolve("transformer"), "dra": resolve("dra")}
    return Explorer([Side.of("model", data, [words], edges, layers=layers)]).html()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    html = big_page()
    print(f"{TOKENS} tokens, {LAYERS * HEADS} heads: {len(html.encode()) / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "page.html")
        path.write_text(html, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=args.chromium, args=["--no-sandbox", "--disable-gpu"], timeout=180_000
        )
        times, computed = [], []
        for _ in range(args.rounds):
            tab = browser.new_page()
            session = tab.context.new_cdp_session(tab)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(path.as_uri(), timeout=180_000)
            metrics = session.send("Performance.getMetrics")["metrics"]
            computed += [1000 * item["value"] for item in metrics if item["name"] == "ProcessTime"]
            assert tab.locator("#grid button").count() == LAYERS * (HEADS + 1)
            times.append(tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
            tab.close()
        browser.close()
    print("until it is drawn, ms: " + ", ".join(f"{time:.0f}" for time in times) + f"; best {min(times):.0f}")
    print(f"of these computed, ms: best {min(computed):.0f}")


if __name__ == "__main__":
    main()
