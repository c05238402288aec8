from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score
from torch.utils.data import DataLoader as PlainLoader
from torch.utils.data import DistributedSampler
from torch_geometric.data import Batch

from graphdep.tasks.spans.model import SpanTask
from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import Parts, load_pretrained
from graphdep.training.encoder_config import WORD_MODELS
from graphdep.training.family import build_task
from graphdep.training.learning_task import example_numbers, gather_rows, join_outputs
from graphdep.transforms import PRESETS

# Those over constituents: tests/tasks/test_constituents.py.
TREES = [name for name in WORD_MODELS if "constituent" not in name]
SCRATCH = [name for name in TREES if not name.startswith("bert")]
BERT = [name for name in TREES if name.startswith("bert")]
READOUTS = [{"readout": mode, "path": path} for mode in ("mean", "top") for path in (False, True)]


def make(splits, settings, model: str = "dt", **more: object) -> SpanTask:
    config = TrainConfig.of(model, **{**settings, **more})
    torch.manual_seed(0)
    pretrained = load_pretrained(config) if config.pretrained else None
    parts = Parts(len(splits.vocab), len(splits.relations), pretrained=pretrained, labels=splits.labels())
    task = build_task(config, parts)
    torch.nn.init.normal_(task.model.head.lin.weight)
    if config.pretrained:  # its marks start without an effect
        torch.nn.init.normal_(task.model.encoder.marks.weight)
    return task.double().eval()


def batch_of(task, examples) -> Batch:
    return task.edges(Batch.from_data_list(list(examples)))


@torch.no_grad()
def outputs_of(task, examples):
    """Those of a split, an example a batch."""
    return join_outputs([task.outputs(batch_of(task, [data])) for data in examples])


@torch.no_grad()
def check_batch(task, examples) -> None:
    """A batch is labelled as each of its examples alone."""
    batch = batch_of(task, examples)
    torch.testing.assert_close(task(batch), torch.cat([task(batch_of(task, [data])) for data in examples]))
    for whole, part in zip(task.outputs(batch), outputs_of(task, examples)):
        torch.testing.assert_close(whole, part)


@pytest.fixture
def short(of_task):
    return of_task("semeval2010")


@pytest.fixture
def splits(short):
    return load_splits(TrainConfig.of(**short))


@pytest.fixture
def pieces_settings(roots, on_encoder):
    return {"task": "semeval2010", "root": roots["semeval2010"], **on_encoder}


@pytest.fixture
def pieces(pieces_settings):
    """As words of a pretrained encoder, which has no room for some second spans."""
    config = TrainConfig.of("bert", **pieces_settings)
    return load_splits(config, pretrained=load_pretrained(config))


@pytest.mark.parametrize("model", SCRATCH)
def test_a_batch_is_labelled_as_each_example_alone(splits, short, model):
    check_batch(make(splits, short, model), list(splits["train"])[:5])


@pytest.mark.parametrize("options", READOUTS, ids=str)
@pytest.mark.parametrize("model", ["dt", "bilstm", "dt@random"])
def test_so_it_is_with_every_reading_of_spans(splits, short, model, options):
    check_batch(make(splits, short, model, **options), list(splits["train"])[:5])


@pytest.mark.parametrize("edges", [edges for edges in PRESETS if edges not in ("dam", "lisa-complete")])
def test_and_over_all_edges(splits, short, edges):
    check_batch(make(splits, short, "dt", edges=edges), list(splits["train"])[:5])


@pytest.mark.parametrize("model", BERT)
@pytest.mark.parametrize("options", [{}, {"readout": "top", "path": True, "word_state": "first"}], ids=str)
def test_and_with_pieces_of_words(pieces, pieces_settings, model, options):
    task = make(pieces, pieces_settings, model, **options)
    examples = list(pieces["train"])[:5]
    assert {int(data.lost) for data in examples} == {0, 1}
    check_batch(task, examples)


@pytest.mark.parametrize("task", ["conll04", "aspects", "spans"])
def test_and_on_other_tasks(of_task, task):
    settings = of_task(task)
    splits = load_splits(TrainConfig.of(**settings))
    made = make(splits, settings)
    check_batch(made, list(splits["train"])[:5])
    assert made.model.readout.num_spans == (1 if task == "aspects" else 2)


@pytest.mark.parametrize("model", SCRATCH)
def test_the_order_of_spans_is_read(of_task, model):
    """Pairs of entities of one sentence differ in nothing else."""
    settings = of_task("conll04")
    splits = load_splits(TrainConfig.of(**settings))
    first, second = (data for data in splits["train"][:2])
    assert first.input_ids.equal(second.input_ids)
    assert sorted((first.mark + second.mark).tolist()) == [0, 0, 0, 3, 3]
    task = make(splits, settings, model)
    one, two = (task(batch_of(task, [data])) for data in (first, second))
    assert bool(((one - two).abs() > 1e-6).any())


