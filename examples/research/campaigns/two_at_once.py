"""Two processes on one cache, corpus, run and table; threads on one parser and one predictor.

Run: python examples/research/campaigns/two_at_once.py [--seed N] [--count N] [--minutes N] [--write]
Each process gives the result of one that is alone, or says that another one is there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from harness import PATIENCE, Bounds, Tally, main, start, tail, timed, wait
from works import SIZES, Work, works

_CHOSEN = ("parse, one process", "dataset processing", "pairs on disk", "train, sentences", "ablate")

THREADS = ("threads on one parser", "threads on one predictor")


def run(bounds: Bounds, folder: Path) -> Iterator[Tally]:
    chosen = [work for work in works(folder) if work.name in _CHOSEN]
    parts = len(chosen) + 2
    for work in filter(lambda work: bounds.wants(work.name), chosen):
        yield _two(work, bounds.part(parts), folder)
    if bounds.wants(THREADS[0]):
        yield _parser(bounds.part(parts))
    if bounds.wants(THREADS[1]):
        yield _predictor(bounds.part(parts), folder)


def _two(work: Work, bounds: Bounds, folder: Path) -> Tally:
    tally, rng = Tally("two at once", work.name, bounds.seed), bounds.random(work.name)
    logs = [folder / f"log{number}" for number in range(2)]
    with timed(tally):
        expected, _ = work.undisturbed(logs[0])
        while bounds.more(tally.cases):
            work.fresh()
            tally.add(*_round(work, logs, rng.choice((0, 0, 0.05, 0.3)), expected))
    return tally


def _round(work: Work, logs: list[Path], later: float, expected: object) -> tuple[str, str]:
    first = start(work.action, logs[0])
    time.sleep(later)
    second = start(work.action, logs[1])
    codes = [wait(child, PATIENCE) for child in (first, second)]
    if None in codes:
        return "hangs", ", ".join(map(tail, logs))
    for code, log in zip(codes, logs):
        if code and "another process" not in tail(log):
            return "crashes", f"exit {code}: {tail(log)}"
    if all(codes):
        return "losses", "each says that the other one is there"
    outcome, about = work.compared(expected)
    return ("documented" if outcome == "valid" and any(codes) else outcome), about


# -- threads of a web service ------------------------------------------------------------------------------


def _global() -> tuple[int, int, str]:
    """What is of the whole process, and no thread may change."""
    mask = os.umask(0o022)
    os.umask(mask)
    return torch.get_num_threads(), mask, os.getcwd()


def _parser(bounds: Bounds) -> Tally:
    from graphdep.parsing import resolve_parser

    tally, parser = Tally("two at once", THREADS[0], bounds.seed), resolve_parser("bundled")
    texts = [f"The dog {number} chased a cat." for number in range(8)]
    with timed(tally):
        expected, before = [parser.parse([text]) for text in texts], _global()
        while bounds.more(tally.cases):
            with ThreadPoolExecutor(4) as threads:
                found = list(threads.map(lambda text: parser.parse([text]), texts))
            same = found == expected and _global() == before
            tally.add("valid" if same else "losses", "another tree, or something global has changed")
    return tally


def _predictor(bounds: Bounds, folder: Path) -> Tally:
    from graphdep import load
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_sst

    tally = Tally("two at once", THREADS[1], bounds.seed)
    settings = {**SIZES, **write_tiny_sst(folder / "sst-threads"), "max_epochs": 1}
    config = TrainConfig.of("dt", task="sst", **settings)
    model = load(train(config, folder / "run")["checkpoint"], parser="chain")
    texts = [f"ann likes {'very ' * number}bob" for number in range(8)]
    with timed(tally):
        expected, before = [model.predict_proba([text]).tolist() for text in texts], _global()
        while bounds.more(tally.cases):
            with ThreadPoolExecutor(4) as threads:
                found = list(threads.map(lambda text: model.predict_proba([text]).tolist(), texts))
            same = found == expected and _global() == before
            tally.add("valid" if same else "losses", "other numbers, or something global has changed")
    return tally


if __name__ == "__main__":
    main(__doc__ or "", run, count=50)
