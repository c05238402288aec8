"""Training of Transformer+DRA for dialogues, packed, against the padded and masked way: words a second and
peak memory.

Both have the same weights and give the same loss and gradients (tested). The packed model is the library's:
edges instead of a mask, real tokens only in encoder, decoder and logits. The padded one pads contexts and
responses to the longest of the batch, masks scores with an additive matrix made of the same edges, and leaves
padding out of the loss. A step is forward, backward and AdamW; words are those of contexts and responses,
without ROOT nodes and end symbols. The two take turns, the medians are compared. The peak is that of a
process of its own, above what it has before the model is made: weights, gradients, AdamW's two averages, and
all that the passes keep. Usage:

    python examples/research/benchmarks/dra_throughput.py [--hidden-channels 768] [--output FILE.json]
    python examples/research/benchmarks/dra_throughput.py --dialogues DIR/dialogues_train.txt   # real lengths
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import side_by_side
import torch
import torch.nn.functional as F
from dialogue_lengths import make_dialogues, read_lengths, sample_lengths
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_dense_batch

from graphdep.io import atomic_path
from graphdep.nn.conv import DRAConv
from graphdep.nn.models import ContextTransformer, DialogueModel, GraphTransformer, TransformerDecoder
from graphdep.nn.models.dialogue import previous_ids

NAMES = ("packed", "padded")


class PaddedModel(nn.Module):
    """Transformer+DRA the usual way, with the weights of the packed model."""

    def __init__(self, model: DialogueModel) -> None:
        super().__init__()
        self.model = model

    def losses(self, data: Data) -> dict[str, Tensor]:
        return {"response": self.loss(*self.pad(data))}

    def pad(self, data: Data, places: tuple[int | None, int | None] = (None, None)) -> tuple[Tensor, ...]:
        """What :meth:`loss` takes of a batch.

        Args:
            data: The batch.
            places: Places of every context and response. (default: those of the longest)

        Returns:
            Words of contexts and which are real, both ``[B, n]``, the pairs of Eq. 2 of the paper
            ``[B, n, n]``, where padding sees itself, the words before the targets and the targets,
            both ``[B, T]``.
        """
        ids, real = to_dense_batch(data.input_ids, data.batch, max_num_nodes=places[0])
        allowed = torch.eye(ids.size(1), dtype=torch.bool, device=ids.device).repeat(data.num_graphs, 1, 1)
        source, target = data.edge_index - data.ptr[data.batch[data.edge_index]]
        allowed[data.batch[data.edge_index[1]], target, source] = True
        before, targets = (
            to_dense_batch(x, data.target_ids_batch, fill_value=fill, max_num_nodes=places[1])[0]
            for x, fill in ((previous_ids(data.target_ids, data.target_ids_ptr), 0), (data.target_ids, -100))
        )
        return ids, real, allowed, before, targets

    def loss(self, ids: Tensor, real: Tensor, allowed: Tensor, before: Tensor, targets: Tensor) -> Tensor:
        logits = self(ids, real, allowed, before)  # [B, T, num_words], padding included
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)

    def forward(self, ids: Tensor, real: Tensor, allowed: Tensor, before: Tensor) -> Tensor:
        memory, decoder = self.encode(ids, allowed), self.model.decoder
        place = torch.arange(before.size(1), device=before.device)
        x = decoder.dropout(decoder.embedding.words(before) + decoder.position(place))
        mask = additive(real[:, None, None], memory.dtype)
        for block in decoder.layers:
            x = block.norm_own(x + block.dropout(attend(block.own, x, x, block.own.lin_out, causal=True)))
            cross = attend(block.cross, x, memory, block.cross.lin_out, mask=mask)
            x = block.norm_cross(x + block.dropout(cross))
            x = block.norm_feed_forward(x + block.dropout(block.feed_forward(x)))
        return decoder.output(x, decoder.embedding)

    def encode(self, ids: Tensor, allowed: Tensor) -> Tensor:
        encoder = self.model.encoder.encoder
        x = encoder.embedding.dropout(encoder.embedding.words(ids))
        mask = additive(allowed[:, None], x.dtype)
        for layer in encoder.layers:
            x = layer.norm_attention(x + layer.dropout(attend(layer.conv, x, x, layer.lin_out, mask=mask)))
            x = layer.norm_feed_forward(x + layer.dropout(layer.feed_forward(x)))
        return x


def additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill(~allowed, -torch.inf)


def attend(
    part: nn.Module, x: Tensor, rows: Tensor, lin_out: nn.Linear, *, causal: bool = False, mask: Any = None
) -> Tensor:
    """Multi-head attention of padded states with the projections of a packed part."""
    query, key, value = (
        lin(y).unflatten(-1, (part.heads, -1)).transpose(1, 2)
        for lin, y in ((part.lin_query, x), (part.lin_key, rows), (part.lin_value, rows))
    )
    dropout_p = part.dropout if part.training else 0.0
    out = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout_p, is_causal=causal
    )
    return lin_out(out.transpose(1, 2).flatten(2))


def build(args: argparse.Namespace) -> DialogueModel:
    torch.manual_seed(0)
    channels, heads, dropout = args.hidden_channels, args.heads, args.dropout
    ff_channels = args.ff_channels or 4 * channels
    options: dict[str, Any] = {"num_layers": args.layers, "ff_channels": ff_channels, "dropout": dropout}
    encoder = ContextTransformer(
        GraphTransformer(
            args.num_words,
            lambda _: DRAConv(channels, channels // heads, heads, dropout=dropout),
            hidden_channels=channels,
            position_embedding=False,
            **options,
        )
    )
    decoder = TransformerDecoder(encoder.embedding, channels, heads=heads, max_positions=64, **options)
    return DialogueModel(encoder, decoder).to(args.device)


def make_batches(args: argparse.Namespace) -> list[Batch]:
    count = args.batches * args.batch_size
    if args.dialogues:
        lengths = random.Random(0).sample(read_lengths(args.dialogues), count)
    else:
        lengths = sample_lengths(count)
    dialogues = make_dialogues(lengths, args.num_words)
    return [
        Batch.from_data_list(dialogues[i : i + args.batch_size], follow_batch=["target_ids"]).to(args.device)
        for i in range(0, count, args.batch_size)
    ]


def num_words(batch: Batch) -> int:
    return int((batch.word >= 0).sum()) + batch.target_ids.numel() - batch.num_graphs


def make_trainer(name: str, args: argparse.Namespace) -> side_by_side.Trainer:
    packed = build(args)
    model = packed if name == "packed" else PaddedModel(packed)
    return side_by_side.Trainer(model, loss, args.device, 1e-4, args.bf16)


def loss(model: nn.Module, batch: Batch) -> Tensor:
    return model.losses(batch)["response"]


def memory(args: argparse.Namespace) -> dict[str, float]:
    batches = make_batches(args)
    before = side_by_side.peak(args.device)
    return side_by_side.training_memory(make_trainer, args, batches, before)


def result(args: argparse.Namespace, argv: list[str]) -> dict[str, Any]:
    setting = f"hidden {args.hidden_channels}, {args.layers} layers, dropout {args.dropout:g}, "
    setting += f"{'bf16' if args.bf16 else 'fp32'}, batch {args.batch_size}, {args.batches} batches"
    rates = side_by_side.speed(make_trainer, args, make_batches(args), num_words)
    median = rates["words_per_second"]
    peaks = {name: side_by_side.memory_in_a_process(__file__, name, argv) for name in NAMES}
    return {
        "machine": side_by_side.machine(args, setting),
        **rates,
        "speedup": median["packed"] / median["padded"],
        "memory_mb": peaks,
        "memory_share": {key: share(peaks, key) for key in ("peak", "activations")},
    }


def share(peaks: dict[str, dict[str, float]], key: str) -> float | None:
    """Packed over padded; None where a process grew by nothing that can be seen."""
    packed, padded = (peaks[name][key] for name in NAMES)
    return packed / padded if min(packed, padded) > 0 else None


def targets(outcome: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    ratio, share = outcome["speedup"], outcome["memory_share"]["peak"]
    yield ratio >= 2.5, f"packed: {ratio:.2f} times the words a second (at least 2.5)"
    if share is not None:
        yield share <= 0.5, f"packed: {share:.2f} of the peak memory (at most 0.5)"


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dialogues", type=Path, help="raw file of DailyDialog to take the lengths from")
    parser.add_argument("--batch-size", type=int, default=40)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--hidden-channels", type=int, default=768)
    parser.add_argument("--ff-channels", type=int, help="default: four times the hidden channels")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--num-words", type=int, default=9846, help="of DailyDialog, those seen three times")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--bf16", action="store_true")
    side_by_side.add_options(parser, NAMES)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    if min(args.batch_size, args.batches, args.rounds, args.threads) < 1:
        parser.error("--batch-size, --batches, --rounds and --threads must be at least 1")
    if args.smoke:
        smoke = {"batch_size": 4, "batches": 2, "hidden_channels": 16, "heads": 2, "layers": 1}
        vars(args).update(smoke, num_words=50, rounds=2)
    args.names = NAMES
    torch.set_num_threads(args.threads)
    return args


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.memory_of:
        print(json.dumps(memory(args)))
        return
    outcome = result(args, argv)
    side_by_side.print_table(outcome, ["peak MB", "without weights and optimizer MB"])
    side_by_side.print_targets(targets(outcome))
    if args.output:
        with atomic_path(args.output) as temporary:
            temporary.write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
