from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import types
from contextlib import closing
from pathlib import Path

import pytest

from graphdep.parsing import CachedParser, ClusterParser, ParserUnavailableError, resolve_parser
from graphdep.parsing import cluster as cluster_parser
from graphdep.parsing import parser as items
from graphdep.parsing.cluster import shard_key
from graphdep.parsing.parser import ChainParser
from tests.kit.streams import Counted

TEXTS = [f"the dog number {number} barks . it ran" for number in range(40)]


class Killing(ChainParser):
    """Kills its process, the first time that it parses a text of this kind; each parse leaves a file."""

    def __init__(self, folder: Path, every_time: bool = False) -> None:
        super().__init__()
        self.folder, self.every_time = folder, every_time

    def parse_texts(self, texts):
        (self.folder / f"{os.getpid()}-{len(list(self.folder.iterdir()))}").write_text("\n".join(texts))
        killed = self.folder / "killed"
        if TEXTS[17] in texts and (self.every_time or not killed.exists()):
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().parse_texts(texts)


class Elsewhere(ChainParser):
    """Of another version in another process."""

    home = os.getpid()

    @property
    def fingerprint(self):
        return f"here {os.getpid() == self.home}"

    def __reduce__(self):
        return _elsewhere, (self.home,)


def _elsewhere(home):
    parser = Elsewhere()
    parser.home = home
    return parser


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2])  # where the processes find the classes of this file
        patch.setenv("OMP_NUM_THREADS", "1")
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
            yield made


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(items, "_CHUNK_ITEMS", 3)


def rows(path):
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM parses ORDER BY digest").fetchall()


def parsed_texts(folder):
    files = [path for path in folder.iterdir() if path.name != "killed"]
    return sorted(text for path in files for text in path.read_text().split("\n"))


@pytest.mark.cluster
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kill", [False, True])
def test_results_are_those_of_one_process_even_if_a_worker_is_killed(cluster, tmp_path, kill):
    folder = tmp_path / "asked"
    folder.mkdir()
    if not kill:
        (folder / "killed").touch()
    parser = Killing(folder)
    made = resolve_parser(parser, scheduler=cluster.scheduler_address, cache=tmp_path / "many.sqlite")
    one = CachedParser(ChainParser(), tmp_path / "one.sqlite")
    assert list(made.iter_parse(iter(TEXTS))) == list(one.iter_parse(iter(TEXTS)))
    assert (folder / "killed").exists()
    assert made.failures == 0
    assert rows(tmp_path / "many.sqlite") == rows(tmp_path / "one.sqlite")
    if not kill:
        assert parsed_texts(folder) == sorted(TEXTS)  # each once
    assert TEXTS[17] in parsed_texts(folder)


@pytest.mark.cluster
@pytest.mark.usefixtures("small_chunks")
def test_cached_shards_are_not_parsed_again(cluster, tmp_path):
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked" / "killed").touch()
    parser = Killing(tmp_path / "asked")
    made = resolve_parser(parser, scheduler=cluster.scheduler_address, cache=tmp_path / "parses.sqlite")
    before = list(made.iter_parse(TEXTS[:21]))
    assert list(made.iter_parse(TEXTS))[:21] == before
    assert parsed_texts(tmp_path / "asked") == sorted(TEXTS)
    # All are there: nobody is asked any more, nor is the scheduler called.
    again = resolve_parser(parser, scheduler="tcp://127.0.0.1:1", cache=tmp_path / "parses.sqlite")
    assert list(again.iter_parse(TEXTS))[:21] == before


@pytest.mark.cluster
@pytest.mark.usefixtures("small_chunks")
def test_a_shard_that_kills_every_worker_is_an_error(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)  # each one more would be a process to start
    made = ClusterParser(Killing(tmp_path, every_time=True), cluster.scheduler_address)
    with pytest.raises(RuntimeError, match=r"several workers of 'tcp://.*' died on one shard"):
        made.parse(TEXTS)


