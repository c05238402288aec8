"""The responses of several models to the same contexts, side by side (Tables 5 and 6 of DRA).

    python examples/research/sample_responses.py --responses transformer=A.jsonl --responses dra=B.jsonl \
        --count 5

The files are responses-test.jsonl of a run, or what `graphdep generate` writes: a line {"context": [...],
"response": "..."}, the same contexts in each. Which contexts are shown depends on the seed alone.
"""

import argparse
import json
import random
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--responses", action="append", required=True, metavar="NAME=FILE")
parser.add_argument("--count", type=int, default=5, help="contexts to show")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

systems = {}
for part in args.responses:
    name, _, file = part.partition("=")
    systems[name] = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
first = next(iter(systems.values()))
for name, lines in systems.items():
    if [line["context"] for line in lines] != [line["context"] for line in first]:
        raise SystemExit(f"the contexts of {name} are not those of {next(iter(systems))}")

for number in sorted(random.Random(args.seed).sample(range(len(first)), min(args.count, len(first)))):
    print(f"### Context {number}\n")
    for turn, text in enumerate(first[number]["context"]):
        print(f"- Speaker {turn % 2 + 1}: {text}")
    print("\n| model | response |\n|---|---|")
    shown = {name: lines[number]["response"] for name, lines in systems.items()}
    for name, text in {"(reference)": first[number].get("reference", ""), **shown}.items():
        print(f"| {name} | {' '.join(text.replace('|', chr(92) + '|').split())} |")
    print()
