from __future__ import annotations

import warnings

import pytest
import torch
from matplotlib.figure import Figure
from torch_geometric.utils import softmax

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.nn.attention import AttentionLayout, GateValues
from graphdep.nn.models import SIA, DependencyTransformer, SelectionModel
from graphdep.nn.pretrained import load_encoder
from graphdep.transforms import resolve
from graphdep.visualization import (
    AttentionMap,
    attention_weights,
    gate_values,
    plot_ablation,
    plot_attention,
    plot_curves,
    plot_edge_matrix,
    plot_tree,
)
from tests.kit.tiny_encoder import write_tiny_encoder


def drawn(figure: Figure, tmp_path) -> list[str]:
    """Saves the figure, and returns all its texts."""
    figure.savefig(tmp_path / "picture.png", dpi=50)
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
    return [text.get_text() for text in figure.findobj(match=lambda artist: hasattr(artist, "get_text"))]


@pytest.fixture
def words(example):
    return ["[ROOT]", *example.form]


def test_tree_shows_words_relations_and_edges(example, tmp_path):
    edges = resolve("dra")(to_data([example])).edge_index
    texts = drawn(plot_tree(example, {"DRA": edges}, title="a title"), tmp_path)
    assert {*example.form, *example.deprel, "[ROOT]", "a title"} <= set(texts)
    assert any(text.startswith("DRA: 27 edges") for text in texts)


def test_tree_without_root_has_no_root_arc(example, tmp_path):
    texts = drawn(plot_tree(example, root=False), tmp_path)
    assert "root" not in texts
    assert "[ROOT]" not in texts


def test_tree_refuses_edges_of_another_graph(example):
    with pytest.raises(ValueError, match=r"must be between positions 0..8"):
        plot_tree(example, {"x": torch.tensor([[9], [0]])}, root=False)


def test_attention_maps_are_target_by_source(words, tmp_path):
    edge_index = torch.tensor([[1], [0]])  # ROOT (target 0) looks at word 1
    figure = plot_attention(torch.tensor([[0.8, 0.3]]), words, edge_index=edge_index, title="maps")
    assert "head 2" in drawn(figure, tmp_path)
    image = figure.axes[0].images[0].get_array()
    assert image[0, 1] == pytest.approx(0.8)
    assert image[1, 0] == 0


def test_attention_refuses_wrong_sizes(words):
    with pytest.raises(ValueError, match=r"'alpha' must be of shape \[1, heads\] \(got \[3, 2\]\)"):
        plot_attention(torch.ones(3, 2), words, edge_index=torch.tensor([[1], [0]]))
    with pytest.raises(ValueError, match="'labels' has 10 entries for 3 nodes"):
        plot_attention(torch.ones(3, 3), words)
    with pytest.raises(ValueError, match="shape"):
        plot_attention(torch.ones(3, 4), words)
    with pytest.raises(ValueError, match="'titles' has 1 entries for 2 maps"):
        plot_attention(torch.ones(2, 10, 10), words, titles=["a"])


@pytest.mark.parametrize("size", [3, 12, 20, 30])
def test_words_above_a_small_map_do_not_touch(size):
    figure = AttentionMap(["[ROOT]"] * size, [True] * size, ["a"], torch.ones(1, 1, size, size)).plot(0, 0)
    figure.draw_without_rendering()
    left, right = figure.axes[0].transData.transform([(0, 0), (1, 0)])[:, 0] * 72 / figure.dpi
    label = figure.axes[0].get_xticklabels()[0]
    assert right - left > 1.1 * label.get_fontsize()
    assert label.get_rotation() == 90


def test_labels_too_small_to_read_are_said_with_a_size_that_does(caplog):
    shown = AttentionMap(["word"] * 12, [False] * 12, ["a"], torch.ones(1, 8, 12, 12))
    shown.plot(0, figsize=(3.3, 2.9))
    (said,) = caplog.messages
    assert said == (
        "map of 12 nodes: labels are 4.0 points high; 6.2x5.4 inches would make them 5; or choose one layer "
        "and head"
    )
    assert shown.plot(0, figsize=(6.2, 5.4)).axes[0].get_xticklabels()[0].get_fontsize() >= 5
    shown.plot(0, 0, figsize=(3.3, 2.9))
    shown.plot(0)
    assert len(caplog.messages) == 1


