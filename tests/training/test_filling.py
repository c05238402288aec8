"""A filled batch in static memory has the loss and the gradients of the batch."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch

from graphdep.nn.graphed_step import Graphed
from graphdep.nn.static_batch import FlatBatch, Flattener
from graphdep.training.build import BuildInputs, load_pretrained
from graphdep.training.family import build_task
from graphdep.training.filling import task_filler
from graphdep.training.learning_task import join_outputs
from graphdep.training.task import config_of
from graphdep.training.trainer import make_trainer, quiet
from tests.nn.launches.steps import TASKS, Workplace

# One model per design and family, since all together are slow.
SOME = {
    "sick-e": ("dt", "bert-dam", "transformer"),
    "sick-r": ("dt",),
    "sst": ("dt",),
    "dailydialog": ("transformer-dra", "transformer-dam"),
    "ubuntu": ("bert-sia",),
    "ud-tags": ("dt", "bert-g2g", "gate"),
    "aspects": ("bert-dt", "dra"),
}
CPU = torch.device("cpu")
ALL = {task: tuple(config_of(task).models) for task in TASKS}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("filling"))


def built(place, task, model, **settings):
    config = place.config(task, model, **settings)
    torch.manual_seed(0)
    pretrained = load_pretrained(config) if config.pretrained else None
    splits = place.load(config, pretrained)
    labels = splits.labels()
    sizes = len(splits.vocab), len(splits.relations)
    module = build_task(config, BuildInputs(*sizes, None, pretrained, labels and len(labels), labels))
    module.begin(config)
    return config, splits, module.eval() if getattr(config, "frozen", False) else module.double().eval()


def check(place, task, model):
    config, splits, module = built(place, task, model)
    try:
        filler = task_filler(module, splits, config)
    except ValueError:
        return False

    def learn(batch: Batch) -> list[torch.Tensor]:
        module.zero_grad()
        loss = module.loss(batch)
        loss.backward()
        return [loss.detach(), *(x.grad for x in module.parameters() if x.grad is not None)]

    step = Graphed(learn, module, flatten=Flattener(module, CPU, filler=filler), static=True)
    flat = splits.loader("train", config, module.edges, flatten=step.flatten)
    for batch, held in zip(splits.loader("train", config, module.edges), flat, strict=True):
        batch = batch if getattr(batch, "_is_transformed", False) else module.edges(batch)
        found = learn(batch)
        for given in (batch, held):
            for one, other in zip(found, step(given), strict=True):
                scale = max(1.0, float(one.abs().max()))
                torch.testing.assert_close(one / scale, other / scale, atol=1e-6, rtol=0)
    assert isinstance(held, FlatBatch) == step.static
    return step.static


@pytest.mark.parametrize(("task", "model"), [(task, model) for task in SOME for model in SOME[task]])
def test_a_filled_batch_teaches_what_the_batch_does(place, task, model):
    assert check(place, task, model)


@pytest.mark.slow
@pytest.mark.parametrize("task", ALL)
def test_every_model_that_is_filled_learns_the_same(place, task):
    filled = {model for model in ALL[task] if check(place, task, model)}
    assert filled >= {*SOME.get(task, ())}


@pytest.mark.parametrize("task", SOME)
def test_a_filled_training_is_scored_alike(place, task):
    found, predicted = [], []
    for fill, workers in ((False, 0), (True, 0), (True, 2)):
        config, splits, module = built(place, task, SOME[task][0], max_epochs=2, num_workers=workers)
        module.float().train()
        for part in module.modules():  # draws of dropout depend on the batches
            if "dropout" in vars(part):
                part.dropout = 0.0
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        module.filler = task_filler(module, splits, config) if fill else None
        loaders = [
            splits.loader("train", config, module.edges, flatten=module.flattener(CPU, training))
            for training in (True, False)
        ]
        with quiet():
            trainer = make_trainer(config)
            trainer.fit(module, *loaders)
            found.append([float(value) for _, value in sorted(trainer.callback_metrics.items())])
            if fill:
                assert module._step.num_sizes >= 1
                assert module._forward.num_sizes >= module.graphs_outputs
            predicted.append(join_outputs(trainer.predict(module, loaders[1])))
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    assert found[1] == found[2]
    for plain, one, other in zip(*predicted, strict=True):
        torch.testing.assert_close(plain, one, atol=1e-4, rtol=1e-3)
        assert torch.equal(one, other)


def flat_loader(place, **settings):
    config, splits, module = built(place, "sick-e", "dt", **settings)
    module.filler = task_filler(module, splits, config)
    flatten = module.flattener(CPU, training=True)
    return module, flatten, splits.loader("train", config, module.edges, flatten=flatten)


def test_workers_stop_when_nobody_reads_flat_batches(place):
    module, flatten, loader = flat_loader(place, num_workers=1)
    assert all(isinstance(batch, FlatBatch) for batch in loader)
    step = Graphed(module.loss, module, flatten=flatten, static=True)
    step._run_eagerly("a capture failed")
    assert not any(isinstance(batch, FlatBatch) for batch in loader)
    assert torch.isfinite(step(next(iter(loader))))


def test_an_error_in_a_worker_is_raised_as_it_is(place):
    module, flatten, loader = flat_loader(place, num_workers=1)

    def wrong(batch):
        raise ValueError("these nodes have no words")

    flatten.filler = wrong
    with pytest.raises(ValueError, match=r"\Athese nodes have no words\Z"):
        module.on_before_batch_transfer(next(iter(loader)), 0)


def test_a_model_whose_batches_cannot_be_flat_gets_them_as_they_are(place):
    config, splits, module = built(place, "sick-e", "lstm", num_workers=1)
    module.filler = task_filler(module, splits, config)
    flatten = module.flattener(CPU, training=True)
    loader = splits.loader("train", config, module.edges, flatten=flatten)
    step = Graphed(module.loss, module, flatten=flatten, static=True)
    for batch in loader:
        torch.testing.assert_close(step(batch), module.loss(batch))
    assert flatten.stopped
    assert not step.static


def test_flat_batches_of_one_size_have_one_skeleton(place):
    _, _, loader = flat_loader(place)
    batches = [*loader, *flat_loader(place, num_workers=2)[2]]
    assert len({batch.size for batch in batches}) == len({batch.skeleton for batch in batches[: len(loader)]})
    assert len({batch.size for batch in batches}) < len(batches)
    whole = batches[0].on("cpu")
    assert whole.num_graphs == batches[0].num_graphs + whole.num_fillers
