"""What do the sentence vectors of a trained model know? A linear classifier reads syntax off them.

    graphdep train --root datasets/mini --output runs/mini --max-epochs 20 --set hidden_channels=64 \
        --set ff_channels=64 --set heads=4 --set num_layers=2 --set optimizer=adam
    python examples/research/probing.py --checkpoint runs/mini/best.ckpt  # self-written sentences
    python examples/research/probing.py --checkpoint FILE --train en_ewt-ud-train.conllu \
        --test en_ewt-ud-test.conllu

Length, depth of the tree, tense of the main verb and number of its subject are among the probes of "What you
can cram into a single $&!#* vector: Probing sentence embeddings for linguistic properties"; voice is added.
Labels are those of the treebank's trees, or of the parser's where no treebank is given. Two columns say
what a score is worth: `no skill` is the most frequent class, and `untrained` the same model with random
weights, on the same words and trees. Training adds what `trained` has beyond it, and takes away what it has
less: a model need not keep what its task does not ask for. Level embeddings tell it the depth of each word.
"""

import argparse
import os.path as osp
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch_geometric import seed_everything

from graphdep import Sentence, SentenceEncoder
from graphdep.datasets.sentences import SICK_FILES, read_sick
from graphdep.io import read_conllu
from graphdep.metrics import ACCURACY
from graphdep.parsing import resolve_parser
from graphdep.sentence import join_sentences
from graphdep.training import load_task

MINI = osp.join(osp.dirname(osp.realpath(__file__)), "..", "..", "datasets", "mini")

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--checkpoint", required=True, help="best.ckpt of a run")
parser.add_argument("--train", help="CoNLL-U file to learn the probes from (default: datasets/mini)")
parser.add_argument("--test", help="CoNLL-U file to score them on")
parser.add_argument("--parser", default="bundled", help="makes the trees that the encoder sees")
parser.add_argument("--cache", default=osp.join(MINI, "cache", "parses.sqlite"), help="SQLite file")
parser.add_argument("--limit", type=int, default=1000, help="sentences of each split")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
if (args.train is None) != (args.test is None):
    parser.error("--train and --test go together")


def load(split: str) -> list[tuple[str, Sentence]]:
    """Texts with their trees."""
    path = args.train if split == "train" else args.test
    if path is not None:
        return [(tree.text, tree) for tree in read_conllu(path)[: args.limit]]
    pairs = read_sick(Path(MINI, "raw", SICK_FILES[split]))
    texts = list(dict.fromkeys(text for pair in pairs for text in pair.sentences))[: args.limit]
    parses = resolve_parser(args.parser, cache=args.cache).parse(texts)
    return [(text, join_sentences(parse)) for text, parse in zip(texts, parses)]


def feature(tree: Sentence, word: int, name: str) -> str | None:
    features = tree.feats[word] if tree.feats else "_"
    return dict(part.split("=", 1) for part in features.split("|") if "=" in part).get(name)


def dependents(tree: Sentence, *relations: str) -> list[int]:
    """Words that depend on the root by one of these relations."""
    root = tree.head.index(0) + 1
    return [i for i, (h, r) in enumerate(zip(tree.head, tree.deprel)) if h == root and r in relations]


def tense(tree: Sentence) -> str | None:
    verbs = [tree.head.index(0), *dependents(tree, "aux", "aux:pass", "cop")]
    return next(
        (feature(tree, verb, "Tense") for verb in verbs if feature(tree, verb, "VerbForm") == "Fin"), None
    )


def subject_number(tree: Sentence) -> str | None:
    return next((feature(tree, word, "Number") for word in dependents(tree, "nsubj", "nsubj:pass")), None)


def voice(tree: Sentence) -> str | None:
    return next((tree.deprel[word] for word in dependents(tree, "nsubj", "nsubj:pass")), None)


def untrained(path: str) -> SentenceEncoder:
    """The encoder of the checkpoint, its weights drawn anew."""
    task, state = load_task(path)
    task.model.reset_parameters()
    return SentenceEncoder.from_model(task.model, state.vocab, state.relations, task.edges, **options)


def labelled(trees: list[tuple[str, Sentence]], probe: Callable) -> tuple[list[str], np.ndarray]:
    """The texts that the probe has a label for, and the labels."""
    pairs = [(text, label) for text, tree in trees if (label := probe(tree)) is not None]
    return [text for text, _ in pairs], np.array([label for _, label in pairs])


PROBES: dict[str, Callable[[Sentence], int | str | None]] = {
    "length": len,
    "depth": lambda tree: max(tree.depth),
    "tense": tense,
    "subject number": subject_number,
    "voice": voice,
}
seed_everything(args.seed)
options = {"parser": args.parser, "cache": args.cache}
encoders = {"untrained": untrained(args.checkpoint), "trained": SentenceEncoder(args.checkpoint, **options)}
train_trees, test_trees = load("train"), load("test")
print(f"{'probe':<15}{'classes':>8}{'train':>7}{'test':>7}{'no skill':>11}{'untrained':>11}{'trained':>11}")
for name, probe in PROBES.items():
    (train_x, train_y), (test_x, test_y) = labelled(train_trees, probe), labelled(test_trees, probe)
    if name in ("length", "depth"):  # up to four classes, by the quartiles of train
        edges = np.unique(np.quantile(train_y, [0.25, 0.5, 0.75]))
        train_y, test_y = np.digitize(train_y, edges), np.digitize(test_y, edges)
    classes = np.unique(train_y)
    row = f"{name:<15}{len(classes):>8}{len(train_y):>7}{len(test_y):>7}"
    if len(classes) < 2 or len(test_y) == 0:
        print(f"{row}  nothing to tell apart", flush=True)
        continue
    scores = [ACCURACY.floor(train_y, test_y)]
    for encoder in encoders.values():
        classifier = make_pipeline(encoder, StandardScaler(), LogisticRegression(max_iter=1000))
        scores.append(classifier.fit(train_x, train_y).score(test_x, test_y))
    print(row + "".join(f"{score:>11.4f}" for score in scores), flush=True)
