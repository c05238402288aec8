"""Prepared batches give the same loss for all models, and a batch the scores of its examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from graphdep import Sentence, Vocab, to_data
from graphdep.nn import prepare
from graphdep.nn.conv import SIAConv
from graphdep.nn.models import ClassificationHead, SentenceModel, WordAverage
from graphdep.nn.prepared import PREPARED, own_layout
from graphdep.tasks import family_of
from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import BuildInputs, load_pretrained
from graphdep.training.family import build_task
from graphdep.training.learning_task import LearningTask, join_outputs

# All models of one task of each family, and some models of further tasks.
MODELS = [
    *(
        (task, model)
        for task in ("sick-e", "dailydialog", "ubuntu", "post-train", "ud-tags", "semeval2010")
        for model in family_of(task).config(task).models
    ),
    ("sst", "dt"),
    ("sst", "tree-lstm"),
    *(("propbank-ewt", model) for model in ("dt", "bert-dt", "bilstm")),
]


def build(config: TrainConfig) -> tuple[LearningTask, Batch]:
    """A task, and the first batch, without edges unless they are stored."""
    torch.manual_seed(0)
    pretrained = load_pretrained(config) if config.pretrained else None
    splits = load_splits(config, ("train",), pretrained=pretrained)
    labels = splits.labels()
    sizes = len(splits.vocab), len(splits.relations)
    parts = BuildInputs(*sizes, None, pretrained, None if labels is None else len(labels), labels)
    task = build_task(config, parts)
    task.log_loss = lambda *_: None
    return task, next(iter(splits.loader("train", config, shuffle=True)))


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, config_of: Callable) -> tuple[LearningTask, Batch]:
    return build(config_of(*request.param))


# Built once for all tests.
each = pytest.mark.parametrize("built", MODELS, ids="-".join, indirect=True)


def step(task: LearningTask, batch: Batch) -> dict[str, Tensor]:
    """The loss of a batch and all gradients."""
    torch.manual_seed(1)
    task.zero_grad()
    loss = task.loss(batch)
    loss.backward()
    grads = {name: p.grad for name, p in task.named_parameters() if p.grad is not None}
    return {"loss": loss.detach(), **grads}


@each
def test_loss_and_gradients_are_the_same(built: tuple[LearningTask, Batch]) -> None:
    task, batch = built[0].train(), built[0].edges(built[1])
    plain = step(task, batch)
    before = {key: batch[key] for key in batch.keys()}  # noqa: SIM118
    prepared = prepare(task, batch)
    assert {key: batch[key] for key in batch.keys()} == before  # noqa: SIM118
    again = prepare(task, prepared)
    assert set(again.keys()) == set(prepared.keys())
    for key in prepared.keys():  # noqa: SIM118
        if key.startswith(PREPARED) and isinstance(prepared[key], Tensor):
            assert torch.equal(prepared[key], again[key])
    for given in (prepared, again):
        for key, value in step(task, given).items():
            assert torch.equal(value, plain[key]), key


@each
def test_a_batch_is_its_examples(built: tuple[LearningTask, Batch]) -> None:
    """Outputs of a batch are those of its examples alone."""
    task, batch = built[0].eval(), built[1]
    followed = [key.removesuffix("_batch") for key in batch.keys() if key.endswith("_batch")]  # noqa: SIM118
    some = batch.to_data_list()[:3]
    with torch.no_grad():
        together, *alone = (
            task.outputs(task.edges(Batch.from_data_list(datas, followed)))
            for datas in (some, *([data] for data in some))
        )
    assert len(alone) > 1
    for found, expected in zip(together, join_outputs(alone), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("name", "model"), [("dailydialog", "transformer-dra"), ("sick-e", "dt-rnn")])
def test_everything_moves_with_the_batch(name: str, model: str, config_of: Callable) -> None:
    task, batch = build(config_of(name, model))
    prepared = prepare(task, task.edges(batch), device="cuda")
    moved = prepared.to("meta")
    assert moved.prepared is True
    values = [value for key, value in moved.to_dict().items() if key.startswith(f"{PREPARED}_")]
    found = [*tensors(values)]
    assert len(found) >= 4
    assert {x.device.type for x in found} == {"meta"}


def tensors(value: object) -> Iterator[Tensor]:
    """All tensors in a value."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors(part)
    elif hasattr(value, "__dict__"):
        yield from tensors([*vars(value).values()])


def pair_of(examples: int) -> tuple[SentenceModel, Batch]:
    """A model of single sentences, and a batch of pairs."""
    data = to_data([Sentence.chain(["a", "b"]), Sentence.chain(["c"])], vocab=Vocab(["a", "b", "c"]))
    head = ClassificationHead(4, 2)
    return SentenceModel(WordAverage(8, hidden_channels=4), head), Batch.from_data_list([data] * examples)


def test_values_are_checked_where_the_batch_is_prepared() -> None:
    model, batch = pair_of(2)
    for check in (model, lambda batch: prepare(model, batch)):
        with pytest.raises(ValueError, match=r"an example has one sentence \(got 2 in example 0\)"):
            check(batch)


def test_a_prepared_batch_is_prepared_anew_for_another_model() -> None:
    model, batch = pair_of(3)
    encoder = model.encoder
    prepared = prepare(encoder, batch)
    assert prepared.prepared_root_nodes.tolist() == [0, 3, 5, 8, 10, 13]
    again = prepare(ClassificationHead(4, 2), prepared)
    assert [key for key in again.keys() if key.startswith(PREPARED)] == [PREPARED]  # noqa: SIM118
    assert torch.equal(encoder(again), encoder(prepared))


def test_edges_of_a_module_of_its_own_are_attached(config_of: Callable) -> None:
    task, batch = build(config_of("ubuntu", "bert-sia"))
    prepared = prepare(task, batch)
    edges = task.model.encoder.edges
    layout = own_layout(prepared, edges, SIAConv.reads)
    assert layout is own_layout(prepared, edges, SIAConv.reads)
    assert torch.equal(layout.pairs, own_layout(batch, edges, SIAConv.reads).pairs)