@pytest.mark.cluster
@pytest.mark.usefixtures("small_chunks")
def test_few_shards_are_in_progress(cluster):
    """Four for each of two threads, of three texts each, and the text that begins the next one."""
    texts = Counted(TEXTS * 5)
    made = ClusterParser(ChainParser(), cluster.scheduler_address)
    most = 0
    for number, _ in enumerate(made.iter_parse(texts), start=1):
        most = max(most, texts.taken - number)
    assert number == 200
    assert most <= 3 * 4 * 2 + 1


@pytest.mark.cluster
def test_words_and_several_sentences(cluster):
    words = [["a", str(number % 5)] for number in range(12)]
    made = ClusterParser(ChainParser(), cluster.scheduler_address)
    assert made.parse_words(words) == ChainParser().parse_words(words)


@pytest.mark.cluster
def test_a_worker_of_another_version_is_refused(cluster):
    made = ClusterParser(Elsewhere(), cluster.scheduler_address)
    with pytest.raises(ParserUnavailableError, match="a worker has other models or versions .*'here False'"):
        made.parse(["a b"])


@pytest.mark.cluster
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nobody", "http://127.0.0.1:1"])
def test_no_scheduler_is_one_line(address):
    with pytest.raises(ParserUnavailableError, match=f"no Dask scheduler at '{address}': "):
        ClusterParser(ChainParser(), address).parse(["a b"])


@pytest.mark.cluster
def test_a_scheduler_that_goes_away(tmp_path):
    from distributed import LocalCluster

    with LocalCluster(1, processes=False, protocol="tcp", dashboard_address=":0") as own:
        texts = Counted(TEXTS * 200)
        results = ClusterParser(ChainParser(), own.scheduler_address).iter_parse(texts)
        next(results)
        own.close()
        with pytest.raises(RuntimeError, match="the scheduler 'tcp://.*' is gone"):
            list(results)


@pytest.mark.cluster
def test_the_command_writes_what_one_process_writes(cluster, tmp_path):
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in TEXTS * 20), encoding="utf-8")
    outputs = []
    for name, given in (("one", []), ("many", ["--scheduler", cluster.scheduler_address])):
        command = [sys.executable, "-m", "graphdep", "parse", "texts.txt", "--parser", "chain", *given]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        command += ["--output", f"{name}.conllu", "--cache", f"{name}.sqlite"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
        outputs.append(((tmp_path / f"{name}.conllu").read_bytes(), rows(tmp_path / f"{name}.sqlite")))
    assert outputs[0] == outputs[1]


def test_the_key_of_a_shard_depends_on_its_texts_and_parser():
    names = {
        shard_key(*given)
        for given in (
            ("chain/1", ["a b"]),
            ("chain/2", ["a b"]),
            ("chain/1", ["a", "b"]),
            ("chain/1", [("a", "b")]),
            ("chain/1", ["\udcff"]),
        )
    }
    assert len(names) == 5
    assert shard_key("chain/1", ["a b"]) in names


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"comes with graphdep\[cluster\]"):
        resolve_parser("chain", scheduler="tcp://127.0.0.1:8786")


def test_processes_and_a_cluster_are_not_both(monkeypatch):
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    with pytest.raises(ValueError, match=r"'workers' must be 1 with 'scheduler'.*\(got 2\)"):
        resolve_parser("chain", scheduler="tcp://127.0.0.1:8786", workers=2)
    made = ClusterParser(ChainParser(), "tcp://node1:8786")
    assert repr(made) == "ClusterParser(ChainParser('chain/1'), 'tcp://node1:8786')"


@pytest.mark.cluster
def test_a_scheduler_that_never_answers_is_an_error(monkeypatch):
    monkeypatch.setattr(cluster_parser, "_CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ParserUnavailableError, match=f"no Dask scheduler at '{address}': "):
            resolve_parser("chain", scheduler=address).parse(["a b"])