def test_edge_matrix_shows_relations(example, words, tmp_path):
    data = resolve("dt")(to_data([example]))
    texts = drawn(plot_edge_matrix(data, words, relations=RelationVocab(), title="DT"), tmp_path)
    assert {"nsubj", "nsubj^-1", "path(1,1)"} <= set(texts)
    assert "DT" in " ".join(drawn(plot_edge_matrix(resolve("dra")(data), words, title="DT"), tmp_path))


@pytest.mark.parametrize("name", ["dt", "dra", "dam"])
def test_edge_matrix_is_the_same_for_both_forms_of_edges(example, name):
    images = []
    for implicit in (True, False):
        data = resolve(name, implicit=implicit)(to_data([example]))
        figure = plot_edge_matrix(data, ["x"] * data.num_nodes)
        images.append(torch.tensor(figure.axes[0].images[0].get_array()))
    assert torch.equal(*images)
    pale = int((images[0] == 1).sum())
    assert int((images[0] > 0).sum()) == AttentionLayout.of(data).num_edges
    assert pale == (int((data.edge_type == 0).sum()) if "edge_type" in data else data.num_edges)


def test_edge_matrix_needs_edges(example, words):
    with pytest.raises(ValueError, match="no 'edge_index'"):
        plot_edge_matrix(to_data([example]), words)


def test_ablation_shows_models_floor_and_paper(tmp_path):
    values = {"dt": [0.8, 0.9], "transformer": [0.5], "failed": []}
    floors = {"no skill": 0.4, "bag of words": 0.6}
    figure = plot_ablation(values, metric="accuracy", floors=floors, paper={"dt": 0.85}, title="SICK-E")
    texts = drawn(figure, tmp_path)
    assert {"dt", "transformer", "paper", "no skill (0.400)", "bag of words (0.600)"} <= set(texts)
    assert "mean ± standard deviation over seeds" in texts
    assert "failed" not in texts
    low, high = plot_ablation({"a": [0.05, 0.95, 0.95]}, metric="accuracy").axes[0].get_xlim()
    assert low == 0
    assert high > 0.65 + 0.5196
    axes = plot_ablation({"a": [0.05, 0.95, 0.95]}, metric="accuracy", bounds=(0, 1)).axes[0]
    assert [line[:, 0].tolist() for line in axes.collections[0].get_segments()] == [
        [pytest.approx(0.65 - 0.5196, abs=1e-4), 1.0]
    ]
    with pytest.raises(ValueError, match="'values' must be at least 1"):
        plot_ablation({"dt": []}, metric="accuracy")


def test_attention_weights_of_every_layer(example):
    data = resolve("dt")(to_data([example], vocab=Vocab(example.form)))
    sizes = {"hidden_channels": 8, "heads": 2, "num_layers": 3, "ff_channels": 8}
    model = DependencyTransformer(20, len(RelationVocab()), **sizes).train()
    layers = attention_weights(model, data)
    assert model.training
    assert len(layers) == 3
    for pairs, alpha in layers:
        total = torch.zeros(10, 2).index_add(0, pairs[1], alpha)
        assert torch.allclose(total, torch.ones(10, 2), atol=1e-5)


def test_gates_of_every_layer(example):
    data = resolve("dt")(to_data([example], vocab=Vocab(example.form)))
    sizes = {"hidden_channels": 8, "heads": 2, "num_layers": 3, "ff_channels": 8}
    model = DependencyTransformer(20, len(RelationVocab()), **sizes).train()
    found = gate_values(model, data)
    assert (len(found), model.training) == (3, True)
    for values, (pairs, alpha) in zip(found, attention_weights(model, data)):
        score = (1 - values.gate) * values.self_score + values.gate * values.relation_score
        torch.testing.assert_close(softmax(score, pairs[1]), alpha)
    with pytest.raises(ValueError, match="DependencyTransformer has no gate of relation scores"):
        gate_values(DependencyTransformer(20, len(RelationVocab()), gate=None, **sizes), data)


