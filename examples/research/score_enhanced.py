"""Scores sources of enhanced graphs against column DEPS of a Universal Dependencies treebank.

An arc is right if its governor, its dependent and its whole label are: precision, recall and F1 over the arcs
of all sentences, in per cent. Empty nodes count by their ids. The graphs are made of the treebank's own trees
and of a parser's trees over the same words. "basic arcs" is the floor: the tree unchanged. DEPS is the
enhanced representation, so what enhanced++ adds counts as wrong here. "rules" are graphdep's own; pybart is
scored as well where it is installed.

Example:
    python examples/research/score_enhanced.py --raw-from DIR --split test
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

from graphdep import Sentence
from graphdep.io import read_conllu
from graphdep.parsing import enhance, resolve_parser
from graphdep.sentence import parse_deps

Arcs = set[tuple[str, str, str]]
HEADER = ("split", "trees", "graphs", "precision", "recall", "F1")


def enhanced_arcs(sentence: Sentence) -> Arcs:
    rows = [
        *enumerate(sentence.deps or [], start=1),
        *((row[0], parse_deps(row[8])) for row in sentence.empty),
    ]
    return {(head, label, str(number)) for number, arcs in rows for head, label in arcs}


def basic_arcs(sentence: Sentence) -> Arcs:
    pairs = enumerate(zip(sentence.head, sentence.deprel), start=1)
    return {(str(head), label, str(number)) for number, (head, label) in pairs}


def score(gold: list[Arcs], found: list[Arcs]) -> tuple[float, float, float]:
    right = sum(len(a & b) for a, b in zip(gold, found))
    precision, recall = right / max(1, sum(map(len, found))), right / max(1, sum(map(len, gold)))
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return 100 * precision, 100 * recall, 100 * f1


def without_graph(sentence: Sentence) -> Sentence:
    return dataclasses.replace(sentence, deps=None, empty=[])


def made(level: str, engine: str) -> Callable[[list[Sentence]], list[Arcs]]:
    return lambda sentences: [enhanced_arcs(sentence) for sentence in enhance(sentences, level, engine)]


GRAPHS: dict[str, Callable[[list[Sentence]], list[Arcs]]] = {
    "basic arcs": lambda sentences: [basic_arcs(sentence) for sentence in sentences],
}
for engine in ("rules", *(["pybart"] if importlib.util.find_spec("pybart") is not None else [])):
    GRAPHS |= {f"{engine}, {level}": made(level, engine) for level in ("enhanced", "enhanced++")}


def read(folder: Path, split: str, limit: int | None) -> list[Sentence]:
    path = next(iter(sorted(folder.glob(f"*-ud-{split}.conllu"))), None)
    if path is None:
        raise SystemExit(f"no *-ud-{split}.conllu in {folder}")
    sentences = read_conllu(path)[:limit]
    if all(sentence.deps is None for sentence in sentences):
        raise SystemExit(f"{path} has no column DEPS to score against")
    return sentences


def show(*row: str | float) -> None:
    cells = (f"{cell:.2f}" if isinstance(cell, float) else cell for cell in row)
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--raw-from", type=Path, required=True, help="folder with *-ud-{dev,test}.conllu")
    arguments.add_argument("--split", choices=("dev", "test", "both"), default="both")
    arguments.add_argument("--parser", default="bundled", help="parser of the words; none: gold trees alone")
    arguments.add_argument(
        "--source",
        choices=("rules", "corenlp"),
        default="rules",
        help="corenlp: the graphs of a server's own trees as well ($CORENLP_ENDPOINT)",
    )
    arguments.add_argument("--limit", type=int, help="score the first so many sentences")
    args = arguments.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    show(*HEADER)
    show(*["---"] * len(HEADER))
    for split in ("dev", "test") if args.split == "both" else (args.split,):
        sentences = read(args.raw_from, split, args.limit)
        gold = [enhanced_arcs(sentence) for sentence in sentences]
        words = [sentence.form for sentence in sentences]
        trees = {"gold": [without_graph(sentence) for sentence in sentences]}
        if args.parser != "none":
            parsed = resolve_parser(args.parser).parse_words(words)
            trees[args.parser] = [without_graph(sentence) for sentence in parsed]
        for name, graphs in GRAPHS.items():
            for tree, plain in trees.items():
                start = time.process_time()
                show(split, tree, name, *score(gold, graphs(plain)))
                speed = sum(map(len, plain)) / (time.process_time() - start)
                print(f"  {speed:,.0f} words per second", file=sys.stderr)
        if args.source == "corenlp":
            served = resolve_parser("corenlp", representation="enhancedPlusPlus").parse_words(words)
            show(split, "corenlp", "corenlp, enhanced++", *score(gold, [enhanced_arcs(s) for s in served]))


if __name__ == "__main__":
    main()
