"""What the words of an utterance look at: mean over heads of the last layer (Figures 4, 6 and 7 of DRA).

    python examples/attention_maps.py --checkpoint transformer.ckpt --checkpoint dra.ckpt --output maps.png

DRA's mask is drawn first, as in the paper's Figure 2, but as equal weights, so that its rows sum to 1 as the
models' do. Without --text it is the paper's sentence.
"""

import argparse
from pathlib import Path

import torch

from graphdep import to_data
from graphdep.io import atomic_path
from graphdep.nn.conv import AttentionConv
from graphdep.parsing import resolve_parser
from graphdep.sentence import join_sentences
from graphdep.training import load_task
from graphdep.transforms import resolve
from graphdep.visualization import attention_weights, plot_attention

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--checkpoint", action="append", required=True, help="may be repeated")
parser.add_argument("--text", default="I'd like to reserve a hotel room.")
parser.add_argument("--parser", default="bundled")
parser.add_argument("--output", type=Path, default=Path("runs/attention_maps.png"))
args = parser.parse_args()

tree = join_sentences(resolve_parser(args.parser).parse([args.text])[0])
labels = ["[ROOT]", *tree.form]


def matrix(pairs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Row: who looks; column: at whom."""
    return torch.zeros(len(labels), len(labels)).index_put((pairs[1], pairs[0]), weights)


mask = resolve("dra")(to_data([tree])).edge_index
maps = {"DRA's mask, as equal weights": matrix(mask, 1 / mask[1].bincount()[mask[1]])}
for checkpoint in args.checkpoint:
    task, state = load_task(checkpoint)
    if state.config.pieces is not None:
        raise SystemExit(f"{checkpoint}: a map of subwords has no words to name")
    # HRED, HRAN and ReCoSa read words by recurrent networks.
    encoder = getattr(task.model.encoder, "encoder", None)
    if encoder is None or not any(isinstance(module, AttentionConv) for module in encoder.modules()):
        raise SystemExit(f"{checkpoint}: {state.config.model} has no attention between words to draw")
    data = to_data([tree], vocab=state.vocab, relations=state.relations, positions="example")
    pairs, alpha = attention_weights(encoder, task.edges(data))[-1]
    maps[f"{state.config.model}, last layer, mean of {alpha.size(1)} heads"] = matrix(
        pairs, alpha.mean(dim=1)
    )

figure = plot_attention(torch.stack([*maps.values()]), labels, titles=[*maps], title=args.text)
args.output.parent.mkdir(parents=True, exist_ok=True)
with atomic_path(args.output) as path:
    figure.savefig(path, dpi=110, format="png")
print(args.output)
