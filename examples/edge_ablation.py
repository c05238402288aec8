"""One model, many graphs: what changes when only the edges of the attention change.

    python examples/edge_ablation.py                                      # self-written pairs, minutes
    python examples/edge_ablation.py --raw-from DIR --root datasets/sick  # the real SICK-E

Every row of the table is the same Transformer encoder; one T.Compose says which words may attend to which.
"""

import argparse
import os.path as osp
import statistics

import torch
import torch_geometric.transforms as T
from torch_geometric import seed_everything
from torch_geometric.loader import DataLoader

import graphdep.transforms as G
from graphdep.datasets import SICK
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--raw-from", help="folder with the raw files of SICK")
parser.add_argument("--root", default=osp.join(osp.dirname(osp.realpath(__file__)), "..", "datasets", "mini"))
parser.add_argument("--parser", default="bundled")
parser.add_argument("--edges", nargs="*", help="rows to run; default: all")
parser.add_argument("--hidden-channels", type=int, default=64)
parser.add_argument("--heads", type=int, default=4)
parser.add_argument("--lr", type=float, default=0.001)
parser.add_argument("--epochs", type=int, default=18)
parser.add_argument("--seeds", type=int, default=3)
args = parser.parse_args()

neighbours = G.DependencyEdges("both") | G.SelfLoops()
rows: dict[str, T.BaseTransform] = {
    "complete": T.Compose([G.CompleteEdges("utterance", implicit=True)]),
    "dra": T.Compose([G.DependencyEdges("governor") | G.RootEdges("utterance") | G.SelfLoops()]),
    "dra, random tree": T.Compose([G.RandomTree(seed=0), G.resolve("dra")]),
    "dra, chain": T.Compose([G.ChainTree(), G.resolve("dra")]),
    "ancestors": T.Compose([G.AncestorEdges() | G.RootEdges("utterance") | G.SelfLoops()]),
    "both ways": T.Compose([neighbours | G.RootEdges("utterance")]),
    "distance 2": T.Compose([G.TreeDistanceEdges(2) | G.RootEdges("utterance")]),
    "all but neighbours": T.Compose([G.CompleteEdges("utterance") - G.DependencyEdges("both")]),
}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
options = {"task": "entailment", "parser": args.parser, "raw_from": args.raw_from}
train_dataset = SICK(args.root, "train", **options)
vocab = train_dataset.vocab
val_dataset = SICK(args.root, "val", vocab=vocab, **options)
test_dataset = SICK(args.root, "test", vocab=vocab, **options)


def make_model() -> SentencePairModel:
    encoder = DependencyTransformer(
        num_words=len(vocab),
        num_relations=len(train_dataset.relations),
        hidden_channels=args.hidden_channels,
        ff_channels=args.hidden_channels,
        num_layers=2,
        heads=args.heads,
        dropout=0.0,
        relation_attention=False,
        level_embedding=False,
    )
    return SentencePairModel(encoder, RelatednessHead(args.hidden_channels, train_dataset.num_classes)).to(
        device
    )


def train(model: SentencePairModel, edges: T.BaseTransform, optimizer: torch.optim.Optimizer) -> None:
    model.train()
    for batch in DataLoader(train_dataset, batch_size=32, shuffle=True):
        batch = edges(batch.to(device))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), batch.y).backward()
        optimizer.step()


@torch.no_grad()
def test(model: SentencePairModel, edges: T.BaseTransform, dataset: SICK) -> float:
    model.eval()
    correct = 0
    for batch in DataLoader(dataset, batch_size=128):
        batch = edges(batch.to(device))
        correct += int((model(batch).argmax(dim=-1) == batch.y).sum())
    return correct / len(dataset)


def run(edges: T.BaseTransform, seed: int) -> float:
    seed_everything(seed)
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    best_val, test_acc = -1.0, 0.0
    for _ in range(args.epochs):
        train(model, edges, optimizer)
        val_acc = test(model, edges, val_dataset)
        if val_acc > best_val:
            best_val, test_acc = val_acc, test(model, edges, test_dataset)
    return test_acc


majority = train_dataset.y.mode().values
print(f"{'no skill':20} Test: {(test_dataset.y == majority).float().mean():.4f}")
for name in args.edges or rows:
    accs = [run(rows[name], seed) for seed in range(args.seeds)]
    std = f" ± {statistics.stdev(accs):.4f}" if len(accs) > 1 else ""
    print(f"{name:20} Test: {statistics.fmean(accs):.4f}{std} ({args.seeds} seeds)", flush=True)
