"""Words a second of the bundled parser, with stanza's models as they are ("plain") and with what the package
does about its time: shortcuts in the models, and no search for garbage meanwhile.

Both parse the same sentences of a treebank, from given words and from raw text, take turns, and must give the
same parses. Seconds are those of this process on a core (CPU time), one thread, so that what else the machine
does counts less. Usage:

    python examples/research/benchmarks/parsing.py --raw-from DIR [--sentences 1000] [--rounds 3] \
        [--output FILE.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from unittest.mock import patch

from attention import device_name, table

from graphdep import Sentence
from graphdep.io import atomic_path, read_conllu
from graphdep.parsing import BundledParser

WARM = 20


def make_parser(name: str) -> BundledParser:
    parser = BundledParser(progress=False)
    with ExitStack() as stack:
        if name == "plain":
            stack.enter_context(patch("graphdep.parsing.stanza_shortcuts.take_shortcuts", lambda _: None))
        parser.parse(["It is loaded."])
    return parser


def seconds_of(name: str, parser: BundledParser, mode: str, gold: list[Sentence]) -> tuple[float, list]:
    with ExitStack() as stack:
        if name == "plain":
            stack.enter_context(patch("graphdep.parsing.stanza._no_collections", nullcontext))
        start = time.process_time()
        sentences = parse(parser, mode, gold)
        return time.process_time() - start, sentences


def parse(parser: BundledParser, mode: str, gold: list[Sentence]) -> list[Sentence]:
    if mode == "words":
        return parser.parse_words([sentence.form for sentence in gold])
    return [sentence for text in parser.parse([sentence.text for sentence in gold]) for sentence in text]


def measure(gold: list[Sentence], rounds: int) -> dict[str, dict[str, float]]:
    """Of each way to parse: words a second with and without shortcuts, and sentences that differ."""
    parsers = {name: make_parser(name) for name in ("plain", "shortcuts")}
    result = {}
    for mode in ("words", "raw text"):
        seconds: dict[str, list[float]] = {name: [] for name in parsers}
        parses = {}
        for parser in parsers.values():
            parse(parser, mode, gold[:WARM])
        for _ in range(rounds):
            for name, parser in parsers.items():
                taken, parses[name] = seconds_of(name, parser, mode, gold)
                seconds[name].append(taken)
        words = sum(map(len, gold))
        rates = {name: words / statistics.median(times) for name, times in seconds.items()}
        pairs = zip(parses["plain"], parses["shortcuts"], strict=True)
        result[mode] = {**rates, "different": sum(a != b for a, b in pairs)}
        print(f"{mode}: done", file=sys.stderr, flush=True)
    return result


def main(argv: list[str] | None = None) -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--raw-from", type=Path, required=True, help="folder with *-ud-test.conllu")
    arguments.add_argument("--sentences", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--output", type=Path, help="JSON file to write")
    args = arguments.parse_args(argv)
    path = next(iter(sorted(args.raw_from.glob("*-ud-test.conllu"))), None)
    if path is None:
        arguments.error(f"no *-ud-test.conllu in {args.raw_from}")
    result = measure(read_conllu(path)[: args.sentences], args.rounds)
    columns = ["from", "plain, words/s", "shortcuts, words/s", "ratio", "different sentences"]
    rows = []
    for mode, row in result.items():
        plain, quick = row["plain"], row["shortcuts"]
        rows.append([mode, f"{plain:,.0f}", f"{quick:,.0f}", f"{quick / plain:.2f}", f"{row['different']}"])
    machine = f"{device_name('cpu')}, one thread, medians of {args.rounds} interleaved rounds"
    print(f"{machine}\n\n{table(columns, rows)}")
    if args.output:
        with atomic_path(args.output) as temporary:
            text = json.dumps({"machine": machine, **result}, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
