"""Pages in Chromium, with playwright. ``CHROMIUM`` may name the executable."""

from __future__ import annotations

import csv
import io
import os
import re
import runpy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image

from graphdep import RelationVocab, Sentence, draw, to_data
from graphdep.transforms import resolve
from graphdep.visualization import Explorer, Side
from graphdep.visualization.page_data import dense

pytestmark = pytest.mark.browser
MINUTE = 60_000


def number(text: str) -> float:
    return float(text.replace("\u2212", "-"))


def test_a_walk_through_one_model(open_page, one_side):
    """Each part shows the values of the tensors."""
    tab = open_page(one_side)
    side = one_side.sides[0]
    matrices = [dense(pairs, alpha, 12)[0] for _, pairs, alpha in side.layers]
    # 1. The sentence: words, arcs, sets, and the reason for an edge.
    words = tab.locator(".drawing .tree text.gd-word").all_text_contents()
    assert words == side.nodes.names[1:]
    assert tab.locator("#sets button").all_text_contents() == ["dt", "dra"]
    assert "negative" in tab.locator("#answer-list").text_content()
    assert tab.locator("#answer-list .num").all_text_contents()[:2] == ["0.750", "0.250"]
    tab.locator('.lane[data-lane="1"] path[data-s="2"][data-t="8"]').first.dispatch_event("pointermove")
    assert "dra: an arc of the tree (DependencyEdges)" in tab.locator("#tip").text_content()
    assert "in the tree: chased \u2013nsubj:pass\u2192 dog" in tab.locator("#tip").text_content()
    tab.locator("#sets button", has_text="dra").click()
    assert not tab.locator('.lane[data-lane="1"]').is_visible()
    # 2. The heads: the first one shown attends most to governors.
    shares = torch.tensor(one_side.data.sides[0].measures["governor"])
    layer, head = divmod(int(shares.argmax()), 6)
    chosen = tab.locator('#grid [aria-pressed="true"]')
    assert chosen.get_attribute("data-at") == f"{layer},{head}"
    assert number(re.search(r": ([\d.]+)", chosen.get_attribute("aria-label"))[1]) == pytest.approx(
        float(shares.max()), abs=5e-4
    )
    # twelve nodes in a complete graph: uniform attention gives the governor a twelfth
    assert "(uniform attention: 0.083)" in chosen.get_attribute("aria-label")
    assert tab.locator("#heads-even").text_content().startswith("\u25b2 0.08: uniform attention")
    below = (shares <= 1 / 12 + 5e-4).sum()
    assert tab.locator("#grid td:not(:last-child) i.even").count() == int(below) > 0
    tab.locator('#grid [data-at="1,2"]').click()
    relation = tab.locator("#relations tr", has_text="nsubj:pass").locator("td").all_text_contents()
    assert number(relation[1]) == pytest.approx(float(matrices[1][2, 2, 8]), abs=6e-3)
    # 3. The matrix: cells have the weights of the tensor.
    tab.locator("#canvas").focus()
    for _ in range(4):
        tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#cell").text_content().startswith("that \u2192 The: ")
    shown = number(re.search(r": ([\d.]+)", tab.locator("#cell").text_content())[1])
    assert shown == pytest.approx(float(matrices[1][2, 3, 1]), abs=1e-4)
    tab.keyboard.press("Enter")
    assert tab.locator("#word-title").text_content() == "that"
    attended = number(tab.locator("#word-facts .num").first.text_content())
    assert attended == pytest.approx(float(matrices[1][2, 3].max()), abs=6e-4)
    assert tab.locator(".shade").count() == 12
    # rollout and masks of explainers can be chosen like layers
    options = tab.locator("#map option").all_text_contents()
    assert options[4:] == [f"rollout to layer {n}" for n in range(1, 5)] + [
        "explainer: GNNExplainer",
        "edges of dt",
        "edges of dra",
    ]
    tab.locator("#map").select_option(label="edges of dra")
    assert "Filled: an edge" in tab.locator("#matrix-hint").text_content()


