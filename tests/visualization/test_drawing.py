from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.visualization import Bracket, Lane, Row, Scene, Shape, row_scene, row_scenes
from graphdep.visualization.rows import arc_levels, bracket_levels, sentence_row
from graphdep.visualization.scene import runs_right_to_left, stacked, text_width

SENTENCE = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
ARC = st.tuples(st.integers(0, 9), st.integers(0, 9))
SVG = "{http://www.w3.org/2000/svg}"


def slow_levels(arcs):
    """One above the highest arc within, computed arc by arc."""
    order = sorted(range(len(arcs)), key=lambda n: (abs(arcs[n][0] - arcs[n][1]), min(arcs[n]), n))
    levels = {}
    for number in order:
        low, high = min(arcs[number]), max(max(arcs[number]), min(arcs[number]) + 1)
        spans = {other: (min(arcs[other]), max(max(arcs[other]), min(arcs[other]) + 1)) for other in levels}
        inside = [levels[other] for other, (a, b) in spans.items() if a < high and low < b]
        levels[number] = 1 + max(inside, default=0)
    return [levels[number] for number in range(len(arcs))]


@given(st.lists(ARC, max_size=12))
def test_overlapping_arcs_have_different_heights(arcs):
    levels = arc_levels(arcs)
    assert levels == slow_levels(arcs)
    for (one, first), (two, second) in combinations(zip(arcs, levels), 2):
        overlap = min(max(one), max(two)) - max(min(one), min(two))
        assert first != second or overlap <= 0 or min(abs(one[0] - one[1]), abs(two[0] - two[1])) == 0


def test_every_word_arc_and_edge_is_drawn_once_with_its_names():
    row = Row(
        ("a", "b", "c"),
        ((1, 0, "det"), (1, 2, "obj")),
        (Lane("mine: 3 edges", ((0, 1), (2, 1), (1, 1)), 1), Lane("yours: 1 edge", ((2, 0),), 2, "and more")),
        special=frozenset([0]),
        nodes=(10, 11, 12),
        arc_nodes=(20, None),
    )
    root = ET.fromstring(row_scene(row).svg())
    words = [item.text for item in root.iter(f"{SVG}text") if item.get("class") in ("gd-word", "gd-special")]
    assert words == ["a", "b", "c"]
    lines = [item for item in root.iter(f"{SVG}path") if item.get("fill") == "none"]
    ends = [
        (item.get("data-s"), item.get("data-t"), item.get("class")) for item in lines if item.get("data-s")
    ]
    mine = [(s, t, "gd-edge-1") for s, t in (("11", "11"), ("10", "11"), ("12", "11"))]
    assert ends == [*mine, ("12", "10", "gd-edge-2")]
    assert {(i.get("data-g"), i.get("data-d")) for i in lines if i.get("data-g")} == {
        ("11", "10"),
        ("11", "12"),
    }
    assert [i.text for i in root.iter(f"{SVG}text") if i.get("data-n") == "20"] == ["det"]  # on its arc
    titles = [i.text for i in root.iter(f"{SVG}text") if "edge-" in i.get("class", "")]
    assert titles == [
        "mine: 3 edges, the word at the arrow attends to the other",
        "and more",
        "yours: 1 edge",
    ]
    assert not [item for item in root.iter() if item.get("id") or item.get("style")]


def test_words_and_labels_of_short_arcs_do_not_overlap():
    row = sentence_row(SENTENCE)
    shapes = [shape for shape in row_scene(row).shapes if shape.style in ("word", "special")]
    for left, right in pairwise(shapes):
        reach = (text_width(left.text, left.size) + text_width(right.text, right.size)) / 2
        assert right.at[0] - left.at[0] >= reach
    amod = next(abs(row_places(row)[g] - row_places(row)[d]) for g, d, name in row.arcs if name == "amod")
    assert amod >= text_width("amod", 11.5)


def row_places(row):
    return [shape.at[0] for shape in row_scene(row).shapes if shape.style in ("word", "special")]


