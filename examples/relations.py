"""One label for two marked spans: the relation between two nominals, with any of the library's edges.

    python examples/relations.py --train FILE --test FILE        # your own, see graphdep.datasets.OwnSpans
    python examples/relations.py --corpus semeval2010 --raw-from DIR --position
    python examples/relations.py --corpus semeval2010 --raw-from DIR --edges transformer --position

DIR has the raw files of the corpus, see datasets/. With validation, seeds, controls, floors and a table:
graphdep ablate --task semeval2010 --models transformer,dt,dt@random --raw-from DIR
"""

import argparse
import os.path as osp

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric import seed_everything
from torch_geometric.loader import DataLoader

import graphdep.transforms as T
from graphdep.datasets import CoNLL04, OwnSpans, SemEval2010Task8, SemEval2014Aspects
from graphdep.metrics import MACRO_F1, semeval2010_macro_f1
from graphdep.nn.models import DependencyTransformer, SpanModel, SpanReadout

CORPORA = {"semeval2010": SemEval2010Task8, "conll04": CoNLL04, "aspects": SemEval2014Aspects}
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--corpus", choices=[*CORPORA])
parser.add_argument("--train", help="without --corpus: file with examples to train on")
parser.add_argument("--test", help="and to test on")
parser.add_argument("--raw-from", help="folder with the raw files of a corpus")
parser.add_argument("--root", help="default: datasets/<corpus>")
parser.add_argument("--parser", default="bundled", help="whose trees")
parser.add_argument("--edges", default="dt", help="dt, or without types transformer, tree, dra, sia")
parser.add_argument("--trees", choices=["chain", "random"], help="a control in place of the parse")
parser.add_argument("--readout", choices=["mean", "top"], default="mean")
parser.add_argument("--path", action="store_true", help="also read the words on the way between two spans")
parser.add_argument("--position", action="store_true", help="with position embedding")
parser.add_argument("--limit", type=int, help="examples to train on")
parser.add_argument("--hidden-channels", type=int, default=64)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
files = (args.train, args.test)
if any(files) if args.corpus else None in files:
    parser.error("either --corpus or --train and --test must be given")

seed_everything(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
root = args.root or osp.join("datasets", args.corpus or "spans")
options = {"parser": args.parser, "raw_from": args.raw_from, "min_freq": 2}
if args.corpus is None:
    options |= {"train": args.train, "test": args.test}
corpus = OwnSpans if args.corpus is None else CORPORA[args.corpus]
train_dataset = corpus(root, "train", limit=args.limit, **options)
learned = {"vocab": train_dataset.vocab, "labels": train_dataset.labels}
test_dataset = corpus(root, "test", **learned, **options)
train_loader = DataLoader(train_dataset, batch_size=64, shuffle=True)
test_loader = DataLoader(test_dataset, batch_size=128)

controls = {"chain": T.ChainTree(), "random": T.RandomTree(args.seed), None: None}
edges = [part for part in (controls[args.trees], T.resolve(args.edges, implicit=True)) if part is not None]
encoder = DependencyTransformer(
    len(train_dataset.vocab),
    num_relations=len(train_dataset.relations),
    hidden_channels=args.hidden_channels,
    ff_channels=2 * args.hidden_channels,
    num_layers=2,
    heads=4,
    dropout=0.1,
    relation_attention=args.edges.startswith("dt"),
    level_embedding=False,
    position_embedding=args.position,
)
encoder.add_marks(4)  # of no span, of the first, of the second, of both
readout = SpanReadout(train_dataset.num_spans, mode=args.readout, path=args.path)
model = SpanModel(encoder, readout, train_dataset.num_classes).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)


def logits_of(batch):
    for transform in edges:
        batch = transform(batch)
    return model(batch)


def train() -> float:
    model.train()
    total_loss = 0.0
    for batch in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(logits_of(batch.to(device)), batch.y.to(device))
        loss.backward()
        optimizer.step()
        total_loss += float(loss.detach()) * batch.num_graphs
    return total_loss / len(train_dataset)


@torch.no_grad()
def test() -> tuple[np.ndarray, np.ndarray]:
    model.eval()
    found = [torch.stack([logits_of(b.to(device)).argmax(dim=-1).cpu(), b.y.cpu()]) for b in test_loader]
    return tuple(torch.cat(found, dim=1).numpy())


macro_f1 = semeval2010_macro_f1(train_dataset.labels) if args.corpus == "semeval2010" else MACRO_F1
for epoch in range(1, args.epochs + 1):
    loss, (label, y) = train(), test()
    scores = f"Test accuracy: {(label == y).mean():.4f}, macro F1: {macro_f1(label, y):.4f}"
    print(f"Epoch: {epoch:02d}, Loss: {loss:.4f}, {scores}", flush=True)
