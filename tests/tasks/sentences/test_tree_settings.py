from __future__ import annotations

import pytest
import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets import SST
from graphdep.nn import models as M
from graphdep.parsing import resolve_parser
from graphdep.tasks import SENTIMENT, SentenceTask
from graphdep.tasks.sentences.model import build_model
from graphdep.tasks.sentences.settings import CONSTITUENT_ENCODERS, TREE_ENCODERS
from graphdep.training import TrainConfig
from graphdep.training.build import Parts
from graphdep.training.family import build_task, load_splits
from graphdep.transforms import resolve

SMALL = {"hidden_channels": 8, "heads": 2, "ff_channels": 8}
CLASSES = {
    "tree-lstm-ct": M.BinaryTreeLSTM,
    "rntn": M.RNTN,
    "bitree-lstm-ct": M.BiTreeLSTM,
    "dc-treelstm": M.DCTreeLSTM,
    "taghypertreelstm": M.TagHyperTreeLSTM,
    "use": M.UniversalEncoder,
    "tree-transformer-ct": M.ConstituencyTreeTransformer,
    "tree-transformer-dt": M.DependencyTreeTransformer,
}


def test_every_encoder_has_a_row_of_its_name() -> None:
    assert CLASSES.keys() == TREE_ENCODERS.keys()
    for name in TREE_ENCODERS:
        for task in ("sick-r", "sick-e", "sst", "mrpc"):
            config = TrainConfig.of(name, task=task)
            assert config.encoder == name
            assert config.reads_constituents == (name in CONSTITUENT_ENCODERS)


@pytest.mark.parametrize("name", CLASSES)
def test_build(name: str) -> None:
    model = build_model(TrainConfig.of(name, task="sick-e", **SMALL), 20, 5, num_classes=3)
    assert type(model.encoder) is CLASSES[name]
    assert model.encoder.hidden_channels == 8
    vectors = torch.randn(20, 5)
    assert build_model(TrainConfig.of(name, task="sst", **SMALL), 20, 5, vectors, num_classes=2)


@pytest.mark.parametrize("name", [n for n, read in TREE_ENCODERS.items() if "leaf" in read])
def test_settings_reach_the_encoder(name: str) -> None:
    config = TrainConfig.of(name, task="sst", leaf="code", binarized="head", **SMALL)
    encoder = build_model(config, 20, 5, num_classes=2).encoder
    assert (encoder.leaf, encoder.binarized) == ("code", "head")


def test_settings_that_nothing_reads() -> None:
    with pytest.raises(ValueError, match=r"'binarized' is for encoders tree-lstm-ct, .*\(got 'head'\)"):
        TrainConfig.of("tree-lstm", task="sst", binarized="head")
    with pytest.raises(ValueError, match=r"'leaf' is for encoders tree-lstm-ct, rntn \(got 'code'\)"):
        TrainConfig.of("dt", task="sst", leaf="code")


def test_labels_of_nodes() -> None:
    for task in ("sst", "sst-trees"):
        config = TrainConfig.of("rntn", task=task, node_labels=True)
        assert config.dataset_options("val")["trees"] is True
        assert config.dataset_options("val")["layout"] == "trees"
        assert config.about_data == "with labels of all nodes"
    with pytest.raises(ValueError, match="'node_labels' is for SST of the layouts .* not for 'mrpc'"):
        TrainConfig.of("rntn", task="mrpc", node_labels=True)
    with pytest.raises(ValueError, match=r"'node_labels' is for encoders .*\(got encoder='tree-lstm'\)"):
        TrainConfig.of("tree-lstm", task="sst", node_labels=True)
    with pytest.raises(ValueError, match="'phrases' and 'node_labels' are both True"):
        TrainConfig.of("rntn", task="sst-trees", node_labels=True, phrases=True)
    with pytest.raises(ValueError, match=r"'node_labels' are of the treebank's own .*\(got trees='random'\)"):
        TrainConfig.of("rntn@random", task="sst", node_labels=True)


@pytest.mark.parametrize("name", ["tree-lstm-ct", "taghypertreelstm"])
def test_constituents_and_tags_come_from_the_bundled_parser(name: str, opinions) -> None:
    """What the settings ask for is in the data that they load."""
    config = TrainConfig.of(name, **{**opinions, "parser": "bundled"}, limit_train=4, **SMALL)
    splits = load_splits(config, ("train",))
    [batch] = DataLoader(splits["train"], batch_size=4)
    assert ("tag" in batch) == (name == "taghypertreelstm")
    task = build_task(config, Parts(len(splits.vocab), len(splits.relations)))
    assert task(task.edges(batch)).shape == (4, 2)


def test_the_loss_sums_over_the_nodes_of_a_sentence(tmp_path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in ("train", "dev", "test"):
        text = "(3 (2 It) (4 (2 's) (4 lovely)))\n(1 (0 dull) (2 film))\n"
        (raw / f"{name}.txt").write_text(text, encoding="utf-8")
    dataset = SST(tmp_path / "sst", parser=resolve_parser("chain"), trees=True, raw_from=raw)
    batch = next(iter(DataLoader(dataset, batch_size=2)))
    model = build_model(
        TrainConfig.of("rntn", task="sst", **SMALL), len(dataset.vocab), 5, num_classes=2
    ).double()
    task = SentenceTask(model, edges=resolve("transformer"), goal=SENTIMENT)
    expected = torch.zeros((), dtype=torch.double)
    for data in dataset:
        x, phrases = model.encoder.states(data)
        for states, labels in ((x, data.word_y), (phrases, data.phrase_y)):
            for state, label in zip(states, labels.tolist()):
                if label >= 0:
                    expected -= model.head(state).log_softmax(dim=-1)[label]
    torch.testing.assert_close(task.loss(batch).double(), expected / 2, rtol=0, atol=1e-6)
