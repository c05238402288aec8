from __future__ import annotations

import base64
import json
import random
import re
from dataclasses import replace
from importlib import resources
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch
from torch_geometric.explain import Explanation

from graphdep import RelationVocab, Sentence, Vocab, draw, to_data
from graphdep.data import expand_pieces
from graphdep.transforms import DependencyEdges, resolve
from graphdep.visualization import Answer, Explorer, Side, WordNodes
from graphdep.visualization.explorer import difference_rows, side_rows
from graphdep.visualization.head_measures import (
    arriving,
    entropies,
    half,
    join_pieces,
    masks_of,
    moved,
    partner_masks,
    relation_rows,
    rollout,
    shares,
)
from graphdep.visualization.page_data import PackedPairs, dense, pack_pairs, pack_weights, unpack_pairs
from tests.kit.strategies import sentences


def page_of(html: str) -> dict:
    """The data of a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def unpacked(packed, allowed: torch.Tensor) -> torch.Tensor:
    """All weights ``[heads, size, size]``, unpacked by a slow loop as in the page's script."""
    size = allowed.size(0)
    out = torch.zeros(packed.heads, size, size)
    if packed.top == 0:
        values = np.frombuffer(base64.b64decode(packed.values), "<u2").reshape(packed.heads, -1)
        for head in range(packed.heads):
            steps = torch.from_numpy(values[head].astype(np.float32))
            out[head][allowed] = packed.low + steps * packed.scale / 65535
        return out
    values = np.frombuffer(base64.b64decode(packed.values), "u1").reshape(packed.heads, size, -1)
    columns = np.frombuffer(base64.b64decode(packed.columns), "<u2").reshape(values.shape)
    for head, row, place in np.ndindex(*values.shape):
        step = float(values[head, row, place]) * packed.scale / 255
        out[head, row, columns[head, row, place]] += packed.low + step
    return out


def test_packed_pairs_are_unpacked():
    torch.manual_seed(0)
    for size, share in ((1, 1.0), (5, 0.5), (40, 0.001), (33, 1.0)):
        mask = torch.rand(size, size) < share
        packed = pack_pairs(mask)
        assert torch.equal(unpack_pairs(packed, size), mask)
        assert packed.count == int(mask.sum())
    assert pack_pairs(torch.zeros(40, 40).bool()) == PackedPairs("pairs", "", 0)


@pytest.mark.parametrize("low", [0.0, -0.7], ids=["weights", "scores"])
def test_all_weights_are_kept_if_they_fit_else_the_largest(low):
    torch.manual_seed(0)
    allowed = torch.rand(12, 12) < 0.6
    alpha = (torch.rand(3, 12, 12) + low) * allowed
    exact = pack_weights(alpha, allowed, room=10_000)
    assert exact.top == 0
    assert (unpacked(exact, allowed) - alpha).abs().max() <= exact.scale / 65535
    few = pack_weights(alpha, allowed, room=3 * 3 * 12 * 4)
    assert few.top == 4
    best = alpha.abs().topk(4, dim=-1).indices
    wanted = torch.zeros_like(alpha).scatter(2, best, alpha.gather(2, best))
    assert (unpacked(few, allowed) - wanted).abs().max() <= few.scale / 255
    assert pack_weights(torch.zeros(1, 2, 2), torch.ones(2, 2).bool(), 100).scale == 0


def test_weights_of_pieces_are_joined_to_words():
    torch.manual_seed(0)
    alpha, entry = torch.rand(2, 5, 5), torch.tensor([0, 1, 1, 2, 2])
    found = join_pieces(alpha, entry, 3)
    for u in range(3):
        for v in range(3):
            rows = (entry == u).nonzero().view(-1)
            wanted = sum(alpha[:, i, entry == v].sum(dim=1) for i in rows) / len(rows)
            assert torch.allclose(found[:, u, v], wanted)
    assert join_pieces(alpha, torch.arange(5), 5) is alpha