def test_titles_and_notes_fit():
    row = Row(
        ("a",), lanes=(Lane("x: 2 edges", ()), Lane("y", (), note="every one attends to every other " * 3))
    )
    scene = row_scene(row)
    starts = [shape for shape in scene.shapes if shape.anchor == "start"]
    assert len(starts) >= 3
    assert all(shape.at[0] + text_width(shape.text, shape.size) <= scene.width for shape in starts)


def test_parts_are_stacked():
    row = Row(("a", "b"), ((0, 1, "x"),), (Lane("l", ((0, 1),)),))
    parts, whole = row_scenes(row), row_scene(row)
    assert whole.height == sum(part.height for part in parts)
    assert whole.width == parts[0].width
    assert [len(part.shapes) for part in parts] == [6, 3]
    assert stacked([], label="none").height == 0


def test_right_to_left_is_the_mirror_image():
    left = Row(("a", "b"), ((0, 1, "x"),))
    right = Row(("a", "b"), ((0, 1, "x"),), rtl=True)
    width = row_scene(left).width
    assert row_places(right) == [width - x for x in row_places(left)]
    assert 'direction="rtl"' in row_scene(right).svg()
    assert runs_right_to_left(["שלום", "ok"])
    assert not runs_right_to_left(["hello", "ש"])
    assert not runs_right_to_left([])


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\"&'", "\x00\x07", "\ud800", "a\u2028b", "]]>", ""]
)
def test_any_text_is_valid_svg(text):
    scene = row_scene(Row((text, "b"), ((0, 1, text),), (Lane(text, ((0, 1),), note=text),), title=text))
    root = ET.fromstring(scene.svg().encode("utf-8"))
    assert not list(root.iter(f"{SVG}script"))
    assert {item.tag for item in root.iter()} <= {f"{SVG}{tag}" for tag in ("svg", "text", "path")}


def test_positions_outside_the_row_are_refused():
    with pytest.raises(ValueError, match=r"positions 0\.\.1"):
        Row(("a", "b"), lanes=(Lane("l", ((0, 2),)),))


def test_wide_letters_are_wider():
    assert text_width("中国", 10) > text_width("il", 10) > 0
    assert text_width("e\u0301", 10) == text_width("e", 10)


def test_a_notebook_displays_a_sentence():
    shown = SENTENCE._repr_html_()
    root = ET.fromstring(shown)
    assert root.tag == "div"
    assert [i.text for i in root.iter(f"{SVG}text") if i.get("class") == "gd-word"] == SENTENCE.form
    assert "[ROOT]" not in shown


def test_shapes_move():
    scene = Scene(10, 10, (Shape("word", text="a", at=(1, 2)),), "a")
    assert stacked([scene, scene], gap=5).shapes[1].at == (1, 17)


def test_phrases_are_brackets_below_their_words():
    brackets = (Bracket(0, 2, "S", 7), Bracket(0, 0, "NP", 8), Bracket(1, 2, "VP"), Bracket(2, 2, "NP"))
    assert bracket_levels(brackets) == [3, 1, 2, 1]
    assert bracket_levels((Bracket(0, 1, "A"), Bracket(0, 1, "B"), Bracket(1, 2, "C"))) == [3, 2, 1]
    tree, lane = row_scenes(Row(("She", "is", "so"), lanes=(Lane("x", ((0, 1),)),), brackets=brackets))
    labels = {shape.text: shape for shape in tree.shapes if shape.text}
    assert [labels[name].at[1] for name in ("NP", "VP", "S")] == sorted(
        labels[name].at[1] for name in ("NP", "VP", "S")
    )
    assert labels["S"].style == "node"
    assert labels["S"].names == (("n", 7),)
    assert (labels["VP"].style, labels["VP"].names) == ("label", ())
    assert max(y for shape in tree.shapes for _, points in shape.steps for y in points[1::2]) < tree.height
    assert [shape.text for shape in lane.shapes if shape.style == "again"] == ["She", "is", "so"]
    with pytest.raises(ValueError, match="phrases must be between positions"):
        Row(("a",), brackets=(Bracket(0, 1, "X"),))
