from __future__ import annotations

import os
import shutil

import pytest
import torch

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.nn.models import DependencyTransformer
from graphdep.transforms import RandomTree, resolve
from graphdep.visualization import Answer, Explorer, Side, attention_weights

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MINUTE = 60_000


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=3 * MINUTE
        )
        yield running
        running.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a page from a file; fails if the page fetched anything or wrote to the console."""
    told: list[str] = []
    contexts = []

    def opened(page: Explorer | str, **options):
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(page if isinstance(page, str) else page.html(), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, **options))
        tab = contexts[-1].new_page()
        tab.set_default_timeout(MINUTE)
        tab.on("console", lambda message: told.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: told.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: told.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda request: told.append(request.url) if request.url != path.as_uri() else None)
        tab.goto(path.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert not [line for line in told if not line.startswith(("data:image/svg+xml", "blob:"))]


@pytest.fixture(scope="session")
def sentence():
    words = "The dog that the cat watched was chased by the horse".split()
    head = [2, 8, 6, 5, 6, 2, 8, 0, 11, 11, 8]
    deprel = "det nsubj:pass obj det nsubj acl:relcl aux:pass root case det obl:agent".split()
    return Sentence(words, head, deprel)


@pytest.fixture(scope="session")
def make_side(sentence):
    """A side with the attention of a randomly initialised model."""

    def make(seed: int, name: str, tree: bool = True, masks: bool = False) -> Side:
        torch.manual_seed(seed)
        data = to_data([sentence], vocab=Vocab(dict.fromkeys(sentence.form)), relations=RelationVocab())
        data = data if tree else RandomTree()(data)
        edges = {"dt": resolve("dt"), "dra": resolve("dra")}
        sizes = {"hidden_channels": 24, "heads": 6, "num_layers": 4, "ff_channels": 16}
        model = DependencyTransformer(30, len(RelationVocab()), **sizes)
        made = edges["dt"](data)
        weights = attention_weights(model, made)
        layers = [(f"layer {n}", *item) for n, item in enumerate(weights, start=1)]
        mask = [("GNNExplainer", made.edge_index, torch.rand(made.num_edges, 1))] if masks else []
        answer = Answer("classes", "sentiment", (("positive", 0.75), ("negative", 0.25)))
        words = Answer("words", "tags", tuple((f"{word}\tNOUN", 0.5) for word in sentence.form))
        return Side.of(name, data, [sentence.form], edges, layers=layers, masks=mask, answers=[answer, words])

    return make


@pytest.fixture(scope="session")
def one_side(make_side):
    return Explorer([make_side(0, "dt", masks=True)])


@pytest.fixture(scope="session")
def two_sides(make_side):
    sides = [make_side(0, "the parse"), make_side(0, "a random tree", tree=False)]
    return Explorer(sides, one_model=True)


@pytest.fixture(scope="session")
def long_page():
    """512 tokens, a complete graph, 12 layers with 12 heads."""
    words = [f"w{n}" for n in range(511)]
    data = to_data([Sentence.chain(words)], relations=RelationVocab())
    pairs = resolve("transformer")(data).edge_index
    torch.manual_seed(0)
    layers = [(f"layer {n}", pairs, torch.rand(pairs.size(1), 12)) for n in range(12)]
    edges = {"transformer": resolve("transformer"), "dra": resolve("dra")}
    return Explorer([Side.of("bert", data, [words], edges, layers=layers)]).html()