def test_rollout_is_a_product_and_shares_sum_to_one():
    torch.manual_seed(0)
    layers = [torch.rand(2, 4, 4).softmax(dim=-1) for _ in range(3)]
    means = [alpha.mean(dim=0) for alpha in layers]
    steps = [half(mean) for mean in means]
    found = rollout(means)
    assert torch.allclose(found[-1], steps[2] @ steps[1] @ steps[0])
    assert torch.allclose(found[-1].sum(dim=1), torch.ones(4))
    reaching = arriving(means)
    assert torch.allclose(reaching[0], torch.full((4,), 0.25) @ steps[2] @ steps[1], atol=1e-6)
    assert all(torch.allclose(share.sum(), torch.tensor(1.0)) for share in reaching)
    slow = [
        sum(reaching[0][i] * layers[0][h, i, j] for i in range(4) for j in range(4) if i != j) / 4
        for h in range(2)
    ]
    assert torch.allclose(moved(layers[0], reaching[0]), torch.stack(slow))
    assert torch.equal(half(torch.zeros(2, 2)), torch.eye(2))  # what attends to nothing stays


def test_measures_are_means_over_words(sentence):
    nodes = WordNodes.of(to_data([sentence]), [sentence.form], RelationVocab())
    torch.manual_seed(0)
    alpha = torch.rand(2, nodes.size, nodes.size).softmax(dim=-1)
    rows = ~torch.tensor(nodes.special)
    masks = partner_masks(nodes, {"dra": torch.eye(nodes.size).bool()})
    governor = torch.stack([alpha[:, d, g] for g, d, _ in nodes.arcs]).mean(dim=0)
    assert shares(alpha, masks["governor"], rows) == pytest.approx(governor.tolist())
    following = torch.stack([alpha[:, i, i + 1] for i in range(1, 11)]).mean(dim=0)
    assert shares(alpha, masks["next word"], rows) == pytest.approx(following.tolist())
    assert list(masks)[-1] == "edges of dra"
    assert "other utterances" not in masks
    same = torch.full((1, nodes.size, nodes.size), 1 / nodes.size)
    assert entropies(same, rows) == pytest.approx([1.0])
    assert entropies(torch.eye(nodes.size)[None], rows) == pytest.approx([0.0], abs=1e-6)
    assert shares(alpha, torch.zeros(nodes.size, nodes.size).bool(), rows) == [0.0, 0.0]


def test_the_relation_table_distinguishes_the_directions(sentence):
    nodes = WordNodes.of(to_data([sentence]), [sentence.form], RelationVocab())
    up, down = (torch.zeros(1, nodes.size, nodes.size) for _ in range(2))
    for governor, dependent, _ in nodes.arcs:  # a row is the word that attends
        up[0, dependent, governor] = down[0, governor, dependent] = 1
    rows = relation_rows([up, down], nodes)
    assert sum(row.count for row in rows) == len(nodes.arcs)
    assert [row.count for row in rows] == sorted((row.count for row in rows), reverse=True)
    assert all((row.up, row.down) == ([[1.0], [0.0]], [[0.0], [1.0]]) for row in rows)


def seen_slowly(name: str, nodes: WordNodes, word: int) -> set[int]:
    """The partners of a word by measure."""
    words = [place for place, special in enumerate(nodes.special) if not special]
    beside = {"previous word": -1, "next word": 1}
    if name in beside:
        place = words.index(word) + beside[name]
        near = words[place : place + 1] if place >= 0 else []
        return {other for other in near if nodes.utterance[other] == nodes.utterance[word]}
    return {
        "governor": {nodes.governor[word]} - {-1},
        "dependents": {other for other, governor in enumerate(nodes.governor) if governor == word},
        "itself": {word},
        "special nodes": {place for place, special in enumerate(nodes.special) if special},
        "other utterances": {
            other for other in range(nodes.size) if nodes.utterance[other] != nodes.utterance[word]
        },
    }[name]


