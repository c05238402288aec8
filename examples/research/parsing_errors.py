"""What wrong parses cost: a trained model scored with a share of its edges wrong (Figure 5 of DRA).

    python examples/research/parsing_errors.py --checkpoint dra.ckpt --checkpoint dialogbert-dra.ckpt \
        --output DIR

A share p of the pairs that may attend is masked and as many wrong ones are let through
(graphdep.transforms.RewiredEdges); the model is not trained again. Writes errors.csv and errors.png.
"""

import argparse
import csv
import sys
from pathlib import Path

from matplotlib.figure import Figure

from graphdep.io import atomic_path
from graphdep.training import evaluate
from graphdep.visualization.scene import COLOURS, PALE

METRICS = {"perplexity": "perplexity", "bleu2_method7": "BLEU-2 (method 7)", "dist2": "Dist-2"}


def main() -> None:
    args = arguments()
    settings = {"root": args.root, "raw_from": args.raw_from, "limit_generate": args.limit}
    settings["parser"] = args.parser
    settings = {key: value for key, value in settings.items() if value is not None}
    rows = []
    for checkpoint in args.checkpoint:
        for p in args.errors:
            result = evaluate(checkpoint, args.split, settings={**settings, "parse_errors": p})
            scores = {name: result["metrics"][f"{args.split}_{name}"] for name in METRICS}
            rows.append({"model": result["model"], "seed": result["seed"], "errors": p, **scores})
            print(", ".join(f"{k} {v}" for k, v in rows[-1].items()), file=sys.stderr, flush=True)
    args.output.mkdir(parents=True, exist_ok=True)
    with atomic_path(args.output / "errors.csv") as path, open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with atomic_path(args.output / "errors.png") as path:
        plot(rows, args.split).savefig(path, dpi=130, format="png")
    print(f"{args.output}/errors.csv, {args.output}/errors.png")


def plot(rows: list[dict], split: str) -> Figure:
    """A panel a metric, a line a model (the mean of its seeds)."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    models = list(dict.fromkeys(row["model"] for row in rows))
    for axes, (name, title) in zip(figure.subplots(1, len(METRICS)), METRICS.items()):
        for model, colour in zip(models, COLOURS):
            shares = sorted({row["errors"] for row in rows if row["model"] == model})
            values = [[r[name] for r in rows if r["model"] == model and r["errors"] == p] for p in shares]
            means = [sum(scores) / len(scores) for scores in values]
            axes.plot(shares, means, "o-", color=colour, label=model, markersize=4)
        axes.set_xlabel("share of wrong pairs")
        axes.set_title(f"{title}, {split}", fontsize=10)
        axes.grid(color=PALE, linewidth=0.7)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkpoint", action="append", required=True, help="may be repeated")
    parser.add_argument("--root", help="folder of the corpus, if it was not the default")
    parser.add_argument("--raw-from", help="folder with its raw files")
    parser.add_argument("--parser", help="parser of the training, if it was not bundled")
    parser.add_argument("--split", default="val", choices=["val", "test"])
    parser.add_argument("--errors", type=float, nargs="+", default=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    parser.add_argument("--limit", type=int, help="respond to so many examples; default: all")
    parser.add_argument("--output", type=Path, default=Path("runs/parsing_errors"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