def test_loss_and_scores_one_by_one(pieces, pieces_settings):
    task = make(pieces, pieces_settings, "bert-dt")
    examples = [data.clone() for data in pieces["train"]]
    for data in examples[:3]:
        data.y = torch.tensor([-1])  # labels that training does not have
    batch = batch_of(task, examples)
    logits, y, lost = task(batch).detach(), batch.y.tolist(), (batch.lost > 0).tolist()
    assert any(lost)
    losses = [
        -float(row.log_softmax(-1)[label])
        for row, label, gone in zip(logits, y, lost)
        if label >= 0 and not gone
    ]
    assert task.loss(batch).item() == pytest.approx(np.mean(losses), rel=1e-5)
    with torch.no_grad():
        outputs = task.outputs(batch)
    assert outputs[0].tolist() == [-2 if gone else int(row.argmax()) for row, gone in zip(logits, lost)]
    scores = task.score(outputs, "val")
    assert {*scores} == {"val_loss", "val_accuracy", "val_f1", "val_macro_f1", "val_exact"}
    assert scores["val_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    labels = pieces.labels()
    there = ["(unknown)" if label < 0 else labels[label] for label in y]
    found = ["(none)" if n < 0 else labels[n] for n in outputs[0].tolist()]
    assert scores["val_accuracy"] == pytest.approx(accuracy_score(there, found))
    right = sum(a == b != "Other" for a, b in zip(there, found))
    of_finding = sum(a != "Other" for a in there), sum(b not in ("Other", "(none)") for b in found)
    assert scores["val_f1"] == pytest.approx(2 * right / sum(of_finding))
    target, prediction = task.compared(outputs)
    assert (target == prediction).tolist() == [a == b for a, b in zip(there, found)]
    assert [metric.name for metric in task.metrics] == ["macro_f1", "accuracy", "f1"]
    assert task.metrics[0](prediction, target) == pytest.approx(scores["val_macro_f1"])


def test_lost_spans_are_wrong_in_every_metric(pieces, pieces_settings):
    """An oracle has all that can be read; what it lacks is what is lost."""
    task = make(pieces, pieces_settings, "bert")
    for name in ("train", "test"):
        dataset = pieces[name].copy()
        lost, y = dataset.lost.numpy() > 0, dataset.y.numpy()
        assert 0 < lost.sum() < len(y)
        assert dataset.describe()["lost_spans"] == lost.sum()
        scores = task.scores(np.where(lost, -2, y), y)
        assert scores["accuracy"] == pytest.approx(1 - lost.mean())
        finds = y != pieces.labels().index("Other")
        both = finds.sum() + (finds & ~lost).sum()
        assert scores["f1"] == pytest.approx(2 * (finds & ~lost).sum() / both)
        assert scores["macro_f1"] < 1


def test_nothing_is_learned_from_lost_spans_and_unknown_labels(pieces, pieces_settings):
    task = make(pieces, pieces_settings, "bert").train()
    lost = [data for data in pieces["train"] if int(data.lost)][:2]
    unknown = [data.clone() for data in pieces["train"] if not int(data.lost)][:2]
    for data in unknown:
        data.y = torch.tensor([-1])
    loss = task.loss(batch_of(task, [*lost, *unknown]))
    loss.backward()
    assert loss.item() == 0
    assert not any(bool(p.grad.any()) for p in task.parameters() if p.grad is not None)


@pytest.mark.parametrize("direction", [True, False])
def test_the_official_score_with_and_without_direction(of_task, direction):
    settings = of_task("semeval2010")
    splits = load_splits(TrainConfig.of(**settings, direction=direction))
    task = make(splits, settings, direction=direction)
    labels = splits.labels()
    assert len(labels) == (19 if direction else 10)
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, found = rng.integers(0, len(labels), (2, 40))
        names = [np.array([labels[n].partition("(")[0] for n in numbers]) for numbers in (y, found)]
        scores = []
        for relation in {*names[0]} - {"Other"}:
            there, told = (own == relation for own in names)
            scores.append(2 * (there & (y == found)).sum() / (there.sum() + told.sum()))
        assert task.scores(found, y)["macro_f1"] == pytest.approx(np.mean(scores))


def test_macro_f1_leaves_out_no_finding(of_task):
    settings = {**of_task("spans"), "outside": "none"}
    splits = load_splits(TrainConfig.of(**settings))
    assert splits.labels() == ["cause", "effect", "none"]
    task = make(splits, settings)
    y, found = np.random.default_rng(0).integers(0, 3, (2, 50))
    expected = f1_score(y, found, labels=[0, 1], average="macro")
    assert task.scores(found, y)["macro_f1"] == pytest.approx(expected)
    assert task.codes(np.array([0, 1, 2, -1, -2])).tolist() == [1, 2, 0, -1, -2]


@pytest.mark.parametrize("processes", [2, 3])
def test_rows_of_several_processes_are_those_of_one(splits, short, monkeypatch, processes):
    task, dataset = make(splits, short), splits["test"]
    one = outputs_of(task, dataset)
    parts = []
    for rank in range(processes):
        sampler = DistributedSampler(range(len(dataset)), processes, rank, shuffle=False)
        loader = PlainLoader(range(len(dataset)), batch_size=5, sampler=sampler)
        seen, rows, outputs = 0, [], []
        for numbers in loader:
            batch = batch_of(task, [dataset[int(number)] for number in numbers])
            with torch.no_grad():
                outputs.append(task.outputs(batch))
            rows.append(seen + task.rows(batch))
            seen += len(numbers)
        parts.append((join_outputs(outputs), example_numbers(loader, rows)))

    def all_gather(into, mine):
        into[:] = parts

    fake = SimpleNamespace(get_world_size=lambda: processes, all_gather_object=all_gather)
    monkeypatch.setattr("graphdep.training.learning_task.dist", fake)
    for column, other in zip(gather_rows(*parts[0]), one):
        torch.testing.assert_close(column, other)


def test_classes_are_those_of_the_data(splits, short):
    with pytest.raises(ValueError, match="'labels' must be given"):
        build_task(TrainConfig.of(**short), Parts(len(splits.vocab), len(splits.relations)))
