"""What gpu_check.py measures of training: whole steps with AdamW, tokens a second, eager and as CUDA graphs
(graphdep.nn.graphed), of dt on pairs of SICK's lengths, transformer-dra on dialogues of DailyDialog's, packed
and padded, and a BERT of base size with and without SIA.

Examples are random, their edges made once, and batches, fillers and tiles on the CPU as they come: end to
end. Tokens are those of the examples, without fillers and padding. The padded peer under a graph has all
batches padded to one size, by the CPU. No corpus is asked for: the loop is written out.
"""

from __future__ import annotations

import random
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from attention import random_sentence
from dialogue_lengths import make_dialogues, sample_lengths
from dra_throughput import PaddedModel
from dra_throughput import build as build_dialogue_model
from gpu_proofs import INTERPRETED, RELATIONS, Bench, target
from gpu_speed import captured, elapsed
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, InMemoryDataset

from graphdep import Vocab, to_data
from graphdep.data import StoredBatches
from graphdep.data.filler import IGNORED, Filler
from graphdep.nn import graphed
from graphdep.nn.graphed_step import Graphed, TrainingStep
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel
from graphdep.transforms import resolve

WORDS = 2400  # of SICK
#: How matrices are multiplied: the precision of float32, and whether bfloat16 takes its place.
PRECISIONS = {"fp32": ("highest", False), "TF32": ("high", False), "bf16": ("high", True)}
#: Largest difference of a loss of 4 steps, eager and graphed, as a share of it: sums in another order.
ROUNDING = {"fp32": 1e-4, "TF32": 1e-2, "bf16": 3e-2}
Loss = Callable[[nn.Module, Batch], Tensor]
Step = Callable[[Batch], Tensor]


@dataclass(frozen=True)
class Training:
    """A model and what it learns.

    Args:
        make: Makes the model, with the same weights each time, of a dropout probability.
        loss: The loss of a batch.
        cut: Cuts batches of the examples, with edges.
        filler: Brings them to a few sizes.
    """

    make: Callable[[float], nn.Module]
    loss: Loss
    cut: StoredBatches
    filler: Filler

    @classmethod
    def of(cls, make: Any, loss: Loss, examples: list[Data], example: Callable[..., Data]) -> Training:
        """Of examples with edges; ``example`` makes one of so many words and target tokens, ignored ones."""
        tokens = "target_ids" if "target_ids" in examples[0] else None
        corpus = InMemoryDataset()
        corpus.data, corpus.slices = corpus.collate(examples)
        return cls(make, loss, StoredBatches(corpus, [tokens or ""]), Filler(example, tokens=tokens))

    def batches(self, size: int) -> Iterator[Batch]:
        return (self.cut(range(i, i + size)) for i in range(0, len(self.cut.place), size))


# -- what is trained ---------------------------------------------------------------------------------------


