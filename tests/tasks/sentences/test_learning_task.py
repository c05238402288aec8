from __future__ import annotations

import logging

import pytest
import torch

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.conv import DRAConv
from graphdep.nn.models import ClassificationHead, GraphTransformer, SentenceModel
from graphdep.tasks import ENTAILMENT, SENTIMENT, SentenceTask
from graphdep.transforms import AncestorEdges, DependencyEdges, resolve


def test_edges_are_made_of_the_batch_and_not_stored(example):
    data = to_data([example, example])
    task = SentenceTask(torch.nn.Linear(1, 1), resolve("dra"), ENTAILMENT)
    batch = task.on_before_batch_transfer(data, 0)
    assert batch.edge_index.size(1) > 0
    assert "edge_index" not in data


def test_default_optimizer_is_the_paper_s():
    optimizer = SentenceTask(torch.nn.Linear(1, 1), resolve("dra"), ENTAILMENT).configure_optimizers()
    assert isinstance(optimizer, torch.optim.Adagrad)
    assert optimizer.defaults["lr"] == 1e-3


@pytest.mark.parametrize(
    ("edges", "reads"),
    [
        (resolve("dra"), True),
        (resolve("tree"), True),
        (resolve("transformer"), True),
        (resolve("transformer", implicit=True), True),
        (AncestorEdges() - DependencyEdges("both"), False),  # ROOT is below nobody
    ],
)
def test_a_model_that_sees_no_word_is_told_of_once(caplog, edges, reads):
    encoder = GraphTransformer(
        9, lambda _: DRAConv(8, 4, heads=2), hidden_channels=8, num_layers=1, ff_channels=8
    )
    task = SentenceTask(SentenceModel(encoder, ClassificationHead(8, 2)), edges=edges, goal=SENTIMENT)
    data = to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            task.on_before_batch_transfer(data.clone(), 0)
    told = [line for line in caplog.messages if "sees no word" in line]
    assert len(told) == (0 if reads else 1)
