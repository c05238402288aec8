"""Every reader of files, with whole files to begin from and the errors that it documents."""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mutate import change_value, mutate
from pyarrow import Table, parquet

Case = Callable[[random.Random, Path], object]


@dataclass(frozen=True)
class Reader:
    """A kind of input.

    Args:
        name: Its name in the table.
        case: Writes a changed input to a folder, and reads it.
        weight: How many cases it gets for one of the slowest kinds.
        errors: Those that it documents; ConlluError, PtbError and UnknownEdgesError are ValueErrors.
    """

    name: str
    case: Case
    weight: int = 1
    errors: tuple[type[Exception], ...] = (ValueError, FileNotFoundError)


def of_bytes(
    name: str,
    file: str,
    read: Callable[[Path], object],
    seeds: Sequence[bytes],
    weight: int,
    *,
    whole: object = None,
) -> Reader:
    """A reader of one file, of which bytes change. What has check sums is read as the ``whole`` or not."""

    def case(rng: random.Random, folder: Path) -> object:
        path = folder / file
        path.write_bytes(mutate(rng, seeds))
        return _none_or(whole, read(path)) if whole is not None else read(path)

    return Reader(name, case, weight)


def _none_or(whole: object, found: object) -> object:
    assert found is None or equal(whole, found), "what is damaged was read as something else"
    return found


def equal(one: Any, other: Any) -> bool:
    """Whether two values of dicts, lists, tensors and plain ones are the same."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(equal(one[k], other[k]) for k in one)
        )
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and bool(one == other)


def readers(folder: Path) -> list[Reader]:
    """All of them; the files that they begin from are made in the folder."""
    return [*_texts(folder), *_tables(folder), *_archives(folder)]


def _files(folder: Path, pattern: str, size: int = 1500) -> list[bytes]:
    """The beginnings of files, up to an empty line or a line's end."""
    found = []
    for path in sorted(folder.rglob(pattern)):
        part = path.read_bytes()[:size]
        found.append(part[: max(part.rfind(b"\n\n") + 2, part.rfind(b"\n") + 1)] or part)
    assert found, pattern
    return found


_CONLLU = (
    b"# sent_id = a\n# text = The dogs' tails\n1\tThe\tthe\tDET\tDT\tDefinite=Def\t4\tdet\t4:det\t_\n"
    b"2-3\tdogs'\t_\t_\t_\t_\t_\t_\t_\t_\n2\tdogs\tdog\tNOUN\tNNS\t_\t4\tnmod:poss\t4:nmod:poss\t_\n"
    b"3\t'\t'\tPART\tPOS\t_\t2\tcase\t2:case\tSpaceAfter=No\n3.1\tx\tx\t_\t_\t_\t_\t_\t4:dep\t_\n"
    b"4\ttails\ttail\tNOUN\tNNS\tNumber=Plur\t0\troot\t0:root|2:conj\t_\n\n"
    b"# constituency = (ROOT (S (NP (DT It)) (VP (VBZ rains))))\n"
    b"1\tIt\tit\tPRON\tPRP\t_\t2\texpl\t_\t_\n2\trains\train\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
)
_PTB = (
    b"(ROOT (S (NP-SBJ (DT The) (NN dog)) (VP (VBZ barks) (NP (-NONE- *T*-1))) (. .)))\n"
    b"( (S (NP (PRP It)) (VP (VBZ rains))) )\n(FRAG (-LRB- -LRB-) (NN x))\n"
)
_CSV = b'id,text,label\n1,"a fine, fine ""film""",good\n2,dull,bad\n3,"two\nlines",good\n'
_ROWS = [{"text": "a fine film", "label": "good", "n": 1.5}, {"text": "dull", "label": "bad", "n": None}]
_WORDS = [{"words": ["Ann", "sees", "Bob"], "labels": ["A", "B", "A"]}, {"words": ["x"], "labels": ["A"]}]
_YAML = (
    b"task: sick-e\nmodel: dt\nlr: 1e-3\nheads: 2\nmax_epochs: 3\ndropout: 0.1\nroot: data\nseed: 0\n"
    b"rows:\n- transformer\n- name: mine\n  model: dt\n  heads: 4\nseeds: 3\nbound: 0.5\n"
)