def dt_training(bench: Bench) -> Training:
    """The Dependency-Transformer with the paper's sizes; the label says which sentence is longer."""
    size, count = (12, 8) if bench.tiny else (300, 2048)
    source, generator = random.Random(0), torch.Generator().manual_seed(0)
    edges = resolve("dt", implicit=True)

    def pair(sizes: tuple[int, int], label: int) -> Data:
        data = to_data([random_sentence(words, generator) for words in sizes], vocab=Vocab())
        words = data.input_ids == 0
        data.input_ids[words] = torch.randint(5, WORDS, (int(words.sum()),), generator=generator)
        data.y = torch.tensor([label])
        return edges(data)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch).float(), batch.y)

    def sizes() -> tuple[int, int]:
        first, second = (min(30, max(3, round(source.gauss(9.6, 3)))) for _ in range(2))
        return first, second

    def make(dropout: float) -> nn.Module:
        torch.manual_seed(0)
        options = {"hidden_channels": size, "ff_channels": size}  # the paper has no dropout
        encoder = DependencyTransformer(WORDS, len(RELATIONS), **options)
        return SentencePairModel(encoder, RelatednessHead(size, 2))

    examples = [pair(both, int(both[0] > both[1])) for both in (sizes() for _ in range(count))]
    return Training.of(make, loss, examples, lambda words: pair((words // 2, words - words // 2), IGNORED))


def dra_training(bench: Bench, size: int) -> Training:
    """transformer-dra with 768 channels."""
    words = 50 if bench.tiny else 9846
    channels = {"hidden_channels": 16, "heads": 2, "layers": 1}
    if not bench.tiny:
        channels = {"hidden_channels": 768, "heads": 16, "layers": 3}

    def make(dropout: float) -> nn.Module:
        options = {"num_words": words, "device": "cpu", "ff_channels": None, "dropout": dropout}
        return build_dialogue_model(Namespace(**options, **channels))

    def filler(context: int, response: int = 1) -> Data:
        turns = [min(31, context - start) for start in range(0, context, 31)]
        [data] = make_dialogues([(turns, response - 1)], words)
        data.target_ids = torch.full_like(data.target_ids, IGNORED)
        return data

    dialogues = make_dialogues(sample_lengths(2 * size if bench.tiny else 8 * size), words)
    return Training.of(make, lambda model, batch: model.losses(batch)["response"], dialogues, filler)


def bert_training(bench: Bench, sia: bool, size: int) -> Training:
    """Response selection by an encoder of BERT's base size, with random weights."""
    import pretrained
    from transformers import BertConfig, BertModel, BertTokenizer

    from graphdep.nn.models import SIA, SelectionModel
    from graphdep.nn.pretrained import PretrainedEncoder

    sizes: dict[str, Any] = {"vocab_size": 30522}
    if bench.tiny:
        sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
        sizes |= {"vocab_size": 100}
    with tempfile.NamedTemporaryFile("w", suffix="vocab.txt") as file:
        signs = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOU]"]
        file.write("\n".join([*signs, *map(str, range(len(signs), sizes["vocab_size"]))]))
        file.flush()
        tokenizer = BertTokenizer(file.name)

    def make_encoder(dropout: float) -> PretrainedEncoder:
        torch.manual_seed(0)
        rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
        config = BertConfig(**rates, **sizes)
        return PretrainedEncoder(BertModel(config, add_pooling_layer=False), tokenizer)

    def make(dropout: float) -> nn.Module:
        encoder: nn.Module = make_encoder(dropout)
        return SelectionModel(SIA(encoder, dropout=dropout) if sia else encoder, dropout=dropout)

    source, edges, like = random.Random(1), resolve("transformer", implicit=True), make_encoder(0.0)

    def example(length: int, label: float = 0.0) -> Data:
        data = pretrained.make_example(length, like, source)
        data.y = torch.tensor([label])
        return edges(data)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        real = batch.num_graphs - batch.to_dict().get("num_fillers", 0)
        return F.binary_cross_entropy_with_logits(model(batch)[:real].float(), batch.y[:real])

    lengths = pretrained.sample_lengths(2 * size if bench.tiny else 8 * size, 40 if bench.tiny else 256)
    examples = [example(length, float(length > pretrained.MEDIAN)) for length in lengths]
    return Training.of(make, loss, examples, lambda words: example(words + pretrained.LEAST))


# -- how it is measured ------------------------------------------------------------------------------------


def dt(bench: Bench) -> dict[str, Any]:
    """Batches of 32 and of 256 pairs, in 32 bits, TF32 and bf16."""
    work, found = dt_training(bench), dict[str, Any]()
    for size in (4,) if bench.tiny else (32, 256):
        for precision in PRECISIONS:
            found[f"batches of {size}, {precision}"] = both_ways(bench, work, size, precision)
    if not bench.tiny:
        rate = found["batches of 32, TF32"]["graphed"]["tokens_a_second"]
        found["target"] = target("dt, batches of 32, graphed, tokens a second", rate, 320_000)
    return found


def transformer_dra(bench: Bench) -> dict[str, Any]:
    """Batches of 40 and of 160 dialogues, packed; and padded with the same weights."""
    found: dict[str, Any] = {}
    for size in (2,) if bench.tiny else (40, 160):
        work = dra_training(bench, size)
        packed = both_ways(bench, work, size, "bf16")
        ways = {"packed eager": packed.pop("eager"), "packed graphed": packed.pop("graphed")}
        for way, graphs in (("padded eager", False), ("padded graphed", True)):
            with multiplied("bf16"):
                step = padded_step(bench, work, size, graphs)
                ways[way] = rate_of(bench, step, partial(work.batches, size))
        own = ways["packed graphed"]["tokens_a_second"]
        ratios = {way: own / ways[way]["tokens_a_second"] for way in ways}
        least = {"padded eager": 2.5, "padded graphed": 1.5} if size == 40 else {"padded graphed": 2.3}
        targets = [
            target(f"batches of {size}, packed graphed over {way}", ratios[way], least[way]) for way in least
        ]
        found |= {f"batches of {size}, {way}": one for way, one in ways.items()}
        found[f"batches of {size}"] = packed | {"targets": targets}
    return found


def bert(bench: Bench, sia: bool) -> dict[str, Any]:
    """Batches of 32 and of 128 pairs."""
    found: dict[str, Any] = {}
    for size in (4,) if bench.tiny else (32, 128):
        found[f"batches of {size}"] = both_ways(bench, bert_training(bench, sia, size), size, "bf16")
    if sia and not bench.tiny:
        rate = found["batches of 32"]["graphed"]["tokens_a_second"]
        found["target"] = target("SIA, batches of 32, graphed, tokens a second", rate, 150_000)
    return found


def both_ways(bench: Bench, work: Training, size: int, precision: str) -> dict[str, Any]:
    """Rates, eager and graphed; and by how much the losses of 4 steps without dropout differ."""
    found: dict[str, Any] = {}
    losses = []
    with multiplied(precision):
        for graphs in (False, True):
            step = cast(bench, precision, make_step(bench, work, graphs, 0.0))
            losses.append([float(step(batch)) for batch, _ in zip(work.batches(size), range(4))])
        for graphs in (False, True):
            own = make_step(bench, work, graphs, 0.1)
            rate = rate_of(bench, cast(bench, precision, own), partial(work.batches, size))
            assert own.static == graphs, "it was not captured; why was logged"
            found["graphed" if graphs else "eager"] = rate | replays(own)
    worst = max(abs(a - b) / abs(a) for a, b in zip(*losses))
    rates = [found[way]["tokens_a_second"] for way in ("graphed", "eager")]
    same = target(f"batches of {size}, {precision}, losses differ by", worst, ROUNDING[precision], most=True)
    return found | {"graphed over eager": rates[0] / rates[1], "losses": same}


@contextmanager
def multiplied(precision: str) -> Iterator[None]:
    """With products of 32 bits as a precision of :obj:`PRECISIONS` has them."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(PRECISIONS[precision][0])
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def cast(bench: Bench, precision: str, step: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    """The step under an autocast of its own, as weights are to be cast anew in each."""
    kind, bf16 = torch.device(bench.device).type, PRECISIONS[precision][1] and not INTERPRETED

    def run(batch: Any) -> Tensor:
        with torch.autocast(kind, torch.bfloat16, enabled=bf16):
            return step(batch)

    return run


def adamw(model: nn.Module, **options: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True, **options)


def make_step(bench: Bench, work: Training, graphs: bool, dropout: float) -> Graphed:
    model = work.make(dropout).to(bench.device)
    return graphed(model, work.loss, adamw(model), work.filler if graphs else None, static=graphs)


def padded_step(bench: Bench, work: Training, size: int, graphs: bool) -> Step:
    """A step of the padded model: as it comes, or in one graph over tensors of one size."""
    model = PaddedModel(work.make(0.1)).to(bench.device)
    on_gpu = bench.device != "cpu"
    optimizer = adamw(model, capturable=graphs and on_gpu)

    run = cast(bench, "bf16", TrainingStep(lambda parts: model.loss(*parts), optimizer))
    if not graphs:
        return lambda batch: run(model.pad(batch.to(bench.device, non_blocking=True)))
    longest = [
        max(int(batch[ptr].diff().max()) for batch in work.batches(size)) for ptr in ("ptr", "target_ids_ptr")
    ]
    places = (-(-longest[0] // 8) * 8, -(-longest[1] // 8) * 8)
    held = [x.to(bench.device) for x in model.pad(next(work.batches(size)), places)]
    found: list[Tensor] = []
    graph = captured(lambda: found.append(run(held))) if on_gpu else None

    def step(batch: Batch) -> Tensor:
        for x, new in zip(held, model.pad(batch, places)):
            x.copy_(new.pin_memory() if on_gpu else new, non_blocking=True)
        if graph is None:
            return run(held)
        graph.replay()
        return found[-1]

    return step


def rate_of(bench: Bench, step: Step, batches: Callable[[], Iterable[Batch]]) -> dict[str, Any]:
    """Tokens a second of 64 steps or more, in two epochs or more, after one that is not counted; and the mean
    loss of each epoch.
    """

    def epoch() -> tuple[float, int, int]:
        total, tokens, steps = torch.zeros((), device=bench.device), 0, 0
        for batch in batches():
            total += step(batch)
            tokens += batch.num_nodes + (batch.target_ids.numel() if "target_ids" in batch else 0)
            steps += 1
        return float(total) / steps, tokens, steps

    epochs = [epoch()]
    bench.synchronize()
    start = time.perf_counter()
    epochs += [epoch() for _ in range(1 if bench.tiny else max(2, 64 // epochs[0][2]))]
    bench.synchronize()
    seconds = time.perf_counter() - start
    losses, tokens, steps = zip(*epochs)
    assert all(value == value and abs(value) < 1e4 for value in losses), f"losses {losses}"
    assert losses[-1] < losses[0] + 0.1, f"the loss went from {losses[0]:.3f} to {losses[-1]:.3f}"
    rate, each = sum(tokens[1:]) / seconds, seconds / sum(steps[1:]) * 1e3
    return {"tokens_a_second": rate, "ms_a_step": each, "losses": losses}


def replays(step: Graphed) -> dict[str, float]:
    """Milliseconds of a replay alone, the mean over the sizes of batches that were captured."""
    graphs = [graph for _, graph, *_ in step._held.values() if graph is not None]
    times = [min(elapsed(graph.replay) for _ in range(10)) for graph in graphs]
    return {"ms_a_replay": sum(times) / len(times) / 1e3, "sizes": len(times)} if times else {}


TRAININGS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "training: dt, SICK's lengths": dt,
    "training: transformer-dra, DailyDialog's lengths": transformer_dra,
    "training: BERT base": partial(bert, sia=False),
    "training: SIA on BERT base": partial(bert, sia=True),
}
