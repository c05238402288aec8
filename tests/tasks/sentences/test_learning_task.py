from __future__ import annotations

import torch

from graphdep.tasks import ENTAILMENT, SentenceTask
from graphdep.transforms import resolve


def test_edges_are_made_of_the_batch_and_not_stored(example):
    from graphdep import to_data

    data = to_data([example, example])
    task = SentenceTask(torch.nn.Linear(1, 1), resolve("dra"), ENTAILMENT)
    batch = task.on_before_batch_transfer(data, 0)
    assert batch.edge_index.size(1) > 0
    assert "edge_index" not in data


def test_default_optimizer_is_the_paper_s():
    optimizer = SentenceTask(torch.nn.Linear(1, 1), resolve("dra"), ENTAILMENT).configure_optimizers()
    assert isinstance(optimizer, torch.optim.Adagrad)
    assert optimizer.defaults["lr"] == 1e-3