def _texts(folder: Path) -> list[Reader]:
    """Trees, brackets, roles and settings."""
    from graphdep.datasets.labels.propbank import read_skeletons, read_up
    from graphdep.datasets.spans.corpora import read_aspect_terms
    from graphdep.io import read_conllu, read_ptb
    from graphdep.parsing import resolve_parser
    from graphdep.training.config import read_run
    from graphdep.training.rows import read_rows_file
    from tests.kit.tiny_corpora import write_tiny_aspects, write_tiny_propbank, write_tiny_up

    write_tiny_propbank(folder / "propbank")
    write_tiny_up(folder / "up")
    write_tiny_aspects(folder / "aspects")
    merged = _files(folder / "up", "*.conllu")
    plus = [_plus(part) for part in merged]

    def as_parser(path: Path) -> object:
        return resolve_parser(f"conllu:{path}").parse(["It rains"])

    trees, run = [_CONLLU, *merged[:1]], _YAML.partition(b"rows:")[0]
    return [
        of_bytes("CoNLL-U", "a.conllu", read_conllu, trees, 24),
        of_bytes(
            "CoNLL-U, with empty nodes", "a.conllu", lambda p: read_conllu(p, multiroot=True), trees, 12
        ),
        of_bytes("CoNLL-U as a parser", "a.conllu", as_parser, trees, 4),
        of_bytes("CoNLL-U Plus", "a.conllup", read_up, [*plus, *merged], 12),
        of_bytes(
            "PropBank skeletons", "a.gold_skel", read_skeletons, _files(folder / "propbank", "*skel"), 12
        ),
        of_bytes("PTB brackets", "a.mrg", read_ptb, [_PTB], 24),
        of_bytes("XML", "a.xml", read_aspect_terms, _files(folder / "aspects", "*.xml"), 12),
        of_bytes("YAML, run.yaml", "run.yaml", read_run, [run], 4),
        of_bytes("YAML, rows", "rows.yaml", read_rows_file, [_YAML], 4),
    ]


def _plus(merged: bytes) -> bytes:
    """The same sentences with a line of columns, as release 2.0 has them."""
    columns = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS"
    lines = []
    for line in merged.decode().split("\n"):
        cells = line.split("\t")
        lines.append("\t".join(cells[:12]) if len(cells) > 1 else line)
    return f"# global.columns = {columns}\n".encode() + "\n".join(lines).encode()


def _tables(folder: Path) -> list[Reader]:
    """Rows: texts, spans, words, responses, predictions, and the layouts of corpora."""
    from graphdep.datasets.base.rows import read_text_rows
    from graphdep.datasets.labels.own import read_own_sentences
    from graphdep.datasets.labels.words import Column
    from graphdep.datasets.sentences import read_sick, read_sst_trees
    from graphdep.human_eval.sheets import read_replies
    from graphdep.sentence.intake import Intake
    from graphdep.training.evaluation import read_predictions
    from graphdep.training.trainer import read_metrics
    from graphdep.vocab import Vocab
    from graphdep.vocab.vectors import load_vectors

    tsv = b'id\ttext\tlabel\n1\ta fine film\tgood\n2\tdull "x\tbad\n'
    jsonl = "".join(json.dumps(row) + "\n" for row in _ROWS).encode()
    words = "".join(json.dumps(row) + "\n" for row in _WORDS).encode()
    replies = b'{"context": ["hi", "ho"], "response": "hm"}\n{"context": ["a"], "response": ""}\n'
    sick = b"pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    sick += b"1\ta dog\ta cat\t4.5\tNEUTRAL\n2\ta dog\ta dog\t5\tENTAILMENT\n"
    vocab = Vocab.build([["a", "dog"]])
    columns = ["text", "label"]

    def rows(path: Path) -> object:
        return read_text_rows(path, columns)

    def own(path: Path) -> object:
        return read_own_sentences(path, Column("upos"), Intake())

    found = [
        of_bytes("CSV", "a.csv", rows, [_CSV], 24),
        of_bytes("TSV", "a.tsv", rows, [tsv], 24),
        of_bytes("JSONL", "a.jsonl", rows, [jsonl], 24),
        of_bytes("JSONL of words", "a.jsonl", lambda p: read_text_rows(p, ["words", "labels"]), [words], 12),
        of_bytes("columns of words", "a.tsv", own, [b"Ann\tA\nsees\tB\n\nBob\tA\n"], 12),
        of_bytes("JSONL of responses", "a.jsonl", lambda p: read_replies({"a": p}), [replies], 12),
        of_bytes("SICK", "a.txt", read_sick, [sick], 12),
        of_bytes("SST trees", "a.txt", read_sst_trees, [b"(3 (2 It) (4 (3 is) (4 good)))\n(1 bad)\n"], 12),
        of_bytes("predictions.csv", "p.csv", read_predictions, _written_predictions(folder), 12),
        of_bytes(
            "metrics.csv", "m.csv", read_metrics, [b"epoch,train_loss,val_accuracy\n1,0.5,0.3\n2,0.4,\n"], 4
        ),
        of_bytes(
            "word vectors", "v.txt", lambda p: load_vectors(p, vocab), [b"2 3\na 1 2 3\ndog 0 .5 -1e-3\n"], 12
        ),
    ]
    parquet.write_table(Table.from_pylist(_ROWS), folder / "rows.parquet")
    return [*found, of_bytes("Parquet", "a.parquet", rows, [(folder / "rows.parquet").read_bytes()], 12)]


