"""Figure 3 of "Improving Retrieval-based Dialogue System via Syntax-Informed Attention": attention of an
encoder's layer k against that of SIA's layers on it, mean over heads.

    python examples/sia_attention.py --checkpoint runs/ubuntu-irc/best.ckpt --output maps.png
    python examples/sia_attention.py --encoder DIR    # a pretrained encoder, SIA as it is before training

A row shows where a word looks. A word of several pieces looks where they look on average, and is looked at as
often as they are together. What goes to [CLS], [SEP] and [EOU], in a pretrained encoder the most of it, is
left out unless --special is given: each row is that of the words alone, scaled to sum to 1.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import one_hot
from torch_geometric.data import Data

from graphdep import NodeType, RelationVocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.io import atomic_path
from graphdep.nn.models import SIA
from graphdep.parsing import resolve_parser
from graphdep.parsing.parser import parse_joined
from graphdep.tasks.selection.model import tokens_of
from graphdep.training import load_task
from graphdep.transforms import resolve
from graphdep.visualization import attention_weights, plot_attention

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
source = parser.add_mutually_exclusive_group(required=True)
source.add_argument("--checkpoint", help="of a run with SIA")
source.add_argument("--encoder", help="name or folder of a pretrained encoder")
parser.add_argument("--context", action="append", help="an utterance; may be repeated")
parser.add_argument("--response", default="Yes, creamy walnuts. They taste delicious.")
parser.add_argument("--max-sum", type=int, default=4, help="m of Eq. 4 with --encoder")
parser.add_argument("--special", action="store_true", help="show [CLS], [SEP] and [EOU] too")
parser.add_argument("--parser", default="bundled")
parser.add_argument("--output", type=Path, default=Path("runs/sia_attention.png"))
args = parser.parse_args()

if args.checkpoint:
    task, state = load_task(args.checkpoint)
    model, edges, relations = task.model.encoder, task.edges, state.relations
    tokens = tokens_of(task.model, state.vocab)
    if not isinstance(model, SIA):
        raise SystemExit(f"{args.checkpoint}: {state.config.model} has no SIA to draw")
else:
    from graphdep.nn.pretrained import load_encoder

    torch.manual_seed(0)
    encoder = load_encoder(args.encoder)
    model, relations = SIA(encoder, max_sum=args.max_sum), RelationVocab()
    edges = resolve("transformer", implicit=True)
    tokens = encoder.tokens

context = args.context or ["Do you sell any snack with nuts?", "Is it sweet?"]
trees, _ = parse_joined(resolve_parser(args.parser), [*context, args.response])
*before, response = [EncodedUtterance.of(tree, tokens, relations) for tree in trees]
data = selection_data(before, response, tokens)
if data.cut_words.any():
    raise SystemExit(f"the text has {int(data.cut_words.sum())} words too many for a map")


def words_of(data: Data) -> tuple[list[str], Tensor]:
    """The words (and special nodes), and which nodes are whose: ``[nodes, words]``."""
    labels: list[str] = []
    column, previous = [], None
    for kind, *word in zip(data.node_type.tolist(), data.utterance.tolist(), data.word.tolist()):
        if kind == NodeType.WORD and word != previous:
            labels.append(trees[word[0]].form[word[1]])
        elif kind != NodeType.WORD and args.special:
            labels.append(f"[{NodeType(kind).name}]")
        column.append(len(labels) if kind == NodeType.WORD or args.special else 0)
        previous = word
    return labels, one_hot(torch.tensor(column), len(labels) + 1)[:, 1:].float()


def between_words(pairs: Tensor, alpha: Tensor) -> Tensor:
    """Mean over heads. Row: who looks; column: at whom."""
    nodes = torch.zeros(len(pieces), len(pieces)).index_put((pairs[1], pairs[0]), alpha.mean(dim=1).float())
    words = (pieces / pieces.sum(dim=0)).T @ nodes @ pieces
    return words / words.sum(dim=1, keepdim=True)


labels, pieces = words_of(data)
data = edges(data)
backbone, k = model.encoder, max(model.layer, 1)
vanilla = backbone.attention(data) if hasattr(backbone, "attention") else attention_weights(backbone, data)
maps = {f"vanilla attention, layer {k}": between_words(*vanilla[k - 1])}
for number, weights in enumerate(model.attention(data), start=1):
    maps[f"SIA on layer {model.layer}, its layer {number}"] = between_words(*weights)

title = " | ".join([*context, args.response])
figure = plot_attention(torch.stack([*maps.values()]), labels, titles=[*maps], title=title)
args.output.parent.mkdir(parents=True, exist_ok=True)
with atomic_path(args.output) as path:
    figure.savefig(path, dpi=110, format="png")
print(args.output)
