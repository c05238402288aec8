from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Batch

from graphdep.tasks.labels.model import LabelTask, word_losses
from graphdep.tasks.labels.settings import LABEL_MODELS
from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import Parts
from graphdep.training.family import build_task
from graphdep.training.learning_task import join_outputs
from graphdep.transforms import PRESETS, resolve
from graphdep.transforms.carried import carried
from graphdep.transforms.edge_set import MARKS, NODES, TYPES

# Those over constituents: tests/tasks/test_constituents.py.
TREES = [name for name in LABEL_MODELS if "constituent" not in name]
SCRATCH = [name for name in TREES if not name.startswith("bert")]


@pytest.fixture(scope="module")
def splits(tiny):
    return load_splits(TrainConfig.of(**tiny, key="feats:PronType"))


def make(splits, tiny, model: str = "dt", **settings: object) -> LabelTask:
    torch.manual_seed(0)
    config = TrainConfig.of(model, **{**tiny, **settings})
    parts = Parts(len(splits.vocab), len(splits.relations), labels=splits.labels())
    task = build_task(config, parts)
    torch.nn.init.normal_(task.model.head.lin.weight)
    return task.double().eval()


@pytest.mark.parametrize(
    ("model", "edges"),
    [
        *((model, None) for model in SCRATCH),
        *(("transformer", edges) for edges in PRESETS if not carried(resolve(edges)) & {TYPES, MARKS, NODES}),
        *(("dt", edges) for edges in PRESETS if not carried(resolve(edges)) & {MARKS, NODES}),
        *((f"{model}@{tree}", None) for model in ("dt", "dra") for tree in ("random", "chain", "reversed")),
        ("dt@unlabelled", None),
    ],
)
def test_a_batch_is_labelled_as_each_sentence_alone(splits, tiny, model, edges):
    task = make(splits, tiny, model, **({} if edges is None else {"edges": edges}))
    examples = list(splits["train"])
    batch = task.edges(Batch.from_data_list(examples))
    alone = [task.edges(Batch.from_data_list([data])) for data in examples]
    logits = task(batch)
    assert logits.shape == (sum(data.y.numel() for data in examples), len(splits.labels()))
    torch.testing.assert_close(logits, torch.cat([task(data) for data in alone]))
    for whole, part in zip(task.outputs(batch), join_outputs([task.outputs(data) for data in alone])):
        torch.testing.assert_close(whole, part)


def test_loss_and_scores_word_by_word(splits, tiny):
    task = make(splits, tiny)
    batch = task.edges(Batch.from_data_list(list(splits["train"])))
    batch.y = batch.y.clone()
    scored = (batch.y >= 0).nonzero().view(-1)
    assert 0 < len(scored) < len(batch.y)
    batch.y[scored[:2]] = -1  # labels that training does not have
    logits, y = task(batch).detach(), batch.y.tolist()
    losses = [-float(row.log_softmax(-1)[label]) for row, label in zip(logits, y) if label >= 0]
    right = [int(row.argmax()) == label for row, label in zip(logits, y) if label != -100]
    assert task.loss(batch).item() == pytest.approx(sum(losses) / len(losses))
    with torch.no_grad():
        outputs = task.outputs(batch)
    assert {len(output) for output in outputs} == {len(right)}
    scores = task.score(outputs, "val")
    assert scores["val_loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert scores["val_accuracy"] == pytest.approx(sum(right) / len(right))
    assert {*scores} == {f"val_{name}" for name in ("loss", "accuracy", "f1", "macro_f1", "exact")}
    target, prediction = task.compared(outputs)
    assert (target == prediction).tolist() == right
    places = [
        number for number, data in enumerate(splits["train"]) for label in data.y.tolist() if label >= 0
    ]
    assert task.rows(batch).tolist() == places


def test_words_that_nobody_scores_teach_nothing(splits, tiny):
    task = make(splits, tiny).train()
    batch = task.edges(Batch.from_data_list(list(splits["train"])[:2]))
    batch.y = torch.full_like(batch.y, -100)
    loss = task.loss(batch)
    loss.backward()
    assert loss.item() == 0
    assert not any(bool(p.grad.any()) for p in task.parameters() if p.grad is not None)


def test_losses_of_words():
    logits, y = torch.randn(4, 3), torch.tensor([2, -1, -100, 0])
    losses = word_losses(logits, y)
    torch.testing.assert_close(losses[[0, 3]], F.cross_entropy(logits[[0, 3]], y[[0, 3]], reduction="none"))
    assert losses[[1, 2]].tolist() == [0, 0]
    assert y.tolist() == [2, -1, -100, 0]


def test_labels_are_those_of_the_data(splits, tiny):
    config = TrainConfig.of(**tiny)
    with pytest.raises(ValueError, match="'labels' must be given"):
        build_task(config, Parts(len(splits.vocab), len(splits.relations)))
