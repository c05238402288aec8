"""What can each set of edges read? Random words, random trees, labels that the tree alone decides.

    python examples/research/probes.py --epochs 0  # theory alone; with --epochs 20 and no other options hours
    python examples/research/probes.py --functions governor depth --edges dt dra --layers 2
    python examples/research/probes.py --projective --edges constituents dt  # no theory of these

What stands in --output is not done again. A cell has the measured accuracy and the best that theory allows:
from what comes step by step along the tree, and from all (probe_sights.py).
"""

import argparse
import json
from pathlib import Path

import torch
from probe_sights import PHRASE_SIGHTS, PROBE_SIGHTS
from probe_theory import ceilings
from torch_geometric import seed_everything
from torch_geometric.loader import DataLoader

from graphdep import RelationVocab
from graphdep.datasets import Probes
from graphdep.datasets.labels.probe_corpus import PROBE_FUNCTIONS
from graphdep.nn.attention import RelationKeyValue, edge_attention
from graphdep.nn.conv import AttentionConv, GATEConv, GatedRelationConv, LISAConv
from graphdep.nn.models import GraphTransformer, RelationEmbedding, TokenModel
from graphdep.transforms import resolve
from graphdep.vocab import PhraseVocab

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--functions", nargs="*", default=[*PROBE_FUNCTIONS], choices=[*PROBE_FUNCTIONS])
parser.add_argument("--edges", nargs="*", default=[*PROBE_SIGHTS], choices=[*PROBE_SIGHTS, *PHRASE_SIGHTS])
parser.add_argument("--layers", nargs="*", type=int, default=[1, 2, 3])
parser.add_argument("--sentences", type=int, default=5000, help="to train on")
parser.add_argument("--epochs", type=int, default=20, help="0 for theory alone")
parser.add_argument("--seeds", type=int, default=1)
parser.add_argument("--walks", type=int, default=128, help="of theory; 0 for none")
parser.add_argument("--projective", action="store_true", help="trees of which phrases are read")
parser.add_argument("--output", type=Path, default=Path("runs", "probes.jsonl"))
args, WORDS, RELATIONS = parser.parse_args(), 100, len(RelationVocab())
LABELS = {"dam": RELATIONS, "constituents": len(PhraseVocab())}  # of nodes that are no words
args.walks = 0 if args.projective else args.walks
if {*args.edges} & {*PHRASE_SIGHTS} and not args.projective:
    parser.error("edges that read constituents need --projective")
if min([*args.layers, 1 + args.epochs]) < 1:
    parser.error(f"--layers must be at least 1 (got {args.layers}), --epochs at least 0 (got {args.epochs})")


class G2GConv(AttentionConv):
    """That of Graph2Graph."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        self.terms = RelationKeyValue(RELATIONS, self.heads, self.out_channels, start="random")

    def forward(self, x, edges, edge_type):
        terms = self.terms(x, edges.edge_index, edge_type)
        own = {"edge_key": terms.edge_key, "edge_value": terms.edge_value}
        return edge_attention(*self.project(x), edges.edge_index, layout=edges, **own).flatten(1)


def measured(name: str, layers: int, function: str, seed: int, sentences: int, epochs: int) -> float:
    seed_everything(seed)
    sight, options = PHRASE_SIGHTS.get(name) or PROBE_SIGHTS[name][0], {"sentences": sentences}
    options |= {"function": function, "projective": args.projective, "constituents": name in PHRASE_SIGHTS}
    train, test = (Probes("datasets/probes", split, **options) for split in ("train", "test"))
    other = {"gate": resolve("gate", max_distance=2)}
    own = {"gate": (GATEConv, {"max_distance": [1, 1, 2, 2]}), "lisa": (LISAConv, {}), "g2g": (G2GConv, {})}
    usual = (GatedRelationConv, {"num_relations": RELATIONS}) if sight.types else (AttentionConv, {})
    (conv, given), edges = own.get(name, usual), other.get(name, sight.edges)
    sizes = {"hidden_channels": 64, "ff_channels": 128, "num_layers": layers, "dropout": 0.0}
    own_conv, positions = lambda layer: conv(64, 16, 4, **given), sight.position
    encoder = GraphTransformer(WORDS + RELATIONS, own_conv, position_embedding=positions, **sizes)
    if name in LABELS:  # drawn as the vectors of words are
        encoder.add_relations(RelationEmbedding(LABELS[name], 64, type_embedding=False, std=64**-0.5))
    model = TokenModel(encoder.add_marks(2) if train.marks else encoder, train.num_classes, dropout=0.0)
    batches = [edges(batch) for batch in DataLoader(train, 64, shuffle=True)]  # once for all epochs
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, epochs * len(batches))
    for number in torch.cat([torch.randperm(len(batches)) for _ in range(epochs)]).tolist():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batches[number])[0], batches[number].y).backward()
        optimizer.step()
        decay.step()
    with torch.no_grad():
        right = [(model(edges(b))[0].argmax(-1) == b.y)[b.y >= 0] for b in DataLoader(test, 256)]
    return float(torch.cat(right).float().mean())


def theory(name: str, layers: int, kind: int, walks: int) -> dict[str, float]:
    best = ceilings(PROBE_SIGHTS[name][kind], [*PROBE_FUNCTIONS], layers, words=walks)
    return {function: one.accuracy for function, one in best.items()}


def cell(make, *values):
    key = " ".join(map(str, [make.__name__, *values, *["projective"] * args.projective]))
    if key not in done:
        done[key] = make(*values)
        with args.output.open("a") as file:
            file.write(json.dumps({key: done[key]}) + "\n")
    return done[key]


args.output.parent.mkdir(parents=True, exist_ok=True)
with args.output.open("ab") as file:  # cuts off a line that a kill left unfinished: it is run again
    file.truncate(args.output.read_bytes().rfind(b"\n") + 1)
done = dict(item for line in args.output.read_text().splitlines() for item in json.loads(line).items())
print(f"| edges | layers | {' | '.join(args.functions)} |\n{'|---' * (len(args.functions) + 2)}|")
for place in [(name, layers) for name in args.edges for layers in args.layers]:
    row, run = [], (args.sentences, args.epochs)
    for function in args.functions:
        runs = [cell(measured, *place, function, s, *run) for s in range(args.seeds if args.epochs else 0)]
        best = [cell(theory, *place, kind, args.walks)[function] for kind in (1, 0) if args.walks]
        row.append(" / ".join(f"{one:.2f}" for one in [*([sum(runs) / len(runs)] if runs else []), *best]))
    print("|", " | ".join([place[0], str(place[1]), *row]), "|", flush=True)
