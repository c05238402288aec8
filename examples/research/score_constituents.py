"""Scores a parser of constituents on English EWT, and on text of another kind.

Gold constituents are those of PropBank's skeletons (``*.gold_skel``), which have the brackets of the
treebank's sentences but not their words; the words are those of Universal Dependencies. The score is labelled
F1 as EVALB has it with COLLINS.prm (without the outermost bracket and punctuation, ADVP and PRT the same),
and with all of that.

The Stanford Sentiment Treebank has binary trees of film reviews, without labels, that another parser made: it
tells how many brackets over two words or more agree, which is no accuracy.

Example:
    python examples/research/score_constituents.py --raw-from UD_English-EWT --skeletons google/ewt
    python examples/research/score_constituents.py --raw-from UD_English-EWT --skeletons google/ewt \
        --gold-tags
    python examples/research/score_constituents.py --sst datasets/sst-trees
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from graphdep import Sentence
from graphdep.datasets.labels.propbank import SKELETON, read_ewt
from graphdep.io import read_ptb
from graphdep.parsing import resolve_parser
from graphdep.parsing.bundled import BUNDLED
from graphdep.parsing.constituency import SpanParser

PUNCTUATION = (",", ":", "``", "''", ".")
# The figures of graphdep/parsing/bundled/MODEL_CARD.md: labelled F1 by split, and whether tags are gold.
CARD = {("dev", False): 86.09, ("dev", True): 87.91, ("test", False): 86.18, ("test", True): 87.55}
TOLERANCE = 0.3


def brackets(sentence: Sentence, tags: Sequence[str], *, evalb: bool) -> Counter[tuple[str, int, int]]:
    """The labelled spans that are compared, over words that are counted without punctuation for EVALB."""
    kept = [0 if evalb and tag in PUNCTUATION else 1 for tag in tags]
    before = [sum(kept[:word]) for word in range(len(kept) + 1)]
    spans = ((label, before[start], before[end]) for label, start, end in sentence.constituents or ())
    return Counter(
        ("ADVP" if evalb and label == "PRT" else label, start, end)
        for label, start, end in spans
        if start < end
    )


def scores(gold: Sequence[Sentence], found: Sequence[Sentence], *, evalb: bool = True) -> tuple[float, ...]:
    """F1, precision, recall and whole trees, in per cent; gold tags say what is punctuation."""
    same = theirs = ours = whole = 0
    for one, other in zip(gold, found, strict=True):
        tags = one.xpos or []
        left, right = (brackets(each, tags, evalb=evalb) for each in (one, other))
        same, theirs, ours = same + (left & right).total(), theirs + left.total(), ours + right.total()
        whole += left == right
    precision, recall = same / max(ours, 1), same / max(theirs, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return tuple(100 * each for each in (f1, precision, recall, whole / len(gold)))


def on_ewt(treebank: Path, skeletons: Path, split: str, parser: str, gold_tags: bool) -> bool:
    paths = sorted(treebank.glob(f"*-ud-{split}*.conllu"))
    if not paths:
        raise SystemExit(f"no *-ud-{split}*.conllu in {treebank}")
    pairs, left_out = read_ewt(paths, sorted(skeletons.rglob(f"*{SKELETON}")))
    gold = [pair.bracketed for pair in pairs]
    start = time.process_time()
    if gold_tags:
        given = [[*zip(one.form, one.xpos or [])] for one in gold]
        trees = SpanParser.load(BUNDLED / "en_ewt_constituency.pt").parse(given)
        found = [dataclasses.replace(one, constituents=each) for one, each in zip(gold, trees)]
        failures = 0
    else:
        made = resolve_parser(parser, constituents=True)
        found = made.parse_words([one.form for one in gold])
        failures = made.failures
    seconds = time.process_time() - start
    print(f"{split}: {len(gold)} sentences, {len(left_out.names)} left out, {failures} with a flat tree")
    rows = {"EVALB": scores(gold, found), "all brackets": scores(gold, found, evalb=False)}
    for name, row in rows.items():
        print(f"  {name:<14}" + "  ".join(f"{k} {v:.2f}" for k, v in zip(("F1", "P", "R", "whole"), row)))
    words = sum(map(len, gold))
    what = "from gold tags" if gold_tags else "with tags and dependencies"
    print(f"  {words / seconds:.0f} words per second of CPU, {what}", file=sys.stderr)
    card = CARD.get((split, gold_tags)) if parser == "bundled" else None
    if card is not None:
        print(f"  the card       F1 {card:.2f}")
    return card is None or rows["EVALB"][0] >= card - TOLERANCE


def on_sst(folder: Path, parser: str) -> None:
    binary = read_ptb(folder / "test.txt")
    found = resolve_parser(parser, constituents=True).parse_words([one.form for one in binary])
    same = ours = crossing = 0
    for one, other in zip(binary, found):
        theirs = {(start, end) for _, start, end in one.constituents or () if end - start > 1}
        mine = {(start, end) for _, start, end in other.constituents or () if end - start > 1}
        same, ours = same + len(mine & theirs), ours + len(mine)
        crossing += sum(any(a < c < b < d or c < a < d < b for c, d in theirs) for a, b in mine)
    print(f"SST test: {len(binary)} sentences, {ours} brackets over two words or more")
    print(f"  also in its binary trees {100 * same / ours:.1f}%, crossing them {100 * crossing / ours:.1f}%")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--raw-from", type=Path, help="folder with *-ud-{train,dev,test}.conllu")
    arguments.add_argument("--skeletons", type=Path, help="folder with *.gold_skel, also in folders of it")
    arguments.add_argument("--split", choices=("train", "dev", "test"), default="test")
    arguments.add_argument("--parser", default="bundled", help="name of the parser (default: bundled)")
    arguments.add_argument("--gold-tags", action="store_true", help="give the bundled model gold tags")
    arguments.add_argument("--sst", type=Path, help="folder with test.txt of the sentiment treebank's trees")
    args = arguments.parse_args()
    if (args.raw_from is None) != (args.skeletons is None) or not (args.raw_from or args.sst):
        raise SystemExit("give --raw-from and --skeletons, or --sst")
    good = True
    if args.raw_from is not None:
        good = on_ewt(args.raw_from, args.skeletons, args.split, args.parser, args.gold_tags)
    if args.sst is not None:
        on_sst(args.sst, args.parser)
    if not good:
        print(f"F1 is more than {TOLERANCE} below the card", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
