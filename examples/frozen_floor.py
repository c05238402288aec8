"""What a pretrained encoder does without any training: the floor of the tables on selection and GLUE.

    python examples/frozen_floor.py --encoder ENCODER --task dailydialog-selection --raw-from DIR
    python examples/frozen_floor.py --encoder ENCODER --task qqp --limit-train 512 --raw-from DIR

The encoder reads each text on its own and stays as it is; the vector of a text is the mean over its
pieces, or that of [CLS] (`--pool cls`). Candidates are ranked by their cosine with the context. On GLUE a
logistic regression reads the cosine of a pair, or the features |u - v| and u * v (of a single sentence u);
how strongly it is regularised is chosen on the validation split. Texts are cut as the models of the tables
see them.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch_geometric.data import Data
from transformers import AutoModel

from graphdep import NodeType
from graphdep.datasets import GLUE, DailyDialogSelection, UbuntuIRC
from graphdep.metrics import ACCURACY, F1, MCC, random_floor, ranking_metrics
from graphdep.nn.pretrained import load_encoder

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
tokenizer, tokens = encoder.tokenizer, encoder.tokens
# As Hugging Face made it: nothing of ours is in the floor.
model = AutoModel.from_pretrained(args.encoder).eval()


def texts_of(data: Data) -> list[tuple[int, ...]]:
    """The pieces of the words of each text of an example."""
    words = data.node_type == NodeType.WORD
    segments = range(int(data.segment.max()) + 1)
    return [tuple(data.input_ids[words & (data.segment == part)].tolist()) for part in segments]


@torch.no_grad()
def encode(examples: Sequence[Data]) -> Tensor:
    """The vectors of all texts, of length 1: ``[num_examples, num_texts, hidden]``."""
    texts = [texts_of(data) for data in examples]
    different = sorted({text for example in texts for text in example}, key=len)
    vectors = []
    for start in range(0, len(different), 64):
        ids = [[tokens.cls_id, *text, tokens.sep_id] for text in different[start : start + 64]]
        batch = tokenizer.pad({"input_ids": ids}, return_tensors="pt")
        mask = batch["attention_mask"].unsqueeze(-1)
        x = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
        vectors.append(x[:, 0] if args.pool == "cls" else (x * mask).sum(1) / mask.sum(1))
    table = F.normalize(torch.cat(vectors), dim=-1)
    row = {text: number for number, text in enumerate(different)}
    return table[torch.tensor([[row[text] for text in example] for example in texts])]


def select() -> None:
    """Zero-shot ranking of the test pools."""
    corpus, root, options = SELECTION[args.task]
    options = {**options, "max_turns": args.max_turns, "max_length": args.max_length or 96}
    where = {"raw_from": args.raw_from, "limit": args.limit_eval, "tokens": tokens}
    pairs = list(corpus(args.root or root, "test", "chain", **where, **options))
    labels, groups = torch.cat([data.y for data in pairs]), torch.cat([data.group for data in pairs])
    context, candidate = encode(pairs).unbind(dim=1)
    scores = (context * candidate).sum(dim=-1)
    print(f"{len(groups.unique())} test pools")
    print("no skill:", _show(random_floor(labels, groups)))
    print(f"cosine ({args.pool}):", _show(ranking_metrics(scores, labels, groups)))


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
    vectors = {name: encode(split) for name, split in splits.items()}
    metric = METRICS.get(args.task, ACCURACY)
    print(f"{len(y['train'])} training examples, {len(y['test'])} test examples")
    print("no skill:", f"{metric.name} {metric.floor(y['train'], y['test']):.3f}")
    for kind in ("features", "cosine")[: splits["train"][0].segment.max() + 1]:
        x = {name: _features(of, kind) for name, of in vectors.items()}
        fitted = [
            make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=2000)).fit(
                x["train"], y["train"]
            )
            for c in (1e-3, 1e-2, 1e-1, 1.0)
        ]
        best = max(fitted, key=lambda probe: ACCURACY(probe.predict(x["val"]), y["val"]))
        found = best.predict(x["test"])
        scores = {of.name: of(found, y["test"]) for of in dict.fromkeys((metric, ACCURACY))}
        print(f"frozen, {kind} ({args.pool}):", _show(scores))


def _features(vectors: Tensor, kind: str) -> np.ndarray:
    if vectors.size(1) == 1:
        return vectors[:, 0].numpy()
    u, v = vectors.unbind(dim=1)
    product = u * v
    return (torch.cat([(u - v).abs(), product], 1) if kind == "features" else product.sum(1, True)).numpy()


def _show(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in scores.items())


select() if args.task in SELECTION else classify()