@given(st.lists(sentences(), min_size=1, max_size=3), st.booleans(), st.integers(0, 2**32))
def test_a_head_that_attends_only_to_some_partners_has_the_measure_one(trees, root, seed):
    """Rows are the words that attend, so attention to governors goes up, to dependents down."""
    data = to_data(trees, relations=RelationVocab(), root=root)
    nodes = WordNodes.of(data, [tree.form for tree in trees], RelationVocab())
    masks, rows = partner_masks(nodes, {}), ~torch.tensor(nodes.special)
    assert {"governor", "dependents", "itself", "previous word", "next word"} <= masks.keys()
    partners = {
        name: {word: seen_slowly(name, nodes, word) for word in rows.nonzero().view(-1).tolist()}
        for name in masks
    }
    for name, seen in partners.items():
        looks = {word: random.Random(seed).choice(sorted(some)) for word, some in seen.items() if some}
        alpha = torch.zeros(1, nodes.size, nodes.size)
        for word, other in looks.items():
            alpha[0, word, other] = 1
        for asked, mask in masks.items():
            having = [word for word, some in partners[asked].items() if some]
            share = sum(looks.get(word) in partners[asked][word] for word in having) / max(1, len(having))
            assert shares(alpha, mask, rows) == pytest.approx([share]), (name, asked)
            assert asked != name or share == bool(looks)


@pytest.mark.parametrize("name", ["dra", "transformer"])
def test_measures_of_uniform_attention(sentence, name):
    """A slow loop: the share of the governor among the nodes that each word may attend to."""
    data = to_data([sentence], relations=RelationVocab())
    pairs = resolve(name)(data).edge_index
    seen = {word: pairs[0, pairs[1] == word].tolist() for word in range(1, 12)}
    governor = dict(enumerate(sentence.head, start=1))
    wanted = sum((governor[word] in seen[word]) / len(seen[word]) for word in seen) / 11
    layers = [("layer 1", pairs, torch.rand(pairs.size(1), 3))]
    [side] = Explorer([Side.of("m", data, [sentence.form], {}, layers=layers)]).data.sides
    assert side.chance["governor"] == pytest.approx([wanted], abs=1e-5)
    assert side.chance.keys() == side.measures.keys() - {"entropy", "rollout"}
    if name == "transformer":
        assert side.chance["governor"] == pytest.approx([1 / 12], abs=1e-5)
    assert draw(sentence, "dra").data.sides[0].chance == {}


def test_the_page_has_the_weights_of_the_tensors(one_side):
    data, side = one_side.data.sides[0], one_side.sides[0]
    assert [shown.kind for shown in data.maps] == ["layer"] * 4 + ["rollout"] * 4 + ["mask"]
    for shown, (name, pairs, alpha) in zip(data.maps[:4], side.layers):
        matrix, allowed = dense(pairs, alpha, 12)
        assert shown.name == name
        assert torch.equal(unpack_pairs(data.pairs[shown.allowed], 12), allowed)
        assert (unpacked(shown.words, allowed) - matrix).abs().max() <= shown.words.scale / 65535
    flow = unpacked(data.maps[7].words, torch.ones(12, 12).bool())
    means = [dense(pairs, alpha, 12)[0].mean(dim=0) for _, pairs, alpha in side.layers]
    assert torch.allclose(flow[0], rollout(means)[-1], atol=1e-4)
    nsubj = next(row for row in data.relations if row.relation == "nsubj")
    assert nsubj.up[2][5] == pytest.approx(float(dense(*side.layers[2][1:], 12)[0][5, 5, 6]), abs=1e-5)


def test_edges_have_their_parts_and_types(one_side, sentence):
    dt, dra = one_side.data.sides[0].edges
    assert [why for _, why in dra.parts] == [
        "an arc of the tree",
        "ROOT sees the words below it",
        "each node sees itself",
    ]
    made = [unpack_pairs(packed, 12) for packed in dra.made]
    arcs = {(head, word) for word, head in enumerate(sentence.head, start=1)}
    assert {tuple(pair) for pair in made[0].nonzero().tolist()} == arcs
    assert made[2].diagonal().all()
    assert [*made[1].shape] == [12, 12]
    typed = {(s, t): dt.types[kind] for s, t, kind in dt.typed}
    assert typed[2, 8] == "nsubj:pass^-1"
    assert typed[8, 2] == "nsubj:pass"


