"""What the words of an example look at: mean over heads of the last layer (Figures 4, 6 and 7 of DRA).

    python examples/attention_maps.py --checkpoint transformer.ckpt --checkpoint dra.ckpt --output maps.png

Checkpoints may be of any task; those of pairs and of response selection need several. DRA's mask
is drawn first, as in the paper's Figure 2, but as equal weights, so that its rows sum to 1 as the models' do.
Special nodes but ROOT are left out, so that the maps have the same words. Without a text it is the paper's
sentence.
"""

import argparse
from pathlib import Path

import torch

from graphdep import attention_map, to_data
from graphdep.io import atomic_path
from graphdep.parsing import resolve_parser
from graphdep.parsing.parser import parse_joined
from graphdep.transforms import resolve
from graphdep.visualization import plot_attention

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--checkpoint", action="append", required=True, help="may be repeated")
parser.add_argument("texts", metavar="TEXT", nargs="*")
parser.add_argument("--parser", default="bundled")
parser.add_argument("--output", type=Path, default=Path("runs/attention_maps.png"))
args = parser.parse_args()

texts = args.texts or ["I'd like to reserve a hotel room."]
model_parser = resolve_parser(args.parser)
trees, _ = parse_joined(model_parser, texts)
words = [word for tree in trees for word in ("[ROOT]", *tree.form)]

source, target = resolve("dra")(to_data(trees)).edge_index
mask = torch.zeros(len(words), len(words)).index_put((target, source), 1 / target.bincount()[target])
maps = {"DRA's mask, as equal weights": mask}
for checkpoint in args.checkpoint:
    try:
        shown = attention_map(checkpoint, texts, parser=model_parser).without_special(root=True)
    except ValueError as error:  # such as a model without attention between words
        raise SystemExit(f"{checkpoint}: {error}") from None
    # A pretrained encoder has no ROOT: its row and column stay empty.
    rows = [place for place, word in enumerate(words) if "[ROOT]" in shown.words or word != "[ROOT]"]
    if shown.words != [words[row] for row in rows]:
        raise SystemExit(f"{checkpoint}: reads other words: {' '.join(shown.words)}")
    alpha = torch.zeros_like(mask)
    alpha[torch.tensor(rows)[:, None], rows] = shown.alpha[-1].mean(dim=0)
    name = Path(checkpoint).resolve().parent.name
    maps[f"{name}, {shown.layers[-1]}, mean of {shown.heads} heads"] = alpha

figure = plot_attention(torch.stack([*maps.values()]), words, titles=[*maps], title=" | ".join(texts))
args.output.parent.mkdir(parents=True, exist_ok=True)
with atomic_path(args.output) as path:
    figure.savefig(path, dpi=110, format="png")
print(args.output)
