"""Files that a stranger has made to run code, to write elsewhere, or to be shown as a page or a sheet.

Run: python examples/research/campaigns/hostile_files.py [--seed N] [--count N] [--minutes N] [--write]
Each must end in a documented error, or in a result that has none of it. What is trusted is in SECURITY.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pickle
import resource
import shutil
import sqlite3
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from harness import Bounds, Tally, main, timed
from works import SIZES

_DOCUMENTED = (ValueError, FileNotFoundError)


class Evil:
    """What an unpickler runs."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.canary, "code was run")


@dataclass
class Place:
    """Where a case works: what was trained, a file that code would write, and a precious one."""

    folder: Path
    checkpoint: Path
    texts: Path

    @property
    def canary(self) -> Path:
        return self.folder / "canary"

    @property
    def code(self) -> str:
        return f"import pathlib; pathlib.Path({str(self.canary)!r}).write_text('code was run')"


def run(bounds: Bounds, folder: Path) -> Iterator[Tally]:
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_sst

    logging.getLogger("graphdep").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    settings = {**SIZES, **write_tiny_sst(folder / "sst"), "max_epochs": 1}
    checkpoint = Path(train(TrainConfig.of("dt", task="sst", **settings), folder / "run")["checkpoint"])
    tally = Tally("hostile files", "crafted", bounds.seed)
    with timed(tally):
        for case in CASES[: bounds.count]:
            own = folder / case.__name__
            own.mkdir()
            tally.add(*_outcome(case, Place(own, checkpoint, folder / "sst")))
    yield tally


def _outcome(case: Callable[[Place], object], place: Place) -> tuple[str, str]:
    name, before = case.__name__, _outside(place)
    try:
        case(place)
    except _DOCUMENTED:
        outcome = "documented"
    except AssertionError as error:
        return "losses", f"{name}: {error}"
    except Exception as error:
        kind = type(error).__name__
        outcome = "documented" if kind in ("ParserUnavailableError", "ImportError") else ""
        if not outcome:
            return "crashes", f"{name}: {kind}: {str(error)[:200]}"
    else:
        outcome = "valid"
    if place.canary.exists():
        return "losses", f"{name}: code was run"
    return (
        (outcome, "") if _outside(place) == before else ("losses", f"{name}: something outside was written")
    )