def _written_predictions(folder: Path) -> list[bytes]:
    from graphdep.training.evaluation import write_predictions

    numbers = np.array([0, 1, 2]), np.array([0, 1, 1])
    write_predictions(folder / "classes.csv", *numbers)
    groups, digest = np.array([0, 0, 1]), ["5b1e", "5b1e", "7de9"]
    write_predictions(folder / "grouped.csv", numbers[0] / 4, numbers[1] / 8, groups, digest)
    return [(folder / name).read_bytes() for name in ("classes.csv", "grouped.csv")]


# -- archives, databases and folders of models -------------------------------------------------------------


def _archives(folder: Path) -> list[Reader]:
    """Checkpoints, folders of models, caches of parses, processed corpora in memory and on disk."""
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_sst

    settings = write_tiny_sst(folder / "sst")
    sizes = {"hidden_channels": 4, "ff_channels": 4, "num_layers": 1, "heads": 1, "max_epochs": 1}
    config = TrainConfig.of("dt", task="sst", accelerator="cpu", **sizes, **settings)
    checkpoint = Path(train(config, folder / "run")["checkpoint"])
    processed = next(Path(settings["root"]).rglob("*.pt"))
    return [
        *_checkpoints(checkpoint),
        *_model_folders(folder, checkpoint),
        *_caches(folder),
        *_examples(processed),
        _pairs_on_disk(folder),
    ]


def _pairs_on_disk(folder: Path) -> Reader:
    from graphdep.datasets import Ubuntu
    from tests.kit.tiny_corpora import write_tiny_selection

    settings = write_tiny_selection(folder / "ubuntu")
    given: dict[str, Any] = {"parser": settings["parser"], "log": False}
    Ubuntu(settings["root"], "test", **given)
    (store,) = Path(settings["root"]).rglob("test-*.sqlite")
    data = store.read_bytes()

    def examples() -> list[dict[str, Any]]:
        dataset = Ubuntu(settings["root"], "test", **given)
        return [dataset[number].to_dict() for number in range(len(dataset))]

    whole = examples()

    def case(rng: random.Random, own: Path) -> object:
        store.write_bytes(mutate(rng, [data]))
        return _none_or(whole, examples())

    return Reader("pairs on disk, bytes", case, errors=(ValueError, OSError))  # it lacks rows


def _checkpoints(checkpoint: Path) -> list[Reader]:
    from graphdep.training import load_task, read_checkpoint

    whole = torch.load(checkpoint, weights_only=True)
    data = checkpoint.read_bytes()
    best = {key: whole[key] for key in ("graphdep", "state_dict")}

    def altered(rng: random.Random, folder: Path) -> object:
        content = {**best}
        if rng.random() < 0.25:
            name = rng.choice([*best["state_dict"]])
            weight = best["state_dict"][name]
            other = rng.choice(
                [weight.half(), weight.flatten(), weight[:0], weight.new_zeros(3, 1, 2), weight.long()]
            )
            content["state_dict"] = {**best["state_dict"], name: rng.choice([other, 0, None])}
        else:
            content["graphdep"] = change_value(rng, best["graphdep"])
        torch.save(content, folder / "best.ckpt")
        return load_task(folder / "best.ckpt")

    return [
        of_bytes(
            "checkpoints, bytes", "best.ckpt", read_checkpoint, [data], 4, whole=read_checkpoint(checkpoint)
        ),
        Reader("checkpoints, values", altered),
    ]