def test_two_sides_keep_common_nodes(make_side, sentence):
    data = to_data([sentence], relations=RelationVocab())
    dam, dra = (Side.of(n, data, [sentence.form], {n: resolve(n)}) for n in ("dam", "dra"))
    assert dam.nodes.size == 12 + 11
    page = Explorer([dam, dra]).data
    assert [node.text for node in page.nodes] == ["[ROOT]", *sentence.form]
    assert page.sides[0].arc_nodes == [-1] * 11
    assert len(Explorer([dam]).data.nodes) == 23
    with pytest.raises(ValueError, match="'sides' must be between 1 and 2"):
        Explorer([])


def test_pieces_are_shown_beside_words():
    sentence = Sentence(["unhappy", "dogs"], [2, 0], ["amod", "root"])
    data = expand_pieces(to_data([sentence], vocab=Vocab([]), relations=RelationVocab()), [[1], [5, 6], [7]])
    pairs = resolve("transformer")(data).edge_index
    alpha = torch.rand(16, 2)
    layers = [("layer 1", pairs, alpha)]
    side = Side.of("m", data, [sentence.form], {}, layers=layers, pieces=["[ROOT]", "un", "happy", "dogs"])
    page = Explorer([side]).data
    assert [(piece.text, piece.word) for piece in page.pieces] == [
        *(("[ROOT]", 0), ("un", 1), ("happy", 1), ("dogs", 2))
    ]
    shown = page.sides[0].maps[0]
    assert (unpacked(shown.pieces, torch.ones(4, 4).bool()) - dense(pairs, alpha, 4)[0]).abs().max() < 1e-4
    words = join_pieces(dense(pairs, alpha, 4)[0], side.nodes.entry, 3)
    assert (unpacked(shown.words, torch.ones(3, 3).bool()) - words).abs().max() < 1e-4


def test_hostile_texts_are_escaped():
    bad = ["</script><script>alert(1)</script>", "%%DATA%%", "\u2028<!--", "\ud800", '" onload="x']
    page = draw(
        Sentence(bad, [0, 1, 1, 1, 1], ["root", "</svg>", "dep", "dep", "dep"]), "dra", title="%%SCRIPT%%"
    )
    html = page.html()
    html.encode("utf-8")
    assert html.count("<script") == 2
    assert "alert(1)</script>" not in html
    texts = [node["text"] for node in page_of(html)["nodes"][1:]]
    assert texts == [*bad[:3], "?", bad[4]]
    assert "<title>%%SCRIPT%%</title>" in html


def test_the_page_fetches_nothing_and_names_its_scripts(one_side):
    html = one_side.html()
    assert "default-src &#x27;none&#x27;" in html or "default-src 'none'" in html
    assert len(re.findall(r"'sha256-[\w+/=]+'", html)) == 2
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["']?(?!data:)[a-z]+:""", html)
    assert not re.findall(r"https?:", html.replace("http://www.w3.org/2000/svg", ""))


def test_the_page_of_a_long_example_is_small(long_page):
    assert 3_000_000 < len(long_page.encode()) < 6_000_000


def test_files_and_notebook(one_side, tmp_path):
    for ending, start in (
        (".html", b"<!DOCTYPE html>"),
        (".svg", b"<svg"),
        (".png", b"\x89PNG"),
        (".pdf", b"%PDF"),
    ):
        path = one_side.save(tmp_path / "new" / f"page{ending}")
        assert path.read_bytes().startswith(start)
    with pytest.raises(ValueError, match="'path' must end in"):
        one_side.save(tmp_path / "page.gif")
    frame = one_side._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts allow-downloads"')
    assert "allow-same-origin" not in frame
    assert '"><script' not in frame
    assert one_side.summary == "11 words, 4 layers, 1 side"