def _outside(place: Place) -> list[tuple[str, int, int]]:
    """All files beside the case's own folder, and those named as what archives of strangers hold."""
    beside = [path for path in place.folder.parent.rglob("*") if place.folder not in path.parents]
    escaped = [path for folder in (*place.folder.parents, Path("/tmp")) for path in folder.glob("escaped*")]
    found = [(path, path.lstat()) for path in {*beside, *escaped} if not path.is_dir()]
    return sorted((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in found)


# -- code ---------------------------------------------------------------------------------------------------


def pickle_in_a_checkpoint(place: Place) -> None:
    from graphdep.training import load_task

    content = torch.load(place.checkpoint, weights_only=True)
    torch.save(
        {**content, "graphdep": {**content["graphdep"], "data": {"x": Evil(place.canary)}}},
        place.folder / "a.ckpt",
    )
    load_task(place.folder / "a.ckpt")


def pickle_alone_as_a_checkpoint(place: Place) -> None:
    from graphdep.training import load_task

    (place.folder / "a.ckpt").write_bytes(pickle.dumps(Evil(place.canary)))
    load_task(place.folder / "a.ckpt")


def module_of_edges_in_a_checkpoint(place: Place) -> None:
    from graphdep.training import load_task

    content = torch.load(place.checkpoint, weights_only=True)
    config = {**content["graphdep"]["config"], "edges": "evil_edges:Edges"}
    (place.folder / "evil_edges.py").write_text(place.code)
    torch.save({**content, "graphdep": {**content["graphdep"], "config": config}}, place.folder / "a.ckpt")
    here = os.getcwd()
    os.chdir(place.folder)
    try:
        load_task(place.folder / "a.ckpt")
    finally:
        os.chdir(here)


def places_in_a_checkpoint(place: Place) -> None:
    from graphdep.training import evaluate

    content = torch.load(place.checkpoint, weights_only=True)
    config = {
        **content["graphdep"]["config"],
        "root": str(place.folder.parent / "victim"),
        "parser": "bundled:/x",
    }
    torch.save({**content, "graphdep": {**content["graphdep"], "config": config}}, place.folder / "a.ckpt")
    evaluate(place.folder / "a.ckpt", "test")


def members_of_an_archive_that_point_out(place: Place) -> None:
    from graphdep.training import load_task

    with zipfile.ZipFile(place.folder / "a.ckpt", "w") as archive:
        for name in ("../../escaped", "/tmp/escaped", "archive/data.pkl", "archive/../../../escaped"):
            archive.writestr(name, pickle.dumps(Evil(place.canary)))
    load_task(place.folder / "a.ckpt")


def a_bomb_as_a_checkpoint(place: Place) -> None:
    from graphdep.training import load_task

    with zipfile.ZipFile(place.folder / "a.ckpt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(2**29))
    with _no_more_than(2**28):
        load_task(place.folder / "a.ckpt")


@contextlib.contextmanager
def _no_more_than(size: int) -> Iterator[None]:
    """Memory that is asked for beyond what the process has is refused."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def pickle_in_a_processed_corpus(place: Place) -> None:
    import io

    from graphdep.datasets.base.parsed import FORMAT, load_examples

    buffer = io.BytesIO()
    torch.save({"x": Evil(place.canary)}, buffer)
    head = f"{FORMAT}\n".encode() + hashlib.sha256(buffer.getvalue()).digest()
    (place.folder / "train.pt").write_bytes(head + buffer.getvalue())
    assert load_examples(place.folder / "train.pt") is None, "objects were loaded"


def pickle_in_a_cache_of_parses(place: Place) -> None:
    from graphdep import Sentence
    from graphdep.parsing.cached import ParseCache
    from graphdep.parsing.parser import Parsed

    cache = ParseCache(place.folder / "parses.sqlite")
    cache.store("f", {"it rains": Parsed([Sentence.chain(["it", "rains"])], None)})
    with closing(sqlite3.connect(cache.path, isolation_level=None)) as database:
        database.execute("UPDATE parses SET sentences = ?", [pickle.dumps(Evil(place.canary))])
    assert not cache.load("f", ["it rains"]), "a pickle is a parse"


def a_bomb_in_a_cache_of_parses(place: Place) -> None:
    from graphdep import Sentence
    from graphdep.parsing.cached import ParseCache
    from graphdep.parsing.parser import Parsed

    cache = ParseCache(place.folder / "parses.sqlite")
    cache.store("f", {"it rains": Parsed([Sentence.chain(["it", "rains"])], None)})
    pack = zlib.compressobj()
    bomb = b"".join([pack.compress(b"["), *(pack.compress(bytes(2**24)) for _ in range(64)), pack.flush()])
    with closing(sqlite3.connect(cache.path, isolation_level=None)) as database:
        database.execute("UPDATE parses SET sentences = ?", (bomb,))
    with _no_more_than(2**29):
        assert not cache.load("f", ["it rains"]), "a bomb is a parse"


def sql_in_a_cache_of_parses(place: Place) -> None:
    """A trigger runs SQL of a stranger's when the cache is written, a view when it is read."""
    from graphdep.parsing.cached import ParseCache

    for name, sql in (
        ("trigger", "CREATE TRIGGER t AFTER INSERT ON parses BEGIN DELETE FROM parses; END"),
        ("view", "CREATE VIEW v AS SELECT * FROM parses"),
    ):
        cache = ParseCache(place.folder / f"{name}.sqlite")
        with closing(sqlite3.connect(cache.path, isolation_level=None)) as database:
            database.execute(sql)
        try:
            ParseCache(cache.path)
        except ValueError as error:
            assert "has a trigger or view" in str(error)
        else:
            raise AssertionError(f"a {name} is taken")


def sql_in_pairs_on_disk(place: Place) -> None:
    from graphdep.datasets import Ubuntu
    from tests.kit.tiny_corpora import write_tiny_selection

    settings = write_tiny_selection(place.folder / "ubuntu")
    whole = [data.num_nodes for data in Ubuntu(settings["root"], "test", settings["parser"], log=False)]
    (store,) = Path(settings["root"]).rglob("test-*.sqlite")
    with closing(sqlite3.connect(store, isolation_level=None)) as database:
        database.execute("CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM notes; END")
    again = [data.num_nodes for data in Ubuntu(settings["root"], "test", settings["parser"], log=False)]
    with closing(sqlite3.connect(store, isolation_level=None)) as database:
        left = database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()[0]
    assert again == whole
    assert not left, "a trigger is taken"


def pickle_in_a_folder_of_a_parser(place: Place) -> None:
    from graphdep.parsing import bundled as bundled_parser
    from graphdep.parsing import resolve_parser

    source = Path(bundled_parser.__file__).with_name("bundled")
    for name in ("en_ewt_tokenizer.pt", "en_ewt_parser.pt"):
        folder = place.folder / name
        shutil.copytree(source, folder)
        (folder / "SHA256SUMS").unlink(missing_ok=True)
        torch.save({"model": Evil(place.canary), "config": {}}, folder / name)
        try:
            resolve_parser(f"bundled:{folder}").parse(["It rains."])
        except Exception as error:
            assert type(error).__name__ in ("ParserUnavailableError", "ValueError"), repr(error)
        else:
            raise AssertionError(f"{name} was loaded")


def objects_in_a_file_of_settings(place: Place) -> None:
    from graphdep.training.config import read_run

    path = place.folder / "run.yaml"
    path.write_text(f'lr: !!python/object/apply:pathlib.Path.write_text ["{place.canary}", "code was run"]\n')
    read_run(path)


def code_of_an_encoder(place: Place) -> None:
    from graphdep.nn.pretrained import load_encoder
    from tests.kit.tiny_encoder import write_tiny_encoder

    folder = Path(write_tiny_encoder(place.folder / "encoder"))
    for name in ("config.json", "tokenizer_config.json"):
        value = json.loads((folder / name).read_text(encoding="utf-8"))
        names = dict.fromkeys(("AutoConfig", "AutoModel"), "evil.Evil")
        value["auto_map"] = {**names, "AutoTokenizer": ["evil.Evil", "evil.Evil"]}
        (folder / name).write_text(json.dumps({**value, "model_type": "evil"}), encoding="utf-8")
    (folder / "evil.py").write_text(place.code)
    load_encoder(str(folder))


def pickle_as_the_weights_of_an_encoder(place: Place) -> None:
    from graphdep.nn.pretrained import load_encoder
    from tests.kit.tiny_encoder import write_tiny_encoder

    folder = Path(write_tiny_encoder(place.folder / "encoder"))
    for path in folder.glob("*.safetensors"):
        path.unlink()
    torch.save({"embeddings.word_embeddings.weight": Evil(place.canary)}, folder / "pytorch_model.bin")
    load_encoder(str(folder))


# -- elsewhere ----------------------------------------------------------------------------------------------


def a_lock_that_is_a_link(place: Place) -> None:
    from graphdep.training.run import folder_lock

    precious = place.folder.parent / "precious.txt"
    precious.write_text("precious")
    run = place.folder / "run"
    run.mkdir()
    (run / ".lock").symlink_to(precious)
    try:
        with folder_lock(run):
            raise AssertionError("a link is a lock")
    finally:
        assert precious.read_text() == "precious"
        precious.unlink()


def leftovers_that_are_links(place: Place) -> None:
    from graphdep.io import atomic_path

    precious = place.folder / "precious"
    precious.mkdir()
    (precious / "file").write_text("precious")
    (place.folder / ".a.csv.abcdefgh.csv").symlink_to(precious / "file")
    (place.folder / ".a.csv.abcdefgi.csv").symlink_to(precious)
    with atomic_path(place.folder / "a.csv") as path:
        path.write_text("x")
    assert (precious / "file").read_text() == "precious"


def entities_in_xml(place: Place) -> None:
    from graphdep.datasets.spans.corpora import read_aspect_terms

    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    for entity in ('<!ENTITY x SYSTEM "file:///etc/passwd">', f'<!ENTITY a0 "x">{bomb}<!ENTITY x "&a11;">'):
        path = place.folder / "a.xml"
        path.write_text(
            f"<!DOCTYPE s [{entity}]><sentences><sentence><text>&x;</text></sentence></sentences>"
        )
        try:
            read_aspect_terms(path)
        except ValueError:
            continue
        raise AssertionError("entities are read")


# -- pages and sheets ----------------------------------------------------------------------------------------

_SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


def script_in_a_page(place: Place) -> None:
    from graphdep import explore

    page = place.folder / "page.html"
    explore(str(place.checkpoint), f"ann likes {_SCRIPT}", parser="chain").save(page)
    assert _SCRIPT not in page.read_text(encoding="utf-8"), "a text is markup"
    assert "<img src=x" not in page.read_text(encoding="utf-8"), "a text is markup"


def script_and_formulas_for_raters(place: Place) -> None:
    import csv

    from graphdep.human_eval import write_sheets

    row = {"context": [_SCRIPT, "=1+1"], "response": "=cmd|'/c calc'!A0"}
    (place.folder / "a.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    write_sheets({_SCRIPT: place.folder / "a.jsonl"}, place.folder / "out", n=1, raters=1)
    page = (place.folder / "out" / "raters" / "rate.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page, "a text is markup"
    with open(place.folder / "out" / "raters" / "rater1.csv", encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@" and cell], "a cell is a formula"


def formulas_in_predictions(place: Place) -> None:
    from graphdep.cli.common import guard_table

    cells = ["=1+1", "@x", "+1+1", "-1+1", "\t=1", " =1", "\uff1d1", "-0.5", "plain"]
    guarded = guard_table("".join(f'"{cell}"\n' for cell in cells), ".csv").splitlines()
    assert guarded[-2:] == ["-0.5", "plain"], "what is no formula is guarded"
    assert all("'" in line for line in guarded[:-2]), "a formula is not guarded"


CASES = (
    pickle_in_a_checkpoint,
    pickle_alone_as_a_checkpoint,
    module_of_edges_in_a_checkpoint,
    places_in_a_checkpoint,
    members_of_an_archive_that_point_out,
    a_bomb_as_a_checkpoint,
    pickle_in_a_processed_corpus,
    pickle_in_a_cache_of_parses,
    a_bomb_in_a_cache_of_parses,
    sql_in_a_cache_of_parses,
    sql_in_pairs_on_disk,
    pickle_in_a_folder_of_a_parser,
    objects_in_a_file_of_settings,
    code_of_an_encoder,
    pickle_as_the_weights_of_an_encoder,
    a_lock_that_is_a_link,
    leftovers_that_are_links,
    entities_in_xml,
    script_in_a_page,
    script_and_formulas_for_raters,
    formulas_in_predictions,
)


if __name__ == "__main__":
    main(__doc__ or "", run, count=len(CASES))