def _model_folders(folder: Path, checkpoint: Path) -> list[Reader]:
    from graphdep.training import load_task
    from graphdep.training.hub import write_model_folder

    saved = folder / "saved"
    write_model_folder(saved, *load_task(checkpoint))
    names = sorted(path.name for path in saved.iterdir())
    whole = load_task(saved)[0].state_dict()

    def fresh(folder: Path) -> Path:
        target = folder / "model"
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(saved, target)
        return target

    def damaged(rng: random.Random, folder: Path) -> object:
        target = fresh(folder)
        name = rng.choice(names)
        (target / name).write_bytes(mutate(rng, [(saved / name).read_bytes()]))
        return _none_or(whole, load_task(target)[0].state_dict())

    def forged(rng: random.Random, folder: Path) -> object:
        """With digests that are right, as a stranger makes them."""
        target = fresh(folder)
        said = json.loads((target / "config.json").read_text(encoding="utf-8"))
        if rng.random() < 0.5:
            said["run"] = change_value(rng, said["run"], json=True)
        name = rng.choice([*said["files"]])
        if name.endswith(".json"):
            value = change_value(rng, json.loads((target / name).read_text(encoding="utf-8")), json=True)
            (target / name).write_text(json.dumps(value), encoding="utf-8")
        else:
            (target / name).write_bytes(mutate(rng, [(saved / name).read_bytes()]))
        said["files"][name] = hashlib.sha256((target / name).read_bytes()).hexdigest()
        (target / "config.json").write_text(json.dumps(said), encoding="utf-8")
        return load_task(target)

    return [Reader("safetensors folders, bytes", damaged), Reader("safetensors folders, values", forged)]


def _caches(folder: Path) -> list[Reader]:
    from graphdep import Sentence
    from graphdep.parsing.cached import ParseCache
    from graphdep.parsing.parser import Parsed

    path = folder / "parses.sqlite"
    texts = [f"ann saw bob {number}" for number in range(3)]
    tree = [Sentence("ann saw bob".split(), [2, 0, 2], ["nsubj", "root", "obj"], lemma=["ann", "see", "bob"])]
    ParseCache(path).store("f", {text: Parsed(tree, None) for text in texts})
    data = path.read_bytes()

    def damaged(path: Path) -> object:
        found = ParseCache(path).load("f", texts)
        assert all(parsed.sentences == tree for parsed in found.values()), "another tree"
        return found

    def load(path: Path) -> object:
        found = ParseCache(path).load("f", texts)
        for parsed in found.values():  # whatever comes back are trees
            for sentence in parsed.sentences:
                assert len(sentence.form) == len(sentence.head) == len(sentence.deprel)
        return found

    def altered(rng: random.Random, folder: Path) -> object:
        target = folder / "parses.sqlite"
        target.write_bytes(data)
        with closing(sqlite3.connect(target, isolation_level=None)) as database:
            (row,) = database.execute("SELECT sentences FROM parses LIMIT 1").fetchone()
            value = change_value(rng, json.loads(zlib.decompress(row)), json=True)
            cells = {
                "sentences": zlib.compress(json.dumps(value).encode()) if rng.random() < 0.9 else "text",
                "failure": rng.choice((None, None, "x", 1, b"\xff")),
            }
            database.execute("UPDATE parses SET sentences = ?, failure = ?", [*cells.values()])
        return load(target)

    return [
        of_bytes("parse caches, bytes", "parses.sqlite", damaged, [data], 2),
        Reader("parse caches, values", altered, 2),
    ]


def _examples(processed: Path) -> list[Reader]:
    from graphdep.datasets.base.parsed import FORMAT, load_examples

    data = processed.read_bytes()
    start = len(FORMAT) + 1 + hashlib.sha256().digest_size

    def forged(rng: random.Random, folder: Path) -> object:
        """With a digest that is right."""
        content = mutate(rng, [data[start:]])
        head = f"{FORMAT}\n".encode() + hashlib.sha256(content).digest()
        (folder / "train.pt").write_bytes(head + content)
        return load_examples(folder / "train.pt")

    def objects(rng: random.Random, folder: Path) -> Any:
        buffer = io.BytesIO()
        torch.save(change_value(rng, torch.load(io.BytesIO(data[start:]), weights_only=True)), buffer)
        head = f"{FORMAT}\n".encode() + hashlib.sha256(buffer.getvalue()).digest()
        (folder / "train.pt").write_bytes(head + buffer.getvalue())
        return load_examples(folder / "train.pt")

    return [
        of_bytes(
            "processed datasets, bytes", "train.pt", load_examples, [data], 12, whole=load_examples(processed)
        ),
        Reader("processed datasets, forged", forged, 2),
        Reader("processed datasets, values", objects, 2),
    ]
