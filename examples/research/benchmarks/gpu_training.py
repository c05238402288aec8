"""What gpu_check.py measures of training: tokens a second of dt on pairs of SICK's lengths, and of
transformer-dra on dialogues of DailyDialog's, batches, edges and layouts made on the CPU as they come.

No corpus and none of what a run needs beside PyTorch and PyG is asked for: the loop is written out.
"""

from __future__ import annotations

import random
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from attention import random_sentence
from dialogue_lengths import make_dialogues, sample_lengths
from dra_throughput import PaddedModel
from dra_throughput import build as build_dialogue_model
from gpu_proofs import INTERPRETED, RELATIONS, Bench
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import Vocab, to_data
from graphdep.nn.attention import attach_layout
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel
from graphdep.transforms import resolve

WORDS = 2400  # of SICK
Loss = Callable[[nn.Module, Batch], Tensor]


def sick_like(count: int) -> list[Data]:
    """Pairs of sentences with SICK's lengths, 9.6 words on average; the label says which one is longer."""
    source, generator = random.Random(0), torch.Generator().manual_seed(0)
    pairs = []
    for _ in range(count):
        sizes = [min(30, max(3, round(source.gauss(9.6, 3)))) for _ in range(2)]
        pair = [random_sentence(size, generator) for size in sizes]
        data = to_data(pair, vocab=Vocab(), y=torch.tensor([int(sizes[0] > sizes[1])]))
        words = data.input_ids == 0
        data.input_ids[words] = torch.randint(5, WORDS, (int(words.sum()),), generator=generator)
        pairs.append(data)
    return pairs


def dt(bench: Bench) -> dict[str, Any]:
    """The Dependency-Transformer with the paper's sizes, batches of 32 and of 256 pairs."""
    size, count = (12, 8) if bench.tiny else (300, 2048)
    examples, found = sick_like(count), {}
    for batch_size in (4,) if bench.tiny else (32, 256):
        torch.manual_seed(0)
        sizes = {"hidden_channels": size, "ff_channels": size}
        encoder = DependencyTransformer(WORDS, len(RELATIONS), **sizes)
        model = SentencePairModel(encoder, RelatednessHead(size, 2)).to(bench.device)
        batches = partial(typed_batches, examples, batch_size)
        found[f"batches of {batch_size}"] = trained(bench, model, pair_loss, batches)
    return found


def typed_batches(examples: list[Data], size: int) -> Iterator[Batch]:
    edges = resolve("dt", implicit=True)
    for i in range(0, len(examples), size):
        yield edges(Batch.from_data_list(examples[i : i + size]))


def pair_loss(model: nn.Module, batch: Batch) -> Tensor:
    return F.cross_entropy(model(batch).float(), batch.y)


def transformer_dra(bench: Bench) -> dict[str, Any]:
    """transformer-dra with 768 channels, packed; and padded with the same weights."""
    count, size = (4, 2) if bench.tiny else (400, 40)
    words = 50 if bench.tiny else 9846
    dialogues = make_dialogues(sample_lengths(count), words)
    channels = {"hidden_channels": 16, "heads": 2, "layers": 1} if bench.tiny else {}
    options = {
        "hidden_channels": 768,
        "heads": 16,
        "layers": 3,
        "dropout": 0.1,
        "ff_channels": None,
        **channels,
    }
    args = Namespace(num_words=words, device=bench.device, **options)

    def batches() -> Iterator[Batch]:
        for i in range(0, count, size):
            yield Batch.from_data_list(dialogues[i : i + size], follow_batch=["target_ids"])

    found = {"packed": trained(bench, build_dialogue_model(args), dialogue_loss, batches)}
    found["padded"] = trained(bench, PaddedModel(build_dialogue_model(args)), dialogue_loss, batches)
    rates = [one["tokens_a_second"] for one in found.values()]
    found["packed / padded"] = {
        "ratio": rates[0] / rates[1],
        "target": 2.5,
        "met": rates[0] >= 2.5 * rates[1],
    }
    return found


def dialogue_loss(model: nn.Module, batch: Batch) -> Tensor:
    return model.losses(batch)["response"]


def trained(
    bench: Bench, model: nn.Module, loss: Loss, batches: Callable[[], Iterator[Batch]]
) -> dict[str, Any]:
    """Tokens a second of two epochs after one that is not counted, and the mean losses of the epochs; the
    second time with batches that lie on the device already, which is what the model alone takes.
    """
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)
    autocast = torch.autocast(torch.device(bench.device).type, torch.bfloat16, enabled=not INTERPRETED)

    def epoch(given: Iterator[Batch] | list[Batch]) -> tuple[float, int]:
        total, tokens = torch.zeros((), device=bench.device), 0
        count = 0
        for batch in given:
            optimizer.zero_grad()
            with autocast:
                value = loss(model, batch)
            value.backward()
            optimizer.step()
            total += value.detach()
            tokens += tokens_of(batch)
            count += 1
        return float(total) / count, tokens

    losses = [epoch(moved(bench, batches()))[0]]
    bench.synchronize()
    start, tokens = time.perf_counter(), 0
    for _ in range(1 if bench.tiny else 2):
        value, seen = epoch(moved(bench, batches()))
        losses.append(value)
        tokens += seen
    bench.synchronize()
    rate = tokens / (time.perf_counter() - start)
    there = list(moved(bench, batches()))
    bench.synchronize()
    start = time.perf_counter()
    value, seen = epoch(there)
    bench.synchronize()
    alone = seen / (time.perf_counter() - start)
    losses.append(value)
    assert all(value == value and abs(value) < 1e4 for value in losses), f"losses {losses}"
    assert losses[-1] < losses[0], f"the loss went from {losses[0]:.3f} to {losses[-1]:.3f}"
    return {"tokens_a_second": rate, "tokens_a_second_model_alone": alone, "losses": losses}


def moved(bench: Bench, batches: Iterator[Batch]) -> Iterator[Batch]:
    """As a run does: the layout is made on the CPU, and goes with the batch from pinned memory."""
    for batch in batches:
        batch = attach_layout(batch, bench.device)
        yield batch if bench.device == "cpu" else batch.pin_memory().to(bench.device, non_blocking=True)


def tokens_of(batch: Batch) -> int:
    return batch.num_nodes + (batch.target_ids.numel() if "target_ids" in batch else 0)
