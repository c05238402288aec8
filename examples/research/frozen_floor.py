"""What a pretrained encoder does without any training: the floor of the tables on selection and GLUE.

    python examples/research/frozen_floor.py --encoder ENCODER --task dailydialog-selection --raw-from DIR
    python examples/research/frozen_floor.py --encoder ENCODER --task qqp --limit-train 512 --raw-from DIR

The encoder reads each text on its own and stays as it is; the vector of a text is the mean over its
pieces, or that of [CLS] (`--pool cls`). Candidates are ranked by their cosine with the context. On GLUE a
logistic regression reads the cosine of a pair, or the features |u - v| and u * v (of a single sentence u);
how strongly it is regularised is chosen on the validation split. Texts are cut as the models of the tables
see them.
"""

import argparse

import torch

from graphdep.datasets import GLUE, DailyDialogSelection, UbuntuIRC
from graphdep.metrics import ACCURACY, F1, MCC, random_floor
from graphdep.nn.pretrained import load_encoder
from graphdep.tasks.selection.model import cosine_scores
from graphdep.tasks.sentences.model import features, fit_probe
from graphdep.training import TrainConfig
from graphdep.training.floors import frozen_vectors

SELECTION = {
    "dailydialog-selection": (DailyDialogSelection, "datasets/dailydialog", {"overlap": "drop"}),
    "ubuntu-irc": (UbuntuIRC, "datasets/ubuntu-irc", {}),
}
METRICS = {"cola": MCC, "mrpc": F1, "qqp": F1}  # of the others accuracy

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--encoder", required=True, help="name or folder of a pretrained encoder")
parser.add_argument(
    "--task", required=True, choices=[*SELECTION, *"cola sst2 mrpc qqp mnli qnli rte".split()]
)
parser.add_argument("--raw-from", help="folder with the raw files of the corpus")
parser.add_argument("--root", help="default: the corpus' folder in datasets/")
parser.add_argument("--pool", default="mean", choices=["mean", "cls"])
parser.add_argument(
    "--limit-train", type=int, help="GLUE: learn from so many examples, spread over the split"
)
parser.add_argument("--limit-eval", type=int, default=1000, help="selection: pairs of the test split")
parser.add_argument("--max-turns", type=int, default=6, help="selection: utterances of a context")
parser.add_argument("--max-length", type=int, help="pieces of an example; default: 96, of GLUE 128")
args = parser.parse_args()

encoder = load_encoder(args.encoder)
tokens = encoder.tokens


def select() -> None:
    """Zero-shot ranking of the test pools."""
    corpus, root, options = SELECTION[args.task]
    options = {**options, "max_turns": args.max_turns, "max_length": args.max_length or 96}
    where = {"raw_from": args.raw_from, "limit": args.limit_eval, "tokens": tokens}
    pairs = list(corpus(args.root or root, "test", "chain", **where, **options))
    labels, groups = torch.cat([data.y for data in pairs]), torch.cat([data.group for data in pairs])
    config = TrainConfig.of("bert", task=args.task)
    print(f"{len(groups.unique())} test pools")
    print("no skill:", _show(random_floor(labels, groups)))
    print(f"cosine ({args.pool}):", _show(cosine_scores(config, pairs, "", encoder, args.pool)))


def classify() -> None:
    """Logistic regressions over frozen vectors."""
    options = {"raw_from": args.raw_from, "tokens": tokens, "max_length": args.max_length or 128}
    root = args.root or "datasets/glue"
    limits = {"train": args.limit_train, "val": None, "test": None}
    splits = {
        name: list(GLUE(root, args.task, name, "chain", limit=limit, **options))
        for name, limit in limits.items()
    }
    y = {name: torch.cat([data.y for data in split]).numpy() for name, split in splits.items()}
    vectors = {name: frozen_vectors(encoder, split, args.pool) for name, split in splits.items()}
    metric = METRICS.get(args.task, ACCURACY)
    print(f"{len(y['train'])} training examples, {len(y['test'])} test examples")
    print("no skill:", f"{metric.name} {metric.floor(y['train'], y['test']):.3f}")
    kinds = {"features": features, "cosine": lambda pair: pair.prod(dim=1).sum(dim=1, keepdim=True).numpy()}
    for kind in [*kinds][: vectors["train"].size(1)]:
        x = {name: kinds[kind](of) for name, of in vectors.items()}
        found = fit_probe(x, y, "train", "val", classifies=True).predict(x["test"])
        scores = {of.name: of(found, y["test"]) for of in dict.fromkeys((metric, ACCURACY))}
        print(f"frozen, {kind} ({args.pool}):", _show(scores))


def _show(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in scores.items())


select() if args.task in SELECTION else classify()