def test_draw_takes_sentences_and_data(sentence):
    assert repr(draw(sentence)) == f"Explorer({sentence.text!r}, 1 side, 11 nodes)"
    data = to_data([sentence], root=False)
    page = draw(data, DependencyEdges(), words=[sentence.form])
    assert [node.text for node in page.data.nodes] == sentence.form
    assert page.data.sides[0].edges[0].name == "DependencyEdges"
    assert draw(data).data.nodes[0].text == "word 1"
    assert len(draw(sentence, {"mine": "dra"}, against="sia").data.sides) == 2
    with pytest.raises(ValueError, match="needs one set .*got 2"):
        draw(sentence, ["dra", "dt"], against="sia")
    with pytest.raises(ValueError, match="needs one set .*got 0"):
        draw(sentence, against="random")
    with pytest.raises(ValueError, match="already has edges"):
        draw(resolve("dra")(data))
    with pytest.raises(ValueError, match="is a batch"):
        draw(Batch.from_data_list([data]))


def test_differences_are_drawn_separately(sentence):
    svg = draw(sentence, "dra", against="random").svg()
    assert "only dra (the parse): " in svg
    assert "only dra (a random tree): " in svg
    assert "both: dra: " in svg
    same = Explorer(draw(sentence, "dra").sides * 2).svg()
    assert "both: dra: " in same
    assert "only" not in same


def test_gates_are_shown_like_layers(make_side):
    side = make_side(0, "one")
    pairs, scores = torch.tensor([[1, 2], [2, 1]]), torch.tensor([[0.5, -2.0], [1.0, 3.0]])
    side = replace(side, gates=[("self-attention score of layer 1", pairs, scores)])
    shown = next(one for one in Explorer([side]).data.sides[0].maps if one.kind == "gate")
    assert shown.name == "self-attention score of layer 1"
    assert (shown.words.low, shown.words.scale) == (-2, 5)
    with pytest.raises(ValueError, match="weights of at least 0"):
        replace(side, layers=[("other", pairs, scores)])


def test_masks_of_explainers():
    pairs = torch.tensor([[0, 1], [1, 0]])
    found = masks_of({"a": torch.tensor([0.5, -0.25]), "b": Explanation(edge_mask=torch.ones(2))}, pairs)
    assert [name for name, *_ in found] == ["a", "b"]
    assert found[0][2].tolist() == [[0.5], [0.25]]
    with pytest.raises(ValueError, match="without an 'edge_mask'"):
        masks_of({"c": Explanation()}, pairs)
    with pytest.raises(ValueError, match=r"'c' must be of shape \[2\] \(got \[3\]\)"):
        masks_of({"c": torch.ones(3)}, pairs)


# What somebody sees who has no red, or no green, cones (Machado, Oliveira, Fernandes 2009, table 1).
BLIND = {
    "red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("cones", BLIND)
def test_colours_are_distinguishable_for_colour_blind_readers(theme, cones):
    sheet = (resources.files("graphdep.visualization") / "page" / "explorer.css").read_text(encoding="utf-8")
    named = re.findall(r"--(\w+): #(\w{6})\b", re.findall(r":root[^{]*{([^}]*)}", sheet)[theme])
    given = {name: np.frombuffer(bytes.fromhex(text), "u1") / 255 for name, text in named}
    seen = {
        name: np.clip(np.array(BLIND[cones]) @ colour**2.2, 0, 1) ** (1 / 2.2)
        for name, colour in given.items()
    }
    sets = [seen[f"e{number}"] for number in range(6)]
    assert min(np.linalg.norm(a - b) for a, b in combinations(sets, 2)) > 0.1
    assert np.linalg.norm(seen["plus"] - seen["minus"]) > 0.5
    assert np.linalg.norm(seen["low"] - seen["high"]) > 1


PHRASES = [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 4), ("NP", 3, 4)]
BRACKETED = Sentence(
    ["Old", "dogs", "chase", "cats"], [2, 3, 0, 3], ["amod", "nsubj", "root", "obj"], constituents=PHRASES
)