def test_gates_of_pieces_are_averaged():
    """The mean over the pairs of pieces with a gate; NaN if there are none."""
    pairs = torch.tensor([[0, 0, 2, 1], [1, 2, 0, 1]])
    gate = torch.tensor([[0.2], [0.6], [-0.5], [0.9]])
    typed = torch.tensor([[1.0], [1.0], [1.0], [0.0]])
    values = GateValues(pairs, torch.tensor([4, 4, 5, 0]), gate * typed, gate, gate)
    alpha = [("layer 1", pairs, gate.abs())]
    shown = AttentionMap.of(["a", "b"], [False, False], torch.tensor([0, 1, 1]), alpha, [values])
    none = torch.nan
    for name in ("gate", "relation_score", "self_score"):
        wanted = torch.tensor([[[[none, -0.5], [0.4, none]]]])
        torch.testing.assert_close(shown.gates[name], wanted, equal_nan=True)
    assert shown.without_special().plot(gate=True).axes[0].images[0].norm.vmin == -0.5
    with pytest.raises(ValueError, match="'gate' needs gates"):
        AttentionMap.of(["a", "b"], [False, False], torch.tensor([0, 1, 1]), alpha).plot(gate=True)


def test_attention_weights_need_attention(example):
    with pytest.raises(ValueError, match="Linear has no attention layer"):
        attention_weights(torch.nn.Linear(1, 1), to_data([example]))


def test_attention_weights_of_a_pretrained_encoder(tmp_path):
    pytest.importorskip("transformers")
    encoder = load_encoder(write_tiny_encoder(tmp_path))
    model = SelectionModel(SIA(encoder, edges="transformer", sia_layers=1))
    data = encoder.to_data(["it is so", "no"], parser="chain")
    layers = attention_weights(model, data)
    expected = [*encoder.attention(data), *model.encoder.attention(data)]
    assert len(layers) == len(expected) == encoder.num_layers + 1
    for (pairs, alpha), (wanted_pairs, wanted) in zip(layers, expected):
        assert torch.equal(pairs, wanted_pairs)
        assert torch.equal(alpha, wanted)


ROWS = [
    {"epoch": 1, "train_loss": 0.9, "val_loss": None, "val_f1": None},
    {"epoch": 2, "train_loss": 0.7, "val_loss": 0.8, "val_f1": 0.3},
    {"epoch": 3, "train_loss": 0.6, "val_loss": 0.9, "val_f1": 0.4},
]


def test_curves_show_the_values():
    losses, scores = plot_curves(ROWS, metric="f1", best_epoch=3, title="a run").axes
    drawn = {line.get_label(): line.get_xydata().tolist() for line in losses.lines}
    assert drawn["train loss"] == [[1, 0.9], [2, 0.7], [3, 0.6]]
    assert drawn["val loss"] == [[2, 0.8], [3, 0.9]]
    assert scores.lines[0].get_xydata().tolist() == [[2, 0.3], [3, 0.4]]
    assert scores.lines[1].get_label() == "best epoch (3)"


def test_a_loss_is_not_drawn_twice():
    assert len(plot_curves(ROWS, metric="loss").axes) == 1
    with pytest.raises(ValueError, match="'rows' must be at least 1"):
        plot_curves([], metric="f1")


def test_notebooks_display_figures():
    picture = plot_ablation({"dt": [0.5, 0.6]}, metric="accuracy")
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture._repr_svg_().lstrip().startswith("<?xml")


def test_a_script_without_a_font_is_one_warning(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("graphdep.visualization.plots._families", lambda: ["DejaVu Sans"])
    picture = plot_tree(Sentence(["中国", "人民"], [2, 0], ["nmod", "root"]))
    picture.savefig(tmp_path / "tree.svg")
    picture.savefig(tmp_path / "tree.pdf")
    assert b"/Type3" not in (tmp_path / "tree.pdf").read_bytes()
    caplog.clear()
    assert "中国</text>" in (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert not caplog.text
    picture.savefig(tmp_path / "tree.png")
    assert caplog.text.count("no font known to Matplotlib has some characters") == 1


def test_other_warnings_are_kept(tmp_path, monkeypatch):
    from graphdep.visualization import plots as picture

    def draw(self, *args, **kwargs):
        warnings.warn("something else", UserWarning, stacklevel=1)

    monkeypatch.setattr(picture.Figure, "savefig", draw)
    with pytest.warns(UserWarning, match="something else"):
        plot_ablation({"dt": [0.5]}, metric="accuracy").savefig(tmp_path / "a.png")
