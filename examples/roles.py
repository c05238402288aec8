"""A label for each word: roles of predicates, agreement, or tags, with any of the library's edges.

    python examples/roles.py                                             # self-written sentences, seconds
    python examples/roles.py --edges transformer --position             # what it is compared with
    python examples/roles.py --corpus propbank-ewt --raw-from DIR --limit 5000 --position
    python examples/roles.py --corpus cogs --raw-from DIR --parser bundled

DIR has the raw files of the corpus, see datasets/. With validation, seeds, controls, floors and a table:
graphdep ablate --task propbank-ewt --models transformer,dt,dt@random --raw-from DIR
"""

import argparse
import os.path as osp

import torch
import torch.nn.functional as F
from torch_geometric import seed_everything
from torch_geometric.loader import DataLoader

import graphdep.transforms as T
from graphdep.datasets import COGS, Agreement, PropBankEWT, UDTags, UniversalPropBank
from graphdep.nn.models import DependencyTransformer, TokenModel

CORPORA = {"agreement": Agreement, "cogs": COGS, "propbank-ewt": PropBankEWT, "ud-tags": UDTags}
CORPORA["up"] = UniversalPropBank
MINI = osp.join(osp.dirname(osp.realpath(__file__)), "..", "datasets", "mini", "agreement")
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--corpus", choices=[*CORPORA], default="agreement")
parser.add_argument("--raw-from", help="folder with the raw files")
parser.add_argument("--root", help="default: datasets/<corpus>, or self-written sentences without --raw-from")
parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of the corpus")
parser.add_argument("--parser", default="gold", help="whose trees; gold for the corpus' own")
parser.add_argument("--edges", default="dt", help="dt, or without types transformer, tree, dra, sia")
parser.add_argument("--trees", choices=["chain", "random"], help="a control in place of the trees")
parser.add_argument("--position", action="store_true", help="with position embedding")
parser.add_argument("--limit", type=int, help="examples to train on")
parser.add_argument("--hidden-channels", type=int, default=64)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

seed_everything(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
root = args.root or (osp.join("datasets", args.corpus) if args.raw_from else MINI)
options = {"parser": args.parser, "raw_from": args.raw_from, "min_freq": 1 if args.corpus == "cogs" else 2}
options |= dict(option.split("=", 1) for option in args.option)
train_dataset = CORPORA[args.corpus](root, "train", limit=args.limit, **options)
learned = {"vocab": train_dataset.vocab, "labels": train_dataset.labels}
test_dataset = CORPORA[args.corpus](root, "test", **learned, **options)
train_loader = DataLoader(train_dataset, batch_size=64, shuffle=True)
test_loader = DataLoader(test_dataset, batch_size=128)

controls = {"chain": T.ChainTree(), "random": T.RandomTree(args.seed), None: None}
edges = [part for part in (controls[args.trees], T.resolve(args.edges, implicit=True)) if part is not None]
typed = args.edges.startswith("dt")
encoder = DependencyTransformer(
    len(train_dataset.vocab),
    num_relations=len(train_dataset.relations),
    hidden_channels=args.hidden_channels,
    ff_channels=2 * args.hidden_channels,
    num_layers=2,
    heads=4,
    relation_attention=typed,
    level_embedding=False,
    position_embedding=args.position,
)
marked = train_dataset.marks  # whether a word of each example is marked, such as the predicate
if marked:
    encoder.add_marks(2)
model = TokenModel(encoder, train_dataset.num_classes, marked=marked).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)


def train() -> float:
    model.train()
    total_loss = 0.0
    for batch in train_loader:
        batch = batch.to(device)
        for transform in edges:
            batch = transform(batch)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch)[0], batch.y, ignore_index=-100)
        loss.backward()
        optimizer.step()
        total_loss += float(loss.detach()) * batch.num_graphs
    return total_loss / len(train_dataset)


@torch.no_grad()
def test() -> tuple[float, float]:
    model.eval()
    found = []
    for batch in test_loader:
        batch = batch.to(device)
        for transform in edges:
            batch = transform(batch)
        scored = batch.y != -100  # -1, a label that training does not have, is scored, and wrong
        found.append(torch.stack([model(batch)[0].argmax(dim=-1), batch.y])[:, scored])
    label, y = torch.cat(found, dim=1)
    none = 0 if train_dataset.labels[0] == train_dataset.outside else -2  # the label for no finding
    right, either = (label == y) & (y != none), (label != none).sum() + (y != none).sum()
    return float((label == y).float().mean()), float(2 * right.sum() / either.clamp(min=1))


for epoch in range(1, args.epochs + 1):
    loss = train()
    accuracy, f1 = test()
    print(f"Epoch: {epoch:02d}, Loss: {loss:.4f}, Test accuracy: {accuracy:.4f}, F1: {f1:.4f}", flush=True)