def test_phrases_are_brackets_and_nodes():
    page = draw(BRACKETED, ["constituents", "same-constituent"])
    side = page.data.sides[0]
    assert side.brackets == [(1, 4, "S"), (1, 2, "NP"), (3, 4, "VP"), (4, 4, "NP")]
    assert [page.data.nodes[node].text for node in side.bracket_nodes] == ["[S]", "[NP]", "[VP]", "[NP]"]
    [row] = side_rows(page.data, 0)
    assert row.words == ("[ROOT]", "Old", "dogs", "chase", "cats")
    assert [(b.first, b.last, b.label, b.node) for b in row.brackets] == [
        (first, last, label, node) for (first, last, label), node in zip(side.brackets, side.bracket_nodes)
    ]
    # each phrase with its words, both ways
    assert f"and {2 * (4 + 2 + 2 + 1)} to and from the phrases" in row.lanes[0].title
    assert "a phrase and its words" in dict(side.edges[0].parts).values()
    assert draw(BRACKETED, "dra").data.sides[0].bracket_nodes == []
    assert ">VP</text>" in draw(BRACKETED).svg()


def test_phrases_that_differ_are_drawn_separately():
    page = draw(BRACKETED, "same-constituent", against="random")
    [row] = difference_rows(page.data)
    spans = [
        {(b.first, b.last, b.label) for b in row.brackets if b.style in styles}
        for styles in (("arc", "edge-0"), ("arc", "edge-1"))
    ]
    assert spans == [set(side.brackets) for side in page.data.sides]


def test_edges_of_phrases_of_one_side_are_counted():
    page = draw(BRACKETED, "constituents", against="random")
    [row] = difference_rows(page.data)
    counts = []
    for side in page.sides:  # an edge either way between each phrase and each of its words
        spans = zip(side.nodes.brackets, side.nodes.bracket_nodes)
        counts.append({(node, first, last): 2 * (last - first + 1) for (first, last, _), node in spans})
    shared = {bracket for bracket in page.data.sides[0].brackets if bracket in page.data.sides[1].brackets}
    both = sum(2 * (last - first + 1) for first, last, _ in shared)
    own = [sum(found.values()) - both for found in counts]
    assert all(own)
    for lane, name, number in zip(row.lanes, ("only", "only", "both"), (*own, both)):
        beyond = f", and {number} to and from the phrases" if number else ""
        assert lane.title.startswith(name)
        assert lane.title.endswith("edges" + beyond)
    for number, found in enumerate(counts):
        [row] = side_rows(page.data, number)
        assert f"and {sum(found.values())} to and from the phrases" in row.lanes[0].title


def test_a_phrase_of_the_same_words_and_label_is_the_same_node():
    other = replace(BRACKETED, constituents=[("S", 0, 4), ("VP", 1, 4), ("NP", 3, 4)])
    keys = [set(draw(one, "constituents").sides[0].nodes.keys) for one in (BRACKETED, other)]
    left, right = ({(key[2], key[3], key[4]) for key in of if key[0] == "PHRASE"} for of in keys)
    assert left & right == {(1, 4, "S"), (4, 4, "NP")}
    assert left ^ right == {(1, 2, "NP"), (3, 4, "VP"), (2, 4, "VP")}


def test_sides_refuse_invalid_values(sentence):
    data = to_data([sentence])
    for pairs, alpha, message in (
        (torch.tensor([[0], [1]]), torch.ones(2, 1), r"must be of shape \[1, heads\]"),
        (torch.tensor([[0], [99]]), torch.ones(1, 1), r"within 0\.\.11"),
        (torch.tensor([[0], [1]]), -torch.ones(1, 1), "at least 0"),
        (torch.tensor([[0], [1]]), torch.full((1, 1), float("nan")), "at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            Side.of("x", data, [sentence.form], {}, layers=[("l", pairs, alpha)])
    with pytest.raises(ValueError, match="'kind' must be"):
        Answer("odd", "x", ())


def test_sets_of_one_class_have_different_names(sentence):
    ways = [DependencyEdges(way) for way in ("governor", "dependent", "dependent")]
    names = [*draw(sentence, [*ways, "dra"]).sides[0].edges]
    assert names == ["DependencyEdges", repr(ways[1]), "DependencyEdges, 3", "dra"]


def test_words_are_given_by_utterance(sentence):
    with pytest.raises(TypeError, match="'words.0.' must be a list"):
        draw(to_data([sentence]), "dra", words=sentence.form)
