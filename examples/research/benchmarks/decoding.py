"""Beam search over a batch of dialogues against one dialogue after the other: responses a second.

The model is Transformer+DRA with random weights, so where a response ends is laid down: after as many words
as a response of DailyDialog has, for all hypotheses of a context. Both must give the same responses. The two
take turns, the medians are compared. Usage:

    python examples/research/benchmarks/decoding.py [--dialogues 64] [--beams 4] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from attention import device_name, table
from dialogue_lengths import make_dialogues, sample_lengths
from dra_throughput import build
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import Vocab
from graphdep.decoding import DecodeConfig, Hypothesis, generate
from graphdep.io import atomic_path
from graphdep.nn.models import DialogueModel, Memory, ResponseDecoder

EOU = Vocab()["[EOU]"]
NAMES = ("batched", "one by one")


@dataclass(frozen=True)
class State:
    """The decoder's own state, the words that each example still has to give ``[E]``."""

    inner: Any
    left: Tensor


class Ending(ResponseDecoder):
    """A decoder whose responses end after a given number of words."""

    def __init__(self, decoder: ResponseDecoder, words: Tensor) -> None:
        super().__init__()
        self.decoder, self.words = decoder, words

    def start(self, memory: Memory) -> State:
        return State(self.decoder.start(memory), self.words)

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        logits, inner = self.decoder.step(state.inner, tokens)
        logits[..., EOU] = torch.where(state.left == 0, 1e4, -1e4)[:, None]
        return logits, State(inner, state.left - 1)

    def select(self, state: State, example: Tensor, beam: Tensor) -> State:
        return State(self.decoder.select(state.inner, example, beam), state.left[example])


Answers = list[list[Hypothesis]]


def respond(model: DialogueModel, data: Batch, words: Tensor, config: DecodeConfig) -> Answers:
    with torch.no_grad():
        return generate(Ending(model.decoder, words), model.encoder(data), config)


def respond_to_all(
    name: str, model: DialogueModel, dialogues: list[Data], words: Tensor, config: DecodeConfig
) -> Answers:
    groups = [dialogues] if name == "batched" else [[data] for data in dialogues]
    results, done = [], 0
    for group in groups:
        data = Batch.from_data_list(group).to(words.device)
        results += respond(model, data, words[done : done + len(group)], config)
        done += len(group)
    return results


def differences(one: Answers, other: Answers) -> int:
    """Contexts whose responses are not the same."""
    words = [[[hypothesis.ids for hypothesis in results] for results in answers] for answers in (one, other)]
    return sum(a != b for a, b in zip(*words))


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dialogues", type=int, default=64)
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--max-length", type=int, default=50)
    parser.add_argument("--hidden-channels", type=int, default=768)
    parser.add_argument("--ff-channels", type=int, help="default: four times the hidden channels")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--num-words", type=int, default=9846, help="of DailyDialog, those seen three times")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    if min(args.dialogues, args.rounds, args.threads) < 1:
        parser.error("--dialogues, --rounds and --threads must be at least 1")
    if args.smoke:
        smoke = {"dialogues": 6, "max_length": 12, "hidden_channels": 16, "heads": 2, "layers": 1}
        vars(args).update(smoke, num_words=50, rounds=2)
    args.dropout = 0.0
    torch.set_num_threads(args.threads)
    return args


def main(argv: list[str] | None = None) -> None:
    args = parse(argv)
    lengths = sample_lengths(args.dialogues)
    dialogues = make_dialogues(lengths, args.num_words)
    words = torch.tensor([response for _, response in lengths], device=args.device)
    config = DecodeConfig(
        strategy="beam", beams=args.beams, num_return=args.beams, max_length=args.max_length
    )
    model = build(args).eval()
    with torch.no_grad():  # or the hypotheses of random weights are all but tied
        model.decoder.output.lin.weight.mul_(4)
    synchronize = torch.cuda.synchronize if args.device != "cpu" else lambda: None
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    answers: dict[str, Answers] = {}
    for name in NAMES:  # warms up
        respond_to_all(name, model, dialogues[:2], words[:2], config)
    for number in range(args.rounds):
        for name in random.Random(number).sample(NAMES, 2):
            synchronize()
            start = time.perf_counter()
            answers[name] = respond_to_all(name, model, dialogues, words, config)
            synchronize()
            seconds[name].append(time.perf_counter() - start)
        print(f"round {number + 1} of {args.rounds}: done", file=sys.stderr, flush=True)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    outcome = {
        "seconds": median,
        "all_seconds": seconds,
        "speedup": median["one by one"] / median["batched"],
        "different": differences(*answers.values()),
    }
    machine = f"{device_name(args.device)}, {os.cpu_count()} cores, {args.threads} threads, "
    machine += f"torch {torch.__version__}; {args.dialogues} dialogues, beam {args.beams}, "
    machine += f"hidden {args.hidden_channels}, {args.layers} layers; "
    machine += f"medians of {args.rounds} interleaved rounds"
    rows = [[name, f"{median[name]:.2f}", f"{args.dialogues / median[name]:.2f}"] for name in NAMES]
    print(f"{machine}\n\n{table(['way', 'seconds', 'responses/s'], rows)}")
    wanted = 2.5 if args.device == "cpu" else 10
    ok = "ok  " if outcome["speedup"] >= wanted else "MISS"
    print(f"{ok} batched: {outcome['speedup']:.2f} times as fast (at least {wanted:g})", file=sys.stderr)
    same = "ok  " if outcome["different"] == 0 else "MISS"
    print(f"{same} contexts with different responses: {outcome['different']}", file=sys.stderr)
    if args.output:
        with atomic_path(args.output) as temporary:
            text = json.dumps({"machine": machine, **outcome}, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
