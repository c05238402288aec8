"""The rows of ratios.py: each function measures some, on one thread where it does not say otherwise.

Everything is compared with something else that runs in turns with it, or is CPU time, so that what else the
machine does counts little.
"""

from __future__ import annotations

import csv
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import attention
import dialogue_lengths
import parsing
import pretrained
import torch
import training_step
from torch import Tensor, nn
from torch_geometric.data import Batch

from graphdep import RelationVocab, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, DRAConv, GatedRelationConv, SIAConv
from graphdep.transforms import resolve

LAYERS = 3


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        part: What it belongs to.
        what: What is measured, and against what.
        value: What was found.
        target: What it is to be; :obj:`None`: it is given for information.
        least: Whether the target is the least value, else the largest.
        before: What it was before this was worked on, where that is known.
    """

    part: str
    what: str
    value: float
    target: float | None = None
    least: bool = True
    before: float | None = None

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.least else self.value <= self.target


@dataclass(frozen=True)
class Options:
    """What the rows need: corpora, MiniLM, a folder for what is processed, and how often to measure."""

    raw: Path | None
    encoder: str | None
    folder: Path
    tiny: bool = False
    python: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def rounds(self) -> int:
        return 1 if self.tiny else 5

    def corpus(self, *names: str) -> Path:
        """A folder of the corpora.

        Raises:
            FileNotFoundError: If it is not there.
        """
        path = (self.raw or Path("no-corpora")).joinpath(*names)
        if not path.exists():
            raise FileNotFoundError(f"no {path}: --raw-from")
        return path


# -- layers --------------------------------------------------------------------------------------------------


def layers(options: Options) -> Iterator[Row]:
    """A layer's forward and backward pass over that of its projections, on DailyDialog's lengths."""
    before = {"dra": (1.15, 1.98), "sia": (1.30, 2.62), "transformer-utterance": (1.21, 1.93)}
    sizes = ((16, 2), (8, 2)) if options.tiny else ((768, 16), (256, 8))
    for place, (channels, heads) in enumerate(sizes):
        for preset in before:
            count = 2 if options.tiny else 16
            contexts = [turns for turns, _ in dialogue_lengths.sample_lengths(count)]
            ratio = over_projections(options, preset, contexts, channels, heads)
            target = 1.5 if place else None
            what = f"{preset}, {channels} channels, {heads} heads: over its projections"
            yield Row("layer", what, ratio, target, False, before[preset][place])
    channels, heads = (12, 2) if options.tiny else (300, 6)
    ratio = over_projections(options, "dt", [[20]] * (2 if options.tiny else 32), channels, heads)
    yield Row("layer", f"dt, {channels} channels, 20 words: over its projections", ratio, before=2.16)


def over_projections(
    options: Options, preset: str, contexts: list[list[int]], channels: int, heads: int
) -> float:
    """How many times as long layers that share a layout take as their projections alone."""
    generator = torch.Generator().manual_seed(0)
    trees = [to_data([attention.random_sentence(n, generator) for n in turns]) for turns in contexts]
    batch = resolve(preset, implicit=True)(Batch.from_data_list(trees))
    torch.manual_seed(0)
    convs = [make_conv(preset, channels, heads) for _ in range(LAYERS)]
    lins = [nn.Linear(channels, 3 * channels) for _ in range(LAYERS)]
    x = torch.randn(batch.num_nodes, channels, requires_grad=True)

    def attend() -> None:
        layout = AttentionLayout.of(batch)
        train([conv(x, layout) for conv in convs], convs, x)

    methods = {"layer": attend, "projections": lambda: train([lin(x) for lin in lins], lins, x)}
    best = dict.fromkeys(methods, float("inf"))
    for _ in range(2 * options.rounds + 1):
        for name, run in methods.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best["layer"] / best["projections"]


def make_conv(preset: str, channels: int, heads: int) -> AttentionConv:
    if preset == "dt":
        return GatedRelationConv(channels, channels // heads, heads, num_relations=len(RelationVocab()))
    kind = {"dra": DRAConv, "sia": SIAConv}.get(preset, AttentionConv)
    return kind(channels, channels // heads, heads)


def train(outs: list[Tensor], modules: list[Any], x: Tensor) -> None:
    parameters = [p for module in modules for p in module.parameters()]
    torch.autograd.grad(sum(out.sum() for out in outs), [x, *parameters])


# -- pretrained encoders -------------------------------------------------------------------------------------


def fine_tuning(options: Options) -> Iterator[Row]:
    """Words a second of MiniLM, packed over padded (sdpa), by how batches are made."""
    for corpus, batch_size in (("dailydialog", 16), ("cola", 32)):
        lengths = options.folder / f"{corpus}_lengths.txt"
        lengths.write_text("\n".join(map(str, piece_lengths(options, corpus))), encoding="utf-8")
        given = ["--encoder", str(options.encoder), "--lengths", str(lengths), "--padded", "sdpa"]
        given += ["--batch-size", str(2 if options.tiny else batch_size), "--threads", "1"]
        given += ["--batches", str(1 if options.tiny else 2 if corpus == "dailydialog" else 6)]
        args = pretrained.parse([*given, "--rounds", str(1 if options.tiny else 3)])
        args.names = ["packed", "sdpa"]
        encoder = pretrained.load_encoder(args.encoder)
        for batching, least in pretrained.LEAST_SPEEDUP.items():
            batches = pretrained.make_batches(args, encoder, batching)
            found = pretrained.side_by_side.speed(
                pretrained.make_trainer, args, batches, pretrained.num_words
            )
            rates = found["words_per_second"]
            what = f"MiniLM, {corpus}, {batching} batches of {args.batch_size}: words a second over sdpa"
            yield Row("fine-tuning", what, rates["packed"] / rates["sdpa"], least)


def piece_lengths(options: Options, corpus: str, limit: int = 3000) -> list[int]:
    """About how many pieces examples have: words and punctuation, and a tenth more, with [CLS] and [SEP]."""
    if corpus == "cola":
        file = next(options.corpus("cola").rglob("in_domain_train.tsv"))
        lines = file.read_text(encoding="utf-8").splitlines()
        texts = [line.split("\t")[-1] for line in lines]
        return [pieces(text) + 2 for text in random.Random(0).sample(texts, min(limit, len(texts)))]
    file = next(options.corpus("dailydialog").rglob("dialogues_test.txt"))
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        turns = [pieces(turn) + 1 for turn in line.split("__eou__") if turn.strip()]
        found += [min(256, sum(turns[: i + 1]) + 2) for i in range(1, len(turns))]
    return random.Random(0).sample(found, min(limit, len(found)))


def pieces(text: str) -> int:
    return round(1.1 * len(text.split()))


# -- training ------------------------------------------------------------------------------------------------


def around(options: Options) -> Iterator[Row]:
    """The share of a step that is not the model's arithmetic."""
    limit, steps = ("60", 2) if options.tiny else ("400", 8)
    for name, config in training_step.CONFIGS.items():
        given = ["--raw-from", str(options.raw), "--root", str(options.folder), "--limit", limit]
        given += ["--encoder", str(options.encoder)] if options.encoder else []
        given += ["--parser", "chain"] if options.tiny else []
        options.corpus(config["raw_from"])
        if name == "bert" and not options.encoder:
            continue
        args = training_step.parse([*given, "--batch-size", "8" if options.tiny else "32"])
        seconds = training_step.measure(training_step.config_of(name, args), steps)
        share = 1 - sum(seconds[part] for part in training_step.OWN) / sum(seconds.values())
        yield Row("training", f"{name}: share of a step around the model", share, training_step.MOST, False)


