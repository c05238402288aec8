"""Words a second of the bundled parser in one process, in several, and on a Dask cluster of as many workers
of this machine; and what the process that collects them does with a word: its size when it comes, and the
time to write it to the cache and as CoNLL-U, which no further worker takes off it.

Clocks start with the first shard that is parsed, so that the start of processes does not count, nor do its
words. Results must be those of one process. Usage:

    python examples/research/benchmarks/cluster.py --texts FILE.txt [--most 1500] [--workers 2]
"""

from __future__ import annotations

import argparse
import os
import pickle
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from attention import device_name, table

from graphdep import Sentence
from graphdep.io import write_conllu
from graphdep.parsing import ClusterParser, ParallelParser, Parser, resolve_parser
from graphdep.parsing.cached import ParseCache
from graphdep.parsing.parser import Parsed, chunks


def words_of(parses: list[list[Sentence]]) -> int:
    return sum(len(sentence) for sentences in parses for sentence in sentences)


def rate(parser: Parser, texts: list[str]) -> tuple[list[list[Sentence]], float]:
    """The parses, and words a second after the first shard."""
    stream = parser.iter_parse(iter(texts))
    first = [next(stream)]
    start = time.perf_counter()
    parses = first + list(stream)
    seconds = time.perf_counter() - start
    return parses, words_of(parses[len(next(chunks(texts))) :]) / seconds


def on_cluster(parser: Parser, texts: list[str], workers: int) -> tuple[list[list[Sentence]], float, float]:
    """The parses, words a second, and words a CPU second of the workers, whose models are loaded before."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        made = ClusterParser(parser, cluster.scheduler_address)
        made.parse([f"It {n}." for n in range(256 * workers)])
        before = sum(client.run(time.process_time).values())
        parses, speed = rate(made, texts)
        used = sum(client.run(time.process_time).values()) - before
    return parses, speed, words_of(parses) / used


def merging(texts: list[str], parses: list[list[Sentence]]) -> tuple[float, float]:
    """Words a CPU second that are unpickled, stored and written; and bytes a word as they come."""
    shards, results = list(chunks(texts)), iter(parses)
    sent = [pickle.dumps([Parsed(next(results)) for _ in shard]) for shard in shards]
    with tempfile.TemporaryDirectory() as folder:
        cache, start = ParseCache(Path(folder) / "parses.sqlite"), time.process_time()
        found = [pickle.loads(data) for data in sent]
        for shard, parsed in zip(shards, found):
            cache.store("benchmark", dict(zip(shard, parsed)))
        sentences = (s for parsed in found for each in parsed for s in each.sentences)
        write_conllu(sentences, Path(folder) / "trees.conllu")
        seconds = time.process_time() - start
    return words_of(parses) / seconds, sum(map(len, sent)) / words_of(parses)


def measure(texts: list[str], workers: int) -> tuple[list[list[str]], list[list[Sentence]]]:
    one = resolve_parser("bundled", use_gpu=False, progress=False)
    one.parse(texts[:8])
    start = time.process_time()
    expected, speed = rate(one, texts)
    cpu = words_of(expected) / (time.process_time() - start)
    rows = [["one process", f"{speed:,.0f}", f"{cpu:,.0f}"]]
    print(*rows[-1], flush=True)
    for number in sorted({1, workers} if find_spec("distributed") else ()):
        parses, speed, cpu = on_cluster(one, texts, number)
        assert parses == expected, "a cluster gives other parses"
        rows.append([f"Dask, {number} worker{'s' * (number > 1)}", f"{speed:,.0f}", f"{cpu:,.0f}"])
        print(*rows[-1], flush=True)
    parses, speed = rate(ParallelParser(one, workers), texts)
    assert parses == expected, "several processes give other parses"
    return [*rows, [f"--workers {workers}", f"{speed:,.0f}", ""]], expected


def main(argv: list[str] | None = None) -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--texts", type=Path, required=True, help="a text a line")
    arguments.add_argument("--most", type=int, default=1500, help="of them")
    arguments.add_argument("--workers", type=int, default=2)
    args = arguments.parse_args(argv)
    lines = args.texts.read_text(encoding="utf-8").split("\n")
    texts = list(dict.fromkeys(line.strip() for line in lines if line.strip()))[: args.most]
    if len(list(chunks(texts))) < 2:
        arguments.error(f"{args.texts} must have more than one shard of different texts (256)")
    load = os.getloadavg()[0]
    rows, parses = measure(texts, args.workers)
    merged, size = merging(texts, parses)
    machine = f"{device_name('cpu')}, {os.cpu_count()} cores, load {load:.1f} before"
    print(f"\n{machine}; {words_of(parses):,} words\n")
    print(table(["", "words/s", "words a CPU second of those that parse"], rows))
    print(f"\ncollecting: {merged:,.0f} words a CPU second, {size:.0f} bytes a word")


if __name__ == "__main__":
    main()
