"""``SequenceClassifier(edges=...)``: any transform."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from torch_geometric.transforms import BaseTransform, Compose

from graphdep import SentenceEncoder, SequenceClassifier
from graphdep.training import load_task
from graphdep.transforms import (
    CompleteEdges,
    DependencyEdges,
    RandomTree,
    RootEdges,
    SelfLoops,
    register_edges,
    resolve,
)
from graphdep.transforms import presets as registry
from graphdep.transforms.presets import UnknownEdgesError
from tests.kit.tiny_encoder import write_tiny_encoder

pytestmark = pytest.mark.usefixtures("no_own_edges")

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4, "lr": 0.05}
TEXTS = [f"a {word} {thing}" for word in ("fine", "dull") for thing in ("film", "book", "day", "night")]
LABELS = ["good"] * 4 + ["bad"] * 4


def new(edges=None, encoder: str = "transformer", **options) -> SequenceClassifier:
    own = {"parser": "chain", "device": "cpu", "progress": False, "max_epochs": 2, "batch_size": 4}
    return SequenceClassifier(
        encoder, edges=edges, **{**own, **(SIZES if encoder == "transformer" else {}), **options}
    )


def both():
    return DependencyEdges("both") | SelfLoops()


def forget() -> None:
    """As in another process."""
    registry._own.clear()


@pytest.fixture
def fitted() -> SequenceClassifier:
    return new(both()).fit(TEXTS, LABELS)


def test_it_is_the_transform_that_the_model_is_trained_on(fitted):
    edges = fitted._predictor.task.edges
    assert edges.transforms[0] is fitted.edges  # and types, which DT needs
    assert fitted.result_["own_edges"]["edges"] == fitted.result_["config"]["edges"]
    assert fitted.result_["config"]["edges"].startswith("(DependencyEdges(towards='both', arcs='basic'")
    others = new(RootEdges() | SelfLoops()).fit(TEXTS, LABELS).predict_proba(TEXTS)
    assert not np.allclose(fitted.predict_proba(TEXTS), others)


def test_a_transform_of_a_preset_is_the_preset():
    preset, made = new("dt-related"), new(resolve("dt-related"))
    np.testing.assert_array_equal(
        preset.fit(TEXTS, LABELS).predict_proba(TEXTS), made.fit(TEXTS, LABELS).predict_proba(TEXTS)
    )
    assert preset.result_["config"]["edges"] == "dt-related"


def test_a_tree_before_the_edges():
    model = new(Compose([RandomTree(seed=0), both()])).fit(TEXTS, LABELS)
    assert model.predict(TEXTS).shape == (8,)


def test_on_a_pretrained_encoder(tmp_path):
    pytest.importorskip("transformers")
    encoder = write_tiny_encoder(tmp_path / "encoder")
    model = new(both(), encoder, model="bert", max_length=32).fit(TEXTS, LABELS)
    assert repr(fitted_edges := model._predictor.task.edges).startswith("((DependencyEdges(towards='both'")
    assert "SpecialEdges" in repr(fitted_edges)  # [CLS] is read, and has to see the words
    model.save(tmp_path / "model.ckpt")
    forget()
    loaded = SequenceClassifier.load(tmp_path / "model.ckpt", edges=both(), parser="chain", device="cpu")
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-6)


def test_saved_and_loaded_with_the_same_edges(fitted, tmp_path):
    path, expected = tmp_path / "model.ckpt", fitted.predict_proba(TEXTS)
    fitted.save(path)
    forget()
    with pytest.raises(UnknownEdgesError, match=r"model.ckpt: edges .* not known here: give the same"):
        SequenceClassifier.load(path, parser="chain", device="cpu")
    with pytest.raises(
        ValueError, match="model.ckpt: 'edges' must be those of the training, .*Dep.*got .Self"
    ):
        SequenceClassifier.load(path, edges=SelfLoops(), parser="chain", device="cpu")
    with pytest.raises(TypeError, match="'edges' must be a name or a transform"):
        SequenceClassifier.load(path, edges=3, parser="chain", device="cpu")
    edges = both()
    given = SequenceClassifier.load(path, edges=edges, parser="chain", device="cpu")
    assert given.edges is edges
    forget()
    register_edges("both", both())
    named = SequenceClassifier.load(path, edges="both", parser="chain", device="cpu")
    assert named.edges == "both"
    np.testing.assert_allclose(given.predict_proba(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(named.predict_proba(TEXTS), expected, atol=1e-6)
    assert clone(given).fit(TEXTS, LABELS).result_["own_edges"] == fitted.result_["own_edges"]
    vectors = SentenceEncoder(path, edges=both(), parser="chain", device="cpu").transform(TEXTS)
    assert vectors.shape == (8, 8)


class Window(BaseTransform):
    """Prints alike, whatever its width."""

    def __init__(self, width: int) -> None:
        self.width = width

    def forward(self, data):
        near = (torch.arange(data.num_nodes)[:, None] - torch.arange(data.num_nodes)).abs() <= self.width
        data.edge_index = (near & (data.batch[:, None] == data.batch)).nonzero().T.contiguous()
        return data


def test_others_that_differ_on_long_texts_alone_are_refused(tmp_path):
    new(Window(20), max_epochs=1).fit(TEXTS, LABELS).save(tmp_path / "model.ckpt")
    SequenceClassifier.load(tmp_path / "model.ckpt", edges=Window(20), parser="chain", device="cpu")
    for width in (30, 300):
        with pytest.raises(
            ValueError, match=r"must be those of the training, 'Window\(\) .*code, options and"
        ):
            SequenceClassifier.load(
                tmp_path / "model.ckpt", edges=Window(width), parser="chain", device="cpu"
            )


def test_loaded_where_they_are_known(fitted, tmp_path):
    fitted.save(tmp_path / "model.ckpt")
    loaded = SequenceClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu")
    assert loaded.edges is fitted.edges
    assert "edges" not in loaded.settings
    again = pickle.dumps(loaded)
    forget()
    np.testing.assert_allclose(pickle.loads(again).predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_registered_ones_are_known_by_their_name(tmp_path):
    register_edges("both", both)
    model = new("both").fit(TEXTS, LABELS)
    model.save(tmp_path / "model.ckpt")
    assert load_task(tmp_path / "model.ckpt")[1].config.edges == "both"
    assert SequenceClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu").edges == "both"
    forget()
    with pytest.raises(UnknownEdgesError, match="'both' are not known here: import the module"):
        SequenceClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu")


def test_copies_and_pickles_have_them(fitted):
    copied = clone(fitted)
    assert repr(copied.edges) == repr(fitted.edges)
    assert copied.fit(TEXTS, LABELS).result_["config"]["edges"] == fitted.result_["config"]["edges"]
    expected, data = fitted.predict_proba(TEXTS), pickle.dumps(fitted)
    changed = pickle.loads(data).set_params(edges="dra")
    assert changed.get_params()["edges"] == "dra"
    forget()
    np.testing.assert_allclose(pickle.loads(data).predict_proba(TEXTS), expected, atol=1e-6)
    # Until it is fitted again it is the model that it was.
    np.testing.assert_allclose(pickle.loads(pickle.dumps(changed)).predict_proba(TEXTS), expected, atol=1e-6)


def test_a_search_over_edges():
    search = GridSearchCV(new(max_epochs=1), {"edges": [None, "dra", both()]}, cv=2, error_score="raise")
    search.fit(TEXTS, LABELS)
    assert len(search.cv_results_["params"]) == 3


@pytest.mark.parametrize(
    ("edges", "options", "error", "message"),
    [
        (3, {}, TypeError, r"'edges' must be a name or a transform \(got int\)"),
        ("drat", {}, ValueError, "'edges' must be one of .*dra"),
        (CompleteEdges("example"), {"model": "lstm"}, ValueError, "'edges' are for encoder='transformer'"),
        ("os:system", {}, ValueError, "'edges' must be one of"),
    ],
)
def test_wrong_edges(edges, options, error, message):
    with pytest.raises(error, match=message):
        new(edges, **options).fit(TEXTS, LABELS)