def half_precision(options: Options) -> Iterator[Row]:
    """How many times as fast projections are in bf16 here, which decides what precision=auto is."""
    from graphdep.training.build import gain_of_bf16

    gain = gain_of_bf16(768, 1)
    yield Row("bf16", "a projection of 768 channels: speed of bf16 over fp32, forward and backward", gain)


STEP = """
import sys, time, torch
torch.set_num_threads(2)
layers = (layer for _ in range(6) for layer in (torch.nn.Linear(300, 300), torch.nn.ReLU()))
blocks = torch.nn.Sequential(*layers)
x, optimizer = torch.randn(400, 300), torch.optim.Adam(blocks.parameters())
best, until = 1e9, time.perf_counter() + float(sys.argv[1])
while time.perf_counter() < until:
    start = time.perf_counter()
    for _ in range(10):
        optimizer.zero_grad(); blocks(x).sum().backward(); optimizer.step()
    best = min(best, time.perf_counter() - start)
print(best)
"""


def threads(options: Options) -> Iterator[Row]:
    """What threads that spin for a while only cost a run that has the machine to itself: two threads."""
    kept = {
        key: value
        for key, value in options.python.items()
        if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    ways = {"bounded": {"GOMP_SPINCOUNT": "30000"}, "spinning": {"OMP_WAIT_POLICY": "ACTIVE"}}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(1 if options.tiny else 3):
        for name, way in ways.items():
            command = [sys.executable, "-c", STEP, "0.1" if options.tiny else "3"]
            env = kept | way | {"OMP_NUM_THREADS": "2"}
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            found[name].append(float(done.stdout))
    ratio = min(found["bounded"]) / min(found["spinning"])
    yield Row("threads", "GOMP_SPINCOUNT=30000 over ACTIVE, two threads, wall time", ratio, 1.05, False)


MEMORY = """
import json, sys, warnings
from graphdep.training import TrainConfig, train
warnings.simplefilter("ignore")
config, folder = json.loads(sys.argv[1]), sys.argv[2]
train(TrainConfig.of("bert", **config), folder)
line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(line.split()[1]) / 1024)
"""


def memory(options: Options) -> Iterator[Row]:
    """Peak of fine-tuning MiniLM on pairs of 200 to 512 pieces, with the settings as they are by default, and
    with batches of 32 examples whatever they have.
    """
    source, count = random.Random(0), 8 if options.tiny else 36
    words = "the cat sat on a mat and saw that it was good to be there".split()
    for name, number in (("train", count), ("val", 4)):
        with open(options.folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["left", "right", "label"])
            for i in range(number):
                most = 20 if options.tiny else 300
                texts = [" ".join(source.choices(words, k=source.randint(most // 3, most))) for _ in range(2)]
                lines.writerow([*texts, "ab"[i % 2]])
    config = {"task": "csv", "encoder": options.encoder, "max_length": 64 if options.tiny else 512}
    config |= {"max_epochs": 1, "floor_frozen": False} | {
        name: str(options.folder / f"{name}.csv") for name in ("train", "val")
    }
    config |= {
        "text_columns": "left,right",
        "label_column": "label",
        "parser": "chain",
        "accelerator": "cpu",
        "root": str(options.folder / "pairs"),
    }
    usual = peak_of(options, config)
    unlimited = peak_of(options, config | {"batch_pieces": 100000})
    what = "MiniLM, pairs of up to 512 pieces: peak of the process"
    yield Row("memory", f"{what} in GB", usual)
    yield Row("memory", f"{what}, over that without batch_pieces", usual / unlimited, 0.5, False)


def peak_of(options: Options, config: dict[str, Any]) -> float:
    command = [sys.executable, "-c", MEMORY, json.dumps(config), str(options.folder / f"run{len(config)}")]
    done = subprocess.run(command, env=options.python, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return float(done.stdout.split()[-1]) / 1024


# -- parsing and starting ------------------------------------------------------------------------------------


def parser(options: Options) -> Iterator[Row]:
    """The bundled parser against stanza's models as they are; and with two processes."""
    path = next(iter(sorted(options.corpus("ud", "UD_English-EWT").glob("*-ud-test.conllu"))))
    gold = parsing.read_conllu(path)
    found = parsing.measure(gold[: 5 if options.tiny else 300], 1 if options.tiny else 2)
    for mode, row in found.items():
        ratio = row["shortcuts"] / row["plain"]
        yield Row("parsing", f"from {mode}: words a second, over stanza's own", ratio, 2.0)
        yield Row("parsing", f"from {mode}: words a second", row["shortcuts"])
    yield workers(gold[:5] if options.tiny else gold)


def workers(gold: list[Any]) -> Row:
    """Wall time, the start of the processes included."""
    from graphdep.parsing import resolve_parser

    texts, seconds = [sentence.form for sentence in gold], {}
    for number in (1, 2):
        one = resolve_parser("bundled", workers=number, progress=False)
        one.parse_words(texts[:1])
        start = time.perf_counter()
        one.parse_words(texts[1:])
        seconds[number] = time.perf_counter() - start
    what = f"--workers 2: words a second over one process, {len(gold)} sentences, starts included"
    return Row("parsing", what, seconds[1] / seconds[2])


def starting(options: Options) -> Iterator[Row]:
    """CPU seconds until the command line answers, the least of some times."""
    # Completion is asked for by variables, as a shell does.
    completion = {"_GRAPHDEP_COMPLETE": "complete_bash", "COMP_WORDS": "graphdep tr", "COMP_CWORD": "1"}
    asked: dict[str, tuple[list[str], dict[str, str]]] = {
        "graphdep --help": (["--help"], {}),
        "graphdep --version": (["--version"], {}),
        "graphdep train --wrong": (["train", "--wrong"], {}),
        "completion of a command": ([], completion),
    }
    # What was compiled stays, as in a package that is installed; the first call compiles and does not count.
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(options.folder / "compiled")}
    for name, (words, env) in asked.items():
        times = []
        for _ in range(2 if options.tiny else 4):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "graphdep", *words]
            subprocess.run(command, env=options.python | kept | env, capture_output=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        yield Row("starting", f"{name}: CPU seconds", min(times[1:]), 0.5, False, 6.2)


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "layer": layers,
    "fine-tuning": fine_tuning,
    "bf16": half_precision,
    "threads": threads,
    "training": around,
    "memory": memory,
    "parsing": parser,
    "starting": starting,
}
