from __future__ import annotations

import functools
import math
from itertools import pairwise

import lightning as L
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from graphdep import Vocab
from graphdep.datasets import Masking, PostTrainingDataset, PostTrainingKey, PostTrainingSampler
from graphdep.nn.conv import DRAConv
from graphdep.nn.models import GraphTransformer, PostTrainingModel
from graphdep.tasks import PostTraining, PostTrainingTask
from graphdep.training.learning_task import join_outputs
from graphdep.training.trainer import quiet
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens

WORDS = [f"w{i}" for i in range(12)]
# Each dialogue has its own words, and each utterance repeats a word of the one before.
DIALOGUES = [[f"{WORDS[3 * d + i % 3]} {WORDS[3 * d + (i + 1) % 3]}" for i in range(6)] for d in range(4)]
VOCAB = Vocab(WORDS)


def make_dataset(share: float = 0.15, **options) -> PostTrainingDataset:
    masking = Masking(len(VOCAB), range(5, len(VOCAB)), share)
    return PostTrainingDataset(DIALOGUES, VocabTokens(VOCAB), masking, **options)


def make_task(**options) -> PostTrainingTask:
    torch.manual_seed(0)
    encoder = GraphTransformer(
        len(VOCAB) + 1,
        lambda number: DRAConv(32, 8, heads=4),
        hidden_channels=32,
        num_layers=2,
        ff_channels=64,
        dropout=0.0,
        segments=2,
    )
    return PostTrainingTask(PostTrainingModel(encoder), resolve("transformer"), **options)


def make_batch(task: PostTrainingTask, samples) -> Batch:
    return task.on_before_batch_transfer(Batch.from_data_list(list(samples)), 0)


def slow_scores(task: PostTrainingTask, samples) -> dict[str, float]:
    """The scores sample by sample and piece by piece."""
    losses, right, urc, found = [], [], [], []
    for sample in samples:
        words, relevance = task.model(task.edges(sample))
        targets = [target for target in sample.mlm_target.tolist() if target >= 0]
        for logits, target in zip(words, targets):
            losses.append(-float(logits.log_softmax(-1)[target]))
            right.append(int(logits.argmax()) == target)
        urc.append(-float(relevance[0].log_softmax(-1)[int(sample.y)]))
        found.append(int(relevance.argmax()) == int(sample.y))
    mlm = sum(losses) / len(losses)
    return {
        "loss": mlm + sum(urc) / len(urc),
        "mlm_perplexity": math.exp(mlm),
        "mlm_accuracy": sum(right) / len(right),
        "relevance_accuracy": sum(found) / len(found),
    }


@torch.no_grad()
def test_scores_and_loss_equal_a_slow_reference():
    task, dataset = make_task(), make_dataset(0.4)
    samples = [
        dataset[PostTrainingKey(epoch, number)] for epoch in range(2) for number in range(len(dataset))
    ]
    expected = slow_scores(task, samples)
    # Scores are of the split, not means over these batches of different sizes.
    cuts = [0, 1, 6, len(samples)]
    outputs = [task.predict_step(make_batch(task, samples[a:b]), 0) for a, b in pairwise(cuts)]
    scores = task.score(join_outputs(outputs), "val")
    assert scores == pytest.approx({f"val_{name}": value for name, value in expected.items()}, rel=1e-4)
    y, part = task.compared(join_outputs(outputs))
    assert y.tolist() == [int(sample.y) for sample in samples]
    assert part.mean() == pytest.approx(expected["loss"], rel=1e-4)
    assert float(task.loss(make_batch(task, samples))) == pytest.approx(expected["loss"], rel=1e-4)


def test_a_batch_without_masked_pieces():
    task = make_task()
    batch = make_batch(task, make_dataset(1e-9))
    loss = task.loss(batch)
    relevance = F.cross_entropy(task.model(batch)[1], batch.y)
    assert loss.item() == pytest.approx(relevance.item())
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in task.parameters())
    with torch.no_grad():
        scores = task.score(task.predict_step(batch, 0), "val")
    assert scores["val_mlm_perplexity"] == 1.0
    assert scores["val_mlm_accuracy"] == 0.0
    assert scores["val_loss"] == pytest.approx(loss.item(), rel=1e-5)


def test_the_floor_is_the_most_frequent_label():
    task = make_task()
    y = torch.tensor([0, 0, 1, 2])
    outputs = (torch.zeros(4), torch.ones(4).long(), torch.zeros(4).long(), torch.zeros(4, 3), y)
    assert task.floor(None, "val", outputs) == {"val_relevance_accuracy": 0.5}


def test_both_are_learnt():
    task = make_task()
    batch = make_batch(task, make_dataset())
    optimizer = torch.optim.AdamW(task.parameters(), lr=1e-2)
    for _ in range(30):
        optimizer.zero_grad()
        task.loss(batch).backward()
        optimizer.step()
    with torch.no_grad():
        scores = task.score(task.predict_step(batch, 0), "val")
    assert scores["val_mlm_accuracy"] == 1.0
    assert scores["val_relevance_accuracy"] == 1.0
    assert scores["val_loss"] < 0.5


def test_lightning_trains_it():
    dataset = make_dataset()
    sampler = PostTrainingSampler(len(dataset))
    task = make_task(optimizer=functools.partial(torch.optim.AdamW, lr=1e-3), warmup_steps=2)
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    with quiet():
        trainer.fit(
            task, DataLoader(dataset, batch_size=6, sampler=sampler), DataLoader(dataset, batch_size=6)
        )
    assert sampler.epoch == 1  # set by Lightning
    names = ("loss", "mlm_perplexity", "mlm_accuracy", "relevance_accuracy")
    assert {*task.val_scores} == {f"val_{name}" for name in names}
    assert {"train_loss", "train_mlm", "train_relevance"} <= {*trainer.callback_metrics}


def test_the_task_says_what_its_metrics_are():
    task = PostTraining("Ubuntu, post-training", lambda: None, "datasets/ubuntu")
    assert task.kind == "post-training"
    assert not task.metrics[0].maximize
    assert {*task.signatures} == {"loss", "mlm_perplexity", "mlm_accuracy", "relevance_accuracy"}