def test_saved_files_have_the_numbers(open_page, one_side):
    tab = open_page(one_side)
    tab.locator("#map").select_option(label="layer 3")
    tab.locator("#head").select_option(label="5")
    with tab.expect_download() as caught:
        tab.locator("#save-csv").click()
    text = Path(caught.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    matrix = dense(*one_side.sides[0].layers[2][1:], 12)[0][4]
    assert len(rows) == 144
    assert {(r["layer"], r["head"]) for r in rows} == {("layer 3", "5")}
    for row in rows:
        assert float(row["weight"]) == pytest.approx(
            float(matrix[int(row["row"]), int(row["column"])]), abs=2e-5
        )
    made = {(r["attends"], r["to"]): r["made by"] for r in rows}
    assert made["chased", "dog"] == "dt: CompleteEdges; dra: DependencyEdges"
    for button, name, start in (
        ("#save-svg", "edges.svg", b"<svg"),
        ("#save-png", "edges.png", b"\x89PNG"),
        ("#save-matrix", "matrix.png", b"\x89PNG"),
        ("#save-heads", "heads.csv", b"\xef\xbb\xbf"),
    ):
        with tab.expect_download() as caught:
            tab.locator(button).click()
        assert caught.value.suggested_filename == name
        assert Path(caught.value.path()).read_bytes().startswith(start)


def test_difference_of_two_sides(open_page, two_sides):
    tab = open_page(two_sides)
    assert tab.locator('#sides [aria-pressed="true"]').text_content() == "the parse"
    assert tab.locator("#heads-even").is_visible()
    tab.locator("#sides button", has_text="Difference").click()
    assert not tab.locator("#heads-even").is_visible()  # of a difference, even attention is 0
    assert tab.locator("#grid i.even").count() == 0
    first, second = (dense(*side.layers[0][1:], 12)[0] for side in two_sides.sides)
    tab.locator("#map").select_option(label="layer 1")
    tab.locator("#head").select_option(label="1")
    tab.locator("#canvas").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    shown = number(re.search(r": ([+\u2212]?[\d.]+)", tab.locator("#cell").text_content())[1])
    assert shown == pytest.approx(float(first[0, 1, 0] - second[0, 1, 0]), abs=2e-4)
    chips = tab.locator("#sets button").all_text_contents()
    assert chips[-3:] == ["only the parse, dra", "only a random tree, dra", "both, dra"]
    assert tab.locator('.drawing[data-side="2"] path.gd-edge-1').count() > 0
    tab.locator("#sides button", has_text="a random tree").click()
    assert tab.locator('.drawing[data-side="1"]').is_visible()
    assert not tab.locator('.drawing[data-side="2"]').is_visible()
    assert tab.locator("#answer-list .side-1").count() == 2


def test_separately_trained_models_are_compared_by_means_of_heads(open_page, make_side, sentence):
    """The page opens with the model whose edges depend on the tree, and shows no empty set."""
    first, second = make_side(0, "without"), make_side(1, "with the tree")
    plain = Side.of("", to_data([sentence]), [sentence.form], {"transformer": resolve("transformer")})
    first = replace(first, edges=plain.edges)
    tab = open_page(Explorer([first, replace(second, edges={"dt": second.edges["dt"]})]))
    assert tab.locator('#sides [aria-pressed="true"]').text_content() == "with the tree"
    chosen = tab.locator('#grid [aria-pressed="true"]').get_attribute("data-at")
    tab.locator("#sides button", has_text="Difference").click()
    assert tab.locator("#sets button").all_text_contents() == ["both"]
    assert tab.locator("#grid thead th").all_text_contents() == ["mean"]
    assert not tab.locator("#head-label").is_visible()
    tab.locator("#map").select_option(label="layer 2")
    tab.locator("#canvas").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    shown = number(re.search(r": ([+\u2212]?[\d.]+)", tab.locator("#cell").text_content())[1])
    means = [dense(*side.layers[1][1:], 12)[0].mean(dim=0) for side in (first, second)]
    assert shown == pytest.approx(float(means[0][1, 0] - means[1][1, 0]), abs=2e-4)
    with tab.expect_download() as caught:
        tab.locator("#save-heads").click()
    rows = [*csv.DictReader(io.StringIO(Path(caught.value.path()).read_text(encoding="utf-8-sig")))]
    assert [row["head"] for row in rows] == ["mean"] * 4
    tab.locator("#sides button", has_text="with the tree").click()
    tab.locator("#map").select_option(index=int(chosen.partition(",")[0]))
    assert tab.locator('#grid [aria-pressed="true"]').get_attribute("data-at") == chosen


@pytest.mark.parametrize("name", ["one_side", "two_sides"])
def test_captions_are_not_cut_on_a_phone(open_page, request, name):
    tab = open_page(request.getfixturevalue(name))
    tab.set_viewport_size({"width": 390, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    for caption in tab.locator(".drawing:not([hidden]) .caption").all():
        for scrolled in (0, 200):
            tab.evaluate(f"document.querySelector('.drawing:not([hidden]) .scroll').scrollLeft = {scrolled}")
            box = caption.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
    assert not tab.locator(".lane text", has_text="edges").first.is_visible()


def test_the_label_of_the_chosen_row_is_not_cut(open_page):
    """Bold letters are wider."""
    words = ["wonderful" * 2, "a"]
    data = to_data([Sentence.chain(words)], relations=RelationVocab())
    tab = open_page(Explorer([Side.of("m", data, [words], {"dra": resolve("dra")})]))
    label = (
        "(() => { const pen = canvas.getContext('2d'); pen.font = 'bold 12px system-ui, sans-serif';"
        "return grid.left - 6 - pen.measureText(short(page.nodes[1].text)).width })()"
    )
    assert tab.evaluate(f"(choose(1), {label})") >= 0


def test_keys_move_in_the_tree(open_page, one_side):
    tab = open_page(one_side)
    tab.locator(".tree text[tabindex='0']").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#word-title").text_content() == "dog"
    tab.keyboard.press("ArrowUp")
    assert tab.locator("#word-title").text_content() == "chased"
    tab.keyboard.press("ArrowDown")
    assert tab.locator("#word-title").text_content() == "dog"
    tab.keyboard.press("Escape")
    assert tab.locator("#word-title").text_content() == "No word chosen"
    layer = tab.locator("#map").input_value()
    tab.keyboard.press("]" if layer == "0" else "[")
    assert tab.locator("#map").input_value() != layer
    tab.locator("#keys").click()
    assert tab.locator("#help").is_visible()


def test_a_relation_of_one_side_has_no_difference(open_page, two_sides):
    """The arcs of a random tree have other labels than most of those of the parse."""
    tab = open_page(two_sides)
    tab.locator("#sides button", has_text="Difference").click()
    tab.locator('#grid [data-at="0,0"]').click()
    theirs = {row.relation for row in two_sides.data.sides[1].relations}
    rows = tab.locator("#relations tbody tr").all()
    assert {row.locator("th").text_content() in theirs for row in rows} >= {False}
    for row in rows:
        cells = row.locator("td").all_text_contents()[1:]
        assert ("\u2013" in cells) == (row.locator("th").text_content() not in theirs)


def test_dialogues_fold_and_relation_nodes_are_on_arcs(open_page):
    turns = [["Hello", "there"], ["I", "saw", "dogs"], ["Bye"]]
    heads, labels = [[0, 1], [2, 0, 2], [0]], [["root", "advmod"], ["nsubj", "root", "obj"], ["root"]]
    dialogue = [Sentence(*columns) for columns in zip(turns, heads, labels)]
    tab = open_page(draw(dialogue, ["dam", "sia"]))
    assert tab.locator("summary").all_text_contents() == ["1 Hello there", "2 I saw dogs", "3 Bye"]
    tab.locator("summary").nth(1).click()
    assert not tab.locator('[data-turn="1"] svg').first.is_visible()
    tab.locator("#unfold").click()
    assert tab.locator('[data-turn="1"] svg').first.is_visible()
    boxes = tab.locator(".tree text.gd-node").all_text_contents()
    assert sorted(boxes) == ["advmod", "nsubj", "obj", "root", "root", "root"]
    tab.locator(".tree text.gd-node", has_text="nsubj").click()
    assert tab.locator("#word-title").text_content() == "[nsubj]"
    assert "a relation node and the words of its arc" in tab.locator("#word-facts").text_content()


def test_long_examples_have_a_window_and_a_search(open_page):
    words = [f"w{n}" for n in range(80)]
    data = to_data([Sentence.chain(words)], relations=RelationVocab())
    pairs = resolve("transformer")(data).edge_index
    torch.manual_seed(0)
    layers = [("layer 1", pairs, torch.rand(pairs.size(1), 2))]
    tab = open_page(Explorer([Side.of("m", data, [words], {"dra": resolve("dra")}, layers=layers)]))
    assert tab.locator("#span").input_value() == "40"
    tab.locator("#find").fill("w70")
    assert int(tab.locator("#from").input_value()) == 41
    tab.locator("#top-k").fill("3")
    assert tab.locator("#top-k-value").text_content() == "3"
    tab.locator("#least").fill("50")
    assert tab.locator("#least-value").text_content() == "0.50"


def test_a_long_example_opens_quickly(browser, tmp_path, long_page):
    """512 tokens and 144 heads, in processor time, which does not depend on the machine's load."""
    path = tmp_path / "long.html"
    path.write_text(long_page, encoding="utf-8")
    context = browser.new_context()
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(path.as_uri(), timeout=3 * MINUTE)
    assert tab.locator("#grid button").count() == 12 * 13
    assert computed(session) < 2
    context.close()


def computed(session) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(item["value"] for item in metrics if item["name"] == "ProcessTime")


def test_hostile_texts_do_nothing(open_page):
    bad = [
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(2)</script>",
        "javascript:alert(3)",
        "\u2028alert(4)",
        "\ud800",
        '"><svg onload=alert(5)>',
    ]
    sentence = Sentence(bad, [0, 1, 1, 1, 1, 1], ["root", "<b>", "</svg>", "dep", "dep", "dep"])
    tab = open_page(draw(sentence, "dra", title="</title><script>alert(6)</script>"))
    for word in tab.locator(".tree text.gd-word").all():
        word.dispatch_event("click")
    assert tab.locator("#word-title").text_content() == bad[-1]
    assert tab.locator("img, h1 script, #drawings script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(open_page, one_side, two_sides, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for page, node in ((one_side, 2), (two_sides, 2), (draw(Sentence(["a"], [0], ["root"])), 0)):
        tab = open_page(page, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)
        tab.evaluate(f"choose({node})")
        found = axe.run(tab).response["violations"]
        assert not [(item["id"], [n["html"][:200] for n in item["nodes"]][:3]) for item in found]
        assert tab.evaluate("document.documentElement.dataset.theme") == scheme


@pytest.mark.parametrize(("wish", "still"), [("reduce", True), ("no-preference", False)])
def test_reduced_motion_is_respected(open_page, one_side, wish, still):
    tab = open_page(one_side, reduced_motion=wish)
    lasting = tab.evaluate("getComputedStyle(document.querySelector('#grid i')).transitionDuration")
    assert (set(lasting.split(", ")) == {"0s"}) == still


def test_right_to_left(open_page):
    tab = open_page(draw(Sentence(["אני", "אוהב", "כלבים"], [2, 0, 2], ["nsubj", "root", "obj"]), "dra"))
    places = [word.bounding_box()["x"] for word in tab.locator(".tree text.gd-word").all()]
    assert places == sorted(places, reverse=True)
    tab.locator(".tree text[tabindex='0']").focus()
    tab.keyboard.press("ArrowLeft")
    assert tab.locator("#word-title").text_content() == "אוהב"


def test_a_notebook_displays_the_page(browser, open_page, one_side, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join(
            [str(Path(__file__).parents[2]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        ),
    )
    code = (
        "from graphdep import Sentence, draw\n"
        "sentence = Sentence(['She', 'sings'], [2, 0], ['nsubj', 'root'])\n"
        "display(sentence)\n"
        "draw(sentence, 'dra')"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    shown = [output["data"]["text/html"] for output in book.cells[0].outputs if "data" in output]
    assert ">sings</text>" in shown[0]
    tab = open_page(f"<!DOCTYPE html><title>notebook</title>{shown[1]}")
    frame = tab.frame_locator("iframe")
    assert frame.locator(".tree text.gd-word").all_text_contents() == ["She", "sings"]
    frame.locator(".tree text.gd-word").nth(1).click()
    assert frame.locator("#word-title").text_content() == "sings"
    assert frame.locator("#theme").evaluate("() => window.origin") == "null"  # kept apart from the notebook


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
    """Number of pixels of a part by colour."""
    image = Image.open(io.BytesIO(place.screenshot())).convert("RGB")
    return Counter(image.get_flattened_data() if hasattr(image, "get_flattened_data") else image.getdata())


def near(found: Counter, colour: tuple[int, ...]) -> int:
    """Number of pixels that nearly have a colour, as in thin slanted lines."""
    return sum(number for one, number in found.items() if max(abs(a - b) for a, b in zip(one, colour)) <= 15)


def variable(tab, name: str) -> tuple[int, ...]:
    """A colour of the style sheet."""
    return rgb(tab.evaluate(f"theme('{name}')"))


def inside(tab, part: str) -> bool:
    """Whether a part is within the width of the page, and its content within the part."""
    box = tab.locator(part).bounding_box()
    wide = tab.evaluate(f"document.querySelector('{part}').scrollWidth")
    width = tab.viewport_size["width"]
    return box["x"] >= 0 and box["x"] + box["width"] <= width and wide <= box["width"] + 1


def test_a_click_path_through_all_parts(open_page, two_sides, tmp_path) -> None:
    tab = open_page(two_sides, color_scheme="light", reduced_motion="reduce")
    for part in ("#sentence", "#heads", "#matrix", "#panel", "#top"):
        assert inside(tab, part), part
    # 1. The sentence of one side: colours of arcs and edges, attention of a chosen word.
    tab.locator("#sides button", has_text="the parse").click()
    shown = colours(tab.locator(".drawing:not([hidden])"))
    arc, blue, orange = variable(tab, "--quiet"), variable(tab, "--e0"), variable(tab, "--e1")
    assert all(shown[colour] > 100 for colour in (arc, blue, orange))
    tab.locator("#sets button", has_text="dra").click()
    assert colours(tab.locator(".drawing:not([hidden])"))[orange] == 0
    tab.locator('.drawing:not([hidden]) .tree [data-n="2"]').click()
    assert tab.locator("#word-title").text_content() == "dog"
    assert tab.locator(".shade:not([opacity='0.000'])").count() > 0
    # 2. Heads: circles differ in shade and size; choosing another head changes the table.
    circles = tab.locator("#grid i")
    sizes = {round(circles.nth(place).bounding_box()["width"]) for place in range(12)}
    assert len(sizes) > 2
    before = tab.locator("#relations").inner_text()
    tab.locator('#grid [data-at="3,1"]').click()
    assert tab.locator("#relations").inner_text() != before
    assert tab.locator("#map option:checked").text_content() == "layer 4"
    # 3. The matrix: many shades, and hatching where the chosen set has no edge.
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
    # 5. Dark: dark background, light words, and saved pictures with the same colours.
    tab.locator("#theme").click()
    ground, _ = colours(tab.locator("#sentence")).most_common(1)[0]
    assert max(ground) < 60
    assert min(variable(tab, "--ink")) > 200
    with tab.expect_download() as caught:
        tab.locator("#save-matrix").click()
    saved = Image.open(caught.value.path()).convert("RGB")
    assert max(saved.getpixel((0, 0))) < 60


def test_phrases_can_be_chosen(open_page) -> None:
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
    assert "a phrase and its words" in tab.locator("#word-facts").text_content()
    assert "to and from the phrases" in tab.locator(".lane").first.text_content()
    assert "Brackets are phrases" in tab.locator("#sentence-hint").text_content()


@pytest.mark.parametrize("name", TAKEN["SHOTS"])
def test_the_screenshots_of_the_docs_exist(name) -> None:
    path = TAKEN["place"](name)
    page = ROOT / ("README.md" if name == "readme" else "docs/explorer.md")
    shown = re.findall(r"!\[[^]]+\]\(([^)]+\.png)\)", page.read_text(encoding="utf-8"))
    assert path in [page.parent / one for one in shown]
    assert path.stat().st_size < 300_000
    picture = Image.open(path)
    assert picture.width >= 1000
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 50
